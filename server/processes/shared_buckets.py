"""What each caller has left to ask for, in memory that all processes of a server see."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_UN, lockf
from hashlib import blake2b
from mmap import mmap
from typing import Final

from penstock.server.rate_limit import Bucket, Change

_SLOT: Final = struct.Struct("=Qdd")
"""Digest of the caller (0 where there is none), level, and when it had that."""
_SETS: Final = 2_048
_WAYS: Final = 8
_SET_BYTES: Final = _WAYS * _SLOT.size
SIZE: Final = _SETS * _SET_BYTES


class SharedBuckets:
    """Buckets of 16,384 callers; in each of the sets, who asked least recently is forgotten first.

    A set is locked while it is changed. The lock of a process that dies is gone with it.
    """

    def __init__(self, memory: mmap, file: int) -> None:
        self._memory = memory
        self._file = file

    def update(self, caller: str, change: Change) -> None:
        """Put what `change` makes of a caller's bucket in its place, unless it raises."""
        digest = _digest(caller)
        start = digest % _SETS * _SET_BYTES
        with self._locked(start):
            places = range(start, start + _SET_BYTES, _SLOT.size)
            slots = {place: _SLOT.unpack_from(self._memory, place) for place in places}
            known = [place for place, slot in slots.items() if slot[0] == digest]
            place = known[0] if known else min(slots, key=lambda at: slots[at][2])
            level, at = slots[place][1:]
            bucket = change(Bucket(level, at) if known else None)
            _SLOT.pack_into(self._memory, place, digest, bucket.level, bucket.at)

    @contextmanager
    def _locked(self, start: int) -> Iterator[None]:
        lockf(self._file, LOCK_EX, _SET_BYTES, start)
        try:
            yield
        finally:
            lockf(self._file, LOCK_UN, _SET_BYTES, start)


def _digest(caller: str) -> int:
    """Give a number above zero, which stands for no caller."""
    return int.from_bytes(blake2b(caller.encode(), digest_size=8).digest()) or 1
