"""Results of awkward numbers: always finite, and right to 34 digits."""

from collections.abc import Callable
from decimal import Context, Decimal, DecimalException
from functools import partial

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.formula.core.errors import Fault
from penstock.formula.core.limits import MAX_DIGITS, MAX_EXPONENT, WorkMeter
from penstock.formula.core.numbers import (
    add,
    ceiling,
    divide,
    floor,
    logarithm,
    multiply,
    power,
    remainder,
    round_to,
    square_root,
    subtract,
    within_range,
)

REFERENCE = Context(prec=MAX_DIGITS + 60, Emin=-(10**6), Emax=10**6)
ABOVE = Decimal("1." + "0" * 900 + "1")
BELOW = Decimal("0." + "9" * 1000)


def _near_one(zeros: int, digit: int, *, above: bool) -> Decimal:
    step = Decimal((0, (digit,), -zeros))
    return REFERENCE.add(Decimal(1), step if above else -step)


NUMBERS = st.one_of(
    st.builds(_near_one, st.integers(1, 999), st.integers(1, 9), above=st.booleans()),
    st.builds(
        lambda digits, exponent: Decimal((0, tuple(map(int, str(digits))), exponent)),
        st.integers(1, 10**60),
        st.integers(-9900, 9900),
    ),
    st.decimals("1e-30", "1e30", allow_nan=False),
    st.sampled_from([ABOVE, BELOW, Decimal(10), Decimal("1e9999"), Decimal("1e-9999")]),
)
OPERATIONS: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "add": add,
    "subtract": subtract,
    "multiply": multiply,
    "divide": divide,
    "power": power,
    "remainder": partial(remainder, WorkMeter()),
    "round": round_to,
    "logarithm": logarithm,
    "square root": lambda one, _: square_root(one),
    "floor": lambda one, _: floor(one),
    "ceiling": lambda one, _: ceiling(one),
}


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=60)
@given(one=NUMBERS, other=NUMBERS)
@example(one=Decimal(2), other=ABOVE)
@example(one=Decimal("0.5"), other=BELOW)
@example(one=ABOVE, other=Decimal("1e9999"))
def test_a_result_is_within_the_limits_or_a_fault(name: str, one: Decimal, other: Decimal) -> None:
    try:
        found = OPERATIONS[name](one, other)
    except (Fault, DecimalException):
        return
    assert found.is_finite()
    assert within_range(found)
    assert abs(found.adjusted()) <= MAX_EXPONENT + 1


@settings(max_examples=25, deadline=None)
@given(number=NUMBERS, base=NUMBERS)
@example(number=Decimal(2), base=ABOVE)
@example(number=ABOVE, base=Decimal(10))
@example(number=ABOVE, base=Decimal(2))
@example(number=BELOW, base=ABOVE)
@example(number=_near_one(12, 9, above=False), base=_near_one(11, 1, above=True))
def test_a_logarithm_is_right_to_34_digits(number: Decimal, base: Decimal) -> None:
    if number == 1 or base == 1:
        return
    right = REFERENCE.divide(REFERENCE.ln(number), REFERENCE.ln(base))
    found = logarithm(number, base)
    assert abs(REFERENCE.divide(REFERENCE.subtract(found, right), right)) <= Decimal("5e-34")


def test_logarithms_of_numbers_that_many_digits_part_from_one_are_exact() -> None:
    assert logarithm(Decimal(2), ABOVE) == Decimal("6.931471805599453094172321214581766E+900")
    assert logarithm(ABOVE, Decimal(10)) == Decimal("4.342944819032518276511289189166051E-902")
    assert logarithm(ABOVE, ABOVE) == 1


@pytest.mark.parametrize(
    ("dividend", "divisor", "units"),
    [
        ("7" * 30, "3", 0),
        ("7" * 999, "3", 0),
        ("7" * 900, "3" * 850, 150),
        ("7" * 1_000, "3" * 500, 1_000),
        ("7e1200", "3" * 300, 1_500),
        ("7" * 1_000 + "e999", "3" * 1_000, 4_000),
        ("7e999", "3" * 1_000, 0),
    ],
)
def test_a_remainder_costs_by_the_digits_of_its_quotient_and_of_the_numbers(
    dividend: str, divisor: str, units: int
) -> None:
    work = WorkMeter()
    remainder(work, Decimal(dividend), Decimal(divisor))
    assert units <= work.take_spent() <= units * 1.5
