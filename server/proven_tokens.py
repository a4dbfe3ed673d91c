"""Tokens whose signature held, so that it need not be computed for each request that sends them."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

from cachetools import LRUCache

from penstock.datastore.access import Caller

MAX_KEPT: Final = 10_000
MAX_KEPT_ROLES: Final = 50_000


class Proven(NamedTuple):
    """What a token proved from `since` until `until`, both in seconds since 1970.

    It proves that no longer than the issuer's keys are the very `keys` that verified it.
    """

    caller: Caller
    since: float
    until: float
    keys: object


class ProvenTokens:
    """Remembers tokens by their digests; the one sent least recently is forgotten first."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._kept = LRUCache[bytes, Proven](MAX_KEPT_ROLES, _weight)

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, digest: bytes) -> Proven | None:
        """What the token of a digest proves at this time; None where that is to be found out."""
        found = self._kept.get(digest)
        if found is None or not found.since <= int(self._now()) < found.until:
            return None
        return found

    def put(self, digest: bytes, proven: Proven) -> None:
        with suppress(ValueError):  # one of more roles than all may have is not kept
            self._kept[digest] = proven


def _weight(proven: Proven) -> int:
    """Count the roles of a token; few count as more, so that there are no more than MAX_KEPT."""
    return max(MAX_KEPT_ROLES // MAX_KEPT, len(proven.caller.roles))
