"""Fixtures of tests on what is made of tracks and covers: local files, and a clock to turn on."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.objects.port import Files
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from tests.datastore.audio.sample_uploads import open_files
from tests.support.sample_resources import Watch


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[Files]:
    async with open_files("local", tmp_path) as opened:
        yield opened


@pytest.fixture
def store(table: Table, files: Files, watch: Watch) -> Store:
    return Store(table, Clock(now=watch), files=files)
