"""Numbers of rows are exact: split, joined and summed without loss, or refused."""

from decimal import Context, Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import IllegalState
from penstock.datastore.kept_rows.columns import (
    FRACTION_DIGITS,
    WHOLE_DIGITS,
    join_number,
    split_number,
)
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from tests.datastore.executions.sample_executions import finished_execution
from tests.datastore.kept_rows.plants import plant_file, read_kwh, read_sum
from tests.support.sample_resources import on_sqlite

EXACT = Context(prec=200)
NUMBERS = st.decimals(
    allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30, places=20
) | st.builds(
    lambda digits, places: Decimal(digits).scaleb(-places, EXACT),
    st.integers(-(10**34) + 1, 10**34 - 1),
    st.integers(-3, FRACTION_DIGITS),
)


@given(NUMBERS)
def test_a_number_is_split_and_joined_without_loss(number: Decimal) -> None:
    parts = split_number(number)
    assert parts is not None
    assert join_number(parts) == number


@given(st.lists(NUMBERS, min_size=1, max_size=20))
def test_the_sum_of_the_parts_is_that_of_the_numbers(numbers: list[Decimal]) -> None:
    columns = zip(*(split_number(number) or [] for number in numbers), strict=True)
    total = Decimal(0)
    for number in numbers:
        total = EXACT.add(total, number)
    with localcontext(EXACT):
        sums = [sum(column, Decimal(0)) for column in columns]
    assert join_number(sums) == total


def test_a_number_with_too_many_digits_is_not_split() -> None:
    assert split_number(Decimal(10) ** WHOLE_DIGITS) is None
    assert split_number(Decimal(1).scaleb(-FRACTION_DIGITS - 1)) is None
    assert split_number(Decimal("NaN")) is None


@on_sqlite
async def test_numbers_of_34_digits_are_summed_exactly(store: Store, pipeline: Pipeline) -> None:
    numbers = {
        "a": "1234567890123456789012345678901234",
        "b": "-0.0000000000000000000001234567890123",
        "c": "0.3333333333333333333333333333333333",
        "d": "-1234567890123456789012345678901233",
    }
    await finished_execution(store, pipeline, plant_file(numbers.items()))
    assert await read_kwh(store, pipeline) == numbers
    total = Decimal(0)
    for text in numbers.values():
        total = EXACT.add(total, Decimal(text))
    assert await read_sum(store, pipeline) == f"{total:f}".rstrip("0")


@on_sqlite
async def test_a_number_that_is_too_long_is_listed_and_refused_in_a_sum(
    store: Store, pipeline: Pipeline
) -> None:
    long = "1" + "0" * 39
    await finished_execution(store, pipeline, plant_file([("a", long), ("b", "1")]))
    assert (await read_kwh(store, pipeline))["a"] == long
    with pytest.raises(IllegalState, match="'kwh' is no number, or has too many"):
        await read_sum(store, pipeline)
