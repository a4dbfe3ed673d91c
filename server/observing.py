"""What is noted of each operation while it goes on, for metrics, spans and the log."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from time import perf_counter
from typing import Literal, Protocol, Self, TypeAlias

from datastore.observed import Ended
from schema.execution import OperationRequest, Prepared

Transport: TypeAlias = Literal["http", "sse", "websocket"]

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


@dataclass(slots=True, kw_only=True)
class Seen:
    """One operation as far as it has come; None and "unknown" are what was not reached.

    `trace` holds the W3C headers of the caller's trace. `text` is the document, of which nobody is
    told more than its digest. `codes` are those of the errors in the answer, in their order.
    """

    request_id: str
    transport: Transport
    trace: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None
    kind: Literal["query", "mutation", "subscription", "unknown"] = "unknown"
    name: str | None = None
    cost: int | None = None
    units: MeasuredUnits | None = None
    status: int | None = None
    codes: tuple[str, ...] = ()
    seconds: float = 0.0
    completed: bool = False

    @classmethod
    def of(cls, request_id: str, transport: Transport, headers: Mapping[str, str]) -> Self:
        trace = {name: headers[name] for name in _TRACE_HEADERS if name in headers}
        return cls(request_id=request_id, transport=transport, trace=trace)

    def asked(self, request: OperationRequest) -> None:
        self.text = request.query

    def prepared(self, prepared: Prepared) -> None:
        operation = prepared.operation
        self.text = prepared.document.text
        self.kind = operation.node.operation.value
        self.name = operation.name and operation.name[:NAME_CHARS]
        self.cost = prepared.cost

    def failed(self, errors: Sequence[Mapping[str, object]]) -> None:
        """Note the codes of errors in their answered form."""
        self.codes = tuple(_code(error) for error in errors)

    def answered(self, status: int | None) -> None:
        """Note that an answer was made; only what is sent over HTTP has a status."""
        self.status = status
        self.completed = True

    @property
    def digest(self) -> str | None:
        """The SHA-256 of the document in hex, the one persisted documents go by."""
        return None if self.text is None else sha256(self.text.encode()).hexdigest()

    @property
    def outcome(self) -> str:
        """The first error's code, or OK; ABORTED where nobody was left to answer to."""
        if not self.completed:
            return ABORTED
        return self.codes[0] if self.codes else OK


WatchOperation: TypeAlias = Callable[[Seen], Ended]
"""Called when a request for an operation begins; `Seen` is complete when it has ended."""


@contextmanager
def watched(watchers: Sequence[WatchOperation], seen: Seen) -> Iterator[Seen]:
    """Show an operation to every watcher, from here to the end of the block, in one task."""
    ended = [watch(seen) for watch in watchers]
    started = perf_counter()
    try:
        yield seen
    finally:
        seen.seconds = perf_counter() - started
        for end in reversed(ended):
            end()


def _code(error: Mapping[str, object]) -> str:
    match error:
        case {"extensions": {"code": str(code)}}:
            return code
        case _:
            raise ValueError("an answered error without a code")
