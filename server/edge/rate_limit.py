"""Rate limits: a token bucket for each caller, in the unit of an operation's cost.

The buckets are in the memory of one process, or in memory that all processes of a server share.
"""

import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_UN, lockf
from hashlib import blake2b
from math import ceil
from mmap import mmap
from typing import Final, Protocol, TypeAlias

import msgspec
from cachetools import LRUCache

from penstock.datastore.errors import RateLimited
from penstock.server.core.siblings import RATES_BYTES, Siblings

MAX_CALLERS: Final = 10_000
"""The most callers in memory; the least recently active is dropped first."""

_ROUNDING: Final = 1e-6


class RateBucket(msgspec.Struct, frozen=True):
    """A caller's remaining cost at a time of the clock; below zero it is a debt."""

    level: float
    at: float


BucketChange: TypeAlias = Callable[[RateBucket | None], RateBucket]
"""Makes a new bucket from the old one; if it raises, the old one stays."""


class RateBuckets(Protocol):
    """A store of the callers' buckets."""

    def update(self, caller: str, change: BucketChange) -> None:
        """Replace a caller's bucket by the result of `change`."""


class LocalBuckets:
    """Buckets in the memory of this process."""

    def __init__(self, callers: int = MAX_CALLERS) -> None:
        self._known = LRUCache[str, RateBucket](callers)

    def update(self, caller: str, change: BucketChange) -> None:
        self._known[caller] = change(self._known.get(caller))


class RateLimiter:
    """A bucket for each caller that holds `burst` and gains `per_second`; 0 means no limit.

    An operation that costs more than a full bucket runs when the bucket is full, and the next one
    waits until the debt is paid. So a caller never gets more than `per_second` over time.
    """

    def __init__(
        self,
        per_second: float,
        burst: int,
        buckets: RateBuckets | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._buckets = LocalBuckets() if buckets is None else buckets

    def spend(self, user_id: str, cost: int) -> None:
        """Take the cost of an operation, at least 1; raises RateLimited, which takes nothing."""
        if self._per_second == 0:
            return
        per_second, burst = self._per_second, self._burst
        cost, now = max(cost, 1), self._clock()

        def change(bucket: RateBucket | None) -> RateBucket:
            level: float = burst
            if bucket is not None:
                level = min(level, bucket.level + (now - bucket.at) * per_second)
            missing = min(cost, burst) - level
            if missing > _ROUNDING:
                raise RateLimited(max(1, ceil((missing - _ROUNDING) / per_second)))
            return RateBucket(level - cost, now)

        self._buckets.update(user_id, change)


_SLOT: Final = struct.Struct("=Qdd")
"""Digest of the caller (0 for an empty slot), level, and the time of that level."""
_WAYS: Final = 8
_SET_BYTES: Final = _WAYS * _SLOT.size
_SETS: Final = RATES_BYTES // _SET_BYTES


class SharedBuckets:
    """Buckets of 16,384 callers in sets; each set drops its least recently active caller first.

    An update locks its set. The lock of a process ends when the process dies.
    """

    def __init__(self, memory: mmap, file: int) -> None:
        self._memory = memory
        self._file = file

    def update(self, caller: str, change: BucketChange) -> None:
        """Replace a caller's bucket by the result of `change`, unless it raises."""
        digest = _digest(caller)
        start = digest % _SETS * _SET_BYTES
        with self._lock_set(start):
            places = range(start, start + _SET_BYTES, _SLOT.size)
            slots = {place: _SLOT.unpack_from(self._memory, place) for place in places}
            known = [place for place, slot in slots.items() if slot[0] == digest]
            place = known[0] if known else min(slots, key=lambda at: slots[at][2])
            level, at = slots[place][1:]
            bucket = change(RateBucket(level, at) if known else None)
            _SLOT.pack_into(self._memory, place, digest, bucket.level, bucket.at)

    @contextmanager
    def _lock_set(self, start: int) -> Iterator[None]:
        lockf(self._file, LOCK_EX, _SET_BYTES, start)
        try:
            yield
        finally:
            lockf(self._file, LOCK_UN, _SET_BYTES, start)


def shared_buckets(siblings: Siblings) -> SharedBuckets:
    """Open the buckets that a process shares with its siblings."""
    return SharedBuckets(mmap(siblings.rates, RATES_BYTES), siblings.rates)


def _digest(caller: str) -> int:
    """Return a number above zero for the caller; zero stands for no caller."""
    return int.from_bytes(blake2b(caller.encode(), digest_size=8).digest()) or 1
