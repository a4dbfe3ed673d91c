"""The limits of each caller: a rate, in the unit of an operation's cost, turns and connections.

The rate is a token bucket for each caller, in the memory of one process, or in memory that all
processes of a server share. Turns belong to one process.
"""

import struct
import time
from asyncio import CancelledError, Future, get_running_loop
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_UN, lockf
from hashlib import blake2b
from math import ceil
from mmap import mmap
from typing import Final, NamedTuple, Protocol, TypeAlias

import msgspec
from cachetools import LRUCache

from penstock.datastore.errors import RateLimited
from penstock.datastore.roles import Caller
from penstock.server.auth.tokens import Authentication, Authenticator
from penstock.server.connections.request_watcher import current_connection
from penstock.server.core.siblings import RATES_BYTES, Siblings

MAX_CALLERS: Final = 10_000
"""The most callers in memory; the least recently active is dropped first."""

_ROUNDING: Final = 1e-6
_PLACE_SECONDS: Final = 1


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
        cost = max(cost, 1)
        self._take(user_id, cost, min(cost, self._burst))

    def spend_more(self, user_id: str, cost: int) -> None:
        """Take the cost of more work of an operation that runs, on credit if need be.

        Raises RateLimited, which takes nothing, if the caller is in debt already.
        """
        if self._per_second != 0:
            self._take(user_id, cost, 0)

    def owe(self, user_id: str, cost: int) -> None:
        """Take the cost of work that has begun, on credit if need be."""
        if self._per_second != 0:
            self._take(user_id, cost, None)

    def _take(self, user_id: str, cost: int, least: int | None) -> None:
        """Take the cost if the caller has at least this much; None if that does not matter."""
        per_second, burst, now = self._per_second, self._burst, self._clock()

        def change(bucket: RateBucket | None) -> RateBucket:
            level: float = burst
            if bucket is not None:
                level = min(level, bucket.level + (now - bucket.at) * per_second)
            missing = 0 if least is None else least - level
            if missing > _ROUNDING:
                raise RateLimited(max(1, ceil((missing - _ROUNDING) / per_second)))
            return RateBucket(level - cost, now)

        self._buckets.update(user_id, change)


RESTED_UNITS: Final = 25
"""Units of work, about a millisecond, for which a caller lets a turn of the event loop go by."""

MOST_RESTED: Final = 500
"""The most turns of the event loop that a caller lets go by, whatever was done."""


class _Lane:
    """The turns of one caller: the number taken, and the operations that wait for one.

    `rest` is the number of turns of the event loop in which none of them begins.
    """

    __slots__ = ("rest", "taken", "waiting")

    def __init__(self) -> None:
        self.taken = 0
        self.waiting: OrderedDict[Future[None], None] = OrderedDict()
        self.rest = 0


