"""How much each caller may ask for, in the unit in which operations cost."""

import time
from collections.abc import Callable
from math import ceil
from typing import Final, NamedTuple

from datastore.errors import RateLimited
from schema.lru import Lru

MAX_CALLERS: Final = 10_000
"""How many callers are remembered; who asked least recently is forgotten first."""

_ROUNDING: Final = 1e-6


class _Bucket(NamedTuple):
    """What a caller had left, or below zero owed, at a time of the clock."""

    level: float
    at: float


class RateLimiter:
    """A bucket for each caller that holds `burst` and gains `per_second`; 0 limits nobody.

    What costs more than a bucket holds runs when it is full, and the next waits until the debt is
    paid: however large the operations, a caller gets no more than `per_second` over time. Counts
    for one process.
    """

    def __init__(
        self,
        per_second: float,
        burst: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        callers: int = MAX_CALLERS,
    ) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._buckets: Lru[str, _Bucket] = Lru(callers, callers)

    def spend(self, user_id: str, cost: int) -> None:
        """Take the cost of an operation, 1 at least; raises RateLimited, which takes nothing."""
        if self._per_second == 0:
            return
        cost, now = max(cost, 1), self._clock()
        level = self._level(user_id, now)
        missing = min(cost, self._burst) - level
        if missing > _ROUNDING:
            raise RateLimited(max(1, ceil((missing - _ROUNDING) / self._per_second)))
        self._buckets.put(user_id, _Bucket(level - cost, now), 1)

    def _level(self, user_id: str, now: float) -> float:
        bucket = self._buckets.get(user_id)
        if bucket is None:
            return self._burst
        return min(self._burst, bucket.level + (now - bucket.at) * self._per_second)
