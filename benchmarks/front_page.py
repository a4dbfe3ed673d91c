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

from graphql import parse, print_ast, separate_operations

from benchmarks.product.executions import add_executions
from penstock.datastore.executions.records import ExecutionState
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
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
    made = [await make(session, NORTHWEST, f"Pipeline {n}", f"n={n}") for n in range(PIPELINES)]
    await add_executions(store, session, [one.id for one in made], EXECUTIONS, STATES)


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
