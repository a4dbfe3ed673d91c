"""Answers that a caller leaves unread are bounded by the caller's turns, over every route."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.types import Message

from penstock.datastore.roles import ROOT, Role
from penstock.datastore.store import Store
from penstock.server.app import open_app
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from penstock.server.edge import sensor_charts
from penstock.server.edge.response import LARGE_BYTES
from penstock.server.edge.sensor_charts import ChartRow
from penstock.server.opensubsonic.app import HANDLERS
from penstock.server.settings.settings import Settings
from tests.server.opensubsonic.players import key_of
from tests.server.streams.stream_client import AsgiConnection, header_list, run_app
from tests.support.patience import HUNG_SECONDS, until
from tests.support.stores import open_table

TURNS = 2
LINES = 6
ROUTES = {
    "/rest/ping.view": "f=json&v=1.16.1&c=tests&apiKey=",
    "/rest/ping": "v=1.16.1&c=tests&apiKey=",
    "/ngsi/chart": "service=s&attribute=a",
    "/schema.graphql": "",
}
SMALL = {
    "/errors",
    "/errors/{code}",
    "/events/s3",
    "/files",
    "/files/{key:path}",
    "/healthz",
    "/livez",
    "/metrics",
    "/readyz",
    "/rest",
    "/stream/{id}",
}
PAGES = {
    "/",
    "/console",
    "/console/assets/{name}",
    "/console/assets/{rest:path}",
    "/console/{screen:path}",
    "/graphiql",
    "/graphiql/",
    "/graphiql/assets/{name}",
    "/graphql/",
}
"""Files of the package, of which all answers share one copy."""


class Line(AsgiConnection):
    """A connection whose client reads nothing until it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.free.clear()
        self.is_answered = False

    async def send(self, message: Message) -> None:
        self.is_answered = True
        await super().send(message)


@dataclass
class House:
    """An application with few turns, whose answers are large."""

    app: Starlette
    token: str
    key: str

    @asynccontextmanager
    async def ask(self, path: str) -> AsyncIterator[Line]:
        query = ROUTES[path]
        if query.endswith("apiKey="):
            query += self.key
        headers = {"host": "localhost", "authorization": f"Bearer {self.token}"}
        scope = {
            "type": "http",
            "http_version": "1.1",
            "scheme": "http",
            "server": ("localhost", 80),
            "client": ("127.0.0.1", 50_000),
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": header_list(headers),
        }
        line = Line()
        line.incoming.put_nowait({"type": "http.request", "body": b"", "more_body": False})
        async with run_app(line, self.app, scope):
            yield line


@pytest.fixture
async def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[House]:
    async def ping(_: object) -> dict[str, Any]:
        return {"large": "x" * 2 * LARGE_BYTES}

    async def chart(*_: object) -> list[ChartRow]:
        return [ChartRow(0, "x" * 2 * LARGE_BYTES, "a", 0)]  # type: ignore[arg-type]

    monkeypatch.setitem(HANDLERS, "ping", ping)
    monkeypatch.setattr(sensor_charts, "read_chart", chart)
    settings = Settings.load(
        data_dir=tmp_path,
        opensubsonic=True,
        max_running_operations=TURNS,
        deadline_seconds=HUNG_SECONDS,
    )
    token = sign_dev_token(dev_key(tmp_path), "ann", {ROOT: Role.ADMIN}, ROOT, DEV_TOKEN_LIFETIME)
    async with open_table("sqlite", tmp_path) as table:
        store = Store(table)
        async with open_app(settings, store, None) as app:
            yield House(app, token, await key_of(store, "ann"))


async def settle(lines: list[Line]) -> None:
    """Wait until so many lines are answered as may be, and whatever else goes on has ended."""
    await until(lambda: sum(line.is_answered for line in lines) >= TURNS)
    for _ in range(100):
        await asyncio.sleep(0)


@pytest.mark.parametrize("path", ROUTES)
async def test_unread_answers_keep_the_turns_of_their_caller(path: str, house: House) -> None:
    async with AsyncExitStack() as held:
        lines = [await held.enter_async_context(house.ask(path)) for _ in range(LINES)]
        await settle(lines)
        assert sum(line.is_answered for line in lines) == TURNS
        for line in lines:
            line.free.set()
        for line in lines:
            await line.wait_until_returned()
            body = b"".join(one.get("body", b"") for one in sent_on(line))
            assert len(body) > LARGE_BYTES


@pytest.mark.parametrize("path", ROUTES)
async def test_clients_that_leave_give_the_turns_back(path: str, house: House) -> None:
    async with AsyncExitStack() as held:
        lines = [await held.enter_async_context(house.ask(path)) for _ in range(TURNS)]
        await until(lambda: all(line.is_answered for line in lines))
    async with house.ask(path) as line:
        line.free.set()
        await line.wait_until_returned()
        assert sent_on(line)[0]["status"] == 200


async def test_each_route_is_known_to_answer_little_or_to_keep_a_turn(house: House) -> None:
    paths = {route.path for route in house.app.routes}  # type: ignore[attr-defined]
    held = {"/rest/{call:path}", "/ngsi/chart", "/schema.graphql", "/graphql"}
    assert paths - held - SMALL - PAGES == set()
    assert held <= paths


def sent_on(line: Line) -> list[Message]:
    return [line.outgoing.get_nowait() for _ in range(line.outgoing.qsize())]
