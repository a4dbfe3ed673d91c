"""Spans by OpenTelemetry: one for each operation, loader batch and call of the store.

They hold names, sizes and costs: no document, no argument, no key and no value. Nothing is made
unless somebody configured OpenTelemetry's SDK before the application is opened.
"""

from typing import Final

from opentelemetry import context, trace
from opentelemetry.trace import ProxyTracerProvider, Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from penstock.datastore.errors import ErrorCode
from penstock.datastore.observed import Call, Ended, unwatched
from penstock.server.observing import OK, OperationEnded, Seen

_CALLERS: Final = TraceContextTextMapPropagator()
_FAULTS: Final = frozenset(
    (ErrorCode.INTERNAL_SERVER_ERROR, ErrorCode.SERVICE_UNAVAILABLE, ErrorCode.TIMEOUT)
)


class Tracing:
    """Makes the spans of one application over one table (`system` and `table` name it)."""

    def __init__(self, tracer: Tracer, system: str, table: str) -> None:
        self._tracer = tracer
        self._names = {"db.system.name": system, "db.collection.name": table}

    def operation(self, seen: Seen) -> OperationEnded:
        """Begin the span that the others lie below; it continues the caller's trace."""
        callers = seen.trace
        above = _CALLERS.extract(callers) if callers else None
        span = self._tracer.start_span("GraphQL", above, SpanKind.SERVER)
        token = context.attach(trace.set_span_in_context(span, above))
        made = span.get_span_context()
        seen.trace_id = trace.format_trace_id(made.trace_id) if made.is_valid else None

        def ended(seen: Seen) -> None:
            context.detach(token)
            _describe(span, seen)
            span.end()

        return ended

    def batch(self, loader: str, size: int) -> Ended:
        if not trace.get_current_span().is_recording():
            return unwatched(loader, size)
        span = self._tracer.start_span(
            f"load {loader}",
            attributes={"penstock.loader": loader, "penstock.loader.keys": size},
        )
        token = context.attach(trace.set_span_in_context(span))

        def ended() -> None:
            context.detach(token)
            span.end()

        return ended

    def call(self, call: Call) -> Ended:
        """Begin the span of a call of the table made for an operation; others have none."""
        return self._call(
            call,
            f"{call.method} {self._names['db.collection.name']}",
            {
                **self._names,
                "db.operation.name": call.method,
                "db.operation.batch.size": call.size,
            },
        )

    def file_call(self, call: Call) -> Ended:
        """Begin the span of a call for a file, likewise."""
        return self._call(call, f"{call.method} file", {"penstock.files.operation": call.method})

    def _call(self, call: Call, name: str, attributes: dict[str, str | int]) -> Ended:
        if not trace.get_current_span().is_recording():
            return unwatched(call.method, call.size)
        span = self._tracer.start_span(name, kind=SpanKind.CLIENT, attributes=attributes)

        def ended() -> None:
            span.set_attribute("penstock.units", call.units)
            span.set_attribute("penstock.retries", len(call.again))
            if call.raised is not None:
                span.set_attribute("error.type", call.raised.__name__)
                span.set_status(StatusCode.ERROR)
            span.end()

        return ended


def tracing(system: str, table: str) -> Tracing | None:
    """Trace if the SDK is configured, or an agent did so; else None, which costs nothing."""
    provider = trace.get_tracer_provider()
    if isinstance(provider, ProxyTracerProvider):
        return None
    return Tracing(provider.get_tracer("penstock"), system, table)


def _describe(span: Span, seen: Seen) -> None:
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
