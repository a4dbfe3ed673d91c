"""A follower of a large row pays for each look at it, and is not looked for while in debt."""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack

import pytest

from penstock.datastore.resources import changes
from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.table.port import Batch, Item, Key, Put, Table
from tests.support.sample_resources import on_sqlite
from tests.support.table_interceptors import InterceptedTable
from tests.support.work_account import Account

SMALL, LARGE = Key("P:1", "PV:latest"), Key("P:2", "PV:latest")


class NotedReads(InterceptedTable):
    """Notes the keys that are read."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.read: list[Key] = []

    async def get(self, keys: Sequence[Key], *, consistent: bool = False) -> Batch:
        self.read += keys
        return await self._table.get(keys, consistent=consistent)


async def write(table: Table, revision: int) -> None:
    """Write a row of less than 4 KB, and one of 40."""
    for key, size in ((SMALL, 1_000), (LARGE, 40_000)):
        row: Item = {"pk": key.pk, "sk": key.sk, "revision": revision, "text": "x" * size}
        await table.write([Put(row)])


async def test_a_large_row_is_paid_at_each_look_and_a_small_one_is_not(table: Table) -> None:
    followed, small, large = RowChanges(table), Account(), Account()
    await write(table, 1)
    with (
        followed.watch(SMALL, 1, work=small),
        followed.watch(LARGE, 1, work=large) as watch,
    ):
        for looks in (1, 2):
            await followed.poll()
            assert (small.owed, large.owed) == (0, 9 * looks)
        await write(table, 2)
        await followed.poll()
        row = await watch.next()
        assert row is not None
        assert row["revision"] == 2


@on_sqlite
async def test_a_large_row_is_not_read_while_all_who_follow_it_are_in_debt(table: Table) -> None:
    noted = NotedReads(table)
    followed, poor, rich = RowChanges(noted), Account(-1), Account()
    await write(table, 1)
    with followed.watch(LARGE, 1, work=poor) as first, followed.watch(SMALL, 1, work=poor):
        await followed.poll()
        assert sorted(noted.read) == [SMALL, LARGE]
        await write(table, 2)
        await followed.poll()
        assert noted.read[2:] == [SMALL]
        with followed.watch(LARGE, 1, work=rich) as second:
            await followed.poll()
            assert sorted(noted.read[3:]) == [SMALL, LARGE]
            assert await first.next() == await second.next() is not None
            assert rich.owed == 9


@on_sqlite
async def test_others_have_their_turn_while_large_rows_are_looked_at(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "UNITS_IN_A_TURN", 20)
    followed, sleeps = RowChanges(table), 0
    await write(table, 1)
    keys = [Key(f"P:{n}", "PV:latest") for n in range(10)]
    for key in keys:
        await table.write([Put({"pk": key.pk, "sk": key.sk, "revision": 1, "x": "x" * 40_000})])

    async def note_sleep(seconds: float) -> None:
        nonlocal sleeps
        assert seconds == 0
        sleeps += 1

    monkeypatch.setattr(asyncio, "sleep", note_sleep)
    with ExitStack() as stack:
        for key in keys:
            stack.enter_context(followed.watch(key, 1))
        await followed.poll()
    # A row of ten units after another, two in each turn.
    assert sleeps == 4
