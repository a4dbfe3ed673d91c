"""`/metrics`: counts and times of this process, in Prometheus's format.

No label holds a client's text: each value comes from a closed list or from the code. So each metric
has few series, and `cache` keeps them, because finding one takes longer than counting.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import cache, partial
from time import perf_counter
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.datastore.errors import LimitExceeded, RequestRefused, Unavailable
from penstock.datastore.table.instrumentation import EndCallback, StoreCall
from penstock.datastore.table.port import ConditionFailed
from penstock.datastore.table.unreadable_rows import unreadable_reads
from penstock.graphql_jit import FallbackReason
from penstock.server.connections.gate import EndReason, Gates
from penstock.server.core.recent_value import RecentValue
from penstock.server.core.siblings import Siblings
from penstock.server.telemetry.gathered_metrics import gather_metrics, share_metrics
from penstock.server.telemetry.operation import (
    TRANSPORTS,
    OperationEnded,
    OperationRecord,
    Transport,
)
from penstock.server.telemetry.work_metrics import ReadQueues, WorkMetrics, expose_info

PATH = "/metrics"
OPEN_METRICS: Final = "application/openmetrics-text"

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_COSTS: Final = (1, 5, 10, 50, 100, 500, 1_000, 5_000)
_SIZES: Final = (1, 2, 5, 10, 25, 50, 100)
_OUTCOMES: Final[Mapping[type[BaseException] | None, str]] = {
    None: "ok",
    ConditionFailed: "condition_failed",
    LimitExceeded: "limit_exceeded",
    RequestRefused: "refused",
    Unavailable: "unavailable",
}


class OperationMetrics:
    """The metrics of operations."""

    def __init__(self, registry: CollectorRegistry) -> None:
        total = Counter(
            "penstock_operations",
            "Requests for an operation, by the first error code of their answer.",
            ("type", "transport", "code"),
            registry=registry,
        )
        running = Gauge(
            "penstock_operations_running",
            "Requests for an operation that are not answered yet.",
            ("transport",),
            registry=registry,
        )
        seconds = Histogram(
            "penstock_operation_seconds",
            "Time from a request to its answer.",
            ("type",),
            registry=registry,
            buckets=_SECONDS,
        )
        cost = Histogram(
            "penstock_operation_cost",
            "Computed cost of the operations that were let through, in objects.",
            ("type",),
            registry=registry,
            buckets=_COSTS,
        )
        self._total = cache(total.labels)
        self._running: Final = dict.fromkeys(TRANSPORTS, 0)
        for each in TRANSPORTS:
            running.labels(each).set_function(partial(self._running.__getitem__, each))
        self._seconds, self._cost = cache(seconds.labels), cache(cost.labels)
        self._ends = {each: partial(self._count_end, each) for each in TRANSPORTS}

    def start(self, record: OperationRecord) -> OperationEnded:
        """Count an operation as running; return the function to call at its end."""
        began_as = record.transport
        self._running[began_as] += 1
        return self._ends[began_as]

    def _count_end(self, began_as: Transport, record: OperationRecord) -> None:
        self._running[began_as] -= 1
        kind, cost = record.kind, record.cost
        self._total(kind, record.transport, record.outcome).inc()
        self._seconds(kind).observe(record.seconds)
        if cost is not None:
            self._cost(kind).observe(cost)


class FileCallMetrics:
    """The metrics of calls to the file store."""

    def __init__(self, registry: CollectorRegistry) -> None:
        total = Counter(
            "penstock_file_calls", "Calls for files.", ("method", "outcome"), registry=registry
        )
        seconds = Histogram(
            "penstock_file_call_seconds",
            "Time of a call for a file, to its last byte.",
            ("method",),
            registry=registry,
            buckets=_SECONDS,
        )
        self._total, self._seconds = cache(total.labels), cache(seconds.labels)

    def start(self, call: StoreCall) -> EndCallback:
        """Return the function to call at the end of a call that starts now."""
        return partial(self._count_end, call, perf_counter())

    def _count_end(self, call: StoreCall, started: float) -> None:
        self._total(call.method, _OUTCOMES.get(call.raised, "failed")).inc()
        self._seconds(call.method).observe(perf_counter() - started)


class TableCallMetrics:
    """The metrics of calls to the table."""

    def __init__(self, registry: CollectorRegistry) -> None:
        total = Counter(
            "penstock_store_calls", "Calls of the table.", ("method", "outcome"), registry=registry
        )
        seconds = Histogram(
            "penstock_store_call_seconds",
            "Time of a call of the table, including retries.",
            ("method",),
            registry=registry,
            buckets=_SECONDS,
        )
        units = Counter(
            "penstock_store_units", "Capacity units consumed.", ("method",), registry=registry
        )
        retries = Counter(
            "penstock_store_retries", "Requests sent again.", ("reason",), registry=registry
        )
        self._waits = Histogram(
            "penstock_store_turn_seconds",
            "Time that a transaction waited for its turn at its items.",
            registry=registry,
            buckets=_SECONDS,
        )
        self._merged = Counter(
            "penstock_store_merged",
            "Transactions that were sent together with an earlier one.",
            registry=registry,
        )
        self._total, self._seconds = cache(total.labels), cache(seconds.labels)
        self._units, self._retries = cache(units.labels), cache(retries.labels)

    def start(self, call: StoreCall) -> EndCallback:
        """Return the function to call at the end of a call that starts now."""
        return partial(self._count_end, call, perf_counter())

    def _count_end(self, call: StoreCall, started: float) -> None:
        method = call.method
        self._total(method, _OUTCOMES.get(call.raised, "failed")).inc()
        self._seconds(method).observe(perf_counter() - started)
        self._units(method).inc(call.units)
        for reason in call.retries:
            self._retries(reason.value).inc()
        if call.waited is not None:
            self._waits.observe(call.waited)
            self._merged.inc(call.merged)


class GaugeMetrics:
    """The metrics of caches and streams, read from callbacks at each scrape."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._streams = Gauge(
            "penstock_open_streams",
            "WebSocket connections and event streams held open.",
            registry=registry,
        )
        self._cached = Gauge(
            "penstock_cache_entries", "Entries held in memory.", ("cache",), registry=registry
        )

    def count_streams(self, count: Callable[[], int]) -> None:
        """Report the number of open streams from `count`."""
        self._streams.set_function(count)

    def count_cache(self, cache: str, count: Callable[[], int]) -> None:
        """Report the number of entries of a cache from `count`."""
        self._cached.labels(cache).set_function(count)


