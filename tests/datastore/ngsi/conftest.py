"""Destinations for tests: those of each store in turn, with a table of the same store."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from penstock.datastore.ngsi.destinations import Destinations
from penstock.datastore.table.port import Table
from tests.datastore.ngsi.sample_destinations import open_destinations
from tests.datastore.ngsi.sample_sinks import NewWorld, SinkWorld, open_world
from tests.support.stores import open_table


@pytest.fixture
async def destinations(implementation: str, tmp_path: Path) -> AsyncIterator[Destinations]:
    async with open_destinations(implementation, tmp_path) as opened:
        yield opened


@pytest.fixture
async def world(
    table: Table, destinations: Destinations, tmp_path: Path
) -> AsyncIterator[SinkWorld]:
    async with open_world(table, destinations, tmp_path) as opened:
        yield opened


@pytest.fixture
def new_world(implementation: str, destinations: Destinations, tmp_path: Path) -> NewWorld:
    """Open a context for sinks with a table and files of its own."""

    @asynccontextmanager
    async def open_it() -> AsyncIterator[SinkWorld]:
        folder = tmp_path / str(uuid4())
        folder.mkdir()
        async with (
            open_table(implementation, folder) as table,
            open_world(table, destinations, folder) as world,
        ):
            yield world

    return open_it
