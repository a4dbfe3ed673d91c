"""Work in a thread that ends soon after nobody wants its result, or it took too long."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import thread_time
from types import FrameType
from typing import Final

from penstock.datastore.errors import LimitExceeded

UNBOUNDED: Final = float("inf")


class WorkInterrupted(Exception):
    """The caller of the work has gone."""


class InterruptibleWork:
    """Says to the thread of some work at each of its steps whether it may go on.

    `seconds` is the processor time that the work took until its last step, `most_seconds` what it
    may take.
    """

    __slots__ = ("_began", "_is_wanted", "most_seconds", "seconds")

    def __init__(self, most_seconds: float = UNBOUNDED) -> None:
        self._is_wanted = True
        self._began: float | None = None
        self.most_seconds = most_seconds
        self.seconds = 0.0

    def interrupt(self) -> None:
        """Let the work end at its next step; from any thread."""
        self._is_wanted = False

    def note_time(self) -> None:
        """Note the processor time of the work's thread, which the first call begins to count."""
        now = thread_time()
        if self._began is None:
            self._began = now
        self.note_seconds(now - self._began)

    def note_seconds(self, seconds: float) -> None:
        """Note that the work has taken so many seconds of processor time; from any thread."""
        self.seconds = max(self.seconds, seconds)

    def require_wanted(self) -> None:
        """Raise in the work's thread if it may not go on.

        WorkInterrupted if it was interrupted, the error of `too_long_error` if it took too long.
        """
        self.note_time()
        if not self._is_wanted:
            raise WorkInterrupted
        if self.seconds > self.most_seconds:
            raise self.too_long_error()

    def too_long_error(self) -> Exception:
        """The error for work that takes longer than it may."""
        most = int(self.most_seconds)
        return LimitExceeded("seconds of processor time of an operation's work", most, most + 1)


@contextmanager
def limit_cpu_time(until: float) -> Iterator[None]:
    """Raise TimeoutError when this thread calls a function beyond this much CPU time of its own.

    A file can be made so that parsing takes hours, and a thread cannot be ended from outside.
    """

    def on_call(_frame: FrameType, _event: str, _arg: object) -> None:
        if thread_time() > until:
            raise TimeoutError

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        yield
    finally:
        sys.settrace(before)
