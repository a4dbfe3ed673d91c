"""Regular expressions of name mappings and grouping rules: a whole text, in linear time."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from formula.errors import Fault
from formula.regex import matches
from formula.regex_syntax import program
from formula.work import Work

MAX_PATTERN: Final = 500

_REFERENCE = re.compile(r"\$(\d)")


class BadPattern(Exception):
    """A regular expression cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that the whole of a text must match, and what it is then replaced by.

    `anchored` is matched without backtracking; `captures` only runs over what matches, to find
    what `$1` to `$9` in the replacement stand for.
    """

    anchored: str
    captures: re.Pattern[str]

    def matches(self, text: str) -> bool:
        """Whether the whole text matches; one that asks for too much work does not."""
        try:
            return next(matches(self.anchored, text, Work()), None) is not None
        except Fault:
            return False

    def replaced(self, text: str, replacement: str) -> str:
        """The replacement for a text that matches, references filled in."""
        if not _REFERENCE.search(replacement):
            return replacement
        found = self.captures.fullmatch(text)
        if found is None:
            return replacement
        return _REFERENCE.sub(lambda each: found[int(each[1])] or "", replacement)

    def lacks(self, replacement: str) -> str | None:
        """The first reference in a replacement to a group that the pattern does not have."""
        wanted = (each for each in _REFERENCE.finditer(replacement))
        return next((each[0] for each in wanted if int(each[1]) > self.captures.groups), None)


@lru_cache(maxsize=4096)
def pattern_of(text: str) -> Pattern:
    """Read a pattern; raises BadPattern, also for what needs backtracking."""
    if len(text) > MAX_PATTERN:
        raise BadPattern(f"is longer than {MAX_PATTERN} characters")
    anchored = f"^(?:{text})$"
    try:
        program(text)
        program(anchored)
        return Pattern(anchored, re.compile(text, re.ASCII))
    except (Fault, re.error) as error:
        raise BadPattern(f"is no pattern that can be used: {error}") from None
