"""A store of manifests whose clock a test sets, a session in it, and files in a directory."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from tests.support.sample_resources import Watch, create_groups


@pytest.fixture
def store(table: Table, watch: Watch) -> Store:
    return Store(table, Clock(now=watch))


@pytest.fixture
async def session(store: Store) -> Session:
    return await create_groups(store)


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[LocalFiles]:
    opened = await LocalFiles.open(tmp_path / "files", base_url="http://x", key=b"k" * 32)
    yield opened
    await opened.close()
