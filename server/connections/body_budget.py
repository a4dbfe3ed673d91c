"""The memory for the bodies of requests that are under way, of which one party has a share."""

from typing import Final

import msgspec

DEFAULT_BYTES: Final = 64 * 2**20
"""The most bytes of all bodies under way in one process, unless a setting says otherwise."""

_SHARES: Final = 2


class Party(msgspec.Struct, frozen=True):
    """The client of a connection: a caller, or the site of an address while none is known."""

    caller: str | None = None
    site: str = ""


class PartyBytesExceeded(Exception):
    """One party has as many bytes of bodies under way as its share allows."""


class TotalBytesExceeded(Exception):
    """All parties together have as many bytes of bodies under way as the process may hold."""


class BodyBudget:
    """At most `most` bytes of bodies under way, and half of them for one party.

    It holds at least two of the largest bodies, so that one party can always send one.
    """

    def __init__(self, most: int = DEFAULT_BYTES, largest: int = 0) -> None:
        self.most = max(most, _SHARES * largest)
        self.total = 0
        self._held: dict[Party, int] = {}

    def largest_party(self) -> Party:
        """Return the party with the most bytes under way, of which there are some."""
        return max(self._held, key=self._held.__getitem__)

    def take(self, party: Party, size: int) -> None:
        """Count bytes of a party; raises PartyBytesExceeded or TotalBytesExceeded."""
        held = self._held.get(party, 0) + size
        if held > self.most // _SHARES:
            raise PartyBytesExceeded
        if self.total + size > self.most:
            raise TotalBytesExceeded
        self.total += size
        self._held[party] = held

    def give_back(self, party: Party, size: int) -> None:
        """Count bytes of a party no longer."""
        self.total -= size
        left = self._held[party] - size
        if left:
            self._held[party] = left
        else:
            del self._held[party]
