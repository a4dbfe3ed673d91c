"""Times an export, an import, a backup and a recount of an embedded store.

    python -m benchmarks.moving --size 100000 --folder /dev/shm/moving

The folder keeps the seeded store, so that a second run does not seed again. Seeding 100,000
pipelines takes some minutes.
"""

import argparse
import asyncio
import resource
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from penstock.datastore.clock import Clock
from penstock.datastore.mending.differences import find_differences
from penstock.datastore.moving.archive import Archive
from penstock.datastore.moving.backup import make_backup
from penstock.datastore.moving.export import Export
from penstock.datastore.moving.import_ import Import
from penstock.server.command_line import run
from penstock.server.commands.backup import data_folder
from penstock.server.runtime.movable_stores import open_movable_store, open_snapshot
from penstock.server.settings.settings import Settings


class Timing(NamedTuple):
    """A step, its seconds, those of the processor, and its rows."""

    step: str
    seconds: float
    processor: float
    rows: int


async def measure(step: str, work: Callable[[], Awaitable[int]]) -> Timing:
    """Time the work, which returns the number of its rows."""
    started, used = time.perf_counter(), time.process_time()
    rows = await work()
    return Timing(step, time.perf_counter() - started, time.process_time() - used, rows)


async def measure_moves(folder: Path) -> list[Timing]:
    """Measure each step on the seeded store in the folder."""
    source = Settings.load(data_dir=folder / "seeded")
    target = Settings.load(data_dir=folder / "imported")
    archive = Archive(folder / "archive")

    async def export() -> int:
        async with open_snapshot(source, archive.folder) as store:
            return (await Export(store, archive, Clock(), lambda _count: None).run()).count("rows")

    async def import_() -> int:
        async with open_movable_store(target) as store:
            await store.table.create()
            importing = Import(store, archive, lambda _count: None)
            done = await importing.run()
            await importing.end()
            return done.rows

    async def recount() -> int:
        async with open_movable_store(target) as store:
            found = await find_differences(store.table, 1, lambda _count: None)
            if found.total:
                raise SystemExit(f"{found.total} rows differ")
            return found.scanned

    async def backup() -> int:
        backup = folder / "backup"
        make_backup(data_folder(source), backup, Clock().timestamp(), lambda _count: None)
        return 0

    steps = (("export", export), ("import", import_), ("recount", recount), ("backup", backup))
    return [await measure(name, step) for name, step in steps]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2_000, help="number of pipelines")
    parser.add_argument("--folder", type=Path, required=True, help="folder for all stores")
    chosen = parser.parse_args()
    seeded = chosen.folder / "seeded"
    if run(["seed", "--size", str(chosen.size), "--data-dir", str(seeded)]):
        raise SystemExit("the store could not be seeded")
    for name in ("archive", "imported", "backup"):
        shutil.rmtree(chosen.folder / name, ignore_errors=True)
    print("| step | rows | seconds | of the processor | pipelines a second | of the processor |")
    print("|---|--:|--:|--:|--:|--:|")
    for step, seconds, processor, rows in asyncio.run(measure_moves(chosen.folder)):
        rates = f"{chosen.size / seconds:,.0f} | {chosen.size / processor:,.0f}"
        print(f"| {step} | {rows:,} | {seconds:.1f} | {processor:.1f} | {rates} |", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"\nAt most {peak} MiB of memory were in use.")


if __name__ == "__main__":
    main()
