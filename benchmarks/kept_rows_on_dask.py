"""Measures an execution whose rows are kept, on one machine and on a Dask cluster of processes.

A machine is a process of one thread. Processor time is that of the worker that holds the claim.
Files are served by a process of its own.
"""

import argparse
import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import uvicorn
from distributed import Client
from starlette.applications import Starlette

from benchmarks.kept_rows import KEPT, lines_of
from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from penstock.datastore.executions.files import ingest_key
from penstock.datastore.executions.workers.row_engine import LOCAL_ENGINE, RowEngine
from penstock.datastore.kept_rows.part_list import read_parts
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.store import Store
from penstock.server.edge.local_files import file_routes
from penstock.server.runtime.dask.cluster import Cluster
from tests.datastore.executions.sample_executions import (
    ANN,
    begin_execution,
    current_execution,
    pipeline_in,
)
from tests.support.sample_resources import create_groups
from tests.support.server_process import free_port
from tests.support.stores import open_table

MARK: Final = "kept rows on dask"
ALONE: Final = "the worker alone"
KEY: Final = b"k" * 32
ROWS_BYTES: Final = 4 * 1024 * 1024
PART_BYTES: Final = 4 * 1024 * 1024
"""Smaller than by default, so that a million rows are parts enough for four machines."""


class SpreadCost(NamedTuple):
    """The seconds by the clock, the processor seconds of the worker, and the files of rows."""

    elapsed: float
    spent: float
    files: int


async def open_files(folder: Path, port: int) -> LocalFiles:
    return await LocalFiles.open(folder, base_url=f"http://127.0.0.1:{port}", key=KEY)


async def serve_files(folder: Path, port: int) -> None:
    """Serve the files of a folder until the process is ended."""
    files = await open_files(folder, port)
    app = Starlette(routes=file_routes(files, 50))
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning")
    await uvicorn.Server(config).serve()


@contextmanager
def run_process(*words: str) -> Iterator[None]:
    """Run Python with these words until the end of the block."""
    process = subprocess.Popen([sys.executable, "-m", *words], stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


@asynccontextmanager
async def open_cluster(machines: int, folder: Path) -> AsyncIterator[Cluster]:
    """A scheduler and so many machines, each a process with one thread."""
    address = f"tcp://127.0.0.1:{free_port()}"
    place = ("--host", "127.0.0.1", "--no-dashboard")
    worker = ("--nthreads", "1", "--nworkers", "1", "--no-nanny", "--local-directory", str(folder))
    async with AsyncExitStack() as stack:
        port = address.rpartition(":")[2]
        scheduler = run_process("distributed.cli.dask_scheduler", "--port", port, *place)
        stack.enter_context(scheduler)
        for _ in range(machines):
            stack.enter_context(
                run_process("distributed.cli.dask_worker", address, *worker, *place)
            )
        async with Client(address, asynchronous=True, timeout=60) as client:
            await client.wait_for_workers(machines, timeout=60)
        yield Cluster(address, part_bytes=PART_BYTES, rows_bytes=ROWS_BYTES)


async def run_once(store: Store, name: str, rows: int, engine: RowEngine) -> SpreadCost:
    """Run an execution of so many rows of a new pipeline."""
    pipeline = await pipeline_in(store, name=name, transformer=KEPT)
    made = await begin_execution(store, pipeline)
    await store.files.write(ingest_key(made), lines_of(0, rows), content_type="text/csv")
    await store.open_session(ANN).executions.uploads.confirm(made.id)
    started, clock = time.process_time(), time.perf_counter()
    await store.execution_worker("w", engine).run_all()
    spent, elapsed = time.process_time() - started, time.perf_counter() - clock
    over = await current_execution(store, made)
    assert (over.state, over.succeeded) == ("success", rows)
    return SpreadCost(elapsed, spent, len(await read_parts(store.table, pipeline.id)))


async def measure_spreading(rows: int, machines: Sequence[int]) -> dict[str, SpreadCost]:
    """The cost by where rows are transformed, and where files of rows are written."""
    with TemporaryDirectory() as scratch:
        folder, port = Path(scratch), free_port()
        files = await open_files(folder / "files", port)
        served = run_process(
            "benchmarks.kept_rows_on_dask", "serve", str(folder / "files"), str(port)
        )
        with served:
            async with open_table("sqlite", folder) as table:
                store = Store(table, files=files)
                await create_groups(store)
                found = {ALONE: await run_once(store, ALONE, rows, LOCAL_ENGINE)}
                for count in machines:
                    async with open_cluster(count, folder) as cluster:
                        name = f"{count} machines"
                        found[name] = await run_once(store, name, rows, cluster)
                        name = f"{count} machines, files by the worker"
                        few = replace(cluster, rows_bytes=10**12)
                        found[name] = await run_once(store, name, rows, few)
        await files.close()
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.kept_rows_on_dask", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--machines", type=int, nargs="+", default=(2, 4))
    add_write_option(parser)
    options = parser.parse_args(arguments)
    rows = [
        f"{where} | {cost.elapsed:.1f} | {cost.spent:.1f} | {cost.files}"
        for where, cost in asyncio.run(measure_spreading(options.rows, options.machines)).items()
    ]
    head = f"{options.rows:,} rows | seconds | of the worker's processor | files of rows"
    show_tables({MARK: below_machine(format_table(head, rows))}, options.write)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        with suppress(KeyboardInterrupt):
            asyncio.run(serve_files(Path(sys.argv[2]), int(sys.argv[3])))
    else:
        main()
