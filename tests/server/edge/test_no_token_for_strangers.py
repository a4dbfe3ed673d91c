"""No route shows a token or a key to a stranger, also behind a bare reverse proxy."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from starlette.routing import Route

from penstock.datastore.store import Store
from penstock.server.app import open_app
from penstock.server.auth.dev_identity import dev_identity
from penstock.server.auth.dev_tokens import dev_key
from penstock.server.settings.key_files import url_key, vault_key
from penstock.server.settings.settings import Settings
from tests.server.hostile.hostile_request import Offence
from tests.server.hostile.raw_connection import Talk
from tests.server.hostile.stream_messages import HANDSHAKES
from tests.support.loopback_server import Answer, Connection, LoopbackServer, Request
from tests.support.patience import HUNG_SECONDS
from tests.support.penstock_command import start_server
from tests.support.server_process import VERIFY_TLS
from tests.support.stores import open_store

pytestmark = pytest.mark.runs_together("bare proxy")

TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+|penstock_[0-9a-f-]{36}_")
REWRITTEN = ("host", "content-length", "transfer-encoding", "connection", "content-encoding")
METHODS = ("GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE")
MORE_PATHS = (
    "/graphql",
    "/",
    "/console/",
    "/graphiql/",
    "/dev",
    "/docs",
    "/openapi.json",
    "/.env",
    "/favicon.ico",
)
STRANGER = {"host": "public.example.org", "accept-encoding": "identity"}
VIEWER = {"query": "{ viewer { userId } }"}
LOG_FORMATS = ("text", "json")


@asynccontextmanager
async def bare_proxy(url: str) -> AsyncIterator[str]:
    """Forward like a `proxy_pass` alone: the host is rewritten, and nothing is added."""
    async with httpx.AsyncClient(
        base_url=url, timeout=HUNG_SECONDS, trust_env=False, verify=VERIFY_TLS
    ) as upstream:

        async def forward(request: Request, connection: Connection) -> None:
            kept = {name: text for name, text in request.headers.items() if name not in REWRITTEN}
            found = await upstream.request(
                request.method, request.target, headers=kept, content=request.body
            )
            headers = {name: text for name, text in found.headers.items() if name not in REWRITTEN}
            await connection.answer(Answer(found.status_code, found.content, headers))

        server = LoopbackServer(forward)
        yield await server.start()
        await server.stop()


async def paths_of(store: Store, data_dir: Path) -> list[str]:
    """Return a path for each route of the server."""
    settings = Settings.load(data_dir=data_dir)
    async with open_app(settings, store, await dev_identity(settings, store)) as app:
        routes = [route.path for route in app.routes if isinstance(route, Route)]
    return [re.sub(r"\{[^}]*\}", "a", path) for path in routes]


def secrets_in(data_dir: Path) -> list[str]:
    key = dev_key(data_dir).as_dict(private=True)["d"]
    return [str(key), url_key(data_dir).hex(), vault_key(data_dir).hex()]


@pytest.mark.parametrize("log_format", LOG_FORMATS)
async def test_no_path_gives_a_token_through_a_bare_proxy(tmp_path: Path, log_format: str) -> None:
    data_dir, log = tmp_path / "data", tmp_path / "log"
    async with open_store("sqlite", tmp_path) as store:
        paths = await paths_of(store, tmp_path / "other")
    assert {"/graphiql", "/dev/session", "/healthz", "/metrics"} <= set(paths)
    arguments = ("--port", "0", "--no-seed", "--data-dir", str(data_dir))
    seen = []
    with start_server(log, *arguments, PENSTOCK_LOG_FORMAT=log_format) as server:
        async with (
            bare_proxy(server.url) as url,
            httpx.AsyncClient(
                base_url=url, timeout=HUNG_SECONDS, trust_env=False, verify=VERIFY_TLS
            ) as client,
        ):
            for path in (*paths, *MORE_PATHS):
                for method in METHODS:
                    answer = await client.request(method, path, headers=STRANGER)
                    assert answer.status_code < 500
                    seen.append(f"{method} {path} {dict(answer.headers)} {answer.text}")
            page = await client.get("/graphiql", headers=STRANGER)
            asked = await client.post("/graphql", headers=STRANGER, json=VIEWER)
            assert (page.status_code, asked.status_code) == (200, 401)
    secrets = secrets_in(data_dir)
    for text in (*seen, log.read_text()):
        assert TOKEN.findall(text) == []
        assert [one for one in secrets if one in text] == []
    assert ("code=" in log.read_text()) == (log_format == "text")


@pytest.mark.parametrize("log_format", LOG_FORMATS)
@pytest.mark.parametrize("origin", ["", "https://evil.example.org"])
def test_the_log_holds_no_token_from_an_address(
    tmp_path: Path, log_format: str, origin: str
) -> None:
    log = tmp_path / "log"
    target = "/graphql?access_token=eyJhbGciOiJFZERTQSJ9.e30.a"
    upgrade = {name: text for name, text in HANDSHAKES[0].headers if name != "origin"}
    headers = {**upgrade, "origin": origin} if origin else upgrade
    arguments = ("--port", "0", "--no-seed", "--data-dir", str(tmp_path / "data"))
    with start_server(log, *arguments, PENSTOCK_LOG_FORMAT=log_format) as server:
        for sent, status in ((headers, 403 if origin else 101), ({}, 401)):
            offence = Offence(
                name="", method="GET", target=target, headers=tuple(sent.items()), status=status
            )
            with Talk(server.url) as talk:
                talk.say(offence.request(talk.host, "none", {}))
                assert talk.reply().status == status
        assert server.end() == 0
    assert "access_token" not in log.read_text()
    assert TOKEN.findall(log.read_text()) == []
