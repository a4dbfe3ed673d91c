"""Sizes and units are AWS's published arithmetic, to the byte and to the half unit."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import InvalidCursor, LimitExceeded
from penstock.datastore.table import limits
from penstock.datastore.table.limits import ItemFootprint, value_size
from penstock.datastore.table.port import (
    INDEX_HASH,
    Check,
    Compare,
    Delete,
    Exists,
    Key,
    Put,
    Query,
    Range,
    Update,
    Value,
)
from tests.datastore.table.sample_items import KB, item, make_sized_item

WORDS = st.text(min_size=1, max_size=4)
SMALL, LARGE = ItemFootprint(KB, None), ItemFootprint(KB + 1, None)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("", 0),
        ("a", 1),
        ("é", 2),
        ("\uff5e", 3),
        ("\U0001f600", 4),
        (None, 1),
        (True, 1),
        (False, 1),
        ([], 3),
        ({}, 3),
        (["ab"], 3 + 1 + 2),
        ({"k": "ab"}, 3 + 1 + 1 + 2),
        ({"ü": [None, {}]}, 3 + 1 + 2 + 3 + 1 + 1 + 1 + 3),
    ],
)
def test_a_value_has_the_bytes_that_aws_counts(value: Value, size: int) -> None:
    assert value_size(value) == size


@pytest.mark.parametrize(
    ("number", "size"),
    [
        (0, 1),
        (Decimal("0.00"), 1),
        (1, 2),
        (12, 2),
        (123, 3),
        (100, 2),
        (1000, 2),
        (-1, 3),
        (-12, 3),
        (Decimal("1.5"), 3),
        (Decimal("0.15"), 2),
        (Decimal("0.001"), 2),
        (Decimal("1E+2"), 2),
        (Decimal("12.50"), 3),
        (int("9" * 38), 20),
        (10**125, 2),
        (Decimal("-1E-130"), 3),
    ],
)
def test_a_number_has_a_byte_for_every_pair_of_digits(number: int | Decimal, size: int) -> None:
    assert value_size(number) == size


@given(st.decimals(places=5, min_value=-(10**20), max_value=10**20))
def test_the_size_of_a_number_is_that_of_its_value_however_written(number: Decimal) -> None:
    size = value_size(number)

    assert value_size(number.normalize()) == size
    assert value_size(number * 100) == size
    assert value_size(number.copy_negate()) == size + (number > 0) - (number < 0)
    assert 1 <= size <= 21


@given(
    st.dictionaries(st.text(min_size=1), st.text() | st.none() | st.booleans(), max_size=5),
    st.dictionaries(st.text(min_size=1), st.text() | st.none() | st.booleans(), max_size=5),
)
def test_the_size_of_an_item_is_the_sum_of_its_attributes(
    one: dict[str, Value], other: dict[str, Value]
) -> None:
    both = one | {name: value for name, value in other.items() if name not in one}
    fresh = {name: value for name, value in other.items() if name not in one}

    assert limits.item_size(both) == limits.item_size(one) + limits.item_size(fresh)


@pytest.mark.parametrize("foreign", [1.5, b"bytes", (1, 2), {1}, object()])
def test_a_value_of_a_foreign_type_is_a_mistake(foreign: Value) -> None:
    with pytest.raises(TypeError):
        limits.item_size({"nested": [foreign]})


@pytest.mark.parametrize(
    ("size", "eventual"), [(0, 0.5), (1, 0.5), (4096, 0.5), (4097, 1.0), (KB * KB, 128.0)]
)
def test_reads_are_paid_by_4_kb(size: int, eventual: float) -> None:
    assert limits.read_units(size, consistent=False) == eventual
    assert limits.read_units(size, consistent=True) == 2 * eventual


def test_a_batch_is_rounded_by_item_and_a_page_as_a_whole() -> None:
    assert limits.batch_units([200] * 100, consistent=False) == 50.0
    assert limits.page_units([200] * 100, index=False, consistent=False) == 2.5
    assert limits.page_units([200] * 100, index=False, consistent=True) == 5.0
    assert limits.page_units([200] * 100, index=True, consistent=True) == 2.5


@pytest.mark.parametrize(
    ("old", "new", "alone"),
    [
        (None, None, 1.0),
        (None, SMALL, 1.0),
        (None, LARGE, 2.0),
        (LARGE, None, 2.0),
        (SMALL, LARGE, 2.0),
        (LARGE, SMALL, 2.0),
    ],
)
def test_writes_are_paid_by_1_kb_of_the_larger_item(
    old: ItemFootprint | None, new: ItemFootprint | None, alone: float
) -> None:
    assert limits.write_units(old, new) == alone
    assert limits.write_units(old, new, transactional=True) == 2 * alone


@pytest.mark.parametrize(
    ("old", "new", "index"),
    [(None, "g", 2.0), ("g", "g", 2.0), ("g", "h", 3.0), ("g", None, 1.0), (None, None, 0.0)],
)
def test_every_entry_of_the_index_that_changes_is_paid_once(
    old: str | None, new: str | None, index: float
) -> None:
    before, after = ItemFootprint(KB, old), ItemFootprint(KB + 1, new)

    assert limits.write_units(before, after) == 2.0 + index
    assert limits.write_units(before, after, transactional=True) == 4.0 + index
    assert limits.write_units(before, after, same=True) == 2.0


def test_a_deleted_item_takes_its_entry_along() -> None:
    assert limits.write_units(ItemFootprint(KB, "g"), None) == 2.0


def test_what_is_not_written_is_paid_by_what_is_there() -> None:
    assert limits.check_units(None) == 2.0
    assert limits.check_units(ItemFootprint(KB, "g")) == 2.0
    assert limits.check_units(ItemFootprint(KB + 1, "g")) == 4.0


def test_a_footprint_is_the_size_and_the_group() -> None:
    assert limits.measure_item(make_sized_item("p", "s", 500)) == ItemFootprint(500, None)
    assert limits.measure_item(make_sized_item("p", "s", 500, index="g")) == ItemFootprint(500, "g")


def test_an_index_key_is_text() -> None:
    with pytest.raises(TypeError, match="siKey1"):
        limits.measure_item(item("p", "s", **{INDEX_HASH: 1}))
    with pytest.raises(TypeError, match="siKey1"):
        limits.guard_transact([Update(key=Key("p", "s"), set={INDEX_HASH: None})])


def test_only_numbers_are_added() -> None:
    for amount in (True, "1"):
        with pytest.raises(TypeError, match="no number"):
            limits.guard_transact([Update(key=Key("p", "s"), add={"n": amount})])  # type: ignore[dict-item]


def test_every_key_is_guarded() -> None:
    long = Key("p", "s" * 1025)
    put, update = Put(item(*long)), Update(key=long, add={"n": 1})
    for operation in (put, update, Delete(long), Check(long, Exists())):
        with pytest.raises(LimitExceeded, match="bytes of sk: 1025 is more than the maximum"):
            limits.guard_transact([operation])
    with pytest.raises(LimitExceeded, match="bytes of sk"):
        limits.guard_get([long])


def test_the_value_of_a_condition_is_guarded() -> None:
    condition = Compare("n", "=", 10**38 + 1)

    with pytest.raises(LimitExceeded, match="digits of a number: 39"):
        limits.guard_transact([Check(Key("p", "s"), condition)])


def test_a_transaction_is_measured_by_what_it_sends() -> None:
    largest = [Put(make_sized_item("p", f"{place:02}", 400 * KB)) for place in range(10)]
    rest = 4 * KB * KB - 10 * 400 * KB
    fits = Update(key=Key("p", "x"), set={"a": "y" * (rest - 7)})
    over = Update(key=Key("p", "x"), set={"a": "y" * (rest - 6)})

    limits.guard_transact([*largest, fits])
    with pytest.raises(LimitExceeded) as caught:
        limits.guard_transact([*largest, over])

    assert (caught.value.maximum, caught.value.actual) == (4_194_304, 4_194_305)


@given(WORDS, WORDS, WORDS)
def test_a_start_key_is_within_the_range_exactly_if_an_item_with_it_would_be(
    low: str, high: str, sk: str
) -> None:
    low, high = sorted((low, high), key=str.encode)
    query = Query(partition="p", range=Range(low=low, high=high), after=Key("p", sk))

    if low.encode() <= sk.encode() <= high.encode():
        limits.guard_query(query)
    else:
        with pytest.raises(InvalidCursor):
            limits.guard_query(query)


def test_a_name_inside_a_map_is_not_empty() -> None:
    with pytest.raises(LimitExceeded, match="empty attribute name"):
        limits.item_size({"pk": "a", "sk": "b", "attributes": {"inner": {"": 1}}})
