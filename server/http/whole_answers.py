"""Answers that an application gives whole, written at once: each write is a call of the system."""

from collections.abc import Awaitable, Iterable
from functools import lru_cache
from typing import Final, TypeAlias

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

_Field: TypeAlias = tuple[bytes, bytes]
Fields: TypeAlias = tuple[_Field, ...]

BODILESS: Final = (204, 304)
"""Statuses of answers that have no body, whatever their length says."""

_ASKING_FOR_MORE: Final = frozenset((b"connection", b"transfer-encoding"))
_MOST_WRITTEN: Final = 500
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

    def write(self, status: int, fields: Fields, dynamic: bytes, body: bytes) -> bool:
        """Write an answer whose length is in its `dynamic` lines; False where it has to be sent."""
        if self._start is not None or self._cycle.response_started or not self._is_usual():
            return False
        lines = _plain_lines(fields)
        if lines is None:
            return False
        self._write(status, lines + dynamic, body)
        return True

    async def _send(self, message: ASGISendEvent) -> None:
        start, self._start = self._start, None
        if start is None:
            if message["type"] == "http.response.start" and not self._cycle.response_started:
                self._start = message
                return
        elif message["type"] == "http.response.body" and self._is_usual():
            fields = _fields_of_whole(start, message)
            if fields is not None:
                self._write(start["status"], fields, message.get("body", b""))
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
        common = _lines(cycle.default_headers)
        cycle.response_started = True
        cycle.transport.write(b"".join((STATUS_LINE[status], common, fields, _END, body)))
        cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        cycle.message_event.set()
        cycle.on_response()


def answers_of(send: object) -> WholeAnswers | None:
    """Find what writes answers behind an application's `send`, if nothing stands in between."""
    found = getattr(send, "__self__", None)
    return found if type(found) is WholeAnswers else None


def _fields_of_whole(start: HTTPResponseStartEvent, part: HTTPResponseBodyEvent) -> bytes | None:
    """The header fields of an answer with its whole body in one part; None where it is another."""
    if part.get("more_body") or start["status"] in BODILESS:
        return None
    fields = [(name, value) for name, value in start.get("headers", ())]
    named, length = dict(fields), len(part.get("body", b""))
    if named.get(b"content-length") != b"%d" % length or named.keys() & _ASKING_FOR_MORE:
        return None
    return _lines(fields)


@lru_cache(_MOST_WRITTEN)
def _plain_lines(fields: Fields) -> bytes | None:
    """Write the fields that many answers have in common; None where they ask for more."""
    return None if any(name in _ASKING_FOR_MORE for name, _ in fields) else _lines(fields)


_written: Final[dict[_Field, bytes]] = {}
"""Lines of fields, most of which are the same in all answers."""


def _lines(fields: Iterable[_Field]) -> bytes:
    return b"".join([_written.get(field) or _line(*field) for field in fields])


def _line(name: bytes, value: bytes) -> bytes:
    """Write a field, whose name and value could end it early if nobody looked."""
    if HEADER_RE.search(name):
        raise RuntimeError("Invalid HTTP header name.")
    if HEADER_VALUE_RE.search(value):
        raise RuntimeError("Invalid HTTP header value.")
    if len(_written) >= _MOST_WRITTEN:
        _written.clear()
    line = _written[name, value] = b"%b: %b\r\n" % (name.lower(), value)
    return line
