"""Exact decimals: `+ - *` keep every digit; `/` and `^` keep 34, half-even.

No function here uses the thread's decimal context, so no caller can change a result.
"""

import re
from decimal import (
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    ROUND_HALF_UP,
    Context,
    Decimal,
    DecimalException,
    DivisionByZero,
    Inexact,
    InvalidOperation,
    Overflow,
    Subnormal,
    Underflow,
)
from functools import lru_cache
from typing import Final

from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.core.limits import MAX_DIGITS, MAX_EXPONENT, QUOTIENT_DIGITS, WorkMeter

ZERO: Final = Decimal(0)
ONE: Final = Decimal(1)

EXACT: Final = Context(
    prec=MAX_DIGITS,
    rounding=ROUND_HALF_EVEN,
    Emin=-MAX_EXPONENT,
    Emax=MAX_EXPONENT,
    clamp=0,
    traps=[InvalidOperation, DivisionByZero, Overflow, Underflow, Subnormal, Inexact],
)
QUOTIENT: Final = Context(
    prec=QUOTIENT_DIGITS,
    rounding=ROUND_HALF_EVEN,
    Emin=-MAX_EXPONENT,
    Emax=MAX_EXPONENT,
    clamp=0,
    traps=[InvalidOperation, DivisionByZero, Overflow, Underflow, Subnormal],
)
_OPERANDS: Final = Context(
    prec=2 * QUOTIENT_DIGITS,
    rounding=ROUND_HALF_EVEN,
    Emin=-MAX_EXPONENT,
    Emax=MAX_EXPONENT,
    clamp=0,
    traps=[InvalidOperation, DivisionByZero, Overflow],
)
_PLACES: Final = Context(
    prec=2 * (MAX_DIGITS + MAX_EXPONENT),
    rounding=ROUND_HALF_UP,
    Emin=-2 * MAX_EXPONENT,
    Emax=2 * MAX_EXPONENT,
    clamp=0,
    traps=[InvalidOperation, DivisionByZero, Overflow],
)
# Nothing is given back, which a text of digits that is no number would make try for long.
_WRITTEN: Final = re.compile(
    r"\s*+[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d{1,6}+)?\s*+", re.ASCII
)

_LOGARITHMS: Final = Context(prec=44, traps=[InvalidOperation, DivisionByZero, Overflow])
"""Ten digits more than a result has, so that the logarithm of 8 to the base 2 is 3."""
_NEAR_ONE: Final = Decimal("1e-12")

USUAL_SIZE: Final = 160
"""The bytes that a number of some 100 digits takes."""
_WORD: Final = 8
_DIVIDED_AT_ONCE: Final = 125
"""The digits of a quotient, times the bytes of its divisor, that take as long as a unit."""

TEN: Final = Decimal(10)

add = EXACT.add
subtract = EXACT.subtract
multiply = EXACT.multiply
negate = EXACT.minus


