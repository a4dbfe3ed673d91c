"""Copies of database files, each of one moment, while other processes write."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from penstock.datastore.errors import Unavailable
from penstock.datastore.private_files import draft_of, make_private_database, sync_folder

_BUSY_SECONDS: Final = 30.0


def copy_database(source: Path, target: Path) -> None:
    """Copy a database as it is at one moment, with what its write-ahead log holds.

    Writers go on meanwhile. The target appears when it is whole and on the disk. Raises Unavailable
    if the source is no database or the target cannot be written.
    """
    draft = draft_of(target)
    for suffix in ("", "-journal", "-wal", "-shm"):
        draft.with_name(draft.name + suffix).unlink(missing_ok=True)
    make_private_database(draft)
    uri = f"{source.absolute().as_uri()}?mode=rw"
    try:
        with (
            closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS)) as found,
            closing(sqlite3.connect(draft)) as made,
        ):
            # All pages in one step: a copy in several would start again with each foreign write.
            found.backup(made)
            ((verdict,),) = made.execute("PRAGMA quick_check(1)")
        if verdict != "ok":
            raise Unavailable(f"{source} is damaged: {verdict}.")
    except sqlite3.Error as error:
        raise Unavailable(f"{source} cannot be copied: {error}.") from error
    draft.rename(target)
    sync_folder(target.parent)
