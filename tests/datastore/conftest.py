"""The fixtures of the datastore: a fresh, empty table of each implementation, and a clock."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from tests.support.sample_resources import Watch
from tests.support.stores import open_files, open_table, skip_reason


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
async def store(table: Table, tmp_path: Path) -> AsyncIterator[Store]:
    async with open_files(tmp_path) as files:
        yield Store(table, files=files)


@pytest.fixture
def watch() -> Watch:
    return Watch()
