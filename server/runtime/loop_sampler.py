"""Samples of the event loop: whose request holds it, each time the process has computed for 5 ms.

A signal of a timer of processor time interrupts the main thread in the context of whatever runs
there, and this context has the request. So a sample costs some microseconds, and all else nothing.
"""

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, TypeAlias

from penstock.server.connections.request_watcher import current_request

SAMPLE_SECONDS: Final = 0.005

NoteTime: TypeAlias = Callable[[str, float], None]


def _find_caller() -> str | None:
    """Return the user whose request holds the thread.

    Only tasks are of a request. Callbacks of a connection run in the context in which it was
    opened, and many callers share those to a store.
    """
    caller = current_request.get().caller
    return None if caller is None or asyncio.current_task() is None else caller


@contextmanager
def sample_event_loop(note: NoteTime) -> Iterator[None]:
    """Tell `note`, during the block, of the callers who hold the main thread, and for how long.

    `note` is called between any two instructions of the main thread. In another thread this does
    nothing, because signals reach the main thread only.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    last = time.thread_time()

    def take_sample(_number: int, _frame: FrameType | None) -> None:
        nonlocal last
        now = time.thread_time()
        caller = _find_caller()
        if caller is not None:
            note(caller, now - last)
        last = now

    signal.signal(signal.SIGPROF, take_sample)
    # Calls of other threads to the system go on, also those of libraries that expect no signal.
    signal.siginterrupt(signal.SIGPROF, False)
    signal.setitimer(signal.ITIMER_PROF, SAMPLE_SECONDS, SAMPLE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        # A last signal may be on its way to another thread, and would end the process by default.
        signal.signal(signal.SIGPROF, signal.SIG_IGN)
