"""Every route whose callers read the store: few calls of one run at once, and each call ends."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest
from httpx import ASGITransport, AsyncClient, Response
from starlette.routing import Route

from penstock.datastore.executions.files import ingest_key
from penstock.datastore.roles import ROOT, Role
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from penstock.server.app import open_app
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from penstock.server.settings.settings import Settings
from tests.datastore.executions.sample_executions import begin_execution, plant_pipeline
from tests.server.opensubsonic.players import key_of
from tests.support.loop_clock import LONG, let_tasks_run, pass_time
from tests.support.table_interceptors import InterceptedTable

T = TypeVar("T")

MOST: Final = 2
MANY: Final = 5
IN_TURN: Final = {
    "/graphql": (504, "TIMEOUT"),
    "/events/s3": (503, "SERVICE_UNAVAILABLE"),
    "/stream/{id}": (503, "SERVICE_UNAVAILABLE"),
    "/rest/{call:path}": (200, "The call took too long."),
    "/ngsi/chart": (503, "SERVICE_UNAVAILABLE"),
}
"""The routes whose callers read the store, and what is answered to a call that takes too long."""

OTHERS: Final = {"/", "/healthz", "/readyz", "/metrics", "/rest", "/schema.graphql"}
PAGES: Final = ("/console", "/errors", "/graphiql")


class HeldTable(InterceptedTable):
    """Lets no call through while it is held, and counts those that wait."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.waiting = 0
        self.go = asyncio.Event()
        self.go.set()

    async def request(self, call: Coroutine[Any, Any, T], *, writes: bool) -> T:
        self.waiting += 1
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            call.close()
            raise
        finally:
            self.waiting -= 1
        return await call


class Caller:
    """A caller of every route over a table that can be held."""

    def __init__(
        self, client: AsyncClient, table: HeldTable, key: str, input: str, track: str
    ) -> None:
        self.table = table
        found = {"service": "svc", "attribute": "speed"}
        event = {"Records": [{"s3": {"object": {"key": input}}}]}
        song = {"apiKey": key, "v": "1.16.1", "c": "tests", "id": track, "f": "json"}
        self._calls: dict[str, Callable[[], Coroutine[Any, Any, Response]]] = {
            "/graphql": lambda: client.post(
                "/graphql", json={"query": "{ artists { __typename } }"}
            ),
            "/events/s3": lambda: client.post("/events/s3", json=event),
            "/stream/{id}": lambda: client.get(f"/stream/{track}"),
            "/rest/{call:path}": lambda: client.get("/rest/getSong", params=song),
            "/ngsi/chart": lambda: client.get("/ngsi/chart", params=found),
        }

    async def hold(self, path: str) -> list["asyncio.Task[Response]"]:
        """Send many calls of a route that wait for the store."""
        await self._calls[path]()  # keys and operations are known then
        self.table.go.clear()
        calls = [asyncio.create_task(self._calls[path]()) for _ in range(MANY)]
        await let_tasks_run()
        return calls


@pytest.fixture
async def caller(store: Store, tmp_path: Path) -> AsyncIterator[Caller]:
    made = await begin_execution(store, await plant_pipeline(store))
    key = await key_of(store, "ann")
    async with _open(store, tmp_path) as (client, table):
        yield Caller(client, table, key, ingest_key(made), store.clock.new_id())
        table.go.set()


@asynccontextmanager
async def _open(store: Store, data_dir: Path) -> AsyncIterator[tuple[AsyncClient, HeldTable]]:
    table = HeldTable(store.table)
    settings = Settings.load(
        data_dir=data_dir,
        opensubsonic=True,
        deadline_seconds=LONG,
        max_running_operations=MOST,
    )
    roles = {ROOT: Role.ADMIN}
    token = sign_dev_token(dev_key(data_dir), "ann", roles, ROOT, DEV_TOKEN_LIFETIME)
    headers = {"authorization": f"Bearer {token}"}
    over = Store(table, files=store.files)
    async with (
        open_app(settings, over, None) as app,
        AsyncClient(
            transport=ASGITransport(app), base_url="http://localhost", headers=headers
        ) as client,
    ):
        paths = {each.path.rstrip("/") or "/" for each in app.routes if isinstance(each, Route)}
        assert {each for each in paths if not each.startswith(PAGES)} == {*IN_TURN, *OTHERS}
        yield client, table


@pytest.mark.parametrize("path", IN_TURN)
async def test_few_calls_of_a_caller_run_at_once(caller: Caller, path: str) -> None:
    calls = await caller.hold(path)
    assert caller.table.waiting == MOST
    caller.table.go.set()
    answers = [(await call).status_code for call in calls]
    assert set(answers) <= {200, 404}


@pytest.mark.parametrize("path", IN_TURN)
async def test_a_call_whose_store_does_not_answer_ends(caller: Caller, path: str) -> None:
    calls = await caller.hold(path)
    await pass_time(LONG)
    assert all(call.done() for call in calls)
    status, words = IN_TURN[path]
    for call in calls:
        answer = await call
        assert (answer.status_code, words in answer.text) == (status, True), answer.text
    assert caller.table.waiting == 0


async def test_the_schema_for_a_key_that_the_store_does_not_give_ends(
    store: Store, tmp_path: Path
) -> None:
    headers = {"authorization": f"Bearer {await key_of(store, 'ann')}"}
    async with _open(store, tmp_path) as (client, table):
        table.go.clear()
        call = asyncio.create_task(client.get("/schema.graphql", headers=headers))
        await let_tasks_run()
        assert table.waiting == 1
        await pass_time(LONG)
        assert call.done()
        answer = await call
        assert (answer.status_code, "SERVICE_UNAVAILABLE" in answer.text) == (503, True)
        table.go.set()
