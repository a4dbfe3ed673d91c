"""Measures the processor time of the three requests of examples/front_page.graphql.

An embedded store has 50 pipelines and many executions. Times are medians of 15 rounds.
"""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import NamedTuple

from graphql import parse, print_ast, separate_operations

from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from benchmarks.product.executions import add_executions
from benchmarks.request_profile import drop_log
from penstock.datastore.executions.records import ExecutionState
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from tests.support.application import open_application
from tests.support.sample_resources import NORTHWEST, create_groups, make
from tests.support.stores import open_files

MARK = "front page"
PIPELINES = 50
ROUNDS = 15
DOCUMENT = Path(__file__).parents[1] / "examples" / "front_page.graphql"
STATES = (
    *[ExecutionState.SUCCESS] * 16,
    *[ExecutionState.FAILED] * 2,
    ExecutionState.CANCELLED,
    ExecutionState.WAITING,
)


class RequestCost(NamedTuple):
    """The processor seconds, the read units and the calls of one request."""

    seconds: float
    units: float
    calls: float


async def fill(store: Store, executions: int) -> None:
    """Make the pipelines, and executions of the last day, newest last."""
    session = await create_groups(store)
    made = [await make(session, NORTHWEST, f"Pipeline {n}", f"n={n}") for n in range(PIPELINES)]
    await add_executions(store, session, [one.id for one in made], executions, STATES)


async def measure(store: Store, folder: Path) -> dict[str, RequestCost]:
    operations = separate_operations(parse(DOCUMENT.read_text()))
    texts = {name: print_ast(text) for name, text in operations.items() if name != "Live"}
    since = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    metered = MeteredTable(store.table)
    found: dict[str, list[RequestCost]] = {name: [] for name in texts}
    counted = replace(store, table=metered)
    async with open_application(counted, folder, rate_limit_per_second=0) as app:
        for _ in range(ROUNDS + 2):
            for name, text in texts.items():
                variables = {"since": since} if name == "Activity" else {}
                begun, units, calls = process_time(), metered.units.rcu, metered.units.calls
                answer = (await app.ask(text, variables)).json()
                seconds = process_time() - begun
                read, called = metered.units.rcu - units, metered.units.calls - calls
                found[name].append(RequestCost(seconds, read, called))
                assert "errors" not in answer, answer["errors"]
    return {
        name: RequestCost(*(median(column) for column in zip(*costs[2:], strict=True)))
        for name, costs in found.items()
    }


async def measure_store(executions: int) -> dict[str, RequestCost]:
    """The middle costs of the requests in a new store with so many executions."""
    with TemporaryDirectory() as folder:
        table = SqliteTable.open(Path(folder) / "penstock.db")
        await table.create()
        async with open_files(Path(folder)) as files:
            store = Store(table, files=files)
            await fill(store, executions)
            with drop_log():
                found = await measure(store, Path(folder))
        await table.close()
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.front_page", description=__doc__)
    parser.add_argument("--executions", type=int, default=10_000)
    add_write_option(parser)
    options = parser.parse_args(arguments)
    rows = [
        f"`{name}` | {one.seconds * 1000:.1f} | {one.units:.1f} | {one.calls:.0f}"
        for name, one in asyncio.run(measure_store(options.executions)).items()
    ]
    head = f"{options.executions:,} executions | ms of processor | read units | calls"
    show_tables({MARK: below_machine(format_table(head, rows))}, options.write)


if __name__ == "__main__":
    main()
