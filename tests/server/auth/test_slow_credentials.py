"""Credentials that the store is slow to tell: every door of the server answers within its time."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from penstock.datastore.errors import NotAuthenticated
from penstock.datastore.player_passwords import SealedPassword
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from penstock.server.auth.api_keys import ApiKeyAuthenticator
from penstock.server.auth.player_passwords import PlayerAuthenticator
from penstock.server.auth.shared_reads import LookUpTimes
from penstock.server.auth.tokens import Authentication
from tests.server.auth.signed_tokens import bearer
from tests.server.opensubsonic.players import key_of
from tests.support.application import open_application
from tests.support.loop_clock import let_tasks_run, pass_time
from tests.support.table_interceptors import InterceptedTable

T = TypeVar("T")
LATE = "The credentials could not be checked in time."
LONG = 1000.0
KEY = "penstock_018f3b6e-0000-7000-8000-000000000001_" + "x" * 43


class NoTokens:
    """Knows no token."""

    async def caller_of(self, _headers: object) -> Caller:
        raise NotAuthenticated("There is no token.")

    async def authenticate(self, _headers: object) -> Authentication:
        raise NotAuthenticated("There is no token.")


class StandingTable(InterceptedTable):
    """A table that answers nothing while `moves` is not set."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.moves = asyncio.Event()
        self.moves.set()

    async def request(self, call: Coroutine[Any, Any, T], *, writes: bool) -> T:
        await self.moves.wait()
        return await call


QUERY = b'{"query": "{ viewer { userId } }"}'
JSON = {"content-type": "application/json"}
DOORS: dict[str, dict[str, Any]] = {
    "graphql": {"method": "POST", "url": "/graphql", "headers": JSON, "content": QUERY},
    "events": {
        "method": "POST",
        "url": "/graphql",
        "headers": {**JSON, "accept": "text/event-stream"},
        "content": QUERY,
    },
    "schema": {"method": "GET", "url": "/schema.graphql"},
    "track": {"method": "GET", "url": "/stream/A1"},
    "chart": {"method": "GET", "url": "/ngsi/chart?x=1"},
    "s3": {"method": "POST", "url": "/events/s3", "headers": JSON, "content": b"{}"},
}


@pytest.mark.parametrize("door", DOORS)
async def test_every_door_answers_in_time_where_a_key_is_not_read(
    store: Store, tmp_path: Path, door: str
) -> None:
    table = StandingTable(store.table)
    key = await key_of(store, "ann")
    over = replace(store, table=table)
    async with open_application(over, tmp_path, deadline_seconds=LONG) as server:
        table.moves.clear()
        wanted = {**DOORS[door]}
        wanted["headers"] = {**wanted.get("headers", {}), **bearer(key)}
        answering = asyncio.create_task(server.client.request(**wanted))
        await let_tasks_run()
        await pass_time(LONG - 1)
        await let_tasks_run()
        assert not answering.done()
        await pass_time(1)
        is_answered = answering.done()
        table.moves.set()
        answer = await answering
    assert is_answered
    assert answer.status_code in {503, 504}
    assert answer.json()["errors"][0]["extensions"]["code"] in {"SERVICE_UNAVAILABLE", "TIMEOUT"}


@pytest.mark.parametrize("size", [9, 5000])
@pytest.mark.parametrize("credentials", [{"apiKey": KEY}, {"u": "ann", "p": "secret"}])
async def test_a_player_is_answered_in_time_where_its_credentials_are_not_read(
    store: Store, tmp_path: Path, credentials: dict[str, str], size: int
) -> None:
    table = StandingTable(store.table)
    over = replace(store, table=table)
    chosen = {"opensubsonic": True, "deadline_seconds": LONG}
    async with open_application(over, tmp_path, **chosen) as server:
        table.moves.clear()
        form = {"f": "json", "v": "1.16.1", "c": "x" * size, **credentials}
        answering = asyncio.create_task(server.client.post("/rest/ping", data=form))
        await let_tasks_run()
        await pass_time(LONG)
        is_answered = answering.done()
        table.moves.set()
        answer = await answering
    assert is_answered
    assert LATE in answer.text or "The call took too long." in answer.text


class StandingPasswords:
    """A source of passwords whose vault does not answer."""

    async def find_player_passwords(self, user: str) -> list[SealedPassword]:
        return [SealedPassword("one", user, "sealed")]

    async def open_player_password(self, _found: SealedPassword) -> str | None:
        await asyncio.Event().wait()
        return None


async def test_credentials_that_are_not_known_in_time_are_unavailable() -> None:
    moves = asyncio.Event()

    async def find_late(_id: str) -> None:
        await moves.wait()

    keys = ApiKeyAuthenticator(NoTokens(), find_late, LookUpTimes(5, LONG))
    players = PlayerAuthenticator(StandingPasswords(), LookUpTimes(5, LONG))
    asked = [
        asyncio.create_task(keys.caller_of(bearer(KEY))),
        asyncio.create_task(players.caller_of("ann", lambda _: True)),
    ]
    await let_tasks_run()
    await pass_time(LONG)
    for each in asked:
        assert str(each.exception()) == LATE
    moves.set()
    await let_tasks_run()
