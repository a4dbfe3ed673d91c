"""The data of the embedded store can be read by its owner only."""

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.private_files import make_private_database
from penstock.datastore.sqlite.table import SqliteTable
from penstock.server.runtime.ngsi_sink import SAMPLES, open_destinations
from penstock.server.runtime.stores import open_table
from penstock.server.settings.settings import Settings
from penstock.server.settings.store_settings import DATABASE


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def modes_below(directory: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}


async def open_all(data_dir: Path) -> dict[str, int]:
    """Open both tables and the files; return the modes of what is there meanwhile."""
    settings = Settings.load(data_dir=data_dir)
    async with open_table(settings) as table, open_destinations(settings):
        await table.create()
        assert await table.verify() == []
        files = await LocalFiles.open(data_dir / "files", base_url="http://a", key=b"k" * 32)
        await files.close()
        return modes_below(data_dir)


PRIVATE = {
    **{f"{name}{suffix}": 0o600 for name in (DATABASE, SAMPLES) for suffix in ("", "-wal", "-shm")},
    "files": 0o700,
}


async def test_what_the_server_creates_is_private(tmp_path: Path) -> None:
    assert await open_all(tmp_path) == PRIVATE
    assert modes_below(tmp_path / "files") == {
        "contents": 0o700,
        "drafts": 0o700,
        "index.db": 0o600,
    }


async def test_what_an_older_release_created_is_made_private(tmp_path: Path) -> None:
    await open_all(tmp_path)
    (tmp_path / "files").chmod(0o755)
    held = []
    for name in (DATABASE, SAMPLES):
        # An open reader keeps the logs of the file.
        held.append(sqlite3.connect(tmp_path / name))
        held[-1].execute("SELECT * FROM sqlite_master").fetchall()
        for suffix in ("", "-wal", "-shm"):
            (tmp_path / f"{name}{suffix}").chmod(0o644)
    assert await open_all(tmp_path) == PRIVATE
    for one in held:
        one.close()


async def test_a_file_that_its_owner_may_not_write_stays_so(tmp_path: Path) -> None:
    await open_all(tmp_path)
    (tmp_path / DATABASE).chmod(0o444)
    table = SqliteTable.open(tmp_path / DATABASE)
    assert await table.verify() == []
    await table.close()
    assert stat.S_IMODE((tmp_path / DATABASE).stat().st_mode) == 0o400


def test_a_database_that_is_opened_again_keeps_its_locks(tmp_path: Path) -> None:
    """A process that closes any descriptor of a file loses all its locks on it."""
    path = tmp_path / "a.db"
    script = f"import sqlite3; sqlite3.connect({str(path)!r}, timeout=0).execute('BEGIN IMMEDIATE')"
    make_private_database(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as first:
        first.execute("BEGIN IMMEDIATE")
        make_private_database(path)
        other = subprocess.run(
            [sys.executable, "-c", script], check=False, capture_output=True, text=True
        )
    assert "database is locked" in other.stderr
