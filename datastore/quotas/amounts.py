"""Amounts of what quotas limit."""

from collections.abc import Iterator
from typing import Final

import msgspec

from penstock.datastore.quota_kinds import QuotaKind


class Amounts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Amounts of what is kept: resources, their versions, files, and the bytes of files."""

    resources: int = 0
    versions: int = 0
    files: int = 0
    bytes: int = 0

    def __iter__(self) -> Iterator[tuple[QuotaKind, int]]:
        return ((kind, self.of(kind)) for kind in KEPT)

    def of(self, kind: QuotaKind) -> int:
        """The amount of one kind."""
        amount: int = getattr(self, kind.value)
        return amount

    def plus(self, other: "Amounts", times: int = 1) -> "Amounts":
        """The sum of these amounts and of `times` the others."""
        return Amounts(*(amount + times * other.of(kind) for kind, amount in self))


KEPT: Final = (QuotaKind.RESOURCES, QuotaKind.VERSIONS, QuotaKind.FILES, QuotaKind.BYTES)
"""The kinds that are counted in rows of their own."""

NOTHING: Final = Amounts()
UNLIMITED: Final = Amounts()
"""The maxima of a holder without quotas: a maximum of 0 limits nothing."""
