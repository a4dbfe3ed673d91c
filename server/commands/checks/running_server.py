"""Checks a running server as a client does: health, clock, token, CORS and an upload."""

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import time

import httpx

from penstock.datastore.logged_errors import describe_error
from penstock.datastore.scratch_folders import scratch_folder
from penstock.resolvers.findings import Finding, Findings, Severity, fail, ok, warn
from penstock.server.commands.client.graphql_client import GraphQLClient, open_client
from penstock.server.core.command_output import CommandFailed
from penstock.server.settings.secure_urls import show_url

MOST_SKEW_SECONDS = 30
TIMEOUT_SECONDS = 10.0

_VIEWER = "{ viewer { userId defaultGroup roles { group role } } }"
_FILE = "penstock-doctor.m3u8"
_FORM = """mutation($name: String!) { createPlaylistUpload(input: {fileName: $name}) {
  ...on UserError { code message }
  ...on CreatePlaylistUploadPayload { form {
    method url fields { name value } headers { name value } } } } }"""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server's URL, a token for it, and the origin of a page that shall use it, if any."""

    url: str
    token: str
    origin: str | None = None


async def check_running_server(server: RunningServer) -> Findings:
    """Check what each client needs; what needs an answer is left out if there is none."""
    place = show_url(server.url)
    try:
        opened = open_client(base_url=server.url, timeout=TIMEOUT_SECONDS)
    except CommandFailed as error:
        yield fail("server", f"{error}", "Correct it, or remove the variable.")
        return
    async with opened as http:
        try:
            health = await http.get("/healthz")
        except httpx.TransportError as error:
            yield fail(
                "server",
                f"{place}: {describe_error(error)}.",
                "Is this its address? Does it run?",
            )
            return
        yield _judge_health(place, health)
        yield _judge_clock(health, time())
        yield await _check_readiness(http)
        if server.origin is not None:
            yield await _check_origin(http, server.origin)
    async with GraphQLClient(server.url, server.token) as client:
        token = await _check_token(client)
        yield token
        if token.level is not Severity.FAIL:
            yield await _check_upload(client)


def _judge_health(place: str, answer: httpx.Response) -> Finding:
    if answer.status_code == 200:
        return ok("server", f"{place} answers.")
    advice = "Is this the address of a Penstock server, without a path?"
    return fail("server", f"{place}: /healthz answers {answer.status_code}.", advice)


def _judge_clock(answer: httpx.Response, now: float) -> Finding:
    date = answer.headers.get("date")
    if date is None:
        return warn("clock", "The server sends no date.", "A proxy removes it.")
    skew = parsedate_to_datetime(date).timestamp() - now
    if abs(skew) <= MOST_SKEW_SECONDS:
        return ok("clock", f"The server's differs from this machine's by {abs(skew):.0f} s.")
    here = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
    message = f"The server's says {date}, this machine's {here}."
    return fail("clock", message, "Tokens and signed URLs fail: set the clock that is wrong.")


async def _check_readiness(http: httpx.AsyncClient) -> Finding:
    answer = await http.get("/readyz")
    if answer.status_code == 200:
        return ok("readiness", "The server's store answers.")
    advice = "Run `penstock doctor` where the server runs, with its settings."
    return fail("readiness", f"/readyz answers {answer.status_code}: {answer.text[:300]}.", advice)


async def _check_origin(http: httpx.AsyncClient, origin: str) -> Finding:
    headers = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
    }
    answer = await http.options("/graphql", headers=headers)
    if answer.headers.get("access-control-allow-origin") in {origin, "*"}:
        return ok("cors", f"Pages of {origin} may send requests.")
    advice = f"Start the server with PENSTOCK_ALLOWED_ORIGINS={origin}."
    return fail("cors", f"Pages of {origin} may send no requests.", advice)


async def _check_token(client: GraphQLClient) -> Finding:
    try:
        viewer = await client.execute(_VIEWER)
    except CommandFailed as error:
        return fail("token", f"{error}", "Give another one by --token or PENSTOCK_TOKEN.")
    roles = ", ".join(f"{one['role'].lower()} of {one['group']}" for one in viewer["roles"])
    if not roles:
        advice = "The issuer grants roles in the token: see docs/authentication.md."
        return warn("token", f"{viewer['userId']} has no role.", advice)
    return ok("token", f"{viewer['userId']} is {roles}.")


async def _check_upload(client: GraphQLClient) -> Finding:
    """Upload a small file with a form of the server; what nobody registers is swept later."""
    try:
        form = (await client.execute(_FORM, name=_FILE))["form"]
        with scratch_folder("doctor") as folder:
            file = folder / _FILE
            file.write_text("#EXTM3U\n")
            await client.upload(form, file)
    except CommandFailed as error:
        advice = "Check the bucket's CORS rules, PENSTOCK_PUBLIC_URL and what stands between."
        return fail("upload", f"{error}", advice)
    return ok("upload", f"A file arrived at {httpx.URL(form['url']).host}.")
