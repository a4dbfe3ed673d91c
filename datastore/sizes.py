"""How many bytes DynamoDB counts for a value, and which values it cannot hold."""

from decimal import Decimal

from penstock.datastore.errors import LimitExceeded
from penstock.datastore.table import Value

DIGITS = 38
EXPONENT = 125
NEGATIVE_EXPONENT = 130
NESTING = 32


def value_size(value: Value, level: int = 1) -> int:
    """Count the bytes of a value, which is itself a level of nesting, the outermost the first.

    Raises LimitExceeded for numbers, levels and names beyond the limits, TypeError for a foreign
    type and ValueError for what is not a finite number.
    """
    at_most("levels of nesting", NESTING, level)
    if isinstance(value, str):
        return len(value.encode())
    if value is None or isinstance(value, bool):
        return 1
    if isinstance(value, int | Decimal):
        _guard_number(value)
        return number_size(value)
    if isinstance(value, dict):
        at_most("empty attribute name", 0, int("" in value))
        inside = sum(
            1 + len(name.encode()) + value_size(each, level + 1) for name, each in value.items()
        )
        return 3 + inside
    if isinstance(value, list):
        return 3 + sum(1 + value_size(each, level + 1) for each in value)
    raise TypeError(f"an item cannot hold a {type(value).__name__}")


def number_size(value: int | Decimal) -> int:
    """Count a byte for the number, one for a minus, and one for every two digits, within no limits.

    Digits go in pairs from the decimal point outwards, so the first of an even exponent is alone.
    """
    digits, exponent = _digits(value)
    pairs = (len(digits) + (exponent + 1) % 2 + 1) // 2
    return 1 + pairs + (value < 0) if digits else 1


def _guard_number(value: int | Decimal) -> None:
    digits, exponent = _digits(value)
    if digits:
        at_most("digits of a number", DIGITS, len(digits))
        at_most("exponent of a number", EXPONENT, exponent)
        at_most("negative exponent of a number", NEGATIVE_EXPONENT, -exponent)


def _digits(value: int | Decimal) -> tuple[str, int]:
    """The significant digits, none for zero, and the power of ten of the first one written."""
    if isinstance(value, int):
        digits = str(abs(value))
        exponent = len(digits) - 1
    elif value.is_finite():
        digits = "".join(map(str, value.as_tuple().digits))
        exponent = value.adjusted()
    else:
        raise ValueError(f"{value} is not a number")
    return digits.strip("0"), exponent


def at_most(limit: str, maximum: int, actual: int) -> None:
    """Raise LimitExceeded, in the words of `limit`, if the maximum is passed."""
    if actual > maximum:
        raise LimitExceeded(limit, maximum, actual)
