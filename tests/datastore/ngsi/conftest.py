"""Destinations for tests: those of each store in turn, with a table of the same store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from penstock.datastore.ngsi.destinations import Destinations
from penstock.datastore.table.port import Table
from tests.datastore.ngsi.sample_destinations import open_destinations
from tests.datastore.ngsi.sample_sinks import SinkWorld, open_world


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
