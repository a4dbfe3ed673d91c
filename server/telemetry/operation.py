"""The record of an operation for metrics, spans and the log, and the access log itself.

The log has one line for each operation, with its facts and its cost, and no data of the client.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from time import perf_counter
from typing import Final, Literal, Protocol, Self, TypeAlias, get_args

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.schema.engine.documents import ParsedDocument
from penstock.schema.engine.operations import OperationRequest, PreparedOperation
from penstock.server.core.headers import request_headers, request_id_of
from penstock.server.telemetry.logs import EventLog

Transport: TypeAlias = Literal["http", "sse", "websocket"]
TRANSPORTS: Final[tuple[Transport, ...]] = get_args(Transport)

RECORD_KEY = "penstock.seen"
"""The key of the operation's record in an ASGI scope."""

NAME_CHARS = 100
OK = "OK"
ABORTED = "ABORTED"

_TRACE_HEADERS = ("traceparent", "tracestate")


class MeasuredUnits(Protocol):
    """The capacity units and calls that an operation consumed."""

    @property
    def rcu(self) -> float: ...
    @property
    def wcu(self) -> float: ...
    @property
    def calls(self) -> int: ...


class OperationRecord(msgspec.Struct, kw_only=True):
    """The record of one operation so far; None and "unknown" stand for stages not reached.

    Telemetry uses only the trace of `headers`, and only the digest of `text` and `document`;
    `refused_digest` is that of a text that could not run.
    `trace_id` is that of the operation's span, if it has one. `codes` are the error codes of the
    answer in their order; `outcome` is the first of these, or OK, or ABORTED if no client was left
    to answer.
    """

    request_id: str
    transport: Transport
    headers: Mapping[str, str] | None = None
    trace_id: str | None = None
    text: str | None = None
    refused_digest: str | None = None
    document: ParsedDocument | None = None
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

    def note_request(self, request: OperationRequest) -> None:
        self.text = request.query

    def forget_text(self) -> None:
        """Keep the digest of the text, and not the text: the answer may wait for long."""
        if self.document is None:
            self.refused_digest = self.digest
        self.text = None

    def note_prepared(self, prepared: PreparedOperation) -> None:
        operation = prepared.operation
        self.document = prepared.document
        self.kind = operation.kind_name
        self.name = operation.name and operation.name[:NAME_CHARS]
        self.cost = prepared.cost

    def note_errors(self, errors: Sequence[Mapping[str, object]]) -> None:
        """Record the codes of the answer's errors."""
        self.codes = tuple([_error_code(error) for error in errors]) if errors else ()

    def note_answer(self, status: int | None) -> None:
        """Record that an answer was made; only HTTP answers have a status."""
        self.status = status
        self.outcome = self.codes[0] if self.codes else OK

    @property
    def trace(self) -> dict[str, str]:
        """The W3C headers of the caller's trace."""
        headers = self.headers or {}
        return {name: headers[name] for name in _TRACE_HEADERS if name in headers}

    @property
    def digest(self) -> str | None:
        """The SHA-256 of the document in hex, which is also the id of a persisted document."""
        if self.document is not None:
            return self.document.digest
        return self.refused_digest if self.text is None else sha256(self.text.encode()).hexdigest()


OperationEnded: TypeAlias = Callable[[OperationRecord], None]
"""Called once with the complete record, however the operation ended."""

WatchOperation: TypeAlias = Callable[[OperationRecord], OperationEnded]
"""Called when a request for an operation begins."""


def begin_operation(
    watchers: Sequence[WatchOperation], seen: OperationRecord
) -> list[OperationEnded]:
    """Show a new operation to every watcher; `end_operation` is called in the same task."""
    called = [watch(seen) for watch in watchers]
    seen.started = perf_counter()
    return called


def end_operation(called: list[OperationEnded], seen: OperationRecord) -> None:
    """Report the end of an operation to its watchers, in reverse order."""
    seen.seconds = perf_counter() - seen.started
    for each in reversed(called):
        each(seen)


class ObservedApp:
    """An application that shows each of its HTTP operations to every watcher.

    A preflight is no operation. A WebSocket shows its operations itself.
    """

    def __init__(self, app: ASGIApp, watchers: Sequence[WatchOperation]) -> None:
        self._app = app
        self._watchers = tuple(watchers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] == "OPTIONS":
            await self._app(scope, receive, send)
            return
        headers = request_headers(scope)
        seen = OperationRecord.of(request_id_of(headers), "http", headers)
        scope[RECORD_KEY] = seen
        called = begin_operation(self._watchers, seen)
        try:
            await self._app(scope, receive, send)
        finally:
            end_operation(called, seen)


def _error_code(error: Mapping[str, object]) -> str:
    match error:
        case {"extensions": {"code": str(code)}}:
            return code
        case _:
            raise ValueError("an answered error without a code")


class AccessLog:
    """Logs operations to standard error, in the form of the other lines."""

    def __init__(self, form: Literal["text", "json"]) -> None:
        self._log_event = EventLog(form).write

    def operation(self, _seen: OperationRecord) -> OperationEnded:
        """Log the operation when it has ended."""
        return self._log

    def _log(self, seen: OperationRecord) -> None:
        units = seen.units
        rcu, wcu, calls = (units.rcu, units.wcu, units.calls) if units else (0.0, 0.0, 0)
        trace = {} if seen.trace_id is None else {"trace_id": seen.trace_id}
        facts = {
            "calls": calls,
            "codes": seen.codes,
            "cost": seen.cost,
            "document": seen.digest,
            "milliseconds": round(seen.seconds * 1_000, 2),
            "operation": seen.name,
            "outcome": seen.outcome,
            "rcu": rcu,
            "request_id": seen.request_id,
            "status": seen.status,
            **trace,
            "transport": seen.transport,
            "type": seen.kind,
            "wcu": wcu,
        }
        self._log_event("operation", facts)
