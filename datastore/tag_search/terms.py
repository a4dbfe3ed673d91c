"""Filters of tag sets, as terms in comparison form, and the lists that hold every match."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class TagTerm(NamedTuple):
    """A tag in comparison form; its value `a#b` also matches every value below it."""

    key: str
    value: str

    def implies(self, other: "TagTerm") -> bool:
        """Whether every tag set that matches this term matches the other as well."""
        return other.matches({self.key: self.value})

    def matches(self, tags: Mapping[str, str]) -> bool:
        value = tags.get(self.key)
        return value is not None and (value == self.value or value.startswith(self.value + "#"))


@dataclass(frozen=True, slots=True)
class TermFilter:
    """A filter of tag sets: all of `all`, at least one of `any` (if not empty), none of `none`."""

    all: tuple[TagTerm, ...] = ()
    any: tuple[TagTerm, ...] = ()
    none: tuple[TagTerm, ...] = ()

    @property
    def restricts(self) -> bool:
        """Whether some tag set does not match."""
        return bool(self.all or self.any or self.none)

    @property
    def is_proved_by_posting(self) -> bool:
        """Whether a posting of a scanned tag matches, whatever other tags its resource has."""
        return not self.none and (not self.all or len({*self.all, *self.any}) == 1)

    def matches(self, tags: Mapping[str, str]) -> bool:
        for term in self.all:
            if not term.matches(tags):
                return False
        for term in self.none:
            if term.matches(tags):
                return False
        return not self.any or any(term.matches(tags) for term in self.any)

    def scan_alternatives(self) -> tuple[tuple[TagTerm, ...], ...]:
        """The lists to scan, as alternatives of tags: every match has all tags of one of them.

        The postings of any single tag of an alternative include all matches of that alternative. An
        alternative without tags matches every member; without alternatives nothing can match.
        """
        needed = self.all if len(self.any) > 1 else self.all + self.any
        if needed:
            narrowest = tuple(one for one in dict.fromkeys(needed) if not _is_implied(one, needed))
            # A tag set has one value for a key, and no value here is a level of another one.
            possible = len({one.key for one in narrowest}) == len(narrowest)
            return (narrowest,) if possible else ()
        if self.any:
            return tuple(
                (one,) for one in dict.fromkeys(self.any) if not _implies_another(one, self.any)
            )
        return ((),)


def _is_implied(one: TagTerm, others: tuple[TagTerm, ...]) -> bool:
    return any(other != one and other.implies(one) for other in others)


def _implies_another(one: TagTerm, others: tuple[TagTerm, ...]) -> bool:
    return any(other != one and one.implies(other) for other in others)
