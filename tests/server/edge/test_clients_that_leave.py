"""A request that only reads ends with its client; one that changes something goes on."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import pytest
from starlette.types import ASGIApp

from penstock.datastore.roles import ROOT, Role
from penstock.datastore.store import Store
from penstock.server.app import open_app
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from penstock.server.settings.settings import Settings
from tests.server.connections.wire import GuardedApp, PassingApp, Wire, statuses
from tests.server.edge.test_routes_in_turn import HeldTable
from tests.server.opensubsonic.players import key_of
from tests.support.loop_clock import let_tasks_run

MOST: Final = 2
QUERY: Final = "{ artists { __typename } }"
CREATE: Final = 'mutation { createGroup(input: {path: "/made"}) { __typename } }'
MADE: Final = '{ group(path: "/made") { path } }'
HOST: Final = "host: localhost\r\n"


class SentRequest(NamedTuple):
    """A request, and the connection by which it came."""

    connection: asyncio.Protocol
    wire: Wire


class LeavingClient:
    """A client of guarded connections, which leaves before the answers to its requests."""

    def __init__(self, app: ASGIApp, table: HeldTable, token: str, key: str) -> None:
        self.served = GuardedApp(PassingApp(app))
        self.table = table
        self._token = token
        self._key = key

    async def send(self, target: str, body: bytes | None = None) -> SentRequest:
        sent = SentRequest(*self.served.connect())
        line = f"{'GET' if body is None else 'POST'} {target} HTTP/1.1\r\n"
        fields = f"{HOST}authorization: Bearer {self._token}\r\ncontent-type: application/json\r\n"
        length = "" if body is None else f"content-length: {len(body)}\r\n"
        head = f"{line}{fields}{length}\r\n".encode()
        await self.served.say(sent.connection, head + (body or b""))
        await let_tasks_run()
        return sent

    async def ask(self, query: str) -> SentRequest:
        return await self.send("/graphql", json.dumps({"query": query}).encode())

    async def play(self, call: str) -> SentRequest:
        return await self.send(f"/rest/{call}?apiKey={self._key}&v=1.16.1&c=tests&f=json")

    async def leave(self, *sent: SentRequest) -> None:
        """Lose the connections of requests, and let what ends by it end."""
        for one in sent:
            self.served.lose(one.connection)
        await let_tasks_run()

    async def finish(self) -> None:
        """Let all requests come to their ends."""
        self.table.go.set()
        while self.served.state.tasks:
            await asyncio.wait(self.served.state.tasks)


@pytest.fixture
async def client(store: Store, tmp_path: Path) -> AsyncIterator[LeavingClient]:
    table = HeldTable(store.table)
    settings = Settings.load(data_dir=tmp_path, opensubsonic=True, max_running_operations=MOST)
    roles = {ROOT: Role.ADMIN}
    token = sign_dev_token(dev_key(tmp_path), "ann", roles, ROOT, DEV_TOKEN_LIFETIME)
    key = await key_of(store, "ann")
    async with open_app(settings, Store(table, files=store.files), None) as app:
        found = LeavingClient(app, table, token, key)
        # What is read once is read now.
        await found.ask(QUERY)
        await found.play("getGenres")
        await found.finish()
        table.go.clear()
        yield found
        table.go.set()
        await found.served.close()


Read: TypeAlias = Callable[[LeavingClient], Awaitable[SentRequest]]
READS: Final[Mapping[str, Read]] = {
    "a query": lambda client: client.ask(QUERY),
    "a call of a player": lambda client: client.play("getGenres"),
    "a chart": lambda client: client.send("/ngsi/chart?service=svc&attribute=speed"),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
async def test_what_only_reads_ends_when_its_client_leaves(
    client: LeavingClient, read: Read
) -> None:
    sent = await read(client)
    assert client.table.waiting == 1
    await client.leave(sent)
    assert (client.table.waiting, len(client.served.state.tasks)) == (0, 0)


@pytest.mark.parametrize("read", READS.values(), ids=READS)
async def test_reads_that_are_given_up_leave_their_turns_and_their_line(
    client: LeavingClient, read: Read
) -> None:
    sent = [await read(client) for _ in range(3 * MOST)]
    assert client.table.waiting == MOST
    await client.leave(*sent)
    later = await client.ask(QUERY)
    await client.finish()
    assert statuses(later.wire) == [200]


async def read_made(client: LeavingClient) -> bytes:
    """Let all requests come to their ends, and read the group that one of them creates."""
    await client.finish()
    made = await client.ask(MADE)
    await client.finish()
    return made.wire.written


async def test_a_change_that_has_begun_goes_on_without_its_client(client: LeavingClient) -> None:
    sent = await client.ask(CREATE)
    assert client.table.waiting == 1
    await client.leave(sent)
    assert client.table.waiting == 1
    assert b'{"data":{"group":{"path":"/made"}}}' in await read_made(client)


CHANGES: Final[Mapping[str, Read]] = {
    "a mutation": lambda client: client.ask(CREATE),
    "a call of a player": lambda client: client.play("star"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_a_change_that_waits_for_its_turn_ends_with_its_client(
    client: LeavingClient, change: Read
) -> None:
    for _ in range(MOST):
        await client.ask(QUERY)
    waiting = [await change(client) for _ in range(3)]
    assert len(client.served.state.tasks) == MOST + 3
    await client.leave(*waiting)
    assert len(client.served.state.tasks) == MOST
    assert b"NOT_FOUND" in await read_made(client)


async def test_a_change_goes_on_without_its_client_once_its_turn_has_come(
    client: LeavingClient,
) -> None:
    reads = [await client.ask(QUERY) for _ in range(MOST)]
    change = await client.ask(CREATE)
    await client.leave(*reads)
    assert client.table.waiting == 1
    await client.leave(change)
    assert client.table.waiting == 1
    assert b'{"data":{"group":{"path":"/made"}}}' in await read_made(client)
