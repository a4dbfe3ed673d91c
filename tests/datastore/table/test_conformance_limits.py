"""Every table refuses the same calls, and a refused call changes nothing."""

from decimal import Decimal

import pytest

from penstock.datastore.errors import InvalidCursor, LimitExceeded
from penstock.datastore.table.port import (
    INDEX_HASH,
    Check,
    ConditionFailed,
    Delete,
    Exists,
    Item,
    Key,
    Operation,
    Put,
    Query,
    Range,
    Table,
    Update,
    Value,
    key_of,
)
from tests.datastore.table.sample_items import (
    KB,
    everything,
    item,
    make_sized_item,
    moto_deviates,
    store,
    stored_item,
)

KEY = Key("p", "s")
MISTAKES = (
    r"^no |twice|changes something|leaves the key|is not a number|has no condition"
    r"|does not begin|lies behind|at least one item"
)


def nested_value(levels: int) -> Value:
    """Make a value with this number of levels of nesting."""
    value: Value = "leaf"
    for _ in range(levels - 1):
        value = [value]
    return value


def facts(caught: pytest.ExceptionInfo[LimitExceeded]) -> tuple[str, int, int]:
    return caught.value.limit, caught.value.maximum, caught.value.actual


TOO_LARGE: tuple[tuple[Item, tuple[str, int, int]], ...] = (
    (item("p" * 2049, "s"), ("bytes of pk", 2048, 2049)),
    (item("é" * 1025, "s"), ("bytes of pk", 2048, 2050)),
    (item("p", "s" * 1025), ("bytes of sk", 1024, 1025)),
    (item("", "s"), ("empty pk", 0, 1)),
    (item("p", ""), ("empty sk", 0, 1)),
    (item(*KEY, **{INDEX_HASH: "g" * 2049}), ("bytes of siKey1", 2048, 2049)),
    (item(*KEY, **{INDEX_HASH: ""}), ("empty siKey1", 0, 1)),
    (item("p" * 1025, "s", **{INDEX_HASH: "g"}), ("bytes of pk in the index", 1024, 1025)),
    (make_sized_item(*KEY, 400 * KB + 1), ("bytes of an item", 400 * KB, 400 * KB + 1)),
    (item(*KEY, n=10**38 + 1), ("digits of a number", 38, 39)),
    (item(*KEY, n=[Decimal(f"0.{'1' * 39}")]), ("digits of a number", 38, 39)),
    (item(*KEY, n=10**126), ("exponent of a number", 125, 126)),
    (item(*KEY, n=Decimal("-1E-131")), ("negative exponent of a number", 130, 131)),
    (item(*KEY, deep=nested_value(33)), ("levels of nesting", 32, 33)),
)


async def test_an_item_that_aws_would_not_hold_is_refused(table: Table) -> None:
    for refused, expected in TOO_LARGE:
        with pytest.raises(LimitExceeded) as alone:
            await table.write([Put(item("p", "beside")), Put(refused)])
        with pytest.raises(LimitExceeded) as together:
            await table.transact([Put(item("p", "beside")), Put(refused)])
        assert facts(alone) == facts(together) == expected

    assert await everything(table, "p") == []


async def test_an_update_that_aws_would_not_hold_is_refused(table: Table) -> None:
    for refused, expected in (
        (Update(key=KEY, set={INDEX_HASH: "g" * 2049}), ("bytes of siKey1", 2048, 2049)),
        (Update(key=KEY, default={INDEX_HASH: ""}), ("empty siKey1", 0, 1)),
        (
            Update(key=Key("p" * 1025, "s"), set={INDEX_HASH: "g"}),
            ("bytes of pk in the index", 1024, 1025),
        ),
        (Update(key=KEY, add={"n": 10**38 + 1}), ("digits of a number", 38, 39)),
        (Update(key=KEY, set={"deep": nested_value(33)}), ("levels of nesting", 32, 33)),
        (Update(key=KEY, set={"x": "y" * 400 * KB}), ("bytes of an item", 409_600, 409_607)),
    ):
        with pytest.raises(LimitExceeded) as caught:
            await table.transact([Put(item("p", "beside")), refused])
        assert facts(caught) == expected

    assert await everything(table, "p") == []


async def test_what_just_fits_is_held(table: Table) -> None:
    for largest in (
        item("p" * 1024, "s" * 1024, **{INDEX_HASH: "g" * 2048}),
        item(*KEY, n=-int("9" * 38) * 10**88),
        item(*KEY, n=Decimal("1E-130")),
        item(*KEY, deep=nested_value(32)),
    ):
        await table.transact([Put(largest)])
        assert await stored_item(table, *key_of(largest)) == largest


@moto_deviates("it holds an item to the limits of an index that it is not in")
async def test_a_pk_outside_the_index_has_up_to_2048_bytes(table: Table) -> None:
    await table.transact([Put(item("p" * 2048, "s"))])

    assert await everything(table, "p" * 2048) == [item("p" * 2048, "s")]


@moto_deviates("it counts some bytes more of an item than AWS does")
async def test_an_item_of_exactly_400_kb_is_held(table: Table) -> None:
    largest = make_sized_item(*KEY, 400 * KB)

    await table.transact([Put(largest)])

    assert await stored_item(table, *KEY) == largest


async def test_an_update_may_not_make_an_item_too_large(table: Table) -> None:
    before = make_sized_item(*KEY, 300 * KB)
    await store(table, [before])

    with pytest.raises(LimitExceeded) as caught:
        await table.transact(
            [Put(item("p", "beside")), Update(key=KEY, set={"more": "y" * 101 * KB})]
        )

    assert caught.value.limit == "bytes of an item"
    assert await everything(table, "p") == [before]


