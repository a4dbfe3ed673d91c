"""The plan of a metric: the outputs of pipelines of which it is made, directly or through others.

A value of a metric is its function of the values of its inputs: of all rows of an output, and of
the one value that another metric has.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias

from penstock.datastore.errors import LimitExceeded, Unavailable
from penstock.datastore.kept_rows.columns import mean_of, sum_of
from penstock.datastore.records import MeasureFunction, Metric, MetricSource
from penstock.datastore.table.layout import METRIC

MAX_LEAVES: Final = 200
"""The outputs of which a metric is made, each as often as metrics use it."""

MAX_VISITS: Final = 2_000
"""The inputs of metrics that are visited to list the outputs, also those that lead to none."""


class Leaf(NamedTuple):
    """An output of a pipeline of which a metric is made, and the function over its rows.

    `number` is that of the metric's own input that leads to it.
    """

    number: int
    pipeline: str
    output: str
    function: MeasureFunction


@dataclass(frozen=True, slots=True)
class Part:
    """The values of an input: how many they are, and their sum, or the least or largest of them."""

    count: int
    value: Decimal | None


FindPart: TypeAlias = Callable[[Leaf], Part]
NO_VALUES: Final = Part(0, None)


@dataclass(frozen=True, slots=True)
class MetricPlan:
    """A metric, and the metrics `reached` below it by id, as far as the caller sees them."""

    metric: Metric
    reached: Mapping[str, Metric]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metric and those below it."""
        return (self.metric, *self.reached.values())

    @property
    def inputs(self) -> int:
        """The number of inputs of all these metrics, which each value visits."""
        return sum(len(one.inputs) for one in self.metrics)

    def leaves(self) -> list[Leaf]:
        """List the outputs; raises LimitExceeded for too many of them."""
        found: list[Leaf] = []
        visits = 0
        for number, one in enumerate(self.metric.inputs):
            for leaf in self._visit(number, self.metric, one, ()):
                visits += 1
                if visits > MAX_VISITS:
                    raise LimitExceeded("inputs of metrics below a metric", MAX_VISITS, visits)
                if leaf is not None:
                    found.append(leaf)
                if len(found) > MAX_LEAVES:
                    raise LimitExceeded("outputs of a metric", MAX_LEAVES, len(found))
        return found

    def values(self, numbers: Sequence[int | None], find: FindPart) -> list[Decimal | None]:
        """The value from the input of each number alone, or from all inputs for None."""
        parts = list(self._parts(self.metric, find, {}))
        chosen = [parts if n is None else [parts[n]] for n in numbers]
        return [combine(self.metric.function, one) for one in chosen]

    def _visit(
        self, number: int, metric: Metric, one: MetricSource, above: tuple[str, ...]
    ) -> Iterator[Leaf | None]:
        """Yield the output of an input, or None and then what is below the metric that it is."""
        if one.kind != METRIC.letter:
            yield Leaf(number, one.id, one.output or "", metric.function)
        elif one.id in above:
            # The metrics were read one after another, while others saved them.
            raise Unavailable("The metrics are being changed.")
        else:
            yield None
            if inner := self.reached.get(one.id):
                for below in inner.inputs:
                    yield from self._visit(number, inner, below, (*above, one.id))

    def _parts(self, metric: Metric, find: FindPart, known: dict[str, Part]) -> Iterator[Part]:
        for number, one in enumerate(metric.inputs):
            if one.kind != METRIC.letter:
                yield find(Leaf(number, one.id, one.output or "", metric.function))
                continue
            inner = self.reached.get(one.id)
            if one.id not in known and inner is not None:
                value = combine(inner.function, list(self._parts(inner, find, known)))
                known[one.id] = Part(int(value is not None), value)
            yield known.get(one.id, NO_VALUES)


def combine(function: MeasureFunction, parts: Sequence[Part]) -> Decimal | None:
    """The value of a function over the values of several inputs; None if there are none."""
    count = sum(part.count for part in parts)
    values = [part.value for part in parts if part.value is not None]
    if function is MeasureFunction.COUNT:
        return Decimal(count)
    if not values:
        return None
    match function:
        case MeasureFunction.MIN:
            return min(values)
        case MeasureFunction.MAX:
            return max(values)
        case MeasureFunction.AVG:
            return mean_of(sum_of(values), count)
        case _:
            return sum_of(values)
