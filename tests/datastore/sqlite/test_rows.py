"""The file of the embedded table: exact numbers, units, expiry and the schema."""

import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import Unavailable
from penstock.datastore.sqlite.rows import decode, encode
from penstock.datastore.sqlite.table import SWEEP_ITEMS, SqliteTable
from penstock.datastore.table.conditions import apply_operation
from penstock.datastore.table.port import (
    INDEX_HASH,
    Check,
    ConditionFailed,
    Delete,
    Exists,
    Item,
    Key,
    Missing,
    Put,
    Update,
    Value,
)
from tests.datastore.sqlite.test_table import open_table
from tests.datastore.table.sample_items import (
    KB,
    everything,
    item,
    make_sized_item,
    store,
    stored_item,
)

KEY = Key("p", "s")
INTEGERS = st.integers(-(10**38) + 1, 10**38 - 1)
NUMBERS = INTEGERS | st.builds(Decimal.scaleb, INTEGERS.map(Decimal), st.integers(-130, 87)).filter(
    lambda number: number == 0 or number.adjusted() >= -130
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(), inside, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_items_come_back_equal_from_json(attributes: Item) -> None:
    assert decode(encode(attributes)) == attributes
    assert repr(decode(encode(attributes))) == repr(settle_numbers(attributes))


def settle_numbers(value: Value) -> Value:
    """Give each number the form in which it is read."""
    if isinstance(value, dict):
        return {name: settle_numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [settle_numbers(each) for each in value]
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    return value


@given(NUMBERS, NUMBERS)
def test_a_sum_loses_no_digit(old: int | Decimal, amount: int | Decimal) -> None:
    scale = 10**200
    update = Update(key=KEY, add={"n": amount})

    new = apply_operation(update, item(*KEY, n=old))

    assert new is not None
    assert exact(new["n"], scale) == exact(old, scale) + exact(amount, scale)


def exact(value: Value, scale: int) -> int:
    assert isinstance(value, int | Decimal)
    numerator, denominator = value.as_integer_ratio()
    assert scale % denominator == 0
    return numerator * (scale // denominator)


async def test_writes_cost_what_aws_would_charge(tmp_path: Path) -> None:
    async with open_table(tmp_path / "t") as table:
        assert await table.transact([Put(make_sized_item("p", "a", 3 * KB))]) == 6.0
        assert await table.transact([Put(make_sized_item("p", "a", KB, index="g"))]) == 6.0 + 1.0
        assert await table.transact([Put(make_sized_item("p", "a", KB, index="g"))]) == 2.0
        assert (
            await table.transact([Put(make_sized_item("p", "a", 2 * KB, index="g"))]) == 4.0 + 2.0
        )
        moved = Update(key=Key("p", "a"), set={INDEX_HASH: "h"})
        assert await table.transact([moved]) == 4.0 + 2.0 + 2.0
        check = Check(Key("p", "a"), Exists())
        assert await table.transact([check, Delete(Key("p", "nobody"))]) == 4.0 + 2.0
        assert await table.write([Delete(Key("p", "a")), Put(item("p", "b"))]) == 2.0 + 2.0 + 1.0


async def test_a_failed_transaction_costs_what_stood_there(tmp_path: Path) -> None:
    async with open_table(tmp_path / "t") as table:
        await store(table, [make_sized_item("p", "a", 3 * KB, index="g")])

        new, check = Put(make_sized_item("p", "b", 9 * KB)), Check(Key("p", "c"), Exists())
        with pytest.raises(ConditionFailed) as caught:
            await table.transact([Delete(Key("p", "a")), new, check])

    assert caught.value.units == 6.0 + 2.0 + 2.0


async def test_expired_items_go_when_the_file_is_opened(tmp_path: Path) -> None:
    clock = [0.0]
    path = tmp_path / "t"
    async with open_table(path, now=lambda: clock[0]) as table:
        await store(
            table, (item("p", f"{n:04}", expiresAt=100) for n in range(SWEEP_ITEMS * 2 + 1))
        )
        staying: list[Item] = [
            item("q", "equal", expiresAt=1000),
            item("q", "later", expiresAt=Decimal("1000.5")),
            item("q", "never"),
            item("q", "text", expiresAt="100"),
            item("q", "true", expiresAt=True),
        ]
        await store(table, staying)

    clock[0] = 1000.0
    async with open_table(path, now=lambda: clock[0]) as table:
        await wait_for_sweeps(table)
        assert await everything(table, "p") == []
        assert await everything(table, "q") == staying


async def test_expired_items_go_with_a_write_once_a_minute(tmp_path: Path) -> None:
    clock = [0.0]
    async with open_table(tmp_path / "t", now=lambda: clock[0]) as table:
        await store(table, [item("p", "s", expiresAt=10, siKey1="g")])

        clock[0] = 59.0
        await table.write([Put(item("q", "a"))])
        await wait_for_sweeps(table)
        assert await stored_item(table, "p", "s") is not None

        clock[0] = 60.0
        await table.transact([Put(item("q", "c"))])
        await wait_for_sweeps(table)
        assert await stored_item(table, "p", "s") is None
        assert await everything(table, "q") == [item("q", "a"), item("q", "c")]

        clock[0] = 61.0
        await store(table, [item("p", "s", expiresAt=10)])
        await wait_for_sweeps(table)
        assert await stored_item(table, "p", "s") is not None


async def wait_for_sweeps(table: SqliteTable) -> None:
    """Wait for the sweeps that have begun: they alternate with the writer's other calls."""
    for _ in range(4):
        await table.write([Delete(Key("nobody", "here"))])


async def test_a_file_says_how_it_differs(tmp_path: Path) -> None:
    path = tmp_path / "t"
    async with open_table(path) as table:
        assert await table.verify() == []
    with closing(sqlite3.connect(path)) as other:
        other.execute("DROP INDEX items_by_g")
        other.execute("DROP INDEX items_by_expires")
        other.execute("CREATE INDEX items_by_expires ON items (size)")
        other.execute("PRAGMA journal_mode = DELETE")

    table = SqliteTable.open(path)
    try:
        assert await table.verify() == [
            "The file has no 'items_by_g'.",
            "The file's 'items_by_expires' is defined otherwise: "
            "CREATE INDEX items_by_expires ON items (size).",
            "The file's journal is 'delete', not 'wal'.",
        ]
    finally:
        await table.close()


async def test_a_table_is_made_once_and_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = SqliteTable.open(path)
    try:
        assert len(await table.verify()) == 4
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            await table.transact([Put(item(*KEY), Missing())])
        await table.create()
        await table.transact([Put(item(*KEY), Missing())])
        await table.create()
        assert await stored_item(table, *KEY) == item(*KEY)
    finally:
        await table.close()


async def test_a_file_that_is_none_of_ours_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b"letters to my aunt, in no kind of order\n" * 100)

    table = SqliteTable.open(path)
    try:
        with pytest.raises(Unavailable, match="is no database"):
            await table.create()
    finally:
        await table.close()

    assert path.read_bytes() == b"letters to my aunt, in no kind of order\n" * 100


@pytest.mark.parametrize("text", ["1e999999999", "-1E+999999999999999999"])
def test_a_number_that_no_table_holds_takes_no_memory_for_its_digits(text: str) -> None:
    found = decode(f'{{"n":{text}}}')["n"]
    assert (type(found), found) == (Decimal, Decimal(text))
    assert decode('{"n":9.9e125}')["n"] == int("99" + "0" * 124)
