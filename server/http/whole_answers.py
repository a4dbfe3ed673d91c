"""Answers that an application gives whole, written at once: each write is a call of the system."""

from collections.abc import Awaitable
from typing import Final

from uvicorn._types import (
    ASGI3Application,
    ASGIReceiveCallable,
    ASGISendEvent,
    HTTPResponseBodyEvent,
    HTTPResponseStartEvent,
    Scope,
)
from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    RequestResponseCycle,
)

_BODILESS: Final = (204, 304)
_ASKING_FOR_MORE: Final = (b"connection", b"transfer-encoding")
_END: Final = b"\r\n"


class WholeAnswers:
    """An application whose answers wait for their first part, as ASGI has it.

    One that is whole then is written by `cycle`'s rules, in one piece; all else is left to it.
    """

    __slots__ = ("_app", "_cycle", "_start")

    def __init__(self, app: ASGI3Application, cycle: RequestResponseCycle) -> None:
        self._app = app
        self._cycle = cycle
        self._start: HTTPResponseStartEvent | None = None

    def __call__(
        self, scope: Scope, receive: ASGIReceiveCallable, _send: object
    ) -> Awaitable[None]:
        return self._app(scope, receive, self._send)

    async def _send(self, message: ASGISendEvent) -> None:
        start, self._start = self._start, None
        if start is None:
            if message["type"] == "http.response.start" and not self._cycle.response_started:
                self._start = message
                return
        elif message["type"] == "http.response.body" and self._is_usual():
            fields = _fields_of_whole(start, message)
            if fields is not None:
                self._write(start["status"], fields, message["body"])
                return
        if start is not None:
            await self._cycle.send(start)
        await self._cycle.send(message)

    def _is_usual(self) -> bool:
        """Whether nothing about the request or its connection asks for more than writing."""
        cycle = self._cycle
        return (
            cycle.keep_alive
            and not cycle.disconnected
            and not cycle.flow.write_paused
            and not cycle.access_log
            and cycle.scope["method"] != "HEAD"
        )

    def _write(self, status: int, fields: bytes, body: bytes) -> None:
        cycle = self._cycle
        common = b"".join([_line(name, value) for name, value in cycle.default_headers])
        cycle.transport.write(b"".join((STATUS_LINE[status], common, fields, _END, body)))
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        cycle.message_event.set()
        cycle.on_response()


def _fields_of_whole(start: HTTPResponseStartEvent, part: HTTPResponseBodyEvent) -> bytes | None:
    """The header fields of an answer with its whole body in one part; None where it is another."""
    if part.get("more_body") or start["status"] in _BODILESS:
        return None
    length, lines = None, []
    for name, value in start.get("headers", ()):
        if name == b"content-length":
            length = value
        elif name in _ASKING_FOR_MORE:
            return None
        lines.append(_line(name, value))
    return b"".join(lines) if length == b"%d" % len(part.get("body", b"")) else None


_written: Final[dict[bytes, tuple[bytes, bytes]]] = {}
"""By name of a field, the value it had last and its line: most have the same in all answers."""


def _line(name: bytes, value: bytes) -> bytes:
    """Write a field, whose name and value could end it early if nobody looked."""
    last = _written.get(name)
    if last is not None and last[0] == value:
        return last[1]
    if HEADER_RE.search(name):
        raise RuntimeError("Invalid HTTP header name.")
    if HEADER_VALUE_RE.search(value):
        raise RuntimeError("Invalid HTTP header value.")
    line = b"%b: %b\r\n" % (name.lower(), value)
    _written[name] = (value, line)
    return line
