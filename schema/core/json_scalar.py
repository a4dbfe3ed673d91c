"""The JSON scalar: numbers stay exact, and the size and the depth of a value are bounded."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from math import isfinite
from typing import Any, Final

from graphql import (
    BooleanValueNode,
    FloatValueNode,
    GraphQLError,
    IntValueNode,
    ListValueNode,
    NullValueNode,
    ObjectValueNode,
    StringValueNode,
    ValueNode,
    VariableNode,
)

from penstock.datastore.table.port import Value
from penstock.formula.core.numbers import number_text
from penstock.graphql_jit import answer_meter

MAX_DEPTH: Final = 32
MAX_VALUES: Final = 10_000
MAX_DIGITS: Final = 38
_SMALLEST, _LARGEST = -130, 125
_INT64: Final = range(-(2**63), 2**63)
_DOUBLES: Final = range(-307, 308)
"""Powers of ten whose numbers all have a double near them."""


def parse_exact_number(text: str) -> Decimal:
    """Read a number; GraphQLError if it has more than 38 digits or is outside 1e-130 .. 1e+126."""
    if len(text) > 2 * MAX_DIGITS + 200:
        raise GraphQLError(f"A number holds at most {MAX_DIGITS} digits.")
    return check_number(Decimal(text))


def check_number(number: Decimal) -> Decimal:
    """Return a number unchanged; GraphQLError if no store could keep it exactly."""
    if not number.is_finite():
        raise GraphQLError("A number must be finite.")
    if len(number.as_tuple().digits) > MAX_DIGITS:
        raise GraphQLError(f"A number holds at most {MAX_DIGITS} digits.")
    if not _SMALLEST <= number.adjusted() <= _LARGEST:
        raise GraphQLError("A number lies between 1e-130 and 1e+126.")
    return number


class _ValueBudget:
    """The number of values that one JSON value may still contain."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_VALUES

    def spend(self, depth: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise GraphQLError(f"JSON holds at most {MAX_VALUES} values.")
        if depth > MAX_DEPTH:
            raise GraphQLError(f"JSON nests at most {MAX_DEPTH} levels deep.")


def read_json_value(value: object) -> Value:
    """Read the value of a variable; a non-integer becomes the Decimal of its shortest text."""
    return _read_value(value, 0, _ValueBudget())


def _read_value(value: object, depth: int, budget: _ValueBudget) -> Value:
    budget.spend(depth)
    match value:
        case None | bool() | str():
            return value
        case int() | float() | Decimal():
            return _read_number(value)
        case list() | tuple():
            return [_read_value(one, depth + 1, budget) for one in value]
        case dict():
            return {
                _read_key(key): _read_value(one, depth + 1, budget) for key, one in value.items()
            }
    raise GraphQLError("JSON holds objects, lists, texts, numbers, booleans and null.")


def _read_number(value: int | float | Decimal) -> int | Decimal:
    if isinstance(value, float):
        if not isfinite(value):
            raise GraphQLError("A number must be finite.")
        return check_number(Decimal(repr(value)))
    if isinstance(value, Decimal):
        return check_number(value)
    if abs(value) >= 10**MAX_DIGITS:
        raise GraphQLError(f"A number holds at most {MAX_DIGITS} digits.")
    return value


def _read_key(key: object) -> str:
    if not isinstance(key, str):
        raise GraphQLError("JSON objects have texts as keys.")
    return key


def read_json_literal(node: ValueNode, variables: dict[str, Any] | None = None) -> Value:
    """Read a literal of a document, which may contain variables.

    A variable without a value leaves its object field out, and is null in a list.
    """
    try:
        return _read_literal(node, variables or {}, 0, _ValueBudget())
    except GraphQLError as error:
        # The node shows that an argument was invalid, and not a result.
        raise GraphQLError(error.message, node) from None


def _read_literal(
    node: ValueNode, variables: Mapping[str, Any], depth: int, budget: _ValueBudget
) -> Value:
    if isinstance(node, VariableNode):
        return _read_value(variables.get(node.name.value), depth, budget)
    budget.spend(depth)
    if isinstance(node, ListValueNode):
        return [_read_literal(one, variables, depth + 1, budget) for one in node.values]
    if isinstance(node, ObjectValueNode):
        return {
            field.name.value: _read_literal(field.value, variables, depth + 1, budget)
            for field in node.fields
            if not (
                isinstance(field.value, VariableNode) and field.value.name.value not in variables
            )
        }
    return _read_leaf(node)


def _read_leaf(node: ValueNode) -> Value:
    match node:
        case NullValueNode():
            return None
        case BooleanValueNode(value=flag):
            return flag
        case StringValueNode(value=text):
            return text
        case IntValueNode(value=text):
            return int(parse_exact_number(text))
        case FloatValueNode(value=text):
            return parse_exact_number(text)
    raise GraphQLError("JSON has no enum values; write a text in quotes.")


def check_json_output(value: object) -> object:
    """Check a value for the encoder of the answer, which writes a Decimal digit by digit.

    A number that no IEEE 754 double comes near becomes a text: clients would read it as zero or
    infinity, or refuse the whole answer. Raises ValueError for NaN and infinities, TypeError for
    types that JSON does not have, and AnswerTooLarge for more values than the answer may hold.
    """
    kept = _OUTPUT.get(type(value))
    if kept is not None:
        return kept(value)
    if isinstance(value, Mapping):
        answer_meter.get().add(len(value))
        return {_check_key(key): check_json_output(one) for key, one in value.items()}
    raise TypeError(f"JSON has no form for {type(value).__name__}.")


def _return_unchanged(value: object) -> object:
    return value


def _check_int(value: Any) -> object:
    return value if value in _INT64 else _check_decimal(Decimal(value))


def _check_decimal(value: Any) -> object:
    if not value.is_finite():
        raise ValueError("JSON has no form for NaN and infinities.")
    if value.adjusted() in _DOUBLES or not value:
        return value
    nearest = float(value)
    return value if nearest and isfinite(nearest) else number_text(value)


def _check_float(value: Any) -> object:
    if not isfinite(value):
        raise ValueError("JSON has no form for NaN and infinities.")
    return value


def _check_list(value: Any) -> object:
    answer_meter.get().add(len(value))
    return [check_json_output(one) for one in value]


def _check_key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"JSON has no form for a key of {type(key).__name__}.")
    return key


_OUTPUT: Final[Mapping[type, Callable[[Any], object]]] = {
    type(None): _return_unchanged,
    bool: _return_unchanged,
    str: _return_unchanged,
    int: _check_int,
    float: _check_float,
    Decimal: _check_decimal,
    list: _check_list,
    tuple: _check_list,
}
