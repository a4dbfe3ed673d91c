"""The threads in which formulas are parsed, checked, compiled and evaluated for requests.

Callers take turns at them, however much work one caller has waiting.
"""

import asyncio
from asyncio import AbstractEventLoop, Future, get_running_loop
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

THREAD_COUNT: Final = 2

# Few threads: with more of them the event loop waits too long for the interpreter's lock.
_THREADS: Final = ThreadPoolExecutor(THREAD_COUNT, "formulas")

formula_caller: Final[ContextVar[str]] = ContextVar("formula_caller", default="")
"""The id of the user for whom formulas are worked on; whoever runs an operation sets it."""


class _ThreadTurns:
    """The turns at the threads: a free one goes to the caller whose last turn is longest ago."""

    __slots__ = ("_free", "_waiting")

    def __init__(self) -> None:
        self._free = THREAD_COUNT
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


_turns: Final[WeakKeyDictionary[AbstractEventLoop, _ThreadTurns]] = WeakKeyDictionary()


async def run_in_formula_thread(work: Callable[[], T]) -> T:
    """Do work on formulas in a thread of its own, and return its result.

    Work that has begun keeps its thread until it ends, also where nobody waits for it any more.
    """
    loop = get_running_loop()
    turns = _turns.setdefault(loop, _ThreadTurns())
    await turns.enter(formula_caller.get())
    running = _THREADS.submit(work)

    def end_turn(_: object) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(turns.leave)

    running.add_done_callback(end_turn)
    return await asyncio.wrap_future(running)
