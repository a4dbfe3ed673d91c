"""What is noted of each operation while it goes on, for metrics, spans and the log.

One line of log for each operation, with its facts and its cost, and nothing that was sent.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from time import perf_counter
from typing import Final, Literal, Protocol, Self, TypeAlias, get_args

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.schema.engine.documents import Document
from penstock.schema.engine.engine import OperationRequest, Prepared
from penstock.server.core.headers import fields_of, request_id_of
from penstock.server.telemetry.logs import operation_logger

Transport: TypeAlias = Literal["http", "sse", "websocket"]
TRANSPORTS: Final[tuple[Transport, ...]] = get_args(Transport)

SEEN = "penstock.seen"
"""Where an ASGI scope holds what is seen of its request."""

NAME_CHARS = 100
OK = "OK"
ABORTED = "ABORTED"

_TRACE_HEADERS = ("traceparent", "tracestate")


class MeasuredUnits(Protocol):
    """What an operation used of the store: capacity units, and calls made."""

    @property
    def rcu(self) -> float: ...
    @property
    def wcu(self) -> float: ...
    @property
    def calls(self) -> int: ...


class Seen(msgspec.Struct, kw_only=True):
    """One operation as far as it has come; None and "unknown" are what was not reached.

    Of `headers` nobody is told more than the caller's trace, and of `text` and `document` no more
    than the digest. `trace_id` is that of the operation's span, if it has one. `codes` are those of
    the errors in the answer, in their order, and `outcome` is the first of these or OK; ABORTED
    where nobody was left to answer to.
    """

    request_id: str
    transport: Transport
    headers: Mapping[str, str] | None = None
    trace_id: str | None = None
    text: str | None = None
    document: Document | None = None
    kind: Literal["query", "mutation", "subscription", "unknown"] = "unknown"
    name: str | None = None
    cost: int | None = None
    units: MeasuredUnits | None = None
    status: int | None = None
    codes: tuple[str, ...] = ()
    started: float = 0.0
    seconds: float = 0.0
    outcome: str = ABORTED

    @classmethod
    def of(cls, request_id: str, transport: Transport, headers: Mapping[str, str]) -> Self:
        return cls(request_id=request_id, transport=transport, headers=headers)

    def asked(self, request: OperationRequest) -> None:
        self.text = request.query

    def prepared(self, prepared: Prepared) -> None:
        operation = prepared.operation
        self.document = prepared.document
        self.kind = operation.kind_name
        self.name = operation.name and operation.name[:NAME_CHARS]
        self.cost = prepared.cost

    def failed(self, errors: Sequence[Mapping[str, object]]) -> None:
        """Note the codes of errors in their answered form."""
        self.codes = tuple([_code(error) for error in errors]) if errors else ()

    def answered(self, status: int | None) -> None:
        """Note that an answer was made; only what is sent over HTTP has a status."""
        self.status = status
        self.outcome = self.codes[0] if self.codes else OK

    @property
    def trace(self) -> dict[str, str]:
        """The W3C headers of the caller's trace."""
        headers = self.headers or {}
        return {name: headers[name] for name in _TRACE_HEADERS if name in headers}

    @property
    def digest(self) -> str | None:
        """The SHA-256 of the document in hex, the one persisted documents go by."""
        if self.document is not None:
            return self.document.digest
        return None if self.text is None else sha256(self.text.encode()).hexdigest()


OperationEnded: TypeAlias = Callable[[Seen], None]
"""Called once with what was seen, which is complete then, however the operation ended."""

WatchOperation: TypeAlias = Callable[[Seen], OperationEnded]
"""Called when a request for an operation begins."""


def shown(watchers: Sequence[WatchOperation], seen: Seen) -> list[OperationEnded]:
    """Show an operation that begins to every watcher; it is `ended` in the same task."""
    called = [watch(seen) for watch in watchers]
    seen.started = perf_counter()
    return called


def ended(called: list[OperationEnded], seen: Seen) -> None:
    """Tell those that were shown an operation that it has ended, the last of them first."""
    seen.seconds = perf_counter() - seen.started
    for each in reversed(called):
        each(seen)


class Watched:
    """An application whose HTTP requests are operations, each shown to every watcher.

    A preflight asks for no operation. What comes over a WebSocket shows its operations itself.
    """

    def __init__(self, app: ASGIApp, watchers: Sequence[WatchOperation]) -> None:
        self._app = app
        self._watchers = tuple(watchers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] == "OPTIONS":
            await self._app(scope, receive, send)
            return
        headers = fields_of(scope)
        seen = Seen.of(request_id_of(headers), "http", headers)
        scope[SEEN] = seen
        called = shown(self._watchers, seen)
        try:
            await self._app(scope, receive, send)
        finally:
            ended(called, seen)


def _code(error: Mapping[str, object]) -> str:
    match error:
        case {"extensions": {"code": str(code)}}:
            return code
        case _:
            raise ValueError("an answered error without a code")


class AccessLog:
    """Logs operations to standard error, beside the other lines of the same form."""

    def __init__(self, form: Literal["text", "json"]) -> None:
        self._logger = operation_logger(form)

    def operation(self, _seen: Seen) -> OperationEnded:
        """Log the operation when it has ended."""
        return self._log

    def _log(self, seen: Seen) -> None:
        units = seen.units
        rcu, wcu, calls = (units.rcu, units.wcu, units.calls) if units else (0.0, 0.0, 0)
        # A line that nobody takes, as over a broken pipe, fails no operation.
        with suppress(OSError):
            self._logger.info(
                "operation",
                request_id=seen.request_id,
                transport=seen.transport,
                type=seen.kind,
                operation=seen.name,
                document=seen.digest,
                status=seen.status,
                outcome=seen.outcome,
                codes=seen.codes,
                milliseconds=round(seen.seconds * 1_000, 2),
                cost=seen.cost,
                rcu=rcu,
                wcu=wcu,
                calls=calls,
                **({} if seen.trace_id is None else {"trace_id": seen.trace_id}),
            )
