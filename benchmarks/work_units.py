"""Measures the processor time of a unit of each kind of work.

A caller pays for work in units. One is about the time of reading an object in a list, which the
first line shows; the others show the same number or less for usual input, and at most a few times
as much for the worst one. Numbers are the least of five rounds, in microseconds.
"""

import argparse
import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import orjson
from graphql import get_introspection_query, get_operation_ast, parse

from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from penstock.datastore.access.work import (
    change_units,
    dataset_units,
    formula_units,
    notification_units,
    point_units,
    renaming_units,
    sample_units,
    step_units,
    write_units,
)
from penstock.datastore.change_log.rows import Change, ChangeKind, change_of, change_write
from penstock.datastore.datasets.csv import read_table
from penstock.datastore.kept_rows.metric_plan import MetricPlan
from penstock.datastore.kept_rows.metric_series import SeriesRequest, SeriesTotals
from penstock.datastore.kept_rows.read_totals import Every, Total
from penstock.datastore.kept_rows.repository import SnapshotTotals
from penstock.datastore.ngsi.notification import (
    NotificationDefaults,
    read_headers,
    read_notification,
)
from penstock.datastore.ngsi.reading.charts import MAX_POINTS
from penstock.datastore.ngsi.reading.series import ALL_TIMES
from penstock.datastore.ngsi.repository import SinkAccess
from penstock.datastore.records import DatasetColumn, DatasetContent, ValueType
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.datastore.table.items import read_all
from penstock.datastore.table.limits import TRANSACTION_OPERATIONS
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Put
from penstock.formula.checking.check import Surroundings
from penstock.formula.checking.linker import examine
from penstock.formula.checking.renaming import rename
from penstock.formula.core.values import FormulaParameter, FormulaType
from penstock.formula.evaluate import compile_formula
from penstock.graphql_jit import CompiledOperation, ExecutionOptions
from penstock.schema import schema
from penstock.schema.engine.cost import BODY_BYTES, document_cost, plan_cost
from penstock.schema.engine.documents import core_schema
from penstock.schema.engine.engine import GraphQLEngine
from penstock.schema.engine.operations import OperationRequest, RequestRejected
from tests.datastore.kept_rows.test_metric_plan import OUTPUT, metric
from tests.datastore.ngsi.sample_destinations import open_destinations
from tests.datastore.ngsi.sample_sinks import open_world
from tests.datastore.ngsi.stored_samples import store_samples
from tests.datastore.ngsi.test_repository import reader, speed
from tests.support.application import open_application
from tests.support.sample_resources import NORTHWEST, USA, create_groups, make
from tests.support.stores import open_table

MARK = "work units"
ROUNDS = 5
OBJECTS = 100
HOURS = 2_000
OUTPUTS = 10
LIST = """query($n: Int!) { pipelines(group: "/usa/northwest", first: $n) {
  nodes { id name version owner description createdAt tags { key value } } } }"""
USUAL_FIELDS = 9
USUAL = "{ pipelines(first: 20) { nodes { id name version owner tags { key value } } } }"
GUESSED = f"{{ {' '.join(f'guess{n}' for n in range(150))} }}"
AROUND = Surroundings((FormulaParameter("x", FormulaType.NUMBER),), FormulaType.NUMBER)
SUM = "+".join([":x"] * 950)
CALLS = "+".join(["#ef()"] * 490)
CSV = b"k\n" + b"".join(b"key %d\n" % n for n in range(50_000))
HEADING = read_headers({}, NotificationDefaults())
CARS = [{"id": f"car{n}", "type": "car", "speed": {"value": n}} for n in range(1000)]
NOTIFIED = orjson.dumps({"subscriptionId": "s", "data": CARS})


def least(work: Callable[[int], object], units: int) -> float:
    """Return the least microseconds of a unit; `work` gets the number of the round."""
    times = []
    for number in range(ROUNDS):
        started = process_time()
        work(number)
        times.append(process_time() - started)
    return min(times) / units * 1e6


