"""The inputs of a metric to be saved: names become ids, and no metric is made of itself.

A name means what the owner group of the metric sees under it, nearest first. An id means what the
caller sees. From then on only the ids count.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.errors import FieldProblem, LimitExceeded, NotFound
from penstock.datastore.records import Metric, MetricSource, Pipeline, Reference, Resource
from penstock.datastore.resources.metric_rules import MAX_INPUTS, input_path, output_problem
from penstock.datastore.resources.name_resolution import NameReference, NameResolver
from penstock.datastore.resources.reading import ResourceReader
from penstock.datastore.table.commit import Write, stale_read
from penstock.datastore.table.items import load, read_rows
from penstock.datastore.table.layout import METRIC, PIPELINE, KindDefinition
from penstock.datastore.table.port import Compare, Update
from penstock.datastore.table.tombstones import is_alive
from penstock.datastore.text import comparison_form
from penstock.formula.core.datasets import LATEST

MAX_METRICS: Final = 50
"""The metrics of which one metric is made, directly or through others."""

MAX_DEPTH: Final = 10

ReadMetrics: TypeAlias = Callable[[Sequence[str]], Awaitable[Sequence[Metric]]]
"""Reads the metrics with these ids, as far as they are there."""


class SettledMetric(NamedTuple):
    """A metric whose inputs have ids, their problems, and the writes that guard what was found."""

    metric: Metric
    problems: Sequence[FieldProblem] = ()
    guards: Sequence[Write] = ()


async def settle_inputs(access: Access, metric: Metric) -> SettledMetric:
    """Give the inputs of a metric to be saved their ids and names.

    Inputs that were saved before keep theirs, also if they are gone. Raises LimitExceeded for too
    many metrics within each other, and StaleRead as NameResolver does.
    """
    open_inputs = [n for n, one in enumerate(metric.inputs) if not (one.id and one.source)]
    if not open_inputs or len(metric.inputs) > MAX_INPUTS:
        return SettledMetric(metric)
    found = {**await _find(PIPELINE, access, metric), **await _find(METRIC, access, metric)}
    problems: list[FieldProblem] = []
    inputs = list(metric.inputs)
    for n in open_inputs:
        one = inputs[n]
        meant = found.get(one)
        if meant is None:
            path = input_path(n, one)
            problems.append(FieldProblem(path, f"there is no such {path[-1]}"))
            continue
        inputs[n] = replace(one, id=meant.id, source=meant.name)
        if isinstance(meant, Pipeline) and (
            message := output_problem(meant, one.output or "", metric.function)
        ):
            problems.append(FieldProblem(["inputs", str(n), "output"], message))
    settled = replace(metric, inputs=tuple(inputs))
    settled = replace(settled, references=_references(settled))
    if problems:
        return SettledMetric(settled, problems)
    return await _refuse_circle(access, settled)


def metric_ids(metric: Metric) -> list[str]:
    """The ids of the metrics among the inputs."""
    return [one.id for one in metric.inputs if one.kind == METRIC.letter]


async def reach_metrics(first: Metric, read: ReadMetrics) -> dict[str, Metric]:
    """Read the metrics of which a metric is made, a level at a time, by one read each.

    Raises LimitExceeded for too many of them, and for too many levels.
    """
    found: dict[str, Metric] = {}
    level = dict.fromkeys(metric_ids(first))
    depth = 0
    while level:
        depth += 1
        _check_limit("metrics within each other", MAX_DEPTH, depth)
        _check_limit("metrics that a metric is made of", MAX_METRICS, len(found) + len(level))
        read_now = {one.id: one for one in await read(list(level))}
        found |= read_now
        below = (id for one in read_now.values() for id in metric_ids(one))
        level = dict.fromkeys(id for id in below if id not in found)
    return found


def _check_limit(limit: str, maximum: int, actual: int) -> None:
    if actual > maximum:
        raise LimitExceeded(limit, maximum, actual, ("inputs",))


async def _find(
    kind: KindDefinition[Any], access: Access, metric: Metric
) -> Mapping[MetricSource, Resource]:
    """Find the sources of inputs that have only a name or only an id; absent ones are left out."""
    of_kind = [one for one in metric.inputs if one.kind == kind.letter]
    wanted = [one for one in of_kind if not (one.id and one.source)]
    if not wanted:
        return {}
    named = {one: NameReference(metric.owner, one.source, LATEST) for one in wanted if not one.id}
    saved = metric if kind is METRIC else None
    meant = await NameResolver(kind, access, saved).resolve(named.values())
    found: dict[MetricSource, Resource] = {
        one: meant[mention].latest for one, mention in named.items() if mention in meant
    }
    chosen = [one for one in wanted if one.id]
    seen = await ResourceReader(kind, access).many([one.id for one in chosen])
    pairs = zip(chosen, seen, strict=True)
    return found | {one: each for one, each in pairs if not isinstance(each, NotFound)}


def _references(metric: Metric) -> tuple[Reference, ...]:
    """The references by which others learn what the metric uses, each once."""
    named = {(one.kind, one.id): one.source for one in metric.inputs if one.id}
    return tuple(
        Reference(kind=kind, name=comparison_form(name), id=id)
        for (kind, id), name in sorted(named.items())
    )


async def _refuse_circle(access: Access, metric: Metric) -> SettledMetric:
    """Find a problem with an input that is made of the metric itself.

    The writes fail the transaction if a metric that was read changed since. Otherwise two metrics
    that are saved at the same time could become inputs of each other.
    """

    async def read(ids: Sequence[str]) -> Sequence[Metric]:
        """Get latest: `pk = M:<id>, sk = M`, batched; the names decided, no grant is read."""
        keys = {METRIC.latest.key(id=id): id for id in ids if id != metric.id}
        rows = await read_rows(access.table, keys, consistent=True)
        return [
            load(METRIC.record, row, id=keys[key]) for key, row in rows.items() if is_alive(row)
        ]

    reached = await reach_metrics(metric, read)
    circular = _find_circular(metric, reached)
    problems = [
        FieldProblem(input_path(n, one), "is made of this metric itself")
        for n, one in enumerate(metric.inputs)
        if one.kind == METRIC.letter and one.id in circular
    ]
    guards = [_guard_revision(one) for one in reached.values()]
    return SettledMetric(metric, problems, guards)


def _find_circular(metric: Metric, reached: Mapping[str, Metric]) -> set[str]:
    """The ids of the metric and of all metrics that are made of it."""
    circular, size = {metric.id}, 0
    while size < len(circular):
        size = len(circular)
        circular |= {id for id, one in reached.items() if circular & {*metric_ids(one)}}
    return circular


def _guard_revision(metric: Metric) -> Write:
    """Fail the transaction if the metric has changed since it was read."""
    # An update without effect: ConditionCheck would need a permission of its own.
    unchanged = Update(
        key=METRIC.latest.key(id=metric.id),
        default={"revision": metric.revision},
        condition=Compare("revision", "=", metric.revision),
    )
    return Write(unchanged, stale_read)
