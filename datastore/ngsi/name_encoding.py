"""Texts in names of DynamoDB tables: `x` and four hexadecimal digits for what a name cannot hold.

The rule is that of the NGSI DynamoDB sink. It gives different texts the same form in rare cases,
all of which need an `x` before a character that is encoded, or a `=`. The strict rule never does.
"""

import re
from enum import StrEnum
from typing import Final

from penstock.datastore.errors import BadInput

CONCATENATOR: Final = "xffff"

_ENCODED = re.compile(r"x(?=[0-9a-fA-F]{4})|[^A-Za-z0-9_.-]", re.DOTALL)
_STRICT = re.compile(r"x+(?=[^A-Za-z0-9_.-]|\Z)|x(?=[0-9a-fA-F]{4})|[^A-Za-z0-9_.-]", re.DOTALL)
_DECODED = re.compile(r"xx([0-9a-fA-F]{4})|((?:x[0-9a-f]{4})+)")
_UNIT_BYTES = 2


class Encoding(StrEnum):
    """Which rule encodes: the documented one, or the one from which every text can be read back."""

    CYGNUS = "cygnus"
    STRICT = "strict"


def encode(text: str, encoding: Encoding = Encoding.CYGNUS) -> str:
    """Encode a text, or one component of a name.

    Letters and digits of ASCII, `_`, `-` and `.` stay, `=` becomes `xffff`, an `x` before four
    hexadecimal digits is doubled, and every other UTF-16 unit becomes `x` and its four digits.
    Strictly, `=` is like every other, and an `x` is encoded, too, where it ends the component or
    stands before what is. Raises BadInput for U+FFFF in the strict rule.
    """
    if encoding is Encoding.CYGNUS:
        return _ENCODED.sub(_cygnus, text)
    if "\uffff" in text:
        raise BadInput("U+FFFF has no place in a name: it is what joins its components.")
    return _STRICT.sub(_strict, text)


def decode(text: str, encoding: Encoding = Encoding.CYGNUS) -> str:
    """Read what was encoded; with the documented rule the likeliest of the texts it may have been.

    Raises BadInput for what no text is encoded as.
    """
    found = _DECODED.sub(_read, text)
    if encoding is Encoding.CYGNUS:
        found = found.replace("\uffff", "=")
    if encode(found, encoding) != text:
        raise BadInput(f"No text is encoded as {text[:255]!r}.")
    return found


def components(name: str, encoding: Encoding) -> tuple[str, ...]:
    """Read the components that were joined to a name; raises BadInput likewise."""
    return tuple(decode(part, encoding) for part in _split(name))


def _split(name: str) -> list[str]:
    """Cut at each concatenator; behind an `x`, its digits are part of a text."""
    parts, start = [], 0
    for found in re.finditer(r"xx[0-9a-fA-F]{4}|xffff", name):
        if found[0] == CONCATENATOR:
            parts.append(name[start : found.start()])
            start = found.end()
    return [*parts, name[start:]]


def _cygnus(found: re.Match[str]) -> str:
    match found[0]:
        case "x":
            return "xx"
        case "=":
            return CONCATENATOR
        case character:
            return _escaped(character)


def _strict(found: re.Match[str]) -> str:
    text = found[0]
    if text[0] != "x":
        return _escaped(text)
    return "xx" if _doubled(found) else _escaped(text)


def _doubled(found: re.Match[str]) -> bool:
    return re.match(r"[0-9a-fA-F]{4}", found.string[found.end() :]) is not None


def _escaped(text: str) -> str:
    digits = text.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"x{digits[at : at + 4]}" for at in range(0, len(digits), 4))


def _read(found: re.Match[str]) -> str:
    if found[1] is not None:
        return "x" + found[1]
    units = bytes.fromhex(found[2].replace("x", ""))
    return units.decode("utf-16-be", "surrogatepass")