class FallbackMetrics(Collector):
    """Exports the executor's counters of operations that ran interpreted, by reason."""

    def __init__(self, reasons: Mapping[FallbackReason, int]) -> None:
        self._reasons = reasons

    def collect(self) -> Iterator[CounterMetricFamily]:
        total = CounterMetricFamily(
            "penstock_interpreted_operations",
            "Operations that graphql-core ran; for odd_value, it completed only some values.",
            labels=("reason",),
        )
        for reason, count in sorted(self._reasons.items()):
            total.add_metric([reason], count)
        yield total


class ConnectionMetrics(Collector):
    """Exports the open connections of all listeners, and those that the guard has ended."""

    def __init__(self, gates: Gates) -> None:
        self._gates = gates

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        gates = self._gates.all
        open_ones = GaugeMetricFamily("penstock_open_connections", "Connections that are open.")
        open_ones.add_metric([], sum(map(len, gates)))
        yield open_ones
        refused = CounterMetricFamily(
            "penstock_connections_refused",
            "Connections that were refused or let go, by the reason.",
            labels=("reason",),
        )
        for reason in EndReason:
            refused.add_metric([reason.value], sum(gate.ends[reason] for gate in gates))
        yield refused


class CountMetric(Collector):
    """Exports a count that is kept elsewhere."""

    def __init__(self, name: str, meaning: str, count: Callable[[], int]) -> None:
        self._name = name
        self._meaning = meaning
        self._count = count

    def collect(self) -> Iterator[CounterMetricFamily]:
        total = CounterMetricFamily(self._name, self._meaning)
        total.add_metric([], self._count())
        yield total


class Metrics:
    """The metrics of one application, in a separate registry."""

    def __init__(self, siblings: Siblings | None = None, store: str = "sqlite") -> None:
        self._siblings = siblings
        self.registry = registry = CollectorRegistry()
        expose_info(registry, store)
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        self.operation = OperationMetrics(registry).start
        self.call = TableCallMetrics(registry).start
        self.file_call = FileCallMetrics(registry).start
        self.gauges = GaugeMetrics(registry)
        self.work = WorkMetrics(registry)
        batches = Histogram(
            "penstock_loader_batch_size",
            "Keys in each batch that a loader read.",
            ("loader",),
            registry=registry,
            buckets=_SIZES,
        )
        self._batches = cache(batches.labels)
        unreadable = "Reads of rows that are no records for this release."
        registry.register(CountMetric("penstock_unreadable_rows", unreadable, unreadable_reads))

    def batch(self, loader: str, size: int) -> EndCallback:
        return partial(self._batches(loader).observe, size)

    def count_fallbacks(self, reasons: Mapping[FallbackReason, int]) -> None:
        """Report the counters in `reasons`, which change elsewhere."""
        self.registry.register(FallbackMetrics(reasons))

    def count_connections(self, gates: Gates) -> None:
        """Report the connections behind the gates."""
        self.registry.register(ConnectionMetrics(gates))

    def count_unpaid(self, count: Callable[[], int]) -> None:
        """Report the units of the event loop that callers owed, which `count` returns."""
        meaning = "Units that callers owed for time of the event loop beyond what they paid for."
        self.registry.register(CountMetric("penstock_unpaid_units", meaning, count))

    def count_queues(self, read: ReadQueues) -> None:
        """Report the queues; of several processes only the first one does."""
        if self._siblings is None or self._siblings.index == 0:
            self.work.count_queues(read)

    def share_with_siblings(self) -> AbstractAsyncContextManager[None]:
        """Send the metrics to the server's other processes on request, if there are any."""
        if self._siblings is None:
            return nullcontext()
        return share_metrics(self.registry, self._siblings, self.work.refresh)

    def route(self) -> Route:
        """Return `/metrics`, in OpenMetrics if the client accepts it; it needs no token.

        Each of the two texts is at most a second old, and is written once for all who ask.
        """
        texts = {kind: RecentValue(partial(self._write, kind)) for kind in ("", OPEN_METRICS)}

        async def metrics(request: Request) -> Response:
            kind = OPEN_METRICS if OPEN_METRICS in request.headers.get("accept", "") else ""
            _, content_type = choose_encoder(kind)
            headers = {"content-type": content_type, "cache-control": "no-store"}
            return Response(await texts[kind].get(), headers=headers)

        return Route(PATH, metrics)

    async def _write(self, kind: str) -> bytes:
        encode, _ = choose_encoder(kind)
        await self.work.refresh()
        if self._siblings is None:
            return encode(self.registry)
        return encode(await gather_metrics(self.registry, self._siblings))
