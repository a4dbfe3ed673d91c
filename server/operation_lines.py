"""Lines of log of which there is one for each request, written many at a time."""

import asyncio
from time import gmtime, strftime, time_ns
from typing import Final, Literal, TextIO, TypeAlias

Form: TypeAlias = Literal["text", "coloured", "json"]

_SECOND: Final = 1_000_000_000
"""In nanoseconds."""


class OperationLines:
    """Writes to a stream what was logged in one round of the event loop, at its end.

    `form` is what lines are to look like: text is coloured where the stream is a terminal.
    """

    def __init__(self, stream: TextIO, form: Literal["text", "json"]) -> None:
        self.form: Form = "coloured" if form == "text" and stream.isatty() else form
        self._stream = stream
        self._waiting: list[str] = []
        self._second, self._told = -1, ""

    def now(self) -> str:
        """Tell the time in UTC with microseconds, as ISO 8601 does."""
        second, rest = divmod(time_ns(), _SECOND)
        if second != self._second:
            self._second, self._told = second, strftime("%Y-%m-%dT%H:%M:%S", gmtime(second))
        return f"{self._told}.{rest // 1_000:06}Z"

    def add(self, line: str) -> None:
        """Log a line that ends with a line feed; outside of an event loop it is written at once."""
        self._waiting.append(line)
        if len(self._waiting) == 1:
            try:
                asyncio.get_running_loop().call_soon(self._write)
            except RuntimeError:
                self._write()

    def _write(self) -> None:
        lines, self._waiting = self._waiting, []
        self._stream.write("".join(lines))
        self._stream.flush()
