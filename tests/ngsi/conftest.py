"""Destinations for tests: those of each store in turn, beside a table of the same store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from penstock.datastore.ngsi.destinations import Destinations
from penstock.datastore.table.port import Table
from tests.ngsi.places import open_destinations
from tests.ngsi.sinks import World, open_world
from tests.stores import open_table, skip_reason


@pytest.fixture
def implementation(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    reason = skip_reason(name)
    if reason is not None:
        pytest.skip(reason)
    return name


@pytest.fixture
async def table(implementation: str, tmp_path: Path) -> AsyncIterator[Table]:
    async with open_table(implementation, tmp_path) as opened:
        yield opened


@pytest.fixture
async def destinations(implementation: str, tmp_path: Path) -> AsyncIterator[Destinations]:
    async with open_destinations(implementation, tmp_path) as opened:
        yield opened


@pytest.fixture
async def world(table: Table, destinations: Destinations, tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(table, destinations, tmp_path) as opened:
        yield opened
