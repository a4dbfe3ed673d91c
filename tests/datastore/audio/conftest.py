"""Fixtures of audio tests, with each implementation of the stores where it matters."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from penstock.datastore.audio.library import AudioLibrary
from penstock.datastore.objects.port import Files
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from tests.datastore.audio.sample_library import listener
from tests.datastore.audio.sample_uploads import open_files
from tests.support.stores import open_table


@pytest.fixture
def store(table: Table) -> Store:
    return Store(table)


@pytest.fixture(params=["local", "s3"])
async def files(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Files]:
    """An empty store of files, of each implementation in turn."""
    async with open_files(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture
async def library(tmp_path: Path, files: Files) -> AsyncIterator[AudioLibrary]:
    """The library of a listener, in the embedded table."""
    async with open_table("sqlite", tmp_path) as table:
        yield listener(Store(table, files=files))
