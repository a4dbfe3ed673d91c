"""Words of names in the form in which a search compares them, and filters by parts of names."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from unicodedata import category, combining, normalize

from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.text import line_problem

MAX_WORDS: Final = 8
"""The most words by which a name is found."""

WORD_CHARACTERS: Final = 64
MAX_FILTER: Final = 128
CARRIED_CHARACTERS: Final = 400
"""The longest form of a name that rows carry. Beyond it the record decides."""

LONG_NAME: Final = 100
"""The characters of a name whose comparison takes as long as that of one more row."""

_PLAIN_WORD: Final = re.compile("[a-z0-9]+")


def search_form(text: str) -> str:
    """Bring a text to NFKD without accents, casefolded, with single spaces and none at its ends.

    Texts are brought to it character by character: the form of a beginning of a word begins the
    form of the word.
    """
    if text.isascii():
        return " ".join(text.lower().split())
    previous = None
    while previous != text:
        previous = text
        parts = normalize("NFKD", normalize("NFKD", text).casefold())
        text = "".join(one for one in parts if not combining(one))
    return " ".join(text.split())


def name_words(form: str) -> tuple[str, ...]:
    """The words of a search form: the first different ones, at most MAX_WORDS.

    A word is a run of letters and digits, of which the first WORD_CHARACTERS count.
    """
    if form.isascii():
        found = _PLAIN_WORD.findall(form)
    else:
        found = "".join(one if category(one)[0] in "LNM" else " " for one in form).split()
    distinct = dict.fromkeys(found)
    return tuple(dict.fromkeys(word[:WORD_CHARACTERS] for word in distinct))[:MAX_WORDS]


def compared_rows(name: str) -> int:
    """The rows that the comparison of one name counts as, by its length."""
    return 1 + len(name) // LONG_NAME


def carried_form(form: str) -> str | None:
    """The form as rows carry it; None where it is too long."""
    return form if len(form) <= CARRIED_CHARACTERS else None


@dataclass(frozen=True)
class NameTerm:
    """A part of a name in search form: its beginning, or beginnings of words of it.

    `words` begin words of each name that matches.
    """

    beginning: str
    words: tuple[str, ...]

    def matches(self, form: str, found_by: Callable[[], Sequence[str]] | None = None) -> bool:
        """Whether a name in search form has this part.

        `found_by` tells the words by which rows find the name, where they are not its first ones.
        """
        # Most names of a list are ruled out here, without their words.
        if not form.startswith(self.beginning) or not all(each in form for each in self.words):
            return False
        held = name_words(form) if found_by is None else found_by()
        return all(any(word.startswith(each) for word in held) for each in self.words)

    @cached_property
    def longest_first(self) -> tuple[str, ...]:
        """The words, those first that few names are likely to have."""
        return tuple(sorted(self.words, key=len, reverse=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class NameFilter:
    """A filter by a part of the name, as users write it; exactly one of both is given.

    `starts_with` is the beginning of the whole name. Each word of `contains` begins a word of the
    name, in any order.
    """

    starts_with: str | None = None
    contains: str | None = None

    def term(self, argument: str = "name") -> NameTerm:
        """The filter in search form; raises Invalid for a text that can find nothing.

        `argument` is the name of the argument with the filter.
        """
        if (self.starts_with is None) is (self.contains is None):
            message = "give either `startsWith` or `contains`"
            raise Invalid([FieldProblem([argument], message)])
        field, text = "startsWith", self.starts_with
        if text is None:
            field, text = "contains", self.contains or ""
        problem = line_problem(text, MAX_FILTER)
        form = "" if problem else search_form(text)
        words = name_words(form)
        if not problem and not (form if field == "startsWith" else words):
            problem = "has no letter and no digit"
        if problem:
            raise Invalid([FieldProblem([argument, field], problem)])
        return NameTerm(form if field == "startsWith" else "", words)
