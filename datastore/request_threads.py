"""The threads for work of requests whose size callers choose, such as the import of a playlist.

Callers take turns at them and owe the processor time. The threads of asyncio are for short work
only, such as a read of a file: all wait for each other there.
"""

from asyncio import get_running_loop
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from penstock.datastore.access.work import WorkPayer
from penstock.datastore.interruptible_work import InterruptibleWork
from penstock.datastore.turn_threads import TurnThreads

T = TypeVar("T")

MOST_SECONDS: Final = 60
"""Seconds of processor time of one piece of work."""

_THREADS: Final = TurnThreads("requests", 2, most_of_one=1)
"""One caller's work leaves a thread to others, however long it takes."""


async def run_in_request_thread(work: Callable[[InterruptibleWork], T], payer: WorkPayer) -> T:
    """Do work in a thread at the user's turn, and return its result.

    Where nobody waits for it any more it ends with its next step. The payer owes its processor time
    in any case. Raises LimitExceeded for work whose steps go on for more than a minute of it.
    """
    loop, steps = get_running_loop(), InterruptibleWork(MOST_SECONDS)

    def run() -> T:
        steps.require_wanted()
        try:
            return work(steps)
        finally:
            steps.note_time()
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(payer.pay, steps.seconds)

    try:
        return await _THREADS.run(run, payer.user)
    finally:
        steps.interrupt()
