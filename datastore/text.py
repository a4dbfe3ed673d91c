"""What a short text given by a user may look like."""

import unicodedata

from datastore.paths import comparison_form

_REFUSED = frozenset({"Cc", "Cs"})


def text_problem(text: str, maximum: int) -> str | None:
    """What is wrong with a one-line text of at most `maximum` characters; None if nothing is."""
    if not comparison_form(text):
        return "must not be empty"
    if len(text) > maximum:
        return f"is longer than {maximum} characters"
    return character_problem(text)


def prose_problem(text: str, maximum: int) -> str | None:
    """The same for a text that may be empty and have several lines."""
    if len(text) > maximum:
        return f"is longer than {maximum} characters"
    return character_problem(text.translate({ord(c): " " for c in "\n\r\t"}))


def character_problem(text: str) -> str | None:
    """Control characters, lone surrogates and noncharacters have no place in a text."""
    for character in text:
        if unicodedata.category(character) in _REFUSED or is_noncharacter(character):
            return f"holds the character U+{ord(character):04X}"
    return None


def is_noncharacter(character: str) -> bool:
    """Whether Unicode reserves the code point for ever (the last two of each plane are)."""
    code = ord(character)
    return code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
