"""Series of metrics that are counted in plain numbers, and shown when somebody reads them.

The client library takes a lock for each number and walks the buckets of each histogram, which adds
up to as long as a small operation takes. Here only the thread of the event loop counts.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import time
from typing import Final, TypeAlias

from prometheus_client import CollectorRegistry, metrics
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

Labels: TypeAlias = tuple[str, ...]
"""The values of a series' labels, in the order in which their names were given."""

_INFINITY: Final = float("inf")


class _Sums(dict[Labels, float]):
    """Numbers that begin at zero, with the second in which each did."""

    def __init__(self) -> None:
        super().__init__()
        self.began: dict[Labels, float] = {}

    def __missing__(self, labels: Labels) -> float:
        self.began[labels] = time()
        return 0.0


class Counter(Collector):
    """Numbers that only grow: `counter.sums[labels] += 1`."""

    def __init__(
        self, registry: CollectorRegistry, name: str, documentation: str, *labels: str
    ) -> None:
        self.sums = _Sums()
        self._name, self._documentation, self._labels = name, documentation, labels
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        family = Metric(self._name, self._documentation, "counter")
        for values, sum in self.sums.items():
            labels = _named(self._labels, values)
            family.add_sample(f"{self._name}_total", labels, sum)
            _add_began(family, labels, self.sums.began[values])
        yield family


class Gauge(Collector):
    """Numbers that grow and shrink: `gauge.values[labels] -= 1`."""

    def __init__(
        self, registry: CollectorRegistry, name: str, documentation: str, *labels: str
    ) -> None:
        self.values: defaultdict[Labels, float] = defaultdict(float)
        self._name, self._documentation, self._labels = name, documentation, labels
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        family = Metric(self._name, self._documentation, "gauge")
        for values, value in self.values.items():
            family.add_sample(self._name, _named(self._labels, values), value)
        yield family


@dataclass(slots=True)
class _Observed:
    """What one series has seen: how many values in each bucket, and their sum."""

    counts: list[int]
    began: float
    sum: float = 0.0


class Histogram(Collector):
    """How values are spread over buckets, by the value of one label."""

    def __init__(
        self,
        registry: CollectorRegistry,
        name: str,
        documentation: str,
        label: str,
        bounds: Sequence[float],
    ) -> None:
        self._name, self._documentation, self._label = name, documentation, label
        self._bounds = (*(float(bound) for bound in bounds), _INFINITY)
        self._names = [_bound_name(bound) for bound in self._bounds]
        self._observed: dict[str, _Observed] = {}
        registry.register(self)

    def observe(self, label: str, value: float) -> None:
        observed = self._observed.get(label)
        if observed is None:
            observed = self._observed[label] = _Observed([0] * len(self._bounds), time())
        observed.counts[bisect_left(self._bounds, value)] += 1
        observed.sum += value

    def collect(self) -> Iterator[Metric]:
        family = Metric(self._name, self._documentation, "histogram")
        for value, observed in self._observed.items():
            labels = _named((self._label,), (value,))
            count = 0.0
            for bound, within in zip(self._names, observed.counts, strict=True):
                count += within
                family.add_sample(f"{self._name}_bucket", {**labels, "le": bound}, count)
            family.add_sample(f"{self._name}_count", labels, count)
            family.add_sample(f"{self._name}_sum", labels, observed.sum)
            _add_began(family, labels, observed.began)
        yield family


def _named(names: Labels, values: Labels) -> dict[str, str]:
    return dict(zip(names, values, strict=True))


def _bound_name(bound: float) -> str:
    return str(floatToGoString(bound))  # type: ignore[no-untyped-call]  # the library has no types


def _add_began(family: Metric, labels: dict[str, str], began: float) -> None:
    """Tell when a series began, unless the variable of the client library forbids it."""
    if metrics._use_created:  # noqa: SLF001 - it has no public name
        family.add_sample(f"{family.name}_created", labels, began)
