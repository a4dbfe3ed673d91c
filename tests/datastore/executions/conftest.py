"""A store with files: each kind of table in turn, with files in a directory."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from tests.datastore.executions.sample_executions import plant_pipeline
from tests.support.sample_resources import Watch


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[LocalFiles]:
    opened = await LocalFiles.open(tmp_path / "files", base_url="http://x", key=b"k" * 32)
    yield opened
    await opened.close()


@pytest.fixture
def store(table: Table, files: LocalFiles, watch: Watch) -> Store:
    return Store(table, clock=Clock(watch), files=files)


@pytest.fixture
async def pipeline(store: Store) -> Pipeline:
    return await plant_pipeline(store)
