"""One line of log for each operation: what it was and how it went, and nothing that was sent."""

from opentelemetry import trace

from datastore.observed import Ended
from server.logs import operation_lines
from server.observing import Seen


def logged(seen: Seen) -> Ended:
    """Log the operation when it has ended."""

    def ended() -> None:
        units = seen.units
        operation_lines().log(
            {
                "request_id": seen.request_id,
                "transport": seen.transport,
                "type": seen.kind,
                "operation": seen.name,
                "document": seen.digest,
                "status": seen.status,
                "outcome": seen.outcome,
                "codes": seen.codes,
                "milliseconds": round(seen.seconds * 1_000, 2),
                "cost": seen.cost,
                "rcu": units.rcu if units else 0.0,
                "wcu": units.wcu if units else 0.0,
                "calls": units.calls if units else 0,
                **_trace(),
            }
        )

    return ended


def _trace() -> dict[str, str]:
    """Name the trace that the operation is part of, if one is recorded."""
    context = trace.get_current_span().get_span_context()
    return {"trace_id": trace.format_trace_id(context.trace_id)} if context.is_valid else {}
