"""`/metrics`: what this process did and holds, as Prometheus reads it.

No label holds anything a client chose: each comes from a closed list, or from the code.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from time import perf_counter
from typing import Final

import prometheus_client as client
from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from datastore.dynamodb.refused import Refused
from datastore.errors import LimitExceeded, Unavailable
from datastore.observed import Call, Ended
from datastore.table import ConditionFailed
from execution import Reason
from server.observing import TRANSPORTS, OperationEnded, Seen, Transport
from server.processes.gathering import Registry, gathered, told_to_siblings
from server.processes.siblings import Siblings
from server.series import Counter, Gauge, Histogram

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
            registry,
            "penstock_operations",
            "Requests for an operation, by the first error code of their answer.",
            "type",
            "transport",
            "code",
        )
        self._running = Gauge(
            registry,
            "penstock_operations_running",
            "Requests for an operation that are not answered yet.",
            "transport",
        )
        self._seconds = Histogram(
            registry,
            "penstock_operation_seconds",
            "Time from a request to its answer.",
            "type",
            _SECONDS,
        )
        self._cost = Histogram(
            registry,
            "penstock_operation_cost",
            "Computed cost of the operations that were let through, in objects.",
            "type",
            _COSTS,
        )
        self._ends = {each: partial(self._ended, each) for each in TRANSPORTS}

    def watch(self, seen: Seen) -> OperationEnded:
        began_as = seen.transport
        self._running.values[began_as,] += 1
        return self._ends[began_as]

    def _ended(self, began_as: Transport, seen: Seen) -> None:
        self._running.values[began_as,] -= 1
        kind, cost = seen.kind, seen.cost
        self._total.sums[kind, seen.transport, seen.outcome] += 1
        self._seconds.observe(kind, seen.seconds)
        if cost is not None:
            self._cost.observe(kind, cost)


class FileCalls:
    """What is counted of calls for files."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._total = Counter(
            registry, "penstock_file_calls", "Calls for files.", "method", "outcome"
        )
        self._seconds = Histogram(
            registry,
            "penstock_file_call_seconds",
            "Time of a call for a file, to its last byte.",
            "method",
            _SECONDS,
        )

    def watch(self, call: Call) -> Ended:
        return partial(self._ended, call, perf_counter())

    def _ended(self, call: Call, started: float) -> None:
        self._total.sums[call.method, _OUTCOMES.get(call.raised, "failed")] += 1
        self._seconds.observe(call.method, perf_counter() - started)


class Calls:
    """What is counted of calls of the table."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._total = Counter(
            registry, "penstock_store_calls", "Calls of the store.", "method", "outcome"
        )
        self._seconds = Histogram(
            registry,
            "penstock_store_call_seconds",
            "Time of a call of the store, with all that was sent again.",
            "method",
            _SECONDS,
        )
        self._units = Counter(
            registry, "penstock_store_units", "Capacity units consumed.", "method"
        )
        self._again = Counter(registry, "penstock_store_retries", "Requests sent again.", "reason")

    def watch(self, call: Call) -> Ended:
        return partial(self._ended, call, perf_counter())

    def _ended(self, call: Call, started: float) -> None:
        method = call.method
        self._total.sums[method, _OUTCOMES.get(call.raised, "failed")] += 1
        self._seconds.observe(method, perf_counter() - started)
        self._units.sums[method,] += call.units
        for reason in call.again:
            self._again.sums[reason.value,] += 1


class Holdings:
    """What the process holds in memory, counted each time the metrics are read."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._streams = client.Gauge(
            "penstock_open_streams",
            "WebSocket connections and event streams held open.",
            registry=registry,
        )
        self._cached = client.Gauge(
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
            registry,
            "penstock_loader_batch_size",
            "Keys in each batch that a loader read.",
            "loader",
            _SIZES,
        )

    def batch(self, loader: str, size: int) -> Ended:
        return partial(self._batches.observe, loader, size)

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
