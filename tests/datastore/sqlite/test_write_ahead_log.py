"""The write-ahead log is switched on by one of several processes that make a file at once."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Timer

import pytest

from penstock.datastore.sqlite.write_ahead_log import switch_on_log
from tests.support.patience import HUNG_SECONDS


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[tuple[Path, sqlite3.Connection]]:
    """A file that another process makes: it has its write lock, and no log yet."""
    path = tmp_path / "table.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as maker:
        maker.execute("CREATE TABLE one (n INTEGER)")
        maker.execute("BEGIN IMMEDIATE")
        yield path, maker


def test_the_log_waits_for_a_process_that_makes_the_file(
    begun: tuple[Path, sqlite3.Connection],
) -> None:
    path, maker = begun
    with closing(sqlite3.connect(path, isolation_level=None, timeout=HUNG_SECONDS)) as other:
        release = Timer(0.05, maker.execute, ["COMMIT"])
        release.start()
        switch_on_log(other)
        release.join()
        assert other.execute("PRAGMA journal_mode").fetchall() == [("wal",)]


def test_the_log_waits_no_longer_than_its_connection(
    begun: tuple[Path, sqlite3.Connection],
) -> None:
    path, _ = begun
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as other:
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            switch_on_log(other)
        assert other.execute("PRAGMA journal_mode").fetchall() == [("delete",)]
