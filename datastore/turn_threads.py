"""A few threads for one kind of work, at which users take turns.

However much work one user has waiting, a free thread goes to the user whose last turn is longest
ago.
"""

import asyncio
from asyncio import AbstractEventLoop, Future, get_running_loop
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from penstock.datastore.errors import RateLimited, Unavailable

T = TypeVar("T")

RETRY_AFTER: Final = 10
"""The seconds after which somebody may wait in a line that is full now, as a rule."""


class WaitingLimits(NamedTuple):
    """How many turns of one caller may be waited for, and how many of all callers."""

    of_one: int
    in_all: int


class Turns:
    """The turns at a few places: a free one goes to the caller whose last turn is longest ago.

    No caller has more than `most_of_one` turns at the same time. `limits` bound those who wait.
    """

    __slots__ = ("_free", "_held", "_limits", "_most_of_one", "_waiting")

    def __init__(self, count: int, most_of_one: int, limits: WaitingLimits | None = None) -> None:
        self._free = count
        self._most_of_one = most_of_one
        self._limits = limits
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, OrderedDict[Future[None], None]] = {}

    def require_place(self, caller: str) -> None:
        """Raise RateLimited if enough of the caller waits, and Unavailable if enough of all do."""
        if self._limits is None:
            return
        if len(self._waiting.get(caller, ())) >= self._limits.of_one:
            raise RateLimited(RETRY_AFTER, "Enough work of yours is waiting")
        if sum(map(len, self._waiting.values())) >= self._limits.in_all:
            raise Unavailable("Much work is waiting; try again later.", RETRY_AFTER)

    async def enter(self, caller: str) -> None:
        """Wait for a turn of the caller, and take it; `leave` must follow.

        Raises what `require_place` does.
        """
        self.require_place(caller)
        place: Future[None] = get_running_loop().create_future()
        self._waiting.setdefault(caller, OrderedDict())[place] = None
        self._give_turns()
        try:
            await place
        except asyncio.CancelledError:
            if place.cancelled():
                self._leave_line(caller, place)
            else:
                self.leave(caller)
            raise

    def leave(self, caller: str) -> None:
        """Give a turn of the caller back, to somebody who waits for one if anybody does."""
        self._free += 1
        self._held[caller] -= 1
        if not self._held[caller]:
            del self._held[caller]
        self._give_turns()

    def _leave_line(self, caller: str, place: "Future[None]") -> None:
        line = self._waiting.get(caller)
        if line is not None:
            line.pop(place, None)
            if not line:
                del self._waiting[caller]

    def _give_turns(self) -> None:
        while self._free:
            caller = next(filter(self._may_have_more, self._waiting), None)
            if caller is None:
                return
            line = self._waiting.pop(caller)
            place, _ = line.popitem(last=False)
            if line:
                self._waiting[caller] = line
            if not place.done():
                place.set_result(None)
                self._free -= 1
                self._held[caller] += 1

    def _may_have_more(self, caller: str) -> bool:
        return self._held[caller] < self._most_of_one


class TurnThreads:
    """So many threads, which do the work of all loops of this process.

    Work of one user is done by `most_of_one` of them at the same time, or by all. `limits` bound
    what waits in a loop.
    """

    def __init__(
        self,
        name: str,
        count: int,
        most_of_one: int | None = None,
        limits: WaitingLimits | None = None,
    ) -> None:
        self._count = count
        self._most_of_one = most_of_one or count
        self._limits = limits
        self._threads = ThreadPoolExecutor(count, name)
        self._turns: WeakKeyDictionary[AbstractEventLoop, Turns] = WeakKeyDictionary()

    async def run(self, work: Callable[[], T], user: str) -> T:
        """Do the work of a user in a thread, and return its result.

        Work that has begun keeps its thread until it ends, also where nobody waits for it any more.
        """
        loop = get_running_loop()
        turns = self._turns.get(loop)
        if turns is None:
            turns = self._turns[loop] = Turns(self._count, self._most_of_one, self._limits)
        await turns.enter(user)
        running = self._threads.submit(work)

        def end_turn(_: object) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(turns.leave, user)

        running.add_done_callback(end_turn)
        return await asyncio.wrap_future(running)
