"""Attaches metrics, traces, logs and lineage to the application, its loaders and its store."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace

from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.objects.instrumentation import InstrumentedFiles
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import EndCallback, InstrumentedTable, WatchBatch
from penstock.datastore.work_reports import ExecutionReport, JobReport, RunReport
from penstock.graphql_jit import FallbackReason
from penstock.schema.engine.engine import GraphQLEngine
from penstock.server.connections.gate import Gates
from penstock.server.core.siblings import Siblings
from penstock.server.lineage.lineage import Lineage
from penstock.server.settings.settings import Settings
from penstock.server.settings.store_settings import DATABASE
from penstock.server.telemetry.metrics import Metrics
from penstock.server.telemetry.operation import AccessLog, ObservedApp, WatchOperation
from penstock.server.telemetry.tracing import Tracing, open_tracing
from penstock.server.telemetry.work_log import log_execution, log_job, log_run
from penstock.server.telemetry.work_spans import WorkSpans


@dataclass(frozen=True, slots=True)
class Instrumentation:
    """The instrumentation that the settings and OpenTelemetry's configuration ask for."""

    metrics: Metrics | None
    tracing: Tracing | None
    log: AccessLog | None
    work_spans: WorkSpans | None = None
    lineage: Lineage | None = None

    @classmethod
    def of(cls, settings: Settings, siblings: Siblings | None = None) -> "Instrumentation":
        sqlite = settings.store == "sqlite"
        traced = (
            open_tracing("sqlite", DATABASE)
            if sqlite
            else open_tracing("aws.dynamodb", settings.table)
        )
        lineage = Lineage.of(settings)
        metrics = Metrics(siblings, settings.store) if settings.metrics else None
        if metrics is not None and lineage is not None:
            metrics.work.count_lineage(lineage.delivery)
        return cls(
            metrics,
            traced,
            AccessLog(settings.log_format) if settings.access_log else None,
            None if traced is None else traced.make_work_spans(),
            lineage,
        )

    @property
    def operation_watchers(self) -> tuple[WatchOperation, ...]:
        """The watchers of operations; the span's comes first, so the others run inside it."""
        sources = [*self._sources, *(() if self.log is None else (self.log,))]
        return tuple(source.operation for source in sources)

    def watch_work(self, store: Store) -> Store:
        """Return a store that reports work in the background; so does every store made of it."""
        rules = replace(store.execution_rules, watch=self._show_execution)
        jobs, runs = self._show_job, self._show_run
        return replace(store, execution_rules=rules, watch_job=jobs, watch_run=runs)

    def _show_execution(self, report: ExecutionReport) -> None:
        if self.log is not None:
            log_execution(report)
        self.show_from_worker(report)

    def show_from_worker(self, report: ExecutionReport) -> None:
        """Show what a worker process of this server did, which has logged it itself."""
        if self.metrics is not None:
            self.metrics.work.execution(report)
        if self.work_spans is not None:
            self.work_spans.execution(report)
        if self.lineage is not None:
            self.lineage.tell_execution(report)

    def _show_job(self, report: JobReport) -> None:
        if self.log is not None:
            log_job(report)
        if self.metrics is not None:
            self.metrics.work.job(report)
        if self.work_spans is not None:
            self.work_spans.job(report)

    def _show_run(self, report: RunReport) -> None:
        # An alert is no line of the access log, which may be off.
        log_run(report)
        if self.metrics is not None:
            self.metrics.work.run(report)
        if self.lineage is not None:
            self.lineage.tell_run(report)

    def instrument_store(self, store: Store) -> Store:
        """Return a store that shows its calls and loader batches."""
        if not self._sources:
            return store
        table = InstrumentedTable(store.table, [source.call for source in self._sources])
        files = store.files
        if files is not NO_FILES:
            files = InstrumentedFiles(files, [source.file_call for source in self._sources])
        batches = [source.batch for source in self._sources]
        return replace(store, table=table, files=files, watch=_combine_watchers(batches))

    def instrument_app(self, app: ASGIApp) -> ASGIApp:
        """Return an application that shows its operations."""
        return ObservedApp(app, self.operation_watchers) if self.operation_watchers else app

    def report_gauges(self, engine: GraphQLEngine, streams: Sized) -> None:
        """Report the numbers of documents in the engine's caches, and of open streams."""
        if self.metrics is not None:
            gauges = self.metrics.gauges
            gauges.count_cache("documents", lambda: engine.cached_documents)
            gauges.count_cache("persisted", lambda: engine.cached_persisted_texts)
            gauges.count_streams(lambda: len(streams))

    def report_work(self, store: Store, sink: NotificationSink | None) -> None:
        """Report what waits for workers, and the events of the sink."""
        if self.metrics is not None:
            self.metrics.count_queues(store.read_queues)
            if sink is not None:
                self.metrics.work.count_sink(sink)

    def count_workers(self, workers: Callable[[], int]) -> None:
        """Report the number of worker processes."""
        if self.metrics is not None:
            self.metrics.work.count_workers(workers)

    def count_fallbacks(self, reasons: Mapping[FallbackReason, int]) -> None:
        """Report the counters in `reasons`, of operations that ran interpreted."""
        if self.metrics is not None:
            self.metrics.count_fallbacks(reasons)

    def count_connections(self, gates: Gates | None) -> None:
        """Report the connections that are open, refused and let go, if they are known."""
        if self.metrics is not None and gates is not None:
            self.metrics.count_connections(gates)

    def count_unpaid(self, count: Callable[[], int]) -> None:
        """Report the units of the event loop that callers owed, which `count` returns."""
        if self.metrics is not None:
            self.metrics.count_unpaid(count)

    def share_with_siblings(self) -> AbstractAsyncContextManager[None]:
        """Send the metrics of this process to the server's other processes on request."""
        return nullcontext() if self.metrics is None else self.metrics.share_with_siblings()

    def routes(self) -> Iterator[BaseRoute]:
        if self.metrics is not None:
            yield self.metrics.route()

    @property
    def _sources(self) -> list[Metrics | Tracing]:
        return [source for source in (self.tracing, self.metrics) if source is not None]


def _combine_watchers(watchers: Sequence[WatchBatch]) -> WatchBatch:
    if len(watchers) == 1:
        return watchers[0]

    def began(reader: str, size: int) -> EndCallback:
        ended = [watch(reader, size) for watch in watchers]

        def end() -> None:
            for each in reversed(ended):
                each()

        return end

    return began