class FairTurns:
    """Lets each caller have `most` turns at once; more operations wait, in their order.

    A turn comes free in the next turn of the event loop, and of those who wait for one, each caller
    begins one operation in each turn of the loop, and none for some turns after dear work. So
    callers take turns, however many operations one of them has waiting, whether or not these ever
    suspend, and however long each of them holds the loop.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lanes: dict[str, _Lane] = {}
        self._left: list[str] = []

    def __len__(self) -> int:
        """Return the number of callers who have turns or wait for one."""
        return len(self._lanes)

    async def enter(self, caller: str) -> None:
        """Wait for a turn of the caller, and take it; `leave` must follow."""
        lane = self._lanes.get(caller)
        if lane is None:
            lane = self._lanes[caller] = _Lane()
        if lane.taken < self._most and not lane.waiting and not lane.rest:
            lane.taken += 1
            return
        place: Future[None] = get_running_loop().create_future()
        lane.waiting[place] = None
        try:
            await place
        except CancelledError:
            if place.cancelled():
                lane.waiting.pop(place, None)
            else:
                self.leave(caller)
            raise

    def rest(self, caller: str, units: int) -> None:
        """Let a caller begin nothing for as many turns of the loop as this work is worth."""
        turns = units // RESTED_UNITS
        if turns:
            self._begin_rest(caller, self._lanes.setdefault(caller, _Lane()), turns)

    def leave(self, caller: str) -> None:
        """Give a turn back."""
        self._left.append(caller)
        if len(self._left) == 1:
            get_running_loop().call_soon(self._free_turns)

    def _free_turns(self) -> None:
        left, self._left = self._left, []
        for caller in left:
            self._free_turn(caller)

    def _free_turn(self, caller: str) -> None:
        lane = self._lanes[caller]
        lane.taken -= 1
        if not lane.rest:
            self._begin_next(caller, lane)

    def _begin_rest(self, caller: str, lane: _Lane, turns: int) -> None:
        if not lane.rest:
            get_running_loop().call_soon(self._end_turn, caller, lane)
        lane.rest = min(lane.rest + turns, MOST_RESTED)

    def _end_turn(self, caller: str, lane: _Lane) -> None:
        lane.rest -= 1
        if lane.rest:
            get_running_loop().call_soon(self._end_turn, caller, lane)
        else:
            self._begin_next(caller, lane)

    def _begin_next(self, caller: str, lane: _Lane) -> None:
        """Give the next operation that still waits its turn, if there is one."""
        while lane.waiting and lane.taken < self._most:
            place, _ = lane.waiting.popitem(last=False)
            if not place.done():
                lane.taken += 1
                place.set_result(None)
                self._begin_rest(caller, lane, 1)
                return
        if not lane.taken:
            del self._lanes[caller]


class CallerLimits(NamedTuple):
    """The limits of each caller, over every transport.

    `running` are the turns of operations. `reading` are those of documents and messages that are
    read before their operation is known: nothing with such a turn waits for a store.
    """

    rate: RateLimiter
    running: FairTurns
    reading: FairTurns

    @classmethod
    def of(cls, rate: RateLimiter, most_running: int) -> "CallerLimits":
        return cls(rate, FairTurns(most_running), FairTurns(1))

    def spend(self, user_id: str, units: int) -> None:
        """Take the units of work that holds the event loop; raises RateLimited as the rate does."""
        self.rate.spend(user_id, units)
        self.rest(user_id, units)

    def rest(self, user_id: str, units: int) -> None:
        """Let others have their turns after so much work of a caller."""
        self.running.rest(user_id, units)
        self.reading.rest(user_id, units)


class CallerAccount(NamedTuple):
    """The account from which an operation of a caller takes the cost of its work.

    `paid` is the cost of the operation, which was taken before it began.
    """

    callers: CallerLimits
    user_id: str
    paid: int = 0

    def spend_more(self, units: int) -> None:
        """Take the units of work that is to begin; raises RateLimited, which takes nothing."""
        self.callers.rate.spend_more(self.user_id, units)
        self.callers.rest(self.user_id, units)

    def owe(self, units: int) -> None:
        """Take the units of more work of the same kind, in any case."""
        self.callers.rate.owe(self.user_id, units)
        self.callers.rest(self.user_id, units)


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


class PlaceTaker:
    """Accepts whom `inner` accepts, for as many connections at once as a caller may use.

    All places of a connection's listener are shared, and a caller may use half of them.
    """

    def __init__(self, inner: Authenticator) -> None:
        self._inner = inner

    async def caller_of(self, headers: Mapping[str, object]) -> Caller:
        """Return the caller; raises RateLimited for one connection too many."""
        caller = await self._inner.caller_of(headers)
        take_place(caller)
        return caller

    async def authenticate(self, headers: Mapping[str, object]) -> Authentication:
        """Return the caller and the end of the session; raises as `caller_of`."""
        authentication = await self._inner.authenticate(headers)
        take_place(authentication.caller)
        return authentication


def take_place(caller: Caller) -> None:
    """Let a caller use the connection of this request; raises RateLimited for one too many."""
    connection = current_connection.get()
    if connection is not None and not connection.take_place(caller.user_id):
        reason = "You use as many connections at once as one caller may"
        raise RateLimited(_PLACE_SECONDS, reason)
