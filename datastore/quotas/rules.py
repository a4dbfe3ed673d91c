"""The maxima of quotas: of every group, of some groups, and of users."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock.datastore.errors import BadArgument
from penstock.datastore.quota_kinds import QuotaKind
from penstock.datastore.quotas.amounts import KEPT, UNLIMITED, Amounts
from penstock.datastore.roles import ROOT, GroupPath, ancestors, parse_group_path

_MAXIMUM: Final = re.compile("[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class QuotaRules:
    """The maxima of a group with all below it, of a user, and of groups that have their own.

    The root has no quota unless it has its own. A maximum of 0 limits nothing.
    """

    per_group: Amounts = UNLIMITED
    per_user: Amounts = UNLIMITED
    own: Mapping[GroupPath, Amounts] = field(default_factory=dict)

    def maxima_of(self, group: GroupPath) -> Amounts:
        """The maxima of a group with all below it."""
        return self.own.get(group, UNLIMITED if group == ROOT else self.per_group)

    def deciding(self, group: GroupPath) -> Iterator[tuple[GroupPath, Amounts]]:
        """The groups from the root down to this one whose maxima can be the first to be reached.

        A group keeps no more than the groups above, so their maximum decides unless its own is
        smaller.
        """
        above: dict[QuotaKind, int] = {}
        for each in ancestors(group):
            smaller = {
                kind: most
                for kind, most in self.maxima_of(each)
                if most and most < above.get(kind, most + 1)
            }
            if smaller:
                above |= smaller
                yield each, Amounts(**{kind.value: most for kind, most in smaller.items()})

    @classmethod
    def parse(cls, of_groups: Mapping[QuotaKind, str], per_user: Amounts) -> "QuotaRules":
        """The rules of the maxima of each kind, such as `parse_maxima` reads; BadArgument."""
        found = {kind: parse_maxima(of_groups.get(kind, "0")) for kind in KEPT}
        places = {place for maxima in found.values() for place in maxima if place is not None}

        def of(place: GroupPath | None) -> Amounts:
            every = [0 if place == ROOT else maxima.get(None, 0) for maxima in found.values()]
            own = zip(found.values(), every, strict=True)
            return Amounts(*(maxima.get(place, general) for maxima, general in own))

        return cls(of(None), per_user, {place: of(place) for place in places})


def parse_maxima(text: str) -> dict[GroupPath | None, int]:
    """Parse `1000,/lab=50,/=0`: the maximum of every group but the root, and of some groups.

    Raises BadArgument.
    """
    found: dict[GroupPath | None, int] = {}
    for entry in text.split(","):
        group, _, maximum = entry.strip().rpartition("=")
        place = parse_group_path(group) if group else None
        if not _MAXIMUM.fullmatch(maximum):
            raise BadArgument(f"{entry.strip()!r} does not end in a whole number.")
        if place in found:
            raise BadArgument(f"{place or 'The maximum of every group'} is there twice.")
        found[place] = int(maximum)
    return found
