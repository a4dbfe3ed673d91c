"""The log of executions, jobs, runs of manifests and notifications.

Executions and jobs have one line when each starts, and one when it ends; a notification has one.
A run of a manifest has one when it was given up, which is a warning.

The reason of a failure is its code. Its message is left out, because it may quote a cell of the
input; the execution or the job has it.
"""

import logging
from typing import Literal

from penstock.datastore.work_reports import (
    ExecutionChange,
    ExecutionReport,
    JobChange,
    JobReport,
    RunChange,
    RunReport,
)
from penstock.server.telemetry.logs import EventLog

executions = logging.getLogger("penstock.executions")
jobs = logging.getLogger("penstock.jobs")
runs = logging.getLogger("penstock.runs")


def log_execution(report: ExecutionReport) -> None:
    """Log the start of an attempt, or the end of the execution."""
    facts = {
        "execution": report.id,
        "pipeline": report.pipeline,
        "mode": report.mode,
        "attempt": report.attempt,
    }
    if report.change in (ExecutionChange.STARTED, ExecutionChange.TAKEN_OVER):
        taken_over = report.change is ExecutionChange.TAKEN_OVER
        waited = {} if report.waited is None else {"waited": round(report.waited, 3)}
        executions.info("execution started", extra={**facts, "again": taken_over, **waited})
    elif report.change.is_end:
        ended = {
            "outcome": report.change.value,
            "reason": report.reason,
            "seconds": None if report.seconds is None else round(report.seconds, 3),
            "rows": report.rows_succeeded,
            "rejected_rows": report.rows_failed,
            "bytes_read": report.bytes_read,
            "bytes_written": report.bytes_written,
        }
        executions.info("execution ended", extra={**facts, **ended})


def log_job(report: JobReport) -> None:
    """Log the first start of the job, or its end."""
    facts = {"job": report.id, "kind": report.kind}
    if report.change is JobChange.STARTED:
        jobs.info("job started", extra={**facts, "waited": round(report.waited or 0.0, 3)})
    elif report.change.is_end:
        ended = {
            "outcome": report.change.value,
            "reason": report.reason,
            "seconds": round(report.seconds or 0.0, 3),
            "steps": report.steps,
        }
        jobs.info("job ended", extra={**facts, **ended})


def log_run(report: RunReport) -> None:
    """Warn of a run that no worker tries again; `penstock doctor` names its manifest."""
    if report.change is RunChange.GIVEN_UP:
        facts = {"run": report.id, "stage": report.stage, "attempt": report.attempt}
        runs.warning("run given up", extra=facts)


class NotificationLog:
    """Logs notifications to standard error, as the access log does operations."""

    def __init__(self, form: Literal["text", "json"]) -> None:
        self._log_event = EventLog(form).write

    def write(self, request_id: str, correlator: str, status: int, seconds: float) -> None:
        """Log one answer; `correlator` names the sender's transaction."""
        facts = {
            "correlator": correlator,
            "milliseconds": round(seconds * 1_000, 2),
            "request_id": request_id,
            "status": status,
        }
        self._log_event("notification", facts)
