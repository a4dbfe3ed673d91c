"""The threads in which formulas are parsed, checked, compiled and evaluated for requests.

Callers take turns at them, however much work one caller has waiting.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Final, TypeVar

from penstock.datastore.turn_threads import TurnThreads

T = TypeVar("T")

THREAD_COUNT: Final = 2

# Few threads: with more of them the event loop waits too long for the interpreter's lock.
_THREADS: Final = TurnThreads("formulas", THREAD_COUNT)

formula_caller: Final[ContextVar[str]] = ContextVar("formula_caller", default="")
"""The id of the user for whom formulas are worked on; whoever runs an operation sets it."""


async def run_in_formula_thread(work: Callable[[], T]) -> T:
    """Do work on formulas in a thread of its own, and return its result."""
    return await _THREADS.run(work, formula_caller.get())
