"""The values of formulas: numbers, text, booleans, null and lists of these."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from enum import IntFlag, StrEnum
from json.encoder import encode_basestring
from typing import Final

import msgspec

from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.core.limits import MAX_STRING
from penstock.formula.core.numbers import number_text

Scalar = Decimal | str | bool | None
Value = Scalar | tuple[Scalar, ...]


class FormulaType(StrEnum):
    """The declared type of a parameter or an output."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"


class ValueKind(IntFlag):
    """The kinds that a value may have, as far as they are known before evaluation."""

    NUMBER = 1
    TEXT = 2
    BOOLEAN = 4
    NULL = 8
    LIST = 16


SOMETHING: Final = ValueKind.NUMBER | ValueKind.TEXT | ValueKind.BOOLEAN
SCALAR: Final = SOMETHING | ValueKind.NULL
ANY: Final = SCALAR | ValueKind.LIST

_PYTHON_TYPES: Final[Mapping[ValueKind, type]] = {
    ValueKind.NUMBER: Decimal,
    ValueKind.TEXT: str,
    ValueKind.BOOLEAN: bool,
    ValueKind.NULL: type(None),
    ValueKind.LIST: tuple,
}
_KINDS: Final[Mapping[type, ValueKind]] = {python: kind for kind, python in _PYTHON_TYPES.items()}
_WORDS: Final[Mapping[ValueKind, str]] = {
    ValueKind.NUMBER: "a number",
    ValueKind.TEXT: "text",
    ValueKind.BOOLEAN: "true or false",
    ValueKind.NULL: "null",
    ValueKind.LIST: "a list",
}
_PARAMETER_KINDS: Final[Mapping[FormulaType, ValueKind]] = {
    FormulaType.STRING: ValueKind.TEXT,
    FormulaType.NUMBER: ValueKind.NUMBER,
    FormulaType.BOOLEAN: ValueKind.BOOLEAN,
    FormulaType.TIMESTAMP: ValueKind.TEXT,
}


class FormulaParameter(msgspec.Struct, frozen=True):
    """A declared input of a formula, written `:key`; one that is not required may be null."""

    key: str
    type: FormulaType
    required: bool = True

    @property
    def kind(self) -> ValueKind:
        kind = _PARAMETER_KINDS[self.type]
        return kind if self.required else kind | ValueKind.NULL


def output_kind(output: FormulaType) -> ValueKind:
    """Return the kinds of result allowed for a declared output; a timestamp is epoch ms."""
    if output is FormulaType.TIMESTAMP:
        return ValueKind.NUMBER | ValueKind.NULL
    if output is FormulaType.STRING:
        return ValueKind.TEXT | ValueKind.LIST | ValueKind.NULL
    return _PARAMETER_KINDS[output] | ValueKind.NULL


def kind_of(value: Value) -> ValueKind:
    """Return the single kind of a value."""
    return _KINDS[type(value)]


def python_types(kinds: ValueKind) -> frozenset[type]:
    """Return the exact Python types of the kinds."""
    return frozenset(python for kind, python in _PYTHON_TYPES.items() if kind in kinds)


def in_words(kinds: ValueKind) -> str:
    """Return the kinds in words: `a number`, `a number or null`, `text, a list or null`."""
    words = [word for kind, word in _WORDS.items() if kind in kinds]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def refuse(value: Value, wanted: ValueKind) -> None:
    """Raise the fault of a value that is not of the wanted kinds."""
    if value is None:
        raise Fault(FormulaCode.NULL_OPERAND, f"expected {in_words(wanted)}, found null")
    raise Fault(
        FormulaCode.WRONG_TYPE, f"expected {in_words(wanted)}, found {in_words(kind_of(value))}"
    )


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
    return f"[{join_texts(map(_json_of, value), ',', around=2)}]"


def _json_of(item: Scalar) -> str:
    return encode_basestring(item) if isinstance(item, str) else text_of(item)


def check_length(text: str) -> str:
    """Return the text; raises a Fault when it is longer than a text value may be."""
    if len(text) > MAX_STRING:
        require_length(len(text))
    return text


def join_texts(texts: Iterable[str], between: str = "", around: int = 0) -> str:
    """Join texts to a text value that gets `around` more characters; raises a Fault if too long.

    No text is taken beyond that, because numbers of a few characters have texts of thousands.
    """
    taken, length = [], around - len(between)
    for text in texts:
        length += len(text) + len(between)
        require_length(length)
        taken.append(text)
    return between.join(taken)


def require_length(characters: int) -> None:
    if characters > MAX_STRING:
        message = f"a text is longer than {MAX_STRING} characters"
        raise Fault(FormulaCode.STRING_TOO_LONG, message)
