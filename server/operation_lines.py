"""Lines of log of which there is one for each request, written many at a time.

They look as structlog's, which takes longer for a line than a small operation takes as a whole.
"""

import asyncio
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, Literal, TextIO

import orjson
import structlog

LOGGER: Final = "penstock.operations"
_ODD: Final = re.compile(r"""[\s="']""")
"""What a text has to be quoted for."""

_EVENT: Final = "operation"
_EVENT_WIDTH: Final = 30

Facts = Mapping[str, object]


class OperationLines:
    """Writes to a stream what was logged in one round of the event loop, at its end."""

    def __init__(self, stream: TextIO, form: Literal["text", "json"]) -> None:
        self._stream = stream
        self._waiting: list[str] = []
        if form == "json":
            self._line = _json
        else:
            self._line = _coloured if stream.isatty() else _text

    def log(self, facts: Facts) -> None:
        """Log an operation; outside of an event loop it is written at once."""
        now = datetime.now(UTC).isoformat(timespec="microseconds").removesuffix("+00:00")
        self._waiting.append(self._line(f"{now}Z", facts))
        if len(self._waiting) == 1:
            try:
                asyncio.get_running_loop().call_soon(self._write)
            except RuntimeError:
                self._write()

    def _write(self) -> None:
        lines, self._waiting = self._waiting, []
        self._stream.write("".join(lines))
        self._stream.flush()


def _json(now: str, facts: Facts) -> str:
    line = {"event": _EVENT, "level": "info", **facts, "timestamp": now, "logger": LOGGER}
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE).decode()


def _text(now: str, facts: Facts) -> str:
    told = " ".join([f"{name}={_shown(facts[name])}" for name in sorted(facts)])
    return f"{now} [info     ] {_EVENT:<{_EVENT_WIDTH}} [{LOGGER}] {told}\n"


def _shown(value: object) -> str:
    return value if isinstance(value, str) and not _ODD.search(value) else repr(value)


_renderer = structlog.dev.ConsoleRenderer(colors=True)


def _coloured(now: str, facts: Facts) -> str:
    event = {"event": _EVENT, "level": "info", **facts, "timestamp": now, "logger": LOGGER}
    return f"{_renderer(None, 'info', event)}\n"
