"""A few threads for one kind of work, at which users take turns.

However much work one user has waiting, a free thread goes to the user whose last turn is longest
ago.
"""

import asyncio
from asyncio import AbstractEventLoop, Future, get_running_loop
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class _ThreadTurns:
    """The turns at the threads: a free one goes to the caller whose last turn is longest ago."""

    __slots__ = ("_free", "_waiting")

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: dict[str, deque[Future[None]]] = {}

    async def enter(self, caller: str) -> None:
        """Wait for a turn of the caller, and take it; `leave` must follow."""
        if self._free and not self._waiting:
            self._free -= 1
            return
        place: Future[None] = get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        """Give a turn back, to somebody who waits for one if anybody does."""
        while self._waiting:
            caller = next(iter(self._waiting))
            places = self._waiting.pop(caller)
            place = places.popleft()
            if places:
                self._waiting[caller] = places
            if not place.done():
                place.set_result(None)
                return
        self._free += 1


class TurnThreads:
    """So many threads, which do the work of all loops of this process."""

    def __init__(self, name: str, count: int) -> None:
        self._count = count
        self._threads = ThreadPoolExecutor(count, name)
        self._turns: WeakKeyDictionary[AbstractEventLoop, _ThreadTurns] = WeakKeyDictionary()

    async def run(self, work: Callable[[], T], user: str) -> T:
        """Do the work of a user in a thread, and return its result.

        Work that has begun keeps its thread until it ends, also where nobody waits for it any more.
        """
        loop = get_running_loop()
        turns = self._turns.get(loop)
        if turns is None:
            turns = self._turns[loop] = _ThreadTurns(self._count)
        await turns.enter(user)
        running = self._threads.submit(work)

        def end_turn(_: object) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(turns.leave)

        running.add_done_callback(end_turn)
        return await asyncio.wrap_future(running)
