"""A few threads for one kind of work, at which users take turns.

However much work one user has waiting, a free thread goes to the user whose last turn is longest
ago.
"""

import asyncio
from asyncio import AbstractEventLoop, Future, get_running_loop
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class Turns:
    """The turns at a few places: a free one goes to the caller whose last turn is longest ago.

    No caller has more than `most_of_one` turns at the same time.
    """

    __slots__ = ("_free", "_held", "_most_of_one", "_waiting")

    def __init__(self, count: int, most_of_one: int) -> None:
        self._free = count
        self._most_of_one = most_of_one
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[Future[None]]] = {}

    async def enter(self, caller: str) -> None:
        """Wait for a turn of the caller, and take it; `leave` must follow."""
        place: Future[None] = get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(place)
        self._give_turns()
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():
                self.leave(caller)
            raise

    def leave(self, caller: str) -> None:
        """Give a turn of the caller back, to somebody who waits for one if anybody does."""
        self._free += 1
        self._held[caller] -= 1
        if not self._held[caller]:
            del self._held[caller]
        self._give_turns()

    def _give_turns(self) -> None:
        while self._free:
            caller = next(filter(self._may_have_more, self._waiting), None)
            if caller is None:
                return
            places = self._waiting.pop(caller)
            place = places.popleft()
            if places:
                self._waiting[caller] = places
            if not place.done():
                place.set_result(None)
                self._free -= 1
                self._held[caller] += 1

    def _may_have_more(self, caller: str) -> bool:
        return self._held[caller] < self._most_of_one


class TurnThreads:
    """So many threads, which do the work of all loops of this process.

    Work of one user is done by `most_of_one` of them at the same time, or by all.
    """

    def __init__(self, name: str, count: int, most_of_one: int | None = None) -> None:
        self._count = count
        self._most_of_one = most_of_one or count
        self._threads = ThreadPoolExecutor(count, name)
        self._turns: WeakKeyDictionary[AbstractEventLoop, Turns] = WeakKeyDictionary()

    async def run(self, work: Callable[[], T], user: str) -> T:
        """Do the work of a user in a thread, and return its result.

        Work that has begun keeps its thread until it ends, also where nobody waits for it any more.
        """
        loop = get_running_loop()
        turns = self._turns.get(loop)
        if turns is None:
            turns = self._turns[loop] = Turns(self._count, self._most_of_one)
        await turns.enter(user)
        running = self._threads.submit(work)

        def end_turn(_: object) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(turns.leave, user)

        running.add_done_callback(end_turn)
        return await asyncio.wrap_future(running)