def pay_for_product(work: WorkMeter, product: Decimal) -> None:
    """Spend what a product of more than USUAL_SIZE bytes takes."""
    work.spend((product.__sizeof__() // _WORD) ** 2 // 7)


def divide(dividend: Decimal, divisor: Decimal) -> Decimal:
    """Return the quotient, to 34 significant digits, half-even."""
    if not divisor:
        raise Fault(FormulaCode.DIVISION_BY_ZERO, "division by zero")
    return QUOTIENT.divide(dividend, divisor)


def power(base: Decimal, exponent: Decimal) -> Decimal:
    """Return the power to 34 significant digits; zero to a power below one half is undefined."""
    if exponent.copy_abs() > MAX_EXPONENT:
        raise Fault(FormulaCode.EXPONENT_TOO_LARGE, f"the exponent is beyond {MAX_EXPONENT}")
    if not base and exponent <= 0:
        raise Fault(FormulaCode.UNDEFINED_POWER, "zero has no power of zero or below")
    if exponent == exponent.to_integral_value():
        return QUOTIENT.power(base, exponent)
    if base < 0:
        raise Fault(FormulaCode.UNDEFINED_POWER, "a negative number has no fractional power")
    # More digits would not change the result, and a thousand of them would take 20 ms.
    return QUOTIENT.power(_OPERANDS.plus(base), _OPERANDS.plus(exponent))


def round_to(number: Decimal, places: Decimal) -> Decimal:
    """Round to a count of decimal places (negative: to tens, hundreds), halves away from zero."""
    rounded = _PLACES.quantize(number, _unit_of(places))
    return EXACT.plus(_PLACES.normalize(rounded))


@lru_cache(maxsize=2 * MAX_DIGITS + 1)
def _unit_of(places: Decimal) -> Decimal:
    """Return the unit to which so many places round; raises a Fault for no count of places."""
    if places != places.to_integral_value() or places.copy_abs() > MAX_DIGITS:
        message = f"the places must be a whole number from -{MAX_DIGITS} to {MAX_DIGITS}"
        raise Fault(FormulaCode.INVALID_ARGUMENT, message)
    return Decimal((0, (1,), -int(places)))


def floor(number: Decimal) -> Decimal:
    """Return the largest whole number that is not above."""
    return EXACT.plus(number.to_integral_value(ROUND_FLOOR, _PLACES))


def ceiling(number: Decimal) -> Decimal:
    """Return the smallest whole number that is not below."""
    return EXACT.plus(number.to_integral_value(ROUND_CEILING, _PLACES))


def remainder(work: WorkMeter, dividend: Decimal, divisor: Decimal) -> Decimal:
    """Return what is left of a division by whole numbers; it has the sign of the divisor.

    One by very many digits costs as much as it takes.
    """
    if not divisor:
        raise Fault(FormulaCode.DIVISION_BY_ZERO, "division by zero")
    if (size := divisor.__sizeof__()) > USUAL_SIZE:
        quotient = max(0, dividend.adjusted() - divisor.adjusted())
        work.spend(min(quotient, MAX_DIGITS) * size // _DIVIDED_AT_ONCE)
    rest = EXACT.remainder(dividend, divisor)
    if rest and rest.is_signed() != divisor.is_signed():
        rest = EXACT.add(rest, divisor)
    return EXACT.plus(rest)


def square_root(number: Decimal) -> Decimal:
    """Return the square root to 34 significant digits."""
    if number < 0:
        raise Fault(FormulaCode.INVALID_ARGUMENT, "a negative number has no square root")
    return QUOTIENT.plus(QUOTIENT.sqrt(_OPERANDS.plus(number)))


def logarithm(number: Decimal, base: Decimal) -> Decimal:
    """Return the logarithm to a base, to 34 significant digits."""
    if number <= 0 or base <= 0 or base == 1:
        message = "a logarithm needs a number above 0, and a base above 0 that is not 1"
        raise Fault(FormulaCode.INVALID_ARGUMENT, message)
    if base == TEN and _distance_from_one(number) is None:
        return QUOTIENT.plus(QUOTIENT.log10(_OPERANDS.plus(number)))
    quotient = _LOGARITHMS.divide(_natural_logarithm(number), _natural_logarithm(base))
    return QUOTIENT.plus(quotient)


def _natural_logarithm(number: Decimal) -> Decimal:
    """Return the natural logarithm to 44 digits, also of a number that many digits part from 1."""
    distance = _distance_from_one(number)
    if distance is None:
        return _LOGARITHMS.ln(_OPERANDS.plus(number))
    total = ZERO
    # The series of ln(1 + x); its fifth term is beyond the digits.
    for term in (4, 3, 2, 1):
        part = _LOGARITHMS.divide(ONE, Decimal(term))
        total = _LOGARITHMS.multiply(distance, _LOGARITHMS.subtract(part, total))
    return total


def _distance_from_one(number: Decimal) -> Decimal | None:
    """Return the number less 1, to 44 digits; None if it is not near 1."""
    if not Decimal("0.9") < number < Decimal("1.1"):
        return None
    distance = _LOGARITHMS.subtract(number, ONE)
    return distance if distance.copy_abs() < _NEAR_ONE else None


def within_range(number: Decimal) -> bool:
    """Whether the number is finite and within the limits of digits and exponent."""
    try:
        return EXACT.plus(number).is_finite()
    except DecimalException:
        return False


def read_number(text: str) -> Decimal | None:
    """Parse a number exactly; None when the text is not one. Spaces around it are ignored."""
    if len(text) > 2 * MAX_DIGITS or not _WRITTEN.fullmatch(text):
        return None
    number = Decimal(text.strip())
    if not within_range(number):
        raise out_of_range()
    return number


def number_text(number: Decimal) -> str:
    """Return a number as plain text: no exponent, no trailing zeros, no minus before zero."""
    if not number:
        return "0"
    plain = str(number)
    if "E" in plain:
        plain = format(number, "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def out_of_range() -> Fault:
    """Return the fault of a number beyond the limits; any decimal signal means this."""
    message = f"the number needs more than {MAX_DIGITS} digits or is beyond 10^{MAX_EXPONENT}"
    return Fault(FormulaCode.NUMBER_OUT_OF_RANGE, message)
