"""The scalars of the schema and their parsers, for `StrawberryConfig(scalar_map=SCALARS)`."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final, NewType

import orjson
import strawberry
from graphql import (
    BooleanValueNode,
    FloatValueNode,
    GraphQLError,
    IntValueNode,
    NullValueNode,
    ObjectValueNode,
    StringValueNode,
    ValueNode,
    VariableNode,
)
from strawberry.types.scalar import ScalarDefinition

from penstock.datastore import roles
from penstock.datastore.errors import BadArgument
from penstock.datastore.roles import GroupPath
from penstock.schema.core.json_scalar import (
    check_json_output,
    parse_exact_number,
    read_json_literal,
    read_json_value,
)

MAX_NUMBER: Final = 1_200
"""The maximum length of a number literal; formulas accept 1,000 digits."""

MAX_INT: Final = 2**31 - 1
"""The largest number of the type Int."""


def bound_int(number: int) -> int:
    """Return a number, or the largest of the type Int in the place of a larger one."""
    return min(number, MAX_INT)


def read_row(value: object) -> dict[str, object]:
    """Read the value of a variable; a float is not converted, and the formula checks it."""
    if not isinstance(value, dict):
        raise _row_error()
    if not all(isinstance(key, str) and _is_flat(entry) for key, entry in value.items()):
        raise _row_error()
    return dict(value)


def read_row_literal(node: ValueNode, variables: dict[str, Any] | None = None) -> dict[str, object]:
    """Read a literal of a document; a variable without a value leaves its entry out."""
    if not isinstance(node, ObjectValueNode):
        raise _row_error(node)
    given = variables or {}
    return {
        field.name.value: _read_entry(field.value, given)
        for field in node.fields
        if not isinstance(field.value, VariableNode) or field.value.name.value in given
    }


def _read_entry(node: ValueNode, variables: dict[str, Any]) -> object:
    match node:
        case VariableNode():
            value = variables[node.name.value]
            if _is_flat(value):
                return value
        case NullValueNode():
            return None
        case BooleanValueNode() | StringValueNode():
            return node.value
        case IntValueNode() | FloatValueNode() if len(node.value) <= MAX_NUMBER:
            return Decimal(node.value)
    raise _row_error(node)


def _is_flat(value: object) -> bool:
    return value is None or isinstance(value, bool | str | int | float | Decimal)


def _row_error(node: ValueNode | None = None) -> GraphQLError:
    return GraphQLError("A Row is an object of texts, numbers, booleans and null.", node)


DateTime = NewType("DateTime", str)
"""A stored instant: ISO 8601 in UTC with milliseconds, `2022-08-10T23:55:20.322Z`."""

JSON = NewType("JSON", object)
"""Any JSON value; numbers are int or Decimal."""

Row = NewType("Row", dict[str, object])
"""The inputs of a formula by their keys: texts, numbers, booleans and null."""

Long = NewType("Long", int)
"""A whole number of 64 bits."""

_INSTANT: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_WHOLE: Final = re.compile(r"-?(?:0|[1-9]\d{0,18})", re.ASCII)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,4})?", re.ASCII)
_INT64: Final = range(-(2**63), 2**63)


def parse_instant(value: object) -> DateTime:
    """Convert an RFC 3339 instant to UTC with milliseconds; further digits are cut off."""
    found = _INSTANT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise _instant_error()
    day, clock, fraction, offset = found.groups()
    offset = "+00:00" if offset in "Zz" else offset
    try:
        local = datetime.fromisoformat(f"{day}T{clock}.{(fraction or '')[:3]:0<3}{offset}")
        utc = local.astimezone(UTC)
    except (ValueError, OverflowError):
        raise _instant_error() from None
    return DateTime(utc.isoformat(timespec="milliseconds").replace("+00:00", "Z"))


def _instant_error() -> GraphQLError:
    return GraphQLError(
        "A DateTime is RFC 3339 text with an offset, such as 2022-08-10T23:55:20.322Z."
    )


def _parse_group_path(value: object) -> GroupPath:
    if not isinstance(value, str):
        raise GraphQLError("A GroupPath is a text such as /usa/northwest.")
    try:
        return roles.parse_group_path(value)
    except BadArgument as error:
        raise GraphQLError(error.message) from None


def _parse_long(value: object) -> Long:
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        value = int(value)
    if type(value) is not int or value not in _INT64:
        raise GraphQLError("A Long is a whole number of 64 bits.")
    return Long(value)


def _parse_decimal(value: object) -> Decimal:
    if type(value) is int:
        value = str(value) if abs(value) < 10**40 else None
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        raise GraphQLError('A Decimal is an exact number in a text, such as "12.50".')
    return parse_exact_number(value)


def _check_text(value: object) -> str:
    if type(value) is not str:
        raise TypeError(f"a text was expected, not {type(value).__name__}")
    return value


def _check_long(value: object) -> int:
    if type(value) is Decimal and value == value.to_integral_value():
        value = int(value)
    if type(value) is not int or value not in _INT64:
        raise TypeError(f"a 64-bit integer was expected, not {type(value).__name__}")
    return value


def _write_decimal(value: object) -> str:
    if type(value) is int:
        return str(value)
    if type(value) is not Decimal or not value.is_finite():
        raise TypeError(f"a finite Decimal was expected, not {type(value).__name__}")
    return str(value)


def _literal_parser(
    parse: Callable[[object], object], *kinds: type[StringValueNode | IntValueNode | FloatValueNode]
) -> Callable[[ValueNode, dict[str, Any] | None], object]:
    """Make a parser of literals that accepts the text of the given kinds of literal only."""

    def parse_literal(node: ValueNode, _variables: dict[str, Any] | None = None) -> object:
        try:
            return parse(node.value if isinstance(node, kinds) else None)
        except GraphQLError as error:
            raise GraphQLError(error.message, node) from None

    return parse_literal


SCALARS: Final[Mapping[object, ScalarDefinition]] = {
    DateTime: strawberry.scalar(
        name="DateTime",
        description=(
            "A point in time. Input is RFC 3339 text with an offset; digits below a "
            "millisecond are cut off. Output is in UTC with milliseconds, such as "
            "`2022-08-10T23:55:20.322Z`."
        ),
        specified_by_url="https://www.rfc-editor.org/rfc/rfc3339",
        serialize=_check_text,
        parse_value=parse_instant,
        parse_literal=_literal_parser(parse_instant, StringValueNode),
    ),
    GroupPath: strawberry.scalar(
        name="GroupPath",
        description=(
            "The path of a group from the root down, such as `/usa/northwest`. The path of "
            "the root is `/`."
        ),
        serialize=_check_text,
        parse_value=_parse_group_path,
        parse_literal=_literal_parser(_parse_group_path, StringValueNode),
    ),
    JSON: strawberry.scalar(
        name="JSON",
        description=(
            "Any JSON value of at most 32 levels and 10,000 values, with numbers of at most "
            "38 digits. Numbers in the document stay exact; numbers in variables are read "
            "as IEEE 754 doubles."
        ),
        specified_by_url="https://www.rfc-editor.org/rfc/rfc8259",
        serialize=check_json_output,
        parse_value=read_json_value,
        parse_literal=read_json_literal,
    ),
    Row: strawberry.scalar(
        name="Row",
        description=(
            "The inputs of a formula by the keys of its parameters: texts, numbers, "
            "booleans and null. Send numbers of more than 15 digits as texts, because most "
            "JSON libraries round them."
        ),
        parse_value=read_row,
        parse_literal=read_row_literal,
    ),
    Long: strawberry.scalar(
        name="Long",
        description=(
            "A whole number of 64 bits. Input can also be a text, for clients whose numbers "
            "have fewer bits."
        ),
        serialize=_check_long,
        parse_value=_parse_long,
        parse_literal=_literal_parser(_parse_long, IntValueNode, StringValueNode),
    ),
    Decimal: strawberry.scalar(
        name="Decimal",
        description='An exact decimal number of at most 38 digits, written as text: `"12.50"`.',
        serialize=_write_decimal,
        parse_value=_parse_decimal,
        parse_literal=_literal_parser(
            _parse_decimal, StringValueNode, IntValueNode, FloatValueNode
        ),
    ),
}


def encode_json(value: object) -> bytes:
    """Encode JSON in UTF-8; a Decimal keeps every digit.

    Raises TypeError for a value without a JSON form.
    """
    return orjson.dumps(value, default=_encode_decimal)


def _encode_decimal(value: object) -> orjson.Fragment:
    if type(value) is Decimal and value.is_finite():
        return orjson.Fragment(str(value))
    raise TypeError(f"JSON has no form for {type(value).__name__}.")