def prepare(engine: GraphQLEngine, text: str) -> None:
    try:
        engine.prepare(OperationRequest(query=text))
    except RequestRejected:
        return


def work_of_documents() -> dict[str, float]:
    """The cost of documents, each of which is new in each round."""
    engine = GraphQLEngine(schema)
    return {
        f"document, {name}": least(
            lambda number, text=text: prepare(engine, text + " " * number),  # type: ignore[misc]
            document_cost(len(text)),
        )
        for name, text in (("usual", USUAL), ("150 unknown fields", GUESSED))
    }


def compile_usual(number: int) -> None:
    """Compile a usual list, as if nobody had it compiled before."""
    document = parse(USUAL + " " * number)
    operation = get_operation_ast(document)
    assert operation is not None
    compiled = CompiledOperation(
        ExecutionOptions(schema=core_schema(schema)), document, operation, Counter()
    )
    values = compiled.coerce_variables({})
    assert not isinstance(values, list)
    compiled.prepare(values)


def work_of_plans() -> dict[str, float]:
    return {"plan of a usual list": least(compile_usual, plan_cost(USUAL_FIELDS))}


async def work_of_descriptions() -> dict[str, float]:
    """Measure the answer that describes the whole schema, to a document that is known."""
    engine = GraphQLEngine(schema)
    described = engine.prepare(OperationRequest(query=get_introspection_query()))
    taken = await least_of(lambda: engine.run(described, None, ""))
    return {"description of the schema": taken / described.cost}


def show(text: str) -> str:
    return rename(text, lambda name, _: f"{name}_2025", lambda *_: None)


def work_of_formulas() -> dict[str, float]:
    compiled = compile_formula(SUM, AROUND)
    rows = [{"x": number} for number in range(500)]
    return {
        "formula, checked": least(
            lambda number: examine(SUM + " " * number, AROUND), formula_units(len(SUM))
        ),
        "formula, compiled": least(
            lambda number: compile_formula(SUM + " " * (number + 10), AROUND),
            formula_units(len(SUM)),
        ),
        "formula of 490 calls, shown": least(lambda _: show(CALLS), renaming_units(len(CALLS))),
        "formula, shown": least(lambda _: show("#ef()+" + SUM), renaming_units(len(SUM))),
        "formula, evaluated": least(
            lambda _: compiled.run_all(rows), step_units(compiled.steps * len(rows))
        ),
    }


