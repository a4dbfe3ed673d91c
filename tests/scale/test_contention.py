"""Servers that write the same rows at once all succeed, and every count is exact."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.errors import NameTaken
from penstock.datastore.store import Store
from tests.scale.contention_proxy import ContentionProxy, ProxyLimits
from tests.scale.loads import LOADS, LoadedServer, create_table, open_loaded_server, run_load
from tests.support.consistency_check import faults
from tests.support.patience import HUNG_SECONDS
from tests.support.sample_resources import SUPER, USA, make
from tests.support.stores import quick_endpoint

pytestmark = pytest.mark.runs_together("contention")

SERVERS = 2
CLIENTS = 6
WRITES = 24
WINDOW = ProxyLimits(window=10, lag=20)
MOST_CONFLICTS = 4.0
"""For each write. One that takes its chance alone against eleven others meets ten and more."""


class Setting(NamedTuple):
    """Servers over one table behind the proxy, and the table without it."""

    proxy: ContentionProxy
    servers: list[LoadedServer]
    table: DynamoDBTable


@asynccontextmanager
async def open_setting(tmp_path: Path, *, sinks: bool = False) -> AsyncIterator[Setting]:
    async with AsyncExitStack() as held:
        proxy = await held.enter_async_context(ContentionProxy(quick_endpoint(), WINDOW))
        table = await create_table(quick_endpoint())
        held.push_async_callback(table.close)
        servers = [
            await held.enter_async_context(
                open_loaded_server(
                    proxy.url, table._name, tmp_path / f"{number}", HUNG_SECONDS, sinks=sinks
                )
            )
            for number in range(SERVERS)
        ]
        yield Setting(proxy, servers, table)


@pytest.mark.parametrize("kind", LOADS)
async def test_servers_that_write_at_once_all_succeed(tmp_path: Path, kind: str) -> None:
    load = LOADS[kind]
    async with open_setting(tmp_path, sinks=load.sinks) as (proxy, servers, table):
        shared = await load.prepare(Store(table))
        proxy.take_counts()
        names = [[f"{number}-{one}" for one in range(WRITES)] for number in range(SERVERS)]
        runs = (
            run_load(load, server, own, CLIENTS, shared)
            for server, own in zip(servers, names, strict=True)
        )
        results = await asyncio.gather(*runs)
        assert [result.failures for result in results] == [[]] * SERVERS
        assert await load.check(table, quick_endpoint(), SERVERS * WRITES) == []
        assert proxy.counts.cancelled["TransactionConflict"] <= MOST_CONFLICTS * SERVERS * WRITES


async def test_of_servers_that_create_the_same_names_one_each_succeeds(tmp_path: Path) -> None:
    async with open_setting(tmp_path) as (_, servers, table):
        await LOADS["group"].prepare(Store(table))
        names = [f"name {number}" for number in range(8)]
        sessions = [server.store.open_session(SUPER) for server in servers]
        outcomes = await asyncio.gather(
            *(make(session, USA, name, "a=b") for name in names for session in sessions),
            return_exceptions=True,
        )
        refused = [outcome for outcome in outcomes if isinstance(outcome, NameTaken)]
        made = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
        assert len(refused) == len(made) == len(names)
        assert sorted(pipeline.name for pipeline in made) == names
        assert await faults(table) == []


async def test_one_server_that_writes_the_same_rows_meets_no_conflict(tmp_path: Path) -> None:
    load = LOADS["group"]
    async with open_setting(tmp_path) as (proxy, (server, _), table):
        await load.prepare(Store(table))
        # The first writes make the rows of shards, in transactions of their own.
        await run_load(load, server, [f"first {one}" for one in range(WRITES)], WRITES, "")
        proxy.take_counts()
        result = await run_load(load, server, [f"{one}" for one in range(WRITES)], WRITES, "")
        assert result.failures == []
        assert proxy.counts.cancelled == {}
        assert proxy.counts.succeeded < WRITES
        assert await load.check(table, quick_endpoint(), 2 * WRITES) == []
