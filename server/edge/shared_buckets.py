"""The buckets of callers in memory that all processes of a server share."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_UN, lockf
from hashlib import blake2b
from mmap import mmap
from typing import Final

from penstock.server.core.siblings import RATES_BYTES, Siblings
from penstock.server.edge.rate_limit import BucketChange, RateBucket

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
