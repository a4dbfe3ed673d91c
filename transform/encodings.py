"""The encoding of a file, which its first letter beyond ASCII tells: UTF-8 or else Windows-1252.

A text of Windows-1252 has single letters beyond ASCII between those of ASCII, which are never valid
UTF-8. The rest of a file follows its first letter, so that a damaged row of UTF-8 is still refused.
"""

import re
from typing import Final

UTF8: Final = "utf-8"
WINDOWS: Final = "cp1252"
NAMES: Final = {UTF8: "UTF-8", WINDOWS: "Windows-1252"}
LETTER_BYTES: Final = 4
"""The most bytes of a letter in UTF-8."""

_find_wide: Final = re.compile(rb"[\x80-\xff]").search


def first_letter(data: bytes) -> bytes:
    """Return the first byte that is not ASCII with up to 3 more; empty if all are ASCII."""
    if data.isascii():
        return b""
    found = _find_wide(data)
    return data[found.start() : found.start() + LETTER_BYTES] if found else b""


def encoding_of(letter: bytes) -> str:
    """Return the encoding of a file by its first letter, as `first_letter` gives it; or empty."""
    if not letter:
        return ""
    for end in range(2, LETTER_BYTES + 1):
        try:
            letter[:end].decode(UTF8)
        except UnicodeDecodeError:
            continue
        return UTF8
    return WINDOWS
