"""Lines of log of which there is one for each request, written many at a time."""

import asyncio
from collections.abc import Callable
from time import gmtime, strftime, time_ns
from typing import Any, Final, Literal, TextIO, TypeAlias, TypeVar

T = TypeVar("T")

Form: TypeAlias = Literal["text", "coloured", "json"]

_SECOND: Final = 1_000_000
"""In microseconds."""


class OperationLines:
    """Writes to a stream what was logged in one round of the event loop, at its end.

    `form` is what lines are to look like: text is coloured where the stream is a terminal.
    """

    def __init__(self, stream: TextIO, form: Literal["text", "json"]) -> None:
        self.form: Form = "coloured" if form == "text" and stream.isatty() else form
        self._stream = stream
        self._waiting: list[tuple[Callable[[str, Any], str], int, Any]] = []
        self._second, self._told = -_SECOND, ""

    def log(self, line_of: Callable[[str, T], str], told: T) -> None:
        """Log the line that `line_of` makes of the time and what is told; it ends the line.

        It is made when it is written, outside of an event loop at once: nothing changes what is
        told any more.
        """
        self._waiting.append((line_of, time_ns(), told))
        if len(self._waiting) == 1:
            try:
                asyncio.get_running_loop().call_soon(self._write)
            except RuntimeError:
                self._write()

    def _time(self, nanoseconds: int) -> str:
        rest = nanoseconds // 1_000 - self._second
        if not 0 <= rest < _SECOND:
            rest = self._begin_second(rest + self._second)
        # A number that always has the same digits needs no format.
        return f"{self._told}{f'{_SECOND + rest}'[1:]}Z"

    def _begin_second(self, microseconds: int) -> int:
        """Write the date and time of a second; returns the microseconds since it began."""
        second, rest = divmod(microseconds, _SECOND)
        self._second = second * _SECOND
        self._told = strftime("%Y-%m-%dT%H:%M:%S.", gmtime(second))
        return rest

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        lines = [line_of(self._time(at), told) for line_of, at, told in waiting]
        self._stream.write("".join(lines))
        self._stream.flush()