def work_of_bodies() -> dict[str, float]:
    body = orjson.dumps({"query": USUAL, "variables": {"names": ["a name"] * 90_000}})
    columns = (DatasetColumn(name="k", type=ValueType.STRING),)
    content = DatasetContent(
        columns=columns, key_column="k", file="", checksum="", size_bytes=len(CSV), row_count=0
    )
    return {
        "body of a request": least(lambda _: orjson.loads(body), len(body) // BODY_BYTES),
        "file of a dataset": least(lambda _: read_table(CSV, content), dataset_units(len(CSV))),
        "notification": least(
            lambda _: read_notification(HEADING, NOTIFIED), notification_units(len(NOTIFIED))
        ),
    }


def work_of_changes() -> dict[str, float]:
    """Measure the reading of rows of the log of changes, without the store."""
    rows = []
    for number in range(5_000):
        id = f"01a1fd33-4531-77f0-8555-{number:012x}"
        operation = change_write(
            ChangeKind.PIPELINE, Change(id=id, at=number, step=1, groups=(NORTHWEST,))
        ).operation
        if isinstance(operation, Put):
            rows.append(dict(operation.item))
    return {"changes of a log": least(lambda _: read_all(change_of, rows), change_units(len(rows)))}


async def work_of_objects() -> dict[str, float]:
    """Measure a list of many objects, and subtract one of a single object."""
    with TemporaryDirectory() as folder:
        table = SqliteTable.open(Path(folder) / "table.db")
        await table.create()
        store = Store(table)
        session = await create_groups(store, USA, NORTHWEST)
        for number in range(OBJECTS):
            await make(session, NORTHWEST, f"n{number}", "source=sap", f"scope={number}")
        free = {"rate_limit_per_second": 0, "access_log": False}
        async with open_application(store, Path(folder), **free) as app:
            one, many = [
                await least_of(lambda size=size: app.ask(LIST, {"n": size}))  # type: ignore[misc]
                for size in (1, OBJECTS)
            ]
        await table.close()
    return {"object of a list": (many - one) / (OBJECTS - 1)}


async def work_of_writes() -> dict[str, float]:
    """Measure a transaction of many small rows, each of which is new."""
    with TemporaryDirectory() as folder:
        table = SqliteTable.open(Path(folder) / "table.db")
        await table.create()
        partitions = map(str, count())

        def write() -> Awaitable[float]:
            names = islice(partitions, TRANSACTION_OPERATIONS)
            return table.transact([Put({"pk": name, "sk": "row", "name": name}) for name in names])

        units = write_units(await write())
        taken = await least_of(write)
        await table.close()
    return {"rows of a transaction": taken / units}


async def work_of_samples() -> dict[str, float]:
    """Measure a long page of samples; reading does not depend on what the table holds besides."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        async with (
            open_table("sqlite", folder) as table,
            open_destinations("sqlite", folder) as destinations,
            open_world(table, destinations, folder) as world,
        ):
            store = Store(table, ngsi_access=SinkAccess(destinations))
            await store_samples(store, samples=MAX_POINTS)
            of, charts = await speed(world), reader(world).charts
            window = Window(size=MAX_POINTS)
            taken = await least_of(lambda: charts.points(of, ALL_TIMES, window))
    return {"samples of a chart": taken / sample_units(MAX_POINTS)}


def work_of_series() -> dict[str, float]:
    """Measure the points of a series of ten outputs."""
    start, hour = datetime(2025, 1, 1, tzinfo=UTC), timedelta(hours=1)
    values: dict[str, Any] = {"count:kwh": 2, "sum:kwh": Decimal("1.5")}
    totals = [Total(start + n * hour, start + (n + 1) * hour, {}, 2, values) for n in range(HOURS)]
    plan = MetricPlan(metric("top", *[OUTPUT] * OUTPUTS), {})
    wanted = SeriesRequest(start=start, end=start + HOURS * hour, every=Every.HOUR)
    read = {"p": SnapshotTotals("2025-01-01T00:00:00.000Z", totals)}
    units = point_units(HOURS * OUTPUTS, HOURS * OUTPUTS)

    def compute(_: int) -> object:
        return SeriesTotals(plan, plan.leaves(), wanted, read).list_points()

    return {"points of a series": least(compute, units)}


async def least_of(ask: Callable[[], Awaitable[object]]) -> float:
    times = []
    for _ in range(10 * ROUNDS):
        started = process_time()
        await ask()
        times.append(process_time() - started)
    return min(times) * 1e6


def measure_all() -> dict[str, float]:
    """The microseconds of a unit of each kind of work."""
    measured = asyncio.run(work_of_objects())
    measured |= asyncio.run(work_of_writes())
    measured |= asyncio.run(work_of_descriptions())
    measured |= asyncio.run(work_of_samples())
    measured |= (
        work_of_documents()
        | work_of_plans()
        | work_of_formulas()
        | work_of_bodies()
        | work_of_changes()
    )
    return measured | work_of_series()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.work_units", description=__doc__)
    add_write_option(parser)
    options = parser.parse_args(arguments)
    rows = [(name, f"{microseconds:.1f}") for name, microseconds in measure_all().items()]
    table = format_table("work of one unit | µs of processor, at least", rows)
    show_tables({MARK: below_machine(table)}, options.write)


if __name__ == "__main__":
    main()
