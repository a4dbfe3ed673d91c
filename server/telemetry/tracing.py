"""OpenTelemetry spans: one for each operation, loader batch and call of the store.

Spans hold names, sizes and costs, but no document, argument, key or value. There are none unless
OpenTelemetry's SDK is configured before the application opens.
"""

from typing import Final

from opentelemetry import context, trace
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from penstock.datastore.errors import ErrorCode
from penstock.datastore.table.instrumentation import EndCallback, StoreCall, watch_nothing
from penstock.server.telemetry.operation import OK, OperationEnded, OperationRecord
from penstock.server.telemetry.work_spans import WorkSpans, open_tracer

_CALLERS: Final = TraceContextTextMapPropagator()
_FAULTS: Final = frozenset(
    (ErrorCode.INTERNAL_SERVER_ERROR, ErrorCode.SERVICE_UNAVAILABLE, ErrorCode.TIMEOUT)
)


class Tracing:
    """Makes the spans of one application over one table (`system` and `table` name it)."""

    def __init__(self, tracer: Tracer, system: str, table: str) -> None:
        self._tracer = tracer
        self._names = {"db.system.name": system, "db.collection.name": table}

    def make_work_spans(self) -> WorkSpans:
        """Make what makes the spans of executions and jobs."""
        return WorkSpans(self._tracer)

    def operation(self, seen: OperationRecord) -> OperationEnded:
        """Begin the operation's span, the parent of the others; it continues the caller's trace."""
        callers = seen.trace
        above = _CALLERS.extract(callers) if callers else None
        span = self._tracer.start_span("GraphQL", above, SpanKind.SERVER)
        token = context.attach(trace.set_span_in_context(span, above))
        made = span.get_span_context()
        seen.trace_id = trace.format_trace_id(made.trace_id) if made.is_valid else None

        def end_span(seen: OperationRecord) -> None:
            context.detach(token)
            _describe(span, seen)
            span.end()

        return end_span

    def batch(self, loader: str, size: int) -> EndCallback:
        if not trace.get_current_span().is_recording():
            return watch_nothing(loader, size)
        span = self._tracer.start_span(
            f"load {loader}", attributes={"penstock.loader": loader, "penstock.loader.keys": size}
        )
        token = context.attach(trace.set_span_in_context(span))

        def end_span() -> None:
            context.detach(token)
            span.end()

        return end_span

    def call(self, call: StoreCall) -> EndCallback:
        """Begin the span of a table call within an operation; other calls have none."""
        return self._call(
            call,
            f"{call.method} {self._names['db.collection.name']}",
            {**self._names, "db.operation.name": call.method, "db.operation.batch.size": call.size},
        )

    def file_call(self, call: StoreCall) -> EndCallback:
        """Begin the span of a file call within an operation; other calls have none."""
        return self._call(call, f"{call.method} file", {"penstock.files.operation": call.method})

    def _call(self, call: StoreCall, name: str, attributes: dict[str, str | int]) -> EndCallback:
        if not trace.get_current_span().is_recording():
            return watch_nothing(call.method, call.size)
        span = self._tracer.start_span(name, kind=SpanKind.CLIENT, attributes=attributes)

        def end_span() -> None:
            span.set_attribute("penstock.units", call.units)
            span.set_attribute("penstock.retries", len(call.retries))
            if call.raised is not None:
                span.set_attribute("error.type", call.raised.__name__)
                span.set_status(StatusCode.ERROR)
            span.end()

        return end_span


def open_tracing(system: str, table: str) -> Tracing | None:
    """Return the tracing if the SDK or an agent is configured, else None, which costs nothing."""
    tracer = open_tracer()
    return None if tracer is None else Tracing(tracer, system, table)


def _describe(span: Span, seen: OperationRecord) -> None:
    if not span.is_recording():
        return
    span.update_name(seen.kind if seen.kind != "unknown" else "GraphQL")
    attributes = {
        "graphql.operation.type": None if seen.kind == "unknown" else seen.kind,
        "graphql.operation.name": seen.name,
        "penstock.document.sha256": seen.digest,
        "penstock.request_id": seen.request_id,
        "penstock.transport": seen.transport,
        "penstock.cost": seen.cost,
        "penstock.error_codes": seen.codes or None,
        "http.response.status_code": seen.status,
        "error.type": None if seen.outcome == OK else seen.outcome,
    }
    for name, value in attributes.items():
        if value is not None:
            span.set_attribute(name, value)
    if _FAULTS.intersection(seen.codes):
        span.set_status(StatusCode.ERROR)
