"""Times an export, an import, a backup and a recount of an embedded store.

A folder that is given keeps the seeded store, so that a second run does not seed again. Seeding
100,000 pipelines takes some minutes.
"""

import argparse
import asyncio
import resource
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
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

MARK: Final = "moving"


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


def measure_folder(size: int, folder: Path) -> list[Timing]:
    """Seed a store of so many pipelines in the folder, unless it has one, and measure the steps."""
    seeded = folder / "seeded"
    if run(["seed", "--size", str(size), "--data-dir", str(seeded)]):
        raise SystemExit("the store could not be seeded")
    for name in ("archive", "imported", "backup"):
        shutil.rmtree(folder / name, ignore_errors=True)
    return asyncio.run(measure_moves(folder))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.moving", description=__doc__)
    parser.add_argument("--size", type=int, default=2_000, help="number of pipelines")
    parser.add_argument("--folder", type=Path, help="folder for all stores, which is kept")
    add_write_option(parser)
    chosen = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        found = measure_folder(chosen.size, chosen.folder or Path(folder))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    rows = [
        f"{one.step} | {f'{one.rows:,}' if one.rows else ''} | {one.seconds:.1f} "
        f"| {one.processor:.1f} | {chosen.size / one.seconds:,.0f}"
        for one in found
    ]
    head = f"{chosen.size:,} pipelines, {peak} MB of memory | rows | seconds | of the processor"
    table = format_table(f"{head} | pipelines a second", rows)
    show_tables({MARK: below_machine(table)}, chosen.write)


if __name__ == "__main__":
    main()
