"""The spans of executions and jobs, with links to the requests that created or retried them.

A span is made when its work ends, by the process that learns of the end. The links are what this
process remembers: work that another server created, or that was created before a restart, has none.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, ProxyTracerProvider, SpanContext, StatusCode, Tracer

from penstock.datastore.errors import ErrorCode
from penstock.datastore.executions.failure_codes import FailureCode
from penstock.datastore.work_reports import ExecutionChange, ExecutionReport, JobChange, JobReport

Attributes: TypeAlias = Mapping[str, str | int]

REMEMBERED: Final = 10_000
"""The executions and jobs whose requests are remembered; the oldest are forgotten first."""

_FAULTS: Final = frozenset(
    (FailureCode.INTERNAL_ERROR, FailureCode.ATTEMPTS_EXHAUSTED, ErrorCode.INTERNAL_SERVER_ERROR)
)
"""The reasons of failures that the server caused."""


class WorkSpans:
    """Makes the spans of executions and jobs that one process learns of."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._requests: dict[str, SpanContext] = {}

    def execution(self, report: ExecutionReport) -> None:
        """Remember the request that asked for an execution; make its span when it ended."""
        if report.change in (ExecutionChange.CREATED, ExecutionChange.RETRIED):
            self._remember(report.id)
        elif report.change.is_end:
            attributes: Attributes = {
                "penstock.execution.id": report.id,
                "penstock.pipeline.id": report.pipeline,
                "penstock.execution.mode": report.mode,
                "penstock.execution.attempt": report.attempt,
                "penstock.execution.outcome": report.change.value,
                "penstock.execution.rows": report.rows_succeeded,
                "penstock.execution.rejected_rows": report.rows_failed,
                "penstock.execution.bytes_read": report.bytes_read,
                "penstock.execution.bytes_written": report.bytes_written,
            }
            self._make_span("execution", report, attributes)

    def job(self, report: JobReport) -> None:
        """Remember the request that asked for a job; make its span when it ended."""
        if report.change is JobChange.CREATED:
            self._remember(report.id)
        elif report.change.is_end:
            attributes: Attributes = {
                "penstock.job.id": report.id,
                "penstock.job.kind": report.kind,
                "penstock.job.outcome": report.change.value,
                "penstock.job.steps": report.steps,
            }
            self._make_span("job", report, attributes)

    def _remember(self, id: str) -> None:
        request = trace.get_current_span().get_span_context()
        self._requests.pop(id, None)
        if request.is_valid:
            self._requests[id] = request
        if len(self._requests) > REMEMBERED:
            del self._requests[next(iter(self._requests))]

    def _make_span(
        self, name: str, report: ExecutionReport | JobReport, attributes: Attributes
    ) -> None:
        request = self._requests.pop(report.id, None)
        # Not a child of the request: that has ended long since, or is one that cancels.
        span = self._tracer.start_span(
            name,
            Context(),
            attributes=attributes,
            links=[] if request is None else [Link(request)],
            start_time=_nanoseconds(report.at - (report.seconds or 0.0)),
        )
        if report.reason is not None:
            span.set_attribute("error.type", report.reason)
        if report.reason in _FAULTS:
            span.set_status(StatusCode.ERROR)
        span.end(_nanoseconds(report.at))


def open_tracer() -> Tracer | None:
    """Return the tracer if the SDK or an agent is configured, else None, which costs nothing."""
    provider = trace.get_tracer_provider()
    return None if isinstance(provider, ProxyTracerProvider) else provider.get_tracer("penstock")


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)
