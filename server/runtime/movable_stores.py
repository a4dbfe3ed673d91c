"""Opens a whole store for a move: its table, samples, files and vault."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from penstock.datastore.moving.archive import SNAPSHOT
from penstock.datastore.moving.export import MovableStore
from penstock.datastore.ngsi.destinations import Destinations, EmbeddedDestinations
from penstock.datastore.private_files import make_private_folder
from penstock.datastore.sqlite.copy_file import copy_database
from penstock.datastore.sqlite.table import SqliteTable
from penstock.server.runtime.ngsi_sink import SAMPLES, open_destinations
from penstock.server.runtime.stores import (
    bucket_of,
    data_location,
    open_buckets,
    open_files,
    open_table,
)
from penstock.server.settings.settings import Settings
from penstock.server.settings.store_settings import DATABASE

SEGMENTS: Final = 8
"""The parts of a table at DynamoDB that are read at once."""


@asynccontextmanager
async def open_movable_store(settings: Settings) -> AsyncIterator[MovableStore]:
    """Open the store of the settings."""
    async with (
        open_table(settings) as table,
        open_destinations(settings) as destinations,
        open_files(settings) as files,
        open_buckets(settings) as buckets,
    ):
        yield MovableStore(
            table,
            destinations,
            files,
            buckets.vault,
            data_location(settings),
            bucket_of(settings) or "",
            1 if settings.store == "sqlite" else SEGMENTS,
        )


@asynccontextmanager
async def open_snapshot(settings: Settings, archive: Path) -> AsyncIterator[MovableStore]:
    """Open the store for its export; the rows of an embedded one are those of one moment.

    Copies of its database files lie in the archive until the export is complete, so that an export
    that goes on reads the same moment.
    """
    async with open_movable_store(settings) as store:
        if settings.store != "sqlite":
            yield store
            return
        copies = archive / SNAPSHOT
        make_private_folder(copies)
        for name in (DATABASE, SAMPLES):
            if not (copies / name).exists():
                await asyncio.to_thread(copy_database, settings.data_dir / name, copies / name)
        table, samples = SqliteTable.open(copies / DATABASE), SqliteTable.open(copies / SAMPLES)
        destinations: Destinations = EmbeddedDestinations(samples)
        try:
            yield replace(store, table=table, destinations=destinations)
        finally:
            await table.close()
            await destinations.close()
    await asyncio.to_thread(shutil.rmtree, copies)
