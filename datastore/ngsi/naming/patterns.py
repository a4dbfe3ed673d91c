"""Regular expressions of name mappings and grouping rules: full match, in linear time."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from penstock.formula.core.errors import Fault
from penstock.formula.functions.regex import Regex

MAX_PATTERN: Final = 500

_REFERENCE = re.compile(r"\$(\d)")


class PatternError(Exception):
    """A regular expression cannot be used; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern that must match a whole text, and can replace the text."""

    regex: Regex

    def matches(self, text: str) -> bool:
        """Whether the pattern matches the whole text."""
        return self.regex.captures(text) is not None

    def fill_replacement(self, text: str, replacement: str) -> str:
        """Fill the references (`$1`) of the replacement with the groups of a matching text."""
        if not _REFERENCE.search(replacement):
            return replacement
        found = self.regex.captures(text)
        if found is None:
            return replacement
        return _REFERENCE.sub(lambda each: found[int(each[1])] or "", replacement)

    def missing_reference(self, replacement: str) -> str | None:
        """The first reference of a replacement to a group that the pattern lacks, or None."""
        wanted = (each for each in _REFERENCE.finditer(replacement))
        return next((each[0] for each in wanted if int(each[1]) > self.regex.groups), None)


@lru_cache(maxsize=4096)
def compile_pattern(text: str) -> Pattern:
    """Compile a pattern; raises PatternError, also for a pattern that needs backtracking."""
    if len(text) > MAX_PATTERN:
        raise PatternError(f"is longer than {MAX_PATTERN} characters")
    try:
        return Pattern(Regex(text))
    except Fault as error:
        raise PatternError(f"is no pattern that can be used: {error}") from None
