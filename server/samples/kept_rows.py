"""The sample of kept rows: the energy of twelve plants, one row corrected and one withdrawn."""

from collections.abc import Iterator
from typing import Final

from penstock.datastore.errors import NameTaken
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.kept_rows.engine import is_installed
from penstock.datastore.objects.port import NO_FILES
from penstock.datastore.records import (
    Output,
    Parameter,
    Pipeline,
    RowKeeping,
    Transform,
    Transformer,
    ValueType,
)
from penstock.datastore.roles import GroupPath
from penstock.datastore.store import Session, Store

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
}
WITHDRAWN: Final = ("Ocala", "1672531200000")
"""The plant and the month whose row is withdrawn: January 2023."""


async def seed_kept_rows(store: Store, session: Session) -> None:
    """Create the pipeline with its rows, unless it is there; needs files and the engine."""
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
        return
    await _run(session, pipeline, list(_rows()))
    await _run(session, pipeline, [CORRECTED])
    await session.row_withdrawals.by_keys(pipeline, [WITHDRAWN], "The meter was not yet installed.")


async def _run(session: Session, pipeline: Pipeline, rows: list[dict[str, str]]) -> None:
    await session.executions.inline.run(ExecutionRequest(pipeline_id=pipeline.id), rows)


def _rows() -> Iterator[dict[str, str]]:
    places = [(plant, group) for group, plants in PLANTS.items() for plant in plants]
    for year in YEARS:
        for month in range(1, 13):
            for n, (plant, group) in enumerate(places):
                winter = abs(month - 7)
                kwh = 38_000 + 1_900 * n + 2_150 * winter - 640 * (year - YEARS[0]) + month * n % 97
                stamp = f"{year}-{month:02d}"
                yield {"Plant": plant, "Group": group, "Month": stamp, "kWh": f"{kwh}.25"}


def _transformer() -> Transformer:
    parameters: list[tuple[str, str, ValueType]] = [
        ("plant", "Plant", ValueType.STRING),
        ("group", "Group", ValueType.STRING),
        ("month", "Month", ValueType.TIMESTAMP),
        ("kwh", "kWh", ValueType.NUMBER),
    ]
    outputs: list[tuple[str, str, str, ValueType]] = [
        (":plant", "plant", "Plant", ValueType.STRING),
        ("AS_TIMESTAMP(:month, 'yyyy-MM')", "month", "Month", ValueType.TIMESTAMP),
        (":group", "group", "Group", ValueType.STRING),
        (":kwh", "kwh", "kWh", ValueType.NUMBER),
        (":kwh * 0.3712", "co2e", "kg CO2e", ValueType.NUMBER),
    ]
    return Transformer(
        parameters=tuple(
            Parameter(index=index, key=key, label=label, type=type, required=True)
            for index, (key, label, type) in enumerate(parameters)
        ),
        transforms=tuple(_transform(index, *output) for index, output in enumerate(outputs)),
        rows=RowKeeping(key=("plant", "month"), time="month", group="group"),
    )


def _transform(index: int, formula: str, key: str, label: str, type: ValueType) -> Transform:
    output = Output(index=0, key=key, label=label, type=type)
    return Transform(index=index, formula=formula, outputs=(output,))
