"""Which tag sets are wanted, and which postings suffice to find them all."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Wanted(NamedTuple):
    """A tag in comparison form; its value `a#b` stands for itself and for everything below it."""

    key: str
    value: str

    def within(self, other: "Wanted") -> bool:
        """Whether every tag set that has this one has the other as well."""
        return other.matches({self.key: self.value})

    def matches(self, tags: Mapping[str, str]) -> bool:
        held = tags.get(self.key)
        return held is not None and (held == self.value or held.startswith(self.value + "#"))


@dataclass(frozen=True, slots=True)
class Filter:
    """Tag sets with all of `all`, at least one of `any` (if there are some) and none of `none`."""

    all: tuple[Wanted, ...] = ()
    any: tuple[Wanted, ...] = ()
    none: tuple[Wanted, ...] = ()

    def matches(self, tags: Mapping[str, str]) -> bool:
        for wanted in self.all:
            if not wanted.matches(tags):
                return False
        for unwanted in self.none:
            if unwanted.matches(tags):
                return False
        return not self.any or any(wanted.matches(tags) for wanted in self.any)

    def drivers(self) -> tuple[tuple[Wanted, ...], ...]:
        """Alternatives, one of which every match satisfies by having all of its tags.

        The postings of any single tag of an alternative hold all matches of that alternative. One
        without tags is satisfied by every member; without alternatives nothing can match.
        """
        needed = self.all if len(self.any) > 1 else self.all + self.any
        if needed:
            narrowest = tuple(one for one in dict.fromkeys(needed) if not _widens(one, needed))
            # A tag set has one value for a key, and no two of these lie on one line.
            possible = len({one.key for one in narrowest}) == len(narrowest)
            return (narrowest,) if possible else ()
        if self.any:
            return tuple((one,) for one in dict.fromkeys(self.any) if not _narrows(one, self.any))
        return ((),)


def _widens(one: Wanted, others: tuple[Wanted, ...]) -> bool:
    return any(other != one and other.within(one) for other in others)


def _narrows(one: Wanted, others: tuple[Wanted, ...]) -> bool:
    return any(other != one and one.within(other) for other in others)
