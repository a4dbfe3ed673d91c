"""Quotas that change while creates are under way, paused or killed: counts stay exact."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from penstock.datastore.errors import QuotaExceeded
from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.quotas.quotas import Quotas
from penstock.datastore.quotas.rules import QuotaRules
from penstock.datastore.quotas.usage import sum_group
from penstock.datastore.store import Store
from tests.support.consistency_check import faults
from tests.support.sample_resources import SOUTH, SUPER, USA, create_groups, make, without_moto
from tests.support.stores import TWO, open_table
from tests.support.table_interceptors import CutOffTable, PausedTable, ProcessDied

MAXIMA: Final = (3, 8, 5)


def server_of(store: Store, maximum: int) -> Store:
    """A server with this maximum of resources in a group."""
    return replace(store, quotas=Quotas(QuotaRules(Amounts(resources=maximum), Amounts())))


async def count_kept(store: Store) -> int:
    return (await sum_group(store.table, USA)).resources


def new_folder(above: Path, number: int) -> Path:
    folder = above / f"{number}"
    folder.mkdir()
    return folder


@asynccontextmanager
async def open_store(name: str, folder: Path) -> AsyncIterator[Store]:
    async with open_table(name, folder) as table:
        store = Store(table)
        await create_groups(store)
        yield store


async def create_until_refused(store: Store, name: str) -> int:
    """Create resources until the quota refuses one; return their number."""
    session = store.open_session(SUPER)
    for n in count():
        try:
            await make(session, SOUTH, f"{name} {n}")
        except QuotaExceeded:
            return n
    raise AssertionError


@without_moto
async def test_of_servers_with_different_quotas_the_largest_holds_and_counts_are_exact(
    store: Store,
) -> None:
    await create_groups(store)
    servers = [server_of(store, maximum) for maximum in MAXIMA]
    creating = (create_until_refused(each, f"{n}") for n, each in enumerate(servers))
    made = await asyncio.gather(*creating)
    assert sum(made) == await count_kept(store) == max(MAXIMA)
    assert await faults(store.table) == []
    # What is over a quota that was lowered stays, and only more of it is refused.
    assert await create_until_refused(server_of(store, min(MAXIMA)), "late") == 0
    assert await count_kept(store) == max(MAXIMA)


@pytest.mark.parametrize("name", TWO)
async def test_a_create_that_was_paused_while_others_fill_a_lowered_quota_is_refused(
    name: str, tmp_path: Path
) -> None:
    for calls in count():
        async with open_store(name, new_folder(tmp_path, calls)) as store:

            async def fill(store: Store = store) -> None:
                assert await create_until_refused(server_of(store, 2), "other") == 2

            paused = PausedTable(store.table, fill, calls=calls)
            session = server_of(replace(store, table=paused), 2).open_session(SUPER)
            try:
                await make(session, SOUTH, "paused")
            except QuotaExceeded:
                assert paused.left < 0
            if paused.left >= 0:
                break
            assert await count_kept(store) == 2, f"after {calls} calls"
            assert await faults(store.table) == []
    assert calls > 2


@pytest.mark.parametrize("name", TWO)
async def test_a_server_that_dies_at_any_write_takes_no_room_that_the_next_one_misses(
    name: str, tmp_path: Path
) -> None:
    for writes in count():
        async with open_store(name, new_folder(tmp_path, writes)) as store:
            dying = replace(store, table=CutOffTable(store.table, writes))
            try:
                done = await create_until_refused(server_of(dying, 3), "first")
            except ProcessDied:
                # Each thing that is kept is counted, whether or not its write was acknowledged.
                before = await count_kept(store)
                assert await faults(store.table) == []
                assert await create_until_refused(server_of(store, 4), "next") == 4 - before
                assert await count_kept(store) == 4
                assert await faults(store.table) == []
            else:
                assert done == 3
                break
    assert writes > 3
