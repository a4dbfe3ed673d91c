"""The values of formulas: numbers, text, booleans, null and lists of these."""

import json
from collections.abc import Mapping
from decimal import Decimal
from enum import IntFlag, StrEnum
from typing import Final

import msgspec

from penstock.formula.core.errors import Code, Fault
from penstock.formula.core.limits import MAX_STRING
from penstock.formula.core.numbers import number_text

Scalar = Decimal | str | bool | None
Value = Scalar | tuple[Scalar, ...]


class ValueType(StrEnum):
    """The declared type of a parameter or an output."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"


class Kind(IntFlag):
    """The kinds that a value may have, as far as they are known before evaluation."""

    NUMBER = 1
    TEXT = 2
    BOOLEAN = 4
    NULL = 8
    LIST = 16


SOMETHING: Final = Kind.NUMBER | Kind.TEXT | Kind.BOOLEAN
SCALAR: Final = SOMETHING | Kind.NULL
ANY: Final = SCALAR | Kind.LIST

_PYTHON_TYPES: Final[Mapping[Kind, type]] = {
    Kind.NUMBER: Decimal,
    Kind.TEXT: str,
    Kind.BOOLEAN: bool,
    Kind.NULL: type(None),
    Kind.LIST: tuple,
}
_KINDS: Final[Mapping[type, Kind]] = {python: kind for kind, python in _PYTHON_TYPES.items()}
_WORDS: Final[Mapping[Kind, str]] = {
    Kind.NUMBER: "a number",
    Kind.TEXT: "text",
    Kind.BOOLEAN: "true or false",
    Kind.NULL: "null",
    Kind.LIST: "a list",
}
_PARAMETER_KINDS: Final[Mapping[ValueType, Kind]] = {
    ValueType.STRING: Kind.TEXT,
    ValueType.NUMBER: Kind.NUMBER,
    ValueType.BOOLEAN: Kind.BOOLEAN,
    ValueType.TIMESTAMP: Kind.TEXT,
}


class Parameter(msgspec.Struct, frozen=True):
    """A declared input of a formula, written `:key`; one that is not required may be null."""

    key: str
    type: ValueType
    required: bool = True

    @property
    def kind(self) -> Kind:
        kind = _PARAMETER_KINDS[self.type]
        return kind if self.required else kind | Kind.NULL


def output_kind(output: ValueType) -> Kind:
    """Return the kinds of result allowed for a declared output; a timestamp is epoch ms."""
    if output is ValueType.TIMESTAMP:
        return Kind.NUMBER | Kind.NULL
    if output is ValueType.STRING:
        return Kind.TEXT | Kind.LIST | Kind.NULL
    return _PARAMETER_KINDS[output] | Kind.NULL


def kind_of(value: Value) -> Kind:
    """Return the single kind of a value."""
    return _KINDS[type(value)]


def python_types(kinds: Kind) -> frozenset[type]:
    """Return the exact Python types of the kinds."""
    return frozenset(python for kind, python in _PYTHON_TYPES.items() if kind in kinds)


def in_words(kinds: Kind) -> str:
    """Return the kinds in words: `a number`, `a number or null`, `text, a list or null`."""
    words = [word for kind, word in _WORDS.items() if kind in kinds]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def refuse(value: Value, wanted: Kind) -> None:
    """Raise the fault of a value that is not of the wanted kinds."""
    if value is None:
        raise Fault(Code.NULL_OPERAND, f"expected {in_words(wanted)}, found null")
    raise Fault(Code.WRONG_TYPE, f"expected {in_words(wanted)}, found {in_words(kind_of(value))}")


def text_of(value: Value) -> str:
    """Return a value as text: numbers plain, without trailing zeros; lists as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return number_text(value)
    if value is None:
        return "null"
    return bounded(f"[{','.join(_json_of(item) for item in value)}]")


def _json_of(item: Scalar) -> str:
    return json.dumps(item, ensure_ascii=False) if isinstance(item, str) else text_of(item)


def bounded(text: str) -> str:
    """Return the text; raises a Fault when it is longer than a text value may be."""
    if len(text) > MAX_STRING:
        message = f"a text of {len(text)} characters is longer than {MAX_STRING}"
        raise Fault(Code.STRING_TOO_LONG, message)
    return text
