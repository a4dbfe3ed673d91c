"""The metrics of executions, jobs, runs and the sink: what this process did, and what waits."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib.metadata import version
from itertools import product
from typing import Any, Final, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from penstock.datastore.errors import PenstockError
from penstock.datastore.executions.claims.claims import ExecutionQueue
from penstock.datastore.executions.records import ExecutionMode
from penstock.datastore.jobs.jobs import JobKind, JobQueue
from penstock.datastore.manifest.records import Stage
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.work_reports import (
    ExecutionChange,
    ExecutionReport,
    JobChange,
    JobReport,
    LostClaim,
    RunChange,
    RunReport,
)
from penstock.server.core.recent_value import RecentValue
from penstock.server.lineage.delivery import Delivery, Outcome

QUEUES_SECONDS: Final = 10.0
"""The age up to which the queues are not read again, however many scrape."""

TIMEOUT_SECONDS: Final = 1.0

_SECONDS: Final = (0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400)

Queues: TypeAlias = tuple[ExecutionQueue, JobQueue]
ReadQueues: TypeAlias = Callable[[], Awaitable[Queues]]

logger = logging.getLogger("penstock.metrics")


def expose_info(registry: CollectorRegistry, store: str) -> None:
    """Report the release, and the kind of store, under a gauge that is always 1."""
    info = Gauge(
        "penstock_info", "The release and its store.", ("version", "store"), registry=registry
    )
    info.labels(version("penstock"), store).set(1)


def _counter(
    name: str, words: str, registry: CollectorRegistry, **labels: Iterable[str]
) -> Counter:
    """Make a counter with a series of each combination of values, which begin at zero.

    A series that began with its first event would show no increase by it.
    """
    made = Counter(name, words, tuple(labels), registry=registry)
    for values in product(*labels.values()):
        made.labels(*values)
    return made


def _seconds(name: str, words: str, registry: CollectorRegistry, label: str) -> Histogram:
    return Histogram(name, words, (label,), registry=registry, buckets=_SECONDS)


_EXECUTION_COUNTERS: Final[Mapping[ExecutionChange, tuple[str, str]]] = {
    ExecutionChange.CREATED: ("requested", "Executions created."),
    ExecutionChange.STARTED: (
        "started",
        "Executions that a worker claimed for the first time since they were ready.",
    ),
    ExecutionChange.TAKEN_OVER: (
        "taken_over",
        "Executions that were claimed again, after a pause or another worker.",
    ),
    ExecutionChange.RETRIED: ("retried", "Executions that were begun anew."),
}


class ExecutionMetrics:
    """The metrics of executions that this server and its worker processes work on."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._changes = {
            change: _counter(f"penstock_executions_{name}", words, registry, mode=ExecutionMode)
            for change, (name, words) in _EXECUTION_COUNTERS.items()
        }
        self._ended = _counter(
            "penstock_executions_ended",
            "Executions that ended, by their state.",
            registry,
            mode=ExecutionMode,
            state=[change for change in ExecutionChange if change.is_end],
        )
        self._lost = _counter(
            "penstock_execution_claims_lost",
            "Claims that workers lost, by the reason.",
            registry,
            reason=LostClaim,
        )
        self._waits = _seconds(
            "penstock_execution_wait_seconds", "From ready to started.", registry, "mode"
        )
        self._seconds = _seconds(
            "penstock_execution_seconds", "From started to ended.", registry, "mode"
        )
        self._rows = _counter(
            "penstock_execution_rows",
            "Rows of executions that ended, by whether they were used.",
            registry,
            outcome=("succeeded", "failed"),
        )
        self._bytes = _counter(
            "penstock_execution_bytes",
            "Bytes that executions read and wrote until they ended.",
            registry,
            direction=("read", "written"),
        )

    def count(self, report: ExecutionReport) -> None:
        """Count one change."""
        if report.change.is_end:
            self._count_end(report)
        elif report.change is ExecutionChange.CLAIM_LOST:
            self._lost.labels(report.reason).inc()
        else:
            self._changes[report.change].labels(report.mode).inc()
        if report.waited is not None:
            self._waits.labels(report.mode).observe(report.waited)

    def _count_end(self, report: ExecutionReport) -> None:
        self._ended.labels(report.mode, report.change.value).inc()
        if report.seconds is not None:
            self._seconds.labels(report.mode).observe(report.seconds)
        self._rows.labels("succeeded").inc(report.rows_succeeded)
        self._rows.labels("failed").inc(report.rows_failed)
        self._bytes.labels("read").inc(report.bytes_read)
        self._bytes.labels("written").inc(report.bytes_written)


