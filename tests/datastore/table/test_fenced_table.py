"""A fenced table writes only while its row is as the fence wants it."""

from collections.abc import Sequence

import pytest

from penstock.datastore.table.fenced_table import FencedTable
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.limits import TRANSACTION_OPERATIONS
from penstock.datastore.table.port import (
    Check,
    ConditionFailed,
    Delete,
    Exists,
    Item,
    Key,
    Missing,
    Operation,
    Put,
    Table,
    Update,
    key_of,
)
from tests.datastore.table.sample_items import item

ROW = item("G:/", "G:/usa", mark="m")
FENCE = Update(key=key_of(ROW), default={"mark": "m"})


class FenceLost(Exception):
    """The row is not as the fence wants it."""


def fence(table: Table) -> FencedTable:
    return FencedTable(table, FENCE, Exists("mark"), FenceLost)


async def read(table: Table, key: Key) -> Item | None:
    rows = await read_rows(table, [key], consistent=True)
    return dict(rows[key]) if key in rows else None


@pytest.mark.parametrize("standing", [None, item("G:/", "G:/usa"), ROW], ids=str)
async def test_a_fence_decides_about_each_way_to_write(table: Table, standing: Item | None) -> None:
    if standing is not None:
        await table.transact([Put(standing)])
    many = [Put(item("P:1", f"{n}")) for n in range(TRANSACTION_OPERATIONS)]
    own = Update(key=key_of(ROW), add={"count": 1})
    for way in (
        fence(table).transact(many[:1]),
        fence(table).transact(many),
        fence(table).transact([many[1], own]),
        fence(table).write(many[2:4]),
    ):
        if standing is ROW:
            await way
        else:
            with pytest.raises(FenceLost):
                await way
    written = standing is ROW
    assert (await read(table, key_of(many[-1].item)) is not None) is written
    assert await read(table, key_of(ROW)) == ({**ROW, "count": 1} if written else standing)


@pytest.mark.parametrize(
    "operations",
    [
        [Put(item("P:1", "1")), Delete(Key("P:1", "2"), Exists())],
        [Put(item("P:1", "1")), Update(key=key_of(ROW), set={"a": 1}, condition=Exists("other"))],
        [Put(item("P:1", "1")), Check(key_of(ROW), Missing("mark"))],
    ],
    ids=["another row", "the row of the fence", "a check of the row of the fence"],
)
async def test_what_fails_behind_a_fence_that_holds_fails_at_its_own_place(
    table: Table, operations: Sequence[Operation]
) -> None:
    await table.transact([Put(ROW)])
    with pytest.raises(ConditionFailed) as failed:
        await fence(table).transact(operations)
    assert [position for position, _ in failed.value.failed] == [1]
    assert await read(table, Key("P:1", "1")) is None


async def test_a_fence_lets_reads_through(table: Table) -> None:
    await table.transact([Put(item("P:1", "1"))])
    assert await read(fence(table), Key("P:1", "1")) == item("P:1", "1")
