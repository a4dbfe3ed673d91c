"""`/metrics`: what this process did and holds, as Prometheus reads it.

No label holds anything a client chose: each comes from a closed list, or from the code.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import cache
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
from prometheus_client.core import CounterMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from datastore.dynamodb.failures import Refused
from datastore.errors import LimitExceeded, Unavailable
from datastore.observed import Call, Ended
from datastore.table import ConditionFailed
from execution import Reason
from server.observing import Seen
from server.processes.gathering import Registry, gathered, told_to_siblings
from server.processes.siblings import Siblings

PATH = "/metrics"

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_COSTS: Final = (1, 5, 10, 50, 100, 500, 1_000, 5_000)
_SIZES: Final = (1, 2, 5, 10, 25, 50, 100)
_OUTCOMES: Final[Mapping[type[BaseException] | None, str]] = {
    None: "ok",
    ConditionFailed: "condition_failed",
    LimitExceeded: "limit_exceeded",
    Refused: "refused",
    Unavailable: "unavailable",
}


class Operations:
    """What is counted of operations."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._total = Counter(
            "penstock_operations",
            "Requests for an operation, by the first error code of their answer.",
            ("type", "transport", "code"),
            registry=registry,
        )
        self._running = Gauge(
            "penstock_operations_running",
            "Requests for an operation that are not answered yet.",
            ("transport",),
            registry=registry,
        )
        self._seconds = Histogram(
            "penstock_operation_seconds",
            "Time from a request to its answer.",
            ("type",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._cost = Histogram(
            "penstock_operation_cost",
            "Computed cost of the operations that were let through, in objects.",
            ("type",),
            buckets=_COSTS,
            registry=registry,
        )

        # To find the series of some labels takes longer than to count in it.
        self._total_of = cache(self._total.labels)
        self._running_of = cache(self._running.labels)
        self._seconds_of = cache(self._seconds.labels)
        self._cost_of = cache(self._cost.labels)

    def watch(self, seen: Seen) -> Ended:
        running = self._running_of(seen.transport)
        running.inc()

        def ended() -> None:
            running.dec()
            self._total_of(seen.kind, seen.transport, seen.outcome).inc()
            self._seconds_of(seen.kind).observe(seen.seconds)
            if seen.cost is not None:
                self._cost_of(seen.kind).observe(seen.cost)

        return ended


class FileCalls:
    """What is counted of calls for files."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._total = Counter(
            "penstock_file_calls", "Calls for files.", ("method", "outcome"), registry=registry
        )
        self._seconds = Histogram(
            "penstock_file_call_seconds",
            "Time of a call for a file, to its last byte.",
            ("method",),
            buckets=_SECONDS,
            registry=registry,
        )

    def watch(self, call: Call) -> Ended:
        started = perf_counter()

        def ended() -> None:
            self._total.labels(call.method, _OUTCOMES.get(call.raised, "failed")).inc()
            self._seconds.labels(call.method).observe(perf_counter() - started)

        return ended


class Calls:
    """What is counted of calls of the table."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._total = Counter(
            "penstock_store_calls", "Calls of the store.", ("method", "outcome"), registry=registry
        )
        self._seconds = Histogram(
            "penstock_store_call_seconds",
            "Time of a call of the store, with all that was sent again.",
            ("method",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._units = Counter(
            "penstock_store_units", "Capacity units consumed.", ("method",), registry=registry
        )
        self._again = Counter(
            "penstock_store_retries", "Requests sent again.", ("reason",), registry=registry
        )

        self._total_of = cache(self._total.labels)
        self._seconds_of = cache(self._seconds.labels)
        self._units_of = cache(self._units.labels)

    def watch(self, call: Call) -> Ended:
        started = perf_counter()

        def ended() -> None:
            outcome = _OUTCOMES.get(call.raised, "failed")
            self._total_of(call.method, outcome).inc()
            self._seconds_of(call.method).observe(perf_counter() - started)
            self._units_of(call.method).inc(call.units)
            for reason, times in call.again.items():
                self._again.labels(reason.value).inc(times)

        return ended


class Holdings:
    """What the process holds in memory, counted each time the metrics are read."""

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
        """Ask `count` for the streams that are open."""
        self._streams.set_function(count)

    def count_cache(self, cache: str, count: Callable[[], int]) -> None:
        """Ask `count` for the entries of a cache."""
        self._cached.labels(cache).set_function(count)


class Fallbacks(Collector):
    """Why operations were not run compiled, as counted elsewhere."""

    def __init__(self, reasons: Mapping[Reason, int]) -> None:
        self._reasons = reasons

    def collect(self) -> Iterator[CounterMetricFamily]:
        total = CounterMetricFamily(
            "penstock_interpreted_operations",
            "Operations that graphql-core ran; for an odd value, only a part of them.",
            labels=("reason",),
        )
        for reason, count in sorted(self._reasons.items()):
            total.add_metric([reason], count)
        yield total


class Metrics:
    """The metrics of one application, in a registry of their own."""

    def __init__(self, siblings: Siblings | None = None) -> None:
        self._siblings = siblings
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        self.operation = Operations(registry).watch
        self.call = Calls(registry).watch
        self.file_call = FileCalls(registry).watch
        self.holdings = Holdings(registry)
        self._batches = Histogram(
            "penstock_loader_batch_size",
            "Keys in each batch that a loader read.",
            ("loader",),
            buckets=_SIZES,
            registry=registry,
        )

    def batch(self, loader: str, size: int) -> Ended:
        return lambda: self._batches.labels(loader).observe(size)

    def count_fallbacks(self, reasons: Mapping[Reason, int]) -> None:
        """Show counts that grow elsewhere."""
        self.registry.register(Fallbacks(reasons))

    def told(self) -> AbstractAsyncContextManager[None]:
        """Tell the other processes of the server, if there are any."""
        if self._siblings is None:
            return nullcontext()
        return told_to_siblings(self.registry, self._siblings)

    def route(self) -> Route:
        """Make `/metrics`, in OpenMetrics where that is asked for; it asks for no token."""

        async def metrics(request: Request) -> Response:
            encode, content_type = choose_encoder(request.headers.get("accept", ""))
            headers = {"content-type": content_type, "cache-control": "no-store"}
            known: Registry = self.registry
            if self._siblings is not None:
                known = await gathered(self.registry, self._siblings)
            return Response(encode(known), headers=headers)

        return Route(PATH, metrics)
