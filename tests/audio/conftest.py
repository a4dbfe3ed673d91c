"""The fixtures of tests of audio: a store of each implementation in turn, where it matters."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from datastore.store import Store
from datastore.table import Table
from tests.stores import IMPLEMENTATIONS, open_table, skip_reason


@pytest.fixture(params=IMPLEMENTATIONS)
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
def store(table: Table) -> Store:
    return Store(table)
