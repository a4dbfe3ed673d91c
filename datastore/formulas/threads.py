"""The threads in which formulas are parsed, checked, compiled and evaluated for requests."""

from asyncio import get_running_loop
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

THREAD_COUNT: Final = 2

# Few threads: with more of them the event loop waits too long for the interpreter's lock.
_THREADS: Final = ThreadPoolExecutor(THREAD_COUNT, "formulas")


async def run_in_formula_thread(work: Callable[[], T]) -> T:
    """Do work on formulas in a thread of its own, and return its result."""
    return await get_running_loop().run_in_executor(_THREADS, work)
