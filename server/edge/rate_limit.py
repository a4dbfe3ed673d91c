"""The limits of each caller: a rate, in the unit of an operation's cost, turns and connections.

The rate is a token bucket for each caller, in the memory of one process, or in memory that all
processes of a server share. Turns belong to one process, as do samples of who holds the event loop.
"""

import time
from asyncio import CancelledError, Future, get_running_loop
from collections import OrderedDict
from collections.abc import Callable, Mapping
from math import ceil
from typing import Final, NamedTuple, Protocol, TypeAlias

import msgspec
from cachetools import LRUCache

from penstock.datastore.access.work import CPU_SECONDS
from penstock.datastore.errors import RateLimited
from penstock.datastore.roles import Caller
from penstock.server.auth.tokens import Authentication, Authenticator
from penstock.server.connections.request_watcher import current_request

MAX_CALLERS: Final = 10_000
"""The most callers in memory."""

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
    """Buckets in the memory of this process; the least recently active is dropped first."""

    def __init__(self, callers: int = MAX_CALLERS) -> None:
        self._known = LRUCache[str, RateBucket](callers)

    def update(self, caller: str, change: BucketChange) -> None:
        self._known[caller] = change(self._known.get(caller))


PAID_TIMES: Final = 2
"""The units of processor time that a unit pays for."""

OPERATION_UNITS: Final = 50
"""The units of processor time, 2 ms, that each operation takes besides what has a price."""

FIRST_UNITS: Final = 2_500
"""The units of processor time, 100 ms, that a caller has to begin with: first times are dear."""

MOST_UNITS: Final = 50_000
"""The units of processor time, 2 s, that a caller may have paid for and not used."""


class LoopTimes:
    """The time of the event loop that is left to each caller, and the samples of who holds it.

    Prices are averages that are known before the work. Whoever takes far more time than they pay
    for owes it, so that each caller has a share of the loop, whatever an operation costs. `unpaid`
    are the units that all callers together owed so.
    """

    def __init__(self) -> None:
        self.unpaid = 0
        self._noted = OrderedDict[str, float]()
        self._left = OrderedDict[str, float]()

    def note(self, caller: str, seconds: float) -> None:
        """Note a sample in which a caller held the event loop for this processor time.

        It may interrupt any other method.
        """
        _put_last(self._noted, caller, self._noted.get(caller, 0.0) + seconds)

    def begin_operation(self, caller: str) -> None:
        """Allow the time that every operation takes, also one that is refused."""
        self._allow(caller, OPERATION_UNITS)

    def pay(self, caller: str, units: int) -> None:
        """Allow the time that these units pay for."""
        self._allow(caller, PAID_TIMES * units)

    def settle(self, caller: str) -> int:
        """Take the samples from what is left to the caller; returns the units they owe."""
        seconds = self._noted.pop(caller, None)
        if seconds is None:
            return 0
        left = self._left.get(caller, FIRST_UNITS) - seconds / CPU_SECONDS
        _put_last(self._left, caller, max(0.0, left))
        owed = round(max(0.0, -left))
        self.unpaid += owed
        return owed

    def _allow(self, caller: str, units: int) -> None:
        left = self._left.get(caller, FIRST_UNITS)
        _put_last(self._left, caller, min(left + units, MOST_UNITS))


def _put_last(amounts: OrderedDict[str, float], caller: str, amount: float) -> None:
    """Set the amount of a caller, and forget the oldest if there are too many."""
    amounts[caller] = amount
    amounts.move_to_end(caller)
    if len(amounts) > MAX_CALLERS:
        amounts.popitem(last=False)


class RateLimiter:
    """A bucket for each caller that holds `burst` and gains `per_second`; 0 means no limit.

    An operation that costs more than a full bucket runs when the bucket is full, and the next one
    waits until the debt is paid. So a caller never gets more than `per_second` over time. What
    callers have of the event loop far beyond their costs is taken by `loop_times`.
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
        self.loop_times = LoopTimes()

    @property
    def is_limited(self) -> bool:
        return self._per_second != 0

    def spend(self, user_id: str, cost: int) -> None:
        """Take the cost of an operation, at least 1; raises RateLimited, which takes nothing."""
        if not self.is_limited:
            return
        self.loop_times.begin_operation(user_id)
        cost = max(cost, 1)
        self._take(user_id, cost, min(cost, self._burst))

    def spend_more(self, user_id: str, cost: int) -> None:
        """Take the cost of more work of an operation that runs, on credit if need be.

        Raises RateLimited, which takes nothing, if the caller is in debt already.
        """
        if self.is_limited:
            self._take(user_id, cost, 0)

    def owe(self, user_id: str, cost: int) -> None:
        """Take the cost of work that has begun, on credit if need be."""
        if self.is_limited:
            self._take(user_id, cost, None)

    def _take(self, user_id: str, cost: int, least: int | None) -> None:
        """Take the cost if the caller has at least this much; None if that does not matter."""
        if unpaid := self.loop_times.settle(user_id):
            self._change(user_id, unpaid, None)
        self._change(user_id, cost, least)
        self.loop_times.pay(user_id, cost)

    def _change(self, user_id: str, cost: int, least: int | None) -> None:
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
            with current_request.get().ending_with_client():
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
    """Serve a caller on the connection of this request; raises RateLimited for one too many."""
    served = current_request.get()
    if served.connection is None:
        return
    served.caller = caller.user_id
    if not served.connection.take_place(caller.user_id):
        reason = "You use as many connections at once as one caller may"
        raise RateLimited(_PLACE_SECONDS, reason)
