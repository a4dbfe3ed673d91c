"""After any history, metrics over metrics have the values that a plain dictionary of rows gives."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeAlias

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from penstock.datastore.clock import Clock
from penstock.datastore.errors import SnapshotGone
from penstock.datastore.kept_rows.merge_parts import PartMerger
from penstock.datastore.kept_rows.metric_series import Breakdown, SeriesRequest
from penstock.datastore.kept_rows.read_totals import Every
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.records import (
    MeasureFunction,
    Metric,
    MetricSource,
    Output,
    Parameter,
    Pipeline,
    RowKeeping,
    Transform,
    Transformer,
    ValueType,
)
from penstock.datastore.roles import GroupPath
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from tests.datastore.executions.sample_executions import ANN, finished_execution, pipeline_in
from tests.support.consistency_check import faults
from tests.support.sample_resources import NORTHWEST, SUPER, USA, Watch, create_groups
from tests.support.stores import open_table

KEPT_DAYS = 5
YEAR = datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
OUTPUTS = (
    ("plant", ":plant", ValueType.STRING),
    ("site", ":site", ValueType.STRING),
    ("month", "AS_TIMESTAMP(:month, 'yyyy-MM')", ValueType.TIMESTAMP),
    ("kwh", ":kwh", ValueType.NUMBER),
)
TRANSFORMER = Transformer(
    parameters=tuple(
        Parameter(index=n, key=key, type=ValueType.NUMBER if key == "kwh" else ValueType.STRING)
        for n, (key, _, _) in enumerate(OUTPUTS)
    ),
    transforms=tuple(
        Transform(index=n, formula=formula, outputs=(Output(index=0, key=key, type=type),))
        for n, (key, formula, type) in enumerate(OUTPUTS)
    ),
    rows=RowKeeping(key=("plant",), time="month", group="site", keep_days=KEPT_DAYS),
)


class Row(NamedTuple):
    """The row of a plant in a file, and the day of its commit."""

    site: GroupPath
    month: int
    kwh: Decimal
    day: int = 0


Rows: TypeAlias = dict[str, Row]
Step: TypeAlias = Rows | str | int | None
"""A file, the plant whose row is withdrawn, days that pass with a sweep, or a merge of files."""

rows = st.builds(
    Row,
    st.sampled_from((USA, NORTHWEST)),
    st.integers(1, 3),
    st.decimals(min_value=-(10**9), max_value=10**9, places=9),
)
files = st.dictionaries(st.sampled_from("abc"), rows, min_size=1)
steps = st.lists(
    files | files | st.sampled_from("abc") | st.integers(1, 4) | st.none(), min_size=1, max_size=9
)


@dataclass(slots=True)
class Model:
    """The rows that stand, the day, those that stood after each step, and the last departure."""

    present: Rows = field(default_factory=dict)
    day: int = 0
    past: list[tuple[datetime, Rows]] = field(default_factory=list)
    left_at: datetime | None = None


async def take_step(
    store: Store, pipeline: Pipeline, watch: Watch, model: Model, step: Step
) -> None:
    if step is None:
        await PartMerger(store._system_access(), store.part_files, least=2).merge(pipeline.id)
    elif isinstance(step, dict):
        lines = [
            f"{plant},{one.site},2025-{one.month:02},{one.kwh:f}" for plant, one in step.items()
        ]
        data = "\n".join(["plant,site,month,kwh", *lines, ""]).encode()
        assert (await finished_execution(store, pipeline, data)).state == "success"
        model.present |= {plant: one._replace(day=model.day) for plant, one in step.items()}
    elif isinstance(step, int):
        model.day += step
        watch.move(timedelta(days=step))
        if await store.drop_old_rows():
            model.left_at = watch()
        stays = model.day - KEPT_DAYS
        model.present = {key: one for key, one in model.present.items() if one.day > stays}
    elif step in model.present:
        await store.open_session(ANN).row_withdrawals.by_keys(pipeline, [[step]], "wrong")
        del model.present[step]


async def make_metrics(session: Session, pipeline: Pipeline) -> Metric:
    """A metric that is the sum of a sum, a maximum and a count of the same rows."""
    writing = session.metrics.writing
    output = MetricSource(kind="P", source=pipeline.name, output="kwh")
    parts = {
        "total": MeasureFunction.SUM,
        "peak": MeasureFunction.MAX,
        "rows": MeasureFunction.COUNT,
    }
    for name, function in parts.items():
        content = {"name": name, "tags": (), "function": function, "inputs": (output,)}
        await writing.create(USA, content, None)
    inputs = tuple(MetricSource(kind="M", source=name) for name in parts)
    content = {"name": "all", "tags": (), "function": MeasureFunction.SUM, "inputs": inputs}
    return await writing.create(USA, content, None)


async def read_points(
    store: Store, metric: Metric, as_at: datetime | None = None
) -> dict[tuple[int, str], Decimal | None]:
    """The value of each month and group."""
    start, end = YEAR
    wanted = SeriesRequest(
        group=USA, start=start, end=end, every=Every.MONTH, breakdown=Breakdown.GROUP, as_at=as_at
    )
    series = await store.open_session(ANN).metric_series.read(metric, wanted)
    assert series.is_complete
    return {(one.start.month, one.group or ""): one.value for one in series.points}


def points_of(standing: Rows) -> dict[tuple[int, str], Decimal | None]:
    found: dict[tuple[int, str], list[Decimal]] = {}
    for one in standing.values():
        found.setdefault((one.month, one.site), []).append(one.kwh)
    return {key: sum(each) + max(each) + len(each) for key, each in found.items()}


MADE = {"a": Row(USA, 1, Decimal(1)), "b": Row(NORTHWEST, 1, Decimal("2.5"))}
CORRECTED = {"a": Row(NORTHWEST, 2, Decimal("-3"))}


@example([MADE, 3, CORRECTED, None, 2, "a", 3])
@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(steps)
async def test_metrics_are_those_of_a_dictionary_now_and_in_the_past(history: list[Step]) -> None:
    with TemporaryDirectory() as folder:
        stored = await LocalFiles.open(Path(folder) / "files", base_url="http://x", key=b"k" * 32)
        async with open_table("sqlite", Path(folder)) as table:
            watch, model = Watch(), Model()
            store = Store(table, clock=Clock(watch), files=stored)
            await create_groups(store)
            pipeline = await pipeline_in(store, name="Plants", transformer=TRANSFORMER)
            metric = await make_metrics(store.open_session(SUPER), pipeline)
            for step in history:
                await take_step(store, pipeline, watch, model, step)
                model.past.append((watch(), dict(model.present)))
                watch.move(timedelta(seconds=1))
            assert await read_points(store, metric) == points_of(model.present)
            for at, standing in model.past:
                try:
                    found = await read_points(store, metric, at)
                except SnapshotGone:
                    assert model.left_at is not None
                    assert at < model.left_at
                else:
                    assert found == points_of(standing)
            watch.move(timedelta(hours=2))
            await store.sweep_files()
            await store.finish_deletes()
            assert await read_points(store, metric) == points_of(model.present)
            assert await faults(table) == []
        await stored.close()
