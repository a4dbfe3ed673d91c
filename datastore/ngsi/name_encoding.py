"""Texts in names of DynamoDB tables: other characters become `x` and four hexadecimal digits.

The rule is that of the NGSI DynamoDB sink. In rare cases it gives different texts the same form;
each needs an `x` before an encoded character, or a `=`. The strict rule never does that.
"""

import re
from enum import StrEnum
from typing import Final

from penstock.datastore.errors import BadArgument

CONCATENATOR: Final = "xffff"

_ENCODED = re.compile(r"x(?=[0-9a-fA-F]{4})|[^A-Za-z0-9_.-]", re.DOTALL)
# A run of `x` is looked at once, from its first one, however long it is.
_STRICT = re.compile(
    r"(?<!x)x++(?=[^A-Za-z0-9_.-]|\Z)|x(?=[0-9a-fA-F]{4})|[^A-Za-z0-9_.-]", re.DOTALL
)
_DECODED = re.compile(r"xx([0-9a-fA-F]{4})|((?:x[0-9a-f]{4})+)")
_HALF_PAIR = re.compile("[\ud800-\udfff]")


class Encoding(StrEnum):
    """The rule of encoding: the documented one, or the strict one, which is always reversible."""

    CYGNUS = "cygnus"
    STRICT = "strict"


def encode(text: str, encoding: Encoding = Encoding.CYGNUS) -> str:
    """Encode a text, or one component of a name.

    ASCII letters and digits, `_`, `-` and `.` stay, `=` becomes `xffff`, an `x` before four
    hexadecimal digits is doubled, and every other UTF-16 unit becomes `x` and its four digits.
    The strict rule encodes `=` like every other character, and encodes an `x` also at the end
    of a component or before an encoded character. It raises BadArgument for U+FFFF.
    """
    if encoding is Encoding.CYGNUS:
        return _ENCODED.sub(_replace_cygnus, text)
    if "\uffff" in text:
        raise BadArgument("U+FFFF has no place in a name: it is what joins its components.")
    return _STRICT.sub(_replace_strict, text)


def decode(text: str, encoding: Encoding = Encoding.CYGNUS) -> str:
    """Decode a text; the documented rule gives the most likely of the possible texts.

    Raises BadArgument if no text has this encoding, which also holds for half a surrogate pair.
    """
    found = _DECODED.sub(_decode_match, text)
    if encoding is Encoding.CYGNUS:
        found = found.replace("\uffff", "=")
    if _HALF_PAIR.search(found) or encode(found, encoding) != text:
        raise BadArgument(f"No text is encoded as {text[:255]!r}.")
    return found


def decode_components(name: str, encoding: Encoding) -> tuple[str, ...]:
    """Decode the joined components of a name; raises BadArgument if one cannot be decoded."""
    return tuple(decode(part, encoding) for part in _split_components(name))


def _split_components(name: str) -> list[str]:
    """Cut a name at each concatenator; after another `x`, the digits belong to a text."""
    parts, start = [], 0
    for found in re.finditer(r"xx[0-9a-fA-F]{4}|xffff", name):
        if found[0] == CONCATENATOR:
            parts.append(name[start : found.start()])
            start = found.end()
    return [*parts, name[start:]]


def _replace_cygnus(found: re.Match[str]) -> str:
    match found[0]:
        case "x":
            return "xx"
        case "=":
            return CONCATENATOR
        case character:
            return _escape_units(character)


def _replace_strict(found: re.Match[str]) -> str:
    text = found[0]
    if text[0] != "x":
        return _escape_units(text)
    return "xx" if _needs_doubling(found) else _escape_units(text)


def _needs_doubling(found: re.Match[str]) -> bool:
    return re.match(r"[0-9a-fA-F]{4}", found.string[found.end() :]) is not None


def _escape_units(text: str) -> str:
    digits = text.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"x{digits[at : at + 4]}" for at in range(0, len(digits), 4))


def _decode_match(found: re.Match[str]) -> str:
    if found[1] is not None:
        return "x" + found[1]
    units = bytes.fromhex(found[2].replace("x", ""))
    return units.decode("utf-16-be", "surrogatepass")
