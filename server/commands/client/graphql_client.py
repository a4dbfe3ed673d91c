"""A client of one running server, whose failures are sentences for the person at the terminal."""

import json
import re
from asyncio import sleep
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self

import httpx

from penstock.datastore.logged_errors import describe_error, reason_of_system
from penstock.server.commands.client.run_files import open_result
from penstock.server.core.command_output import CommandFailed, ExitCode
from penstock.server.core.http_client import checked_proxies
from penstock.server.settings.secure_urls import show_url

TIMEOUT_SECONDS = 60.0
LONGEST_WAIT = 60
"""The most seconds of one wait for the rate limit; after a longer one somebody should be asked."""
MOST_WAITS = 20
LAST_PORT = 65_535
WITHOUT_TLS = "WRONG_VERSION_NUMBER"
"""The word of OpenSSL for an answer that is no TLS."""
HOW_TO_NAME = "Name the server's address by --url, PENSTOCK_URL or a profile."

HOW_TO_SIGN_IN = (
    "Give a token or an API key by --token, PENSTOCK_TOKEN or a profile; `penstock token` prints "
    "one for a server without an issuer, with the key of its --data-dir."
)


class AnsweredError(CommandFailed):
    """The server answered an error; `error_code` is its stable code, such as NOT_FOUND."""

    def __init__(self, message: str, error_code: str | None) -> None:
        super().__init__(message)
        self.error_code = error_code


def open_client(**options: Any) -> httpx.AsyncClient:
    """Open a client; raises CommandFailed if a proxy of the environment cannot be used."""
    with checked_proxies():
        return httpx.AsyncClient(**options)


class GraphQLClient:
    """A GraphQL client of one server, with one token."""

    def __init__(self, url: str, token: str) -> None:
        self._url = server_address(url) + "/graphql"
        headers = {"authorization": f"Bearer {token}"}
        # Loading the certificates of the system takes a while.
        trusted = httpx.create_ssl_context()
        self._graphql_client = open_client(headers=headers, timeout=TIMEOUT_SECONDS, verify=trusted)
        # Signed URLs need no token, and their hosts must not see it.
        self._file_client = open_client(timeout=TIMEOUT_SECONDS, verify=trusted)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._graphql_client.aclose()
        await self._file_client.aclose()

    async def execute(self, query: str, **variables: Any) -> Any:
        """Return the value of the one root field.

        Raises AnsweredError, and CommandFailed for a server that does not answer.
        """
        return _root_value(await self.send({"query": query, "variables": variables}))

    async def send(self, request: dict[str, Any]) -> Any:
        """Return the answer to a request; wait as long as the rate limit says before."""
        answer = await self._ask(request)
        for _ in range(MOST_WAITS):
            seconds = _wait_of(answer)
            if seconds is None or seconds > LONGEST_WAIT:
                break
            # What was refused changed nothing, so that it may be sent again.
            await sleep(seconds)
            answer = await self._ask(request)
        return answer

    async def _ask(self, request: dict[str, Any]) -> Any:
        try:
            answer = await self._graphql_client.post(self._url, json=request)
        except httpx.TransportError as error:
            raise _unreachable_server(self._url, error) from None
        return self._graphql_answer(answer)

    def _graphql_answer(self, answer: httpx.Response) -> Any:
        try:
            body = answer.json()
        except ValueError:
            body = None
        if isinstance(body, dict) and ("data" in body or "errors" in body):
            return body
        words = f"answered {answer.status_code}, and not as GraphQL does. {HOW_TO_NAME}"
        raise CommandFailed(f"{show_url(self._url)} {words}", code=ExitCode.STORE)

    async def subscribe(self, query: str, **variables: Any) -> AsyncIterator[Any]:
        """Yield the values of a subscription's one field, over server-sent events."""
        request = {"query": query, "variables": variables}
        headers = {"accept": "text/event-stream"}
        try:
            async with self._graphql_client.stream(
                "POST", self._url, json=request, headers=headers
            ) as events:
                async for line in events.aiter_lines():
                    if line.startswith("data: "):
                        yield _root_value(json.loads(line.removeprefix("data: ")))
        except httpx.TransportError as error:
            raise _unreachable_server(self._url, error) from None

    async def upload(self, form: Any, file: Path) -> None:
        """Upload a file with the form that the server returned."""
        fields = {field["name"]: field["value"] for field in form["fields"]}
        headers = {field["name"]: field["value"] for field in form["headers"]}
        try:
            with file.open("rb") as content:
                answer = await self._file_client.request(
                    form["method"],
                    form["url"],
                    data=fields,
                    files={"file": (file.name, content)},
                    headers=headers,
                )
        except httpx.TransportError as error:
            raise _unreachable_server(_place_of_files(form["url"]), error) from None
        if answer.is_error:
            raise CommandFailed(f"The upload was refused with {answer.status_code}.")

    async def download(self, url: str, to: Path) -> None:
        """Save the content of a URL, whole or not at all."""
        try:
            async with self._file_client.stream("GET", url) as answer:
                answer.raise_for_status()
                with open_result(to) as file:
                    async for chunk in answer.aiter_bytes():
                        file.write(chunk)
        except httpx.HTTPError as error:
            raise _unreachable_server(_place_of_files(url), error) from None


