"""A pipeline that keeps one number for each plant, and reads of what it keeps."""

from collections.abc import Iterable
from typing import Any

from penstock.datastore.executions.records import Execution
from penstock.datastore.kept_rows.conditions import RowFilter
from penstock.datastore.kept_rows.read_totals import Measure, TotalsRequest
from penstock.datastore.kept_rows.records import KeptRow
from penstock.datastore.records import (
    MeasureFunction,
    Output,
    Parameter,
    Pipeline,
    RowKeeping,
    Transform,
    Transformer,
    ValueType,
)
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window, walk_pages
from tests.datastore.executions.sample_executions import ANN, finished_execution, pipeline_in

PLANTS = Transformer(
    parameters=(
        Parameter(index=0, key="plant", type=ValueType.STRING),
        Parameter(index=1, key="kwh", type=ValueType.NUMBER),
    ),
    transforms=(
        Transform(
            index=0,
            formula=":plant",
            outputs=(Output(index=0, key="plant", type=ValueType.STRING),),
        ),
        Transform(
            index=1, formula=":kwh", outputs=(Output(index=0, key="kwh", type=ValueType.NUMBER),)
        ),
    ),
    rows=RowKeeping(key=("plant",)),
)
SUM = TotalsRequest(measures=(Measure("kwh", MeasureFunction.SUM, "kwh"),))


async def keep_plants(store: Store) -> Pipeline:
    return await pipeline_in(store, name="Plants", transformer=PLANTS)


def plant_file(rows: Iterable[tuple[str, object]]) -> bytes:
    lines = ["plant,kwh", *(f"{plant},{kwh}" for plant, kwh in rows), ""]
    return "\n".join(lines).encode()


async def run_file(store: Store, pipeline: Pipeline, **kwh: object) -> Execution:
    """Run a file with these numbers by plant; return the execution, which ended."""
    return await finished_execution(store, pipeline, plant_file(kwh.items()))


async def read_rows(
    store: Store, pipeline: Pipeline, who: Caller = ANN, size: int = 100, **wanted: Any
) -> list[KeptRow]:
    """Walk all pages of the rows that stand."""
    rows = store.open_session(who).kept_rows
    chosen = RowFilter(**wanted)
    pages = walk_pages(lambda window: rows.page(pipeline, chosen, window), size)
    return [row async for row in pages]


async def read_kwh(store: Store, pipeline: Pipeline, **wanted: Any) -> dict[str, str]:
    """The numbers that stand, as text by plant."""
    rows = await read_rows(store, pipeline, **wanted)
    return {row.key[0]: f"{row.values['kwh']:f}" for row in rows}


async def read_sum(store: Store, pipeline: Pipeline, who: Caller = ANN, **wanted: Any) -> str:
    """The sum of the numbers that stand, as text."""
    rows = store.open_session(who).kept_rows
    page = await rows.totals(pipeline, RowFilter(**wanted), SUM, Window())
    ((_, total),) = page.entries or (("", None),)
    return "" if total is None else f"{total.values['kwh']:f}"
