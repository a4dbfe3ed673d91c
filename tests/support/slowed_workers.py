"""Worker processes that take their time without costing more, so that a test comes amid their work.

A longer file would keep processors busy, and be over soon on a faster machine.
"""

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Final

from tests.support.warm_children import children_of

WORK_SECONDS: Final = 0.03
REST_SECONDS: Final = 0.27


@contextmanager
def slowed_workers(*servers: int) -> Iterator[None]:
    """Let the processes that servers have started rest for nine tenths of the time."""
    over = Event()
    slowing = Thread(target=_slow_down, args=(servers, over))
    slowing.start()
    try:
        yield
    finally:
        over.set()
        slowing.join()


def _slow_down(servers: Iterable[int], over: Event) -> None:
    while not over.wait(WORK_SECONDS):
        workers = [worker for server in servers for worker in children_of(server)]
        _send(signal.SIGSTOP, workers)
        over.wait(REST_SECONDS)
        _send(signal.SIGCONT, workers)


def _send(number: signal.Signals, processes: Iterable[int]) -> None:
    for one in processes:
        with suppress(ProcessLookupError):
            os.kill(one, number)