@moto_deviates("it does not limit the digits of a sum")
async def test_a_sum_may_not_need_more_than_38_digits(table: Table) -> None:
    await store(table, [item(*KEY, n=10**37)])

    with pytest.raises(LimitExceeded) as caught:
        await table.transact([Put(item("p", "beside")), Update(key=KEY, add={"n": Decimal("0.1")})])

    assert caught.value.limit == "digits of a number"
    assert await everything(table, "p") == [item(*KEY, n=10**37)]


def many(count: int) -> list[Put]:
    return [Put(item("p", f"{number:03}")) for number in range(count)]


async def test_a_transaction_has_at_most_100_operations(table: Table) -> None:
    with pytest.raises(LimitExceeded) as caught:
        await table.transact(many(101))

    assert facts(caught) == ("operations of a transaction", 100, 101)
    assert await everything(table, "p") == []


async def test_a_transaction_has_at_most_4_mb(table: Table) -> None:
    operations = [Put(make_sized_item("p", f"{number:02}", 390 * KB)) for number in range(11)]

    with pytest.raises(LimitExceeded) as caught:
        await table.transact(operations)

    assert facts(caught) == ("bytes of a transaction", 4096 * KB, 11 * 390 * KB)
    assert await everything(table, "p") == []


async def test_a_write_has_at_most_25_operations(table: Table) -> None:
    with pytest.raises(LimitExceeded) as caught:
        await table.write(many(26))

    assert facts(caught) == ("operations of a write", 25, 26)
    assert await everything(table, "p") == []


async def test_a_read_has_at_most_100_keys(table: Table) -> None:
    with pytest.raises(LimitExceeded) as caught:
        await table.get([Key("p", str(number)) for number in range(101)])

    assert facts(caught) == ("keys of a read", 100, 101)


async def test_a_transaction_that_makes_no_sense_is_a_mistake(table: Table) -> None:
    mistakes: list[list[Operation]] = [
        [],
        [Put(item(*KEY)), Check(KEY, Exists())],
        [Update(key=KEY)],
        [Update(key=KEY, set={"a": 1}, remove=("a",))],
        [Update(key=KEY, set={"sk": "t"})],
        [Update(key=KEY, add={INDEX_HASH: 1})],
        [Put(item("p", "beside")), Put(item(*KEY, n=Decimal("NaN")))],
        [Put(item("p", "beside")), Put(item(*KEY, n=Decimal("Infinity")))],
    ]
    for operations in mistakes:
        with pytest.raises(ValueError, match=MISTAKES):
            await table.transact(operations)

    assert await everything(table, "p") == []


async def test_a_write_that_makes_no_sense_is_a_mistake(table: Table) -> None:
    mistakes: list[list[Put | Delete]] = [
        [],
        [Put(item(*KEY)), Delete(KEY)],
        [Put(item("p", "beside")), Put(item(*KEY), Exists())],
    ]
    for operations in mistakes:
        with pytest.raises(ValueError, match=MISTAKES):
            await table.write(operations)

    assert await everything(table, "p") == []


async def test_a_read_that_makes_no_sense_is_a_mistake(table: Table) -> None:
    for keys in ([], [KEY, Key("p", "t"), KEY]):
        with pytest.raises(ValueError, match=MISTAKES):
            await table.get(keys)


async def test_a_query_that_makes_no_sense_is_a_mistake(table: Table) -> None:
    for query in (
        Query(partition="p", range=Range(prefix="t", low="s")),
        Query(partition="p", range=Range(prefix="t", high="u")),
        Query(partition="p", range=Range(low="\U0001f600", high="\uff5e")),
        Query(partition="p", limit=0),
    ):
        with pytest.raises(ValueError, match=MISTAKES):
            await table.query(query)


async def test_a_start_outside_the_range_is_no_cursor_of_the_list(table: Table) -> None:
    for query in (
        Query(partition="p", after=Key("q", "s")),
        Query(partition="p", range=Range(prefix="t"), after=KEY),
        Query(partition="p", range=Range(low="t"), after=KEY),
        Query(partition="p", range=Range(high="r"), after=KEY),
        Query(partition="g", index=True, range=Range(prefix="q"), after=KEY),
        Query(partition="g", index=True, after=Key("p" * 2049, "s")),
        Query(partition="p", after=Key("p", "s" * 1025)),
        Query(partition="p", after=Key("p", "")),
    ):
        with pytest.raises(InvalidCursor):
            await table.query(query)


async def test_a_query_beyond_the_length_of_keys_is_refused(table: Table) -> None:
    for query, expected in (
        (Query(partition="p" * 2049), ("bytes of pk", 2048, 2049)),
        (Query(partition=""), ("empty pk", 0, 1)),
        (Query(partition="g" * 2049, index=True), ("bytes of siKey1", 2048, 2049)),
        (Query(partition="p", range=Range(prefix="s" * 1025)), ("bytes of sk", 1024, 1025)),
        (
            Query(partition="g", index=True, range=Range("p" * 1025)),
            ("bytes of pk in the index", 1024, 1025),
        ),
    ):
        with pytest.raises(LimitExceeded) as caught:
            await table.query(query)
        assert facts(caught) == expected


async def test_a_sum_with_what_is_no_number_is_a_mistake(table: Table) -> None:
    await store(table, [item(*KEY, n="text")])

    with pytest.raises(Exception, match=r".") as caught:
        await table.transact([Put(item("p", "beside")), Update(key=KEY, add={"n": 1})])

    assert not isinstance(caught.value, ConditionFailed | LimitExceeded)
    assert await everything(table, "p") == [item(*KEY, n="text")]
