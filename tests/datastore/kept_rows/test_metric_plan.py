"""The outputs of metrics within metrics are listed in a bounded number of steps."""

import pytest

from penstock.datastore.errors import LimitExceeded
from penstock.datastore.kept_rows import metric_plan
from penstock.datastore.kept_rows.metric_plan import MAX_LEAVES, MAX_VISITS, MetricPlan
from penstock.datastore.records import MeasureFunction, Metric, MetricSource, State
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import METRIC, PIPELINE

AT = "2026-11-24T00:00:00.000Z"


def metric(id: str, *inputs: MetricSource) -> Metric:
    return Metric(
        id=id,
        name=id,
        owner=GroupPath("/usa"),
        groups=(GroupPath("/usa"),),
        state=State.ENABLED,
        tags=(),
        version=1,
        revision=1,
        created_at=AT,
        created_by="ann",
        updated_at=AT,
        updated_by="ann",
        function=MeasureFunction.SUM,
        inputs=inputs,
    )


def layers(width: int, depth: int, *bottom: MetricSource) -> MetricPlan:
    """A metric of `depth` layers of `width` metrics, each made of all of the layer below."""
    reached = {f"0-{n}": metric(f"0-{n}", *bottom) for n in range(width)}
    for level in range(1, depth):
        below = [source(f"{level - 1}-{n}") for n in range(width)]
        reached |= {f"{level}-{n}": metric(f"{level}-{n}", *below) for n in range(width)}
    top = metric("top", *(source(f"{depth - 1}-{n}") for n in range(width)))
    return MetricPlan(top, reached)


def source(id: str) -> MetricSource:
    return MetricSource(kind=METRIC.letter, id=id, source=id)


OUTPUT = MetricSource(kind=PIPELINE.letter, id="p", source="p", output="kwh")


@pytest.mark.parametrize("bottom", [(), (source("gone"),), (OUTPUT,)], ids=["none", "gone", "one"])
def test_paths_through_metrics_are_counted_wherever_they_end(
    bottom: tuple[MetricSource, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = layers(5, 10, *bottom)
    with pytest.raises(LimitExceeded) as refused:
        plan.leaves()
    assert refused.value.maximum in (MAX_VISITS, MAX_LEAVES)
    assert refused.value.actual == refused.value.maximum + 1


def test_metrics_of_few_paths_are_listed_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    assert layers(3, 4).leaves() == []
    found = layers(2, 6, OUTPUT).leaves()
    assert len(found) == 2**6
    assert {leaf.pipeline for leaf in found} == {"p"}
    visits = sum(2**level for level in range(1, 8))
    monkeypatch.setattr(metric_plan, "MAX_VISITS", visits)
    assert len(layers(2, 6, OUTPUT).leaves()) == 2**6
    monkeypatch.setattr(metric_plan, "MAX_VISITS", visits - 2**6 - 1)
    with pytest.raises(LimitExceeded):
        layers(2, 6, OUTPUT).leaves()
