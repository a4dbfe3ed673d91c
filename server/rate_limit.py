"""How much each caller may ask for, in the unit in which operations cost."""

import time
from collections.abc import Callable
from math import ceil
from typing import Final, Protocol, TypeAlias

import msgspec
from cachetools import LRUCache

from penstock.datastore.errors import RateLimited

MAX_CALLERS: Final = 10_000
"""How many callers are remembered; who asked least recently is forgotten first."""

_ROUNDING: Final = 1e-6


class Bucket(msgspec.Struct, frozen=True):
    """What a caller had left, or below zero owed, at a time of the clock."""

    level: float
    at: float


Change: TypeAlias = Callable[[Bucket | None], Bucket]
"""Makes a new bucket of the one there was; what it raises leaves that as it was."""


class Buckets(Protocol):
    """The buckets of callers, wherever they are kept."""

    def update(self, caller: str, change: Change) -> None:
        """Put what `change` makes of a caller's bucket in its place."""


class OwnBuckets:
    """Buckets in the memory of this process."""

    def __init__(self, callers: int = MAX_CALLERS) -> None:
        self._known = LRUCache[str, Bucket](callers)

    def update(self, caller: str, change: Change) -> None:
        self._known[caller] = change(self._known.get(caller))


class RateLimiter:
    """A bucket for each caller that holds `burst` and gains `per_second`; 0 limits nobody.

    What costs more than a bucket holds runs when it is full, and the next waits until the debt is
    paid: however large the operations, a caller gets no more than `per_second` over time.
    """

    def __init__(
        self,
        per_second: float,
        burst: int,
        buckets: Buckets | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._buckets = OwnBuckets() if buckets is None else buckets

    def spend(self, user_id: str, cost: int) -> None:
        """Take the cost of an operation, 1 at least; raises RateLimited, which takes nothing."""
        if self._per_second == 0:
            return
        per_second, burst = self._per_second, self._burst
        cost, now = max(cost, 1), self._clock()

        def change(bucket: Bucket | None) -> Bucket:
            level: float = burst
            if bucket is not None:
                level = min(level, bucket.level + (now - bucket.at) * per_second)
            missing = min(cost, burst) - level
            if missing > _ROUNDING:
                raise RateLimited(max(1, ceil((missing - _ROUNDING) / per_second)))
            return Bucket(level - cost, now)

        self._buckets.update(user_id, change)