def _wait_of(answer: Any) -> int | None:
    """Return the seconds after which a request that the rate limit refused may be sent again."""
    for error in answer.get("errors", ()):
        extensions = error.get("extensions", {})
        if extensions.get("code") == "RATE_LIMITED":
            return int(extensions.get("retryAfter", 1))
    return None


def _root_value(answer: Any) -> Any:
    """Return the value of the one root field; raises AnsweredError for any error in the answer."""
    for error in answer.get("errors", ()):
        # Who typed the value knows nothing of the variable that carries it.
        words = re.sub(r"^Variable '\$\w+' has invalid value: ", "", error["message"])
        code = error.get("extensions", {}).get("code")
        raise AnsweredError(
            f"{words} {HOW_TO_SIGN_IN}" if code == "UNAUTHENTICATED" else words, code
        )
    (value,) = answer["data"].values()
    if is_user_error(value):
        raise AnsweredError(value["message"], value["code"])
    return value


def is_user_error(value: Any) -> bool:
    """Tell whether the value of a root field is a `UserError` in place of what was asked for."""
    return isinstance(value, dict) and {"code", "message"} <= value.keys()


def server_address(typed: str) -> str:
    """Return the address of a server, which may be typed as that of its API."""
    return check_address(typed.rstrip("/").removesuffix("/graphql"))


def check_address(typed: str) -> str:
    """Return the address of a server; raises CommandFailed if none can be there."""
    try:
        address = httpx.URL(typed)
        is_one = address.scheme in ("http", "https") and address.host != ""
        # What opens a connection to another port fails without a sentence.
        is_one = is_one and (address.port is None or 0 < address.port <= LAST_PORT)
    except httpx.InvalidURL:
        is_one = False
    if is_one:
        return typed
    words = f"{show_url(typed)} is not an address such as http://127.0.0.1:8000. {HOW_TO_NAME}"
    raise CommandFailed(words, code=ExitCode.USAGE)


def _place_of_files(url: str) -> str:
    """Return where a file is, without its path: that of the server's own files is a signature."""
    place = httpx.URL(url)
    return f"{place.scheme}://{place.netloc.decode()}"


def _unreachable_server(url: str, error: Exception) -> CommandFailed:
    place = show_url(url)
    if isinstance(error, httpx.ConnectError) and WITHOUT_TLS in str(error):
        words = f"{place} does not speak TLS: write http://, not https://. {HOW_TO_NAME}"
    elif isinstance(error, httpx.ConnectError):
        reason = reason_of_system(error) or "no connection"
        words = f"Cannot connect to {place}: {reason}. Does the server run? {HOW_TO_NAME}"
    elif isinstance(error, httpx.TimeoutException):
        words = f"{place} did not answer within {TIMEOUT_SECONDS:.0f} seconds."
    elif isinstance(error, httpx.HTTPStatusError):
        words = f"{place} answered {error.response.status_code}."
    else:
        words = f"{place}: {describe_error(error)}"
    return CommandFailed(words, code=ExitCode.STORE)
