"""The sample of kept rows and metrics: the energy of twelve plants, and the emissions by scope.

One row is corrected and one withdrawn.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from penstock.datastore.errors import NameTaken, NotFound
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.kept_rows.engine import is_installed
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.records import (
    MeasureFunction,
    MetricSource,
    Output,
    Parameter,
    Pipeline,
    RowKeeping,
    Tag,
    TimestampForm,
    Transform,
    Transformer,
    ValueType,
)
from penstock.datastore.roles import GroupPath
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import METRIC, PIPELINE

NAME: Final = "energy:monthly"
GROUP: Final = GroupPath("/usa")
PLANTS: Final = {
    "/usa/northwest": ("Astoria", "Bend", "Corvallis", "Dallesport", "Everett", "Forks"),
    "/usa/southeast": ("Macon", "Natchez", "Ocala", "Pensacola", "Selma", "Tampa"),
}
YEARS: Final = (2023, 2024, 2025)
CORRECTED: Final = {
    "Plant": "Bend",
    "Group": "/usa/northwest",
    "Month": "2024-07",
    "kWh": "51220.5",
    "Gas kWh": "9100",
}
METRICS: Final = {"emissions:scope 1": "gas_co2e", "emissions:scope 2": "co2e"}
"""The metrics of the scopes, and the outputs that they add up."""
WITHDRAWN: Final = ("Ocala", "2023-01-01")
"""The plant and the month whose row is withdrawn."""


async def seed_kept_rows(store: Store, session: Session) -> None:
    """Create the pipeline with its rows, or what a stopped seeding left out of them.

    Needs files and the engine. The metrics come last: where the first is, the rows are complete.
    """
    if store.files is NO_FILES or not is_installed():
        return
    content = {
        "name": NAME,
        "description": "The energy and the emissions of each plant by month. Its rows are kept.",
        "tags": (),
        "transformer": _transformer(),
    }
    try:
        pipeline = await session.pipelines.writing.create(GROUP, content, None)
    except NameTaken:
        pipeline = await session.pipelines.reading.by_name(NAME, GROUP)
        if pipeline.created_by != session.caller.user_id:
            return
    if await _has_metric(session, next(iter(METRICS))) or await _make_rows(session, pipeline):
        await _create_metrics(session)


async def _make_rows(session: Session, pipeline: Pipeline) -> bool:
    """Run the rows and the correction, each once in a day, and withdraw a row.

    Returns False if a server has still to end what a stopped seeding began.
    """
    for key, rows in (("sample rows", list(_rows())), ("sample correction", [CORRECTED])):
        if not await _run(session, pipeline, rows, f"{key} of {pipeline.id}"):
            return False
    with suppress(NotFound):  # withdrawn before
        reason = "The meter was not yet installed."
        await session.row_withdrawals.by_keys(pipeline, [WITHDRAWN], reason)
    return True


async def _has_metric(session: Session, name: str) -> bool:
    try:
        await session.metrics.reading.by_name(name, GROUP)
    except NotFound:
        return False
    return True


async def _create_metrics(session: Session) -> None:
    """Create a metric for each scope, and one over both."""
    for name, output in METRICS.items():
        await _create_metric(
            session, name, MetricSource(kind=PIPELINE.letter, source=NAME, output=output)
        )
    scopes = [MetricSource(kind=METRIC.letter, source=name) for name in METRICS]
    await _create_metric(session, "emissions", *scopes)


async def _create_metric(session: Session, name: str, *inputs: MetricSource) -> None:
    content = {
        "name": name,
        "tags": (Tag(key="report", value="GHG Protocol"),),
        "unit": "kg CO2e",
        "function": MeasureFunction.SUM,
        "inputs": inputs,
    }
    with suppress(NameTaken):  # of somebody else
        await session.metrics.writing.create(GROUP, content, None)


async def _run(
    session: Session, pipeline: Pipeline, rows: list[dict[str, str]], idempotency_key: str
) -> bool:
    wanted = ExecutionRequest(pipeline_id=pipeline.id)
    ended = await session.executions.inline.run(wanted, rows, idempotency_key)
    return ended.state.is_over


def _rows() -> Iterator[dict[str, str]]:
    places = [(plant, group) for group, plants in PLANTS.items() for plant in plants]
    for year in YEARS:
        for month in range(1, 13):
            for n, (plant, group) in enumerate(places):
                winter = abs(month - 7)
                kwh = 38_000 + 1_900 * n + 2_150 * winter - 640 * (year - YEARS[0]) + month * n % 97
                stamp = f"{year}-{month:02d}"
                yield {
                    "Plant": plant,
                    "Group": group,
                    "Month": stamp,
                    "kWh": f"{kwh}.25",
                    "Gas kWh": f"{1_200 * winter + 350 * n}.5",
                }


def _transformer() -> Transformer:
    parameters: list[tuple[str, str, ValueType, bool]] = [
        ("plant", "Plant", ValueType.STRING, True),
        ("group", "Group", ValueType.STRING, True),
        ("month", "Month", ValueType.TIMESTAMP, True),
        ("kwh", "kWh", ValueType.NUMBER, True),
        ("gas", "Gas kWh", ValueType.NUMBER, False),
    ]
    outputs: list[tuple[str, str, str, ValueType]] = [
        (":plant", "plant", "Plant", ValueType.STRING),
        ("AS_TIMESTAMP(:month, 'yyyy-MM')", "month", "Month", ValueType.TIMESTAMP),
        (":group", "group", "Group", ValueType.STRING),
        (":kwh", "kwh", "kWh", ValueType.NUMBER),
        (":kwh * 0.3712", "co2e", "kg CO2e", ValueType.NUMBER),
        ("IFNULL(:gas, 0) * 0.18293", "gas_co2e", "kg CO2e of gas", ValueType.NUMBER),
    ]
    return Transformer(
        parameters=tuple(
            Parameter(index=index, key=key, label=label, type=type, required=required)
            for index, (key, label, type, required) in enumerate(parameters)
        ),
        transforms=tuple(_transform(index, *output) for index, output in enumerate(outputs)),
        rows=RowKeeping(key=("plant", "month"), time="month", group="group"),
        timestamps=TimestampForm.ISO_8601,
    )


def _transform(index: int, formula: str, key: str, label: str, type: ValueType) -> Transform:
    output = Output(index=0, key=key, label=label, type=type)
    return Transform(index=index, formula=formula, outputs=(output,))
