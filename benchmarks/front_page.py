"""Measures the processor time of the three requests of examples/front_page.graphql.

`python -m benchmarks.front_page` fills an embedded store with 50 pipelines and 10,000 executions,
and prints the median of 15 rounds for each request, in milliseconds, with its calls of the store.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from graphql import parse, print_ast, separate_operations
from msgspec import structs

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.listed_rows import list_items
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.executions.rows import execution_item
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.datastore.table.port import Put
from tests.support.application import open_application
from tests.support.sample_resources import NORTHWEST, create_groups, make
from tests.support.stores import open_files

PIPELINES = 50
EXECUTIONS = 10_000
ROUNDS = 15
DOCUMENT = Path(__file__).parents[1] / "examples" / "front_page.graphql"
STATES = (
    *[ExecutionState.SUCCESS] * 16,
    *[ExecutionState.FAILED] * 2,
    ExecutionState.CANCELLED,
    ExecutionState.WAITING,
)


async def fill(store: Store) -> None:
    """Make the pipelines, and executions of the last day, newest last."""
    session = await create_groups(store)
    samples = []
    for n in range(PIPELINES):
        pipeline = await make(session, NORTHWEST, f"Pipeline {n}", f"n={n}")
        wanted = ExecutionRequest(pipeline_id=pipeline.id)
        samples.append(await session.executions.creating.create(wanted))
    rows = [row for n in range(EXECUTIONS) for row in rows_of(store, samples, n)]
    for start in range(0, len(rows), 25):
        await store.table.write([Put(row) for row in rows[start : start + 25]])


def rows_of(store: Store, samples: list[Execution], number: int) -> list[Any]:
    """The rows of one more execution of one of the pipelines."""
    state, sample = STATES[number % len(STATES)], samples[number % len(samples)]
    now = iso_timestamp(store.clock.now())
    made = structs.replace(
        sample,
        id=store.clock.new_id(),
        state=state,
        started_at=now if state.is_over else None,
        finished_at=now if state.is_over else None,
    )
    return [execution_item(made), *list_items(made).values()]


async def measure(store: Store, folder: Path) -> dict[str, float]:
    operations = separate_operations(parse(DOCUMENT.read_text()))
    texts = {name: print_ast(text) for name, text in operations.items() if name != "Live"}
    since = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    found: dict[str, list[float]] = {name: [] for name in texts}
    async with open_application(store, folder, rate_limit_per_second=0) as app:
        for _ in range(ROUNDS + 2):
            for name, text in texts.items():
                variables = {"since": since} if name == "Activity" else {}
                begun = process_time()
                answer = (await app.ask(text, variables)).json()
                found[name].append(process_time() - begun)
                assert "errors" not in answer, answer["errors"]
    return {name: median(times[2:]) * 1000 for name, times in found.items()}


async def run() -> None:
    with TemporaryDirectory() as folder:
        table = SqliteTable.open(Path(folder) / "penstock.db")
        await table.create()
        async with open_files(Path(folder)) as files:
            store = Store(table, files=files)
            await fill(store)
            for name, milliseconds in (await measure(store, Path(folder))).items():
                print(f"{name:12} {milliseconds:6.1f} ms")
        await table.close()


def main() -> None:
    asyncio.run(run())


if __name__ == "__main__":
    main()
