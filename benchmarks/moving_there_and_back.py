"""Moves a store of many pipelines to an emulator of DynamoDB and back, and compares everything.

Besides the pipelines the store has versions, tags, executions, files, samples, audio, playlists and
a run. The emulator is dynoxide (`make tools`), in memory; for 100,000 pipelines it takes half an
hour. A folder that is given keeps the first store, so that a second run does not seed again.
"""

import argparse
import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from decimal import Context, Decimal
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from penstock.datastore.moving.export import MovableStore
from penstock.datastore.ngsi.naming.table_names import list_every_table
from penstock.datastore.table.port import Scan
from penstock.server.command_line import run
from penstock.server.runtime.movable_stores import open_movable_store
from penstock.server.settings.settings import Settings
from tests.datastore.moving.furnished_store import (
    export_of,
    furnish,
    neutral_row,
    open_empty,
    run_import,
)
from tests.support.shared_clients import sharing_clients

MARK: Final = "moving there and back"
EXACT = Context(prec=50)
WAYS: Final = ("to DynamoDB's emulator", "and back")

Contents = tuple[int, int]
"""The number of rows, samples and files of a store, and the sum of their digests."""


async def move(folder: Path) -> list[str]:
    """Move the store twice; return the rows of the table of what was moved."""
    first = Settings.load(data_dir=folder / "first")
    last = Settings.load(data_dir=folder / "last")
    async with (
        sharing_clients(),
        open_movable_store(first) as seeded,
        open_empty("dynoxide", folder) as emulated,
        open_movable_store(last) as back,
    ):
        if not (folder / "furnished").exists():
            await furnish(seeded)
            (folder / "furnished").touch()
        await back.table.create()
        # The emulator reads the whole table for each part of a scan in parts.
        middle = replace(emulated, segments=1)
        stores, rows = (seeded, middle, back), []
        for number, (source, target) in enumerate(pairwise(stores)):
            archive = folder / f"archive-{number}"
            began = time.perf_counter()
            await export_of(source, archive).run()
            exported = time.perf_counter()
            counts = await run_import(target, archive)
            ended = time.perf_counter()
            rows.append(
                f"{WAYS[number]} | {counts.rows:,} | {counts.samples:,} | {counts.files:,} "
                f"| {exported - began:.0f} | {ended - exported:.0f}"
            )
        found = [await sum_contents(store) for store in (seeded, back)]
    if found[0] != found[1]:
        raise SystemExit(f"the stores differ: {found}")
    return rows


async def sum_contents(store: MovableStore) -> Contents:
    count = total = 0
    async for part in _list_contents(store):
        count += 1
        total += int.from_bytes(sha256(part.encode()).digest()[:16])
    return count, total


async def _list_contents(store: MovableStore) -> AsyncIterator[str]:
    after = None
    while True:
        page = await store.table.scan(Scan(after=after))
        for item in page.items:
            yield describe(await neutral_row(store, dict(item)))
        after = page.last
        if after is None:
            break
    async for name in list_every_table(store.table):
        for item in (await store.destinations.table(name).scan(Scan())).items:
            yield name + describe(item)
    for key in await store.files.list(""):
        content = sha256()
        async for chunk in store.files.read(key):
            content.update(chunk)
        yield f"{key} {content.hexdigest()}"


def describe(value: object) -> str:
    """Return one text for equal values: each store has numbers in types of its own."""
    match value:
        case bool() | None | str():
            return repr(value)
        case int() | Decimal():
            return str(Decimal(value).normalize(EXACT))
        case Mapping():
            return repr(sorted((name, describe(part)) for name, part in value.items()))
        case Sequence():
            return repr([describe(part) for part in value])
        case _:
            raise TypeError(f"a row holds {type(value)}")


def move_in_folder(size: int, folder: Path) -> list[str]:
    """Seed a store of so many pipelines in the folder, unless it has one, and move it."""
    if run(["seed", "--size", str(size), "--data-dir", str(folder / "first")]):
        raise SystemExit("the store could not be seeded")
    for name in ("archive-0", "archive-1", "last"):
        shutil.rmtree(folder / name, ignore_errors=True)
    return asyncio.run(move(folder))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.moving_there_and_back", description=__doc__)
    parser.add_argument("--size", type=int, default=2_000, help="number of pipelines")
    parser.add_argument("--folder", type=Path, help="folder for all stores, which is kept")
    add_write_option(parser)
    chosen = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        rows = move_in_folder(chosen.size, chosen.folder or Path(folder))
    head = f"{chosen.size:,} pipelines | rows | samples | files | seconds to export | to import"
    show_tables({MARK: below_machine(format_table(head, rows))}, chosen.write)


if __name__ == "__main__":
    main()