class JobMetrics:
    """The metrics of jobs that this process works on."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._changes = {
            change: _counter(f"penstock_jobs_{name}", words, registry, kind=JobKind)
            for change, name, words in (
                (JobChange.CREATED, "requested", "Jobs created."),
                (JobChange.STARTED, "started", "Jobs that a worker took for the first time."),
                (JobChange.CONTINUED, "continued", "Jobs that a worker took after that."),
            )
        }
        self._changes[JobChange.LEASE_LOST] = _counter(
            "penstock_job_leases_lost", "Leases that workers lost.", registry, kind=JobKind
        )
        self._ended = _counter(
            "penstock_jobs_ended",
            "Jobs that ended, by their state.",
            registry,
            kind=JobKind,
            state=[change for change in JobChange if change.is_end],
        )
        self._waits = _seconds(
            "penstock_job_wait_seconds", "From created to started.", registry, "kind"
        )
        self._seconds = _seconds("penstock_job_seconds", "From started to ended.", registry, "kind")
        self._steps = _counter(
            "penstock_job_steps", "Steps of jobs that ended.", registry, kind=JobKind
        )

    def count(self, report: JobReport) -> None:
        """Count one change."""
        if report.waited is not None:
            self._waits.labels(report.kind).observe(report.waited)
        if not report.change.is_end:
            self._changes[report.change].labels(report.kind).inc()
            return
        self._ended.labels(report.kind, report.change.value).inc()
        self._seconds.labels(report.kind).observe(report.seconds or 0.0)
        self._steps.labels(report.kind).inc(report.steps)


_RUN_COUNTERS: Final[Mapping[RunChange, tuple[str, str]]] = {
    RunChange.CLAIMED: ("claimed", "Claims of runs of manifests."),
    RunChange.PROCESSED: ("processed", "Runs whose output was reported as complete."),
    RunChange.LOADED: ("loaded", "Runs that were reported as loaded."),
    RunChange.FAILED: ("failed", "Attempts that failed, and may be made again."),
    RunChange.GIVEN_UP: ("given_up", "Runs that no worker tries again by itself."),
    RunChange.CLAIM_LOST: ("claims_lost", "Claims whose workers told no result."),
}


class RunMetrics:
    """The metrics of the runs of manifests that workers report to this server."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._changes = {
            change: _counter(f"penstock_runs_{name}", words, registry, stage=Stage)
            for change, (name, words) in _RUN_COUNTERS.items()
        }

    def count(self, report: RunReport) -> None:
        """Count one change."""
        self._changes[report.change].labels(report.stage).inc()


class QueueMetrics(Collector):
    """Exports how much waits for workers; nothing while that cannot be read.

    The queues are the same for all servers over a table.
    """

    def __init__(self) -> None:
        self.queues: Queues | None = None

    def collect(self) -> Iterator[GaugeMetricFamily]:
        if self.queues is None:
            return
        executions, jobs = self.queues
        listed = GaugeMetricFamily(
            "penstock_queue_executions",
            "Executions that wait for a worker, or have one.",
            labels=("state",),
        )
        listed.add_metric(["waiting"], executions.waiting)
        listed.add_metric(["running"], executions.running)
        yield listed
        yield GaugeMetricFamily(
            "penstock_queue_age_seconds",
            "Time for which the oldest execution has waited for a worker.",
            executions.age,
        )
        unfinished = GaugeMetricFamily(
            "penstock_unfinished_jobs", "Jobs that wait or run.", labels=("kind",)
        )
        for kind, count in jobs.unfinished.items():
            unfinished.add_metric([kind.value], count)
        yield unfinished
        yield GaugeMetricFamily(
            "penstock_unfinished_job_age_seconds", "Age of the oldest unfinished job.", jobs.age
        )


class SinkMetrics(Collector):
    """Exports the events of the sink of this process, and what it holds and cannot store."""

    def __init__(self, sink: NotificationSink) -> None:
        self._sink = sink

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        sink, done = self._sink, self._sink.committer.totals
        events = CounterMetricFamily(
            "penstock_ngsi_events", "Events (updates of entities), by state.", labels=("state",)
        )
        for state, count in done.by_state.items():
            events.add_metric([state], count)
        yield events
        yield GaugeMetricFamily(
            "penstock_ngsi_pending_events",
            "Events that this process holds and has not stored yet.",
            sink.in_flight.held.events,
        )
        yield GaugeMetricFamily(
            "penstock_ngsi_pending_bytes", "Bytes of these events.", sink.in_flight.held.size
        )
        yield GaugeMetricFamily(
            "penstock_ngsi_troubled_destinations",
            "Destinations that cannot be written at the moment.",
            len(sink.loader.failing_destinations),
        )


class LineageMetrics(Collector):
    """Exports what became of the events of this process for a catalogue of data."""

    def __init__(self, delivery: Delivery[Any]) -> None:
        self._delivery = delivery

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        events = CounterMetricFamily(
            "penstock_openlineage_events", "OpenLineage events, by outcome.", labels=("outcome",)
        )
        for outcome in Outcome:
            events.add_metric([outcome], self._delivery.outcomes[outcome])
        yield events
        yield GaugeMetricFamily(
            "penstock_openlineage_pending",
            "Changes whose OpenLineage events are not sent yet.",
            self._delivery.pending,
        )


class WorkMetrics:
    """The metrics of work in the background, of one application."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self.execution = ExecutionMetrics(registry).count
        self.job = JobMetrics(registry).count
        self.run = RunMetrics(registry).count
        self._workers = Gauge(
            "penstock_execution_workers",
            "Worker processes of this server that are alive.",
            registry=registry,
        )
        self._queues = QueueMetrics()
        self._recent: RecentValue[None] | None = None

    def count_workers(self, workers: Callable[[], int]) -> None:
        """Report the number of worker processes."""
        self._workers.set_function(workers)

    def count_sink(self, sink: NotificationSink) -> None:
        """Report the events of the sink."""
        self._registry.register(SinkMetrics(sink))

    def count_lineage(self, delivery: Delivery[Any]) -> None:
        """Report what became of events for a catalogue of data."""
        self._registry.register(LineageMetrics(delivery))

    def count_queues(self, read: ReadQueues) -> None:
        """Report the queues that `read` reads, at most once in QUEUES_SECONDS."""
        self._recent = RecentValue(partial(self._read_queues, read), fresh=QUEUES_SECONDS)
        self._registry.register(self._queues)

    async def refresh(self) -> None:
        """Read the queues before a text is written, unless they were read a short time ago."""
        if self._recent is not None:
            await self._recent.get()

    async def _read_queues(self, read: ReadQueues) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                self._queues.queues = await read()
        except (PenstockError, TimeoutError) as error:
            self._queues.queues = None
            logger.warning("the queues could not be read: %s", str(error) or "too slow")
