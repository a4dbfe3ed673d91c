"""Checks of the embedded store: its directory, the free space, and its file."""

import os
import shutil
import tempfile
from pathlib import Path

from penstock.datastore.errors import Unavailable
from penstock.datastore.moving.unfinished_restore import (
    REPEAT_RESTORE,
    read_restore_mark,
    say_unfinished,
)
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.table.schema_marker import GuardedTable
from penstock.resolvers.findings import Finding, Findings, fail, ok, warn
from penstock.schema.system.rows import check_rows
from penstock.schema.system.unfinished_work import check_unfinished_work
from penstock.server.runtime.stores import build_store
from penstock.server.settings.settings import Settings
from penstock.server.settings.store_settings import DATABASE

SCARCE_BYTES = 2**30
TOO_FEW_BYTES = 100 * 2**20

_RESTORE = "Restore the file from a backup, or move it."


async def check_embedded_store(settings: Settings) -> Findings:
    """Check the directory and file of the embedded store without creating either."""
    yield _check_writable(settings.data_dir)
    yield judge_free_space(shutil.disk_usage(_nearest_existing(settings.data_dir)).free)
    path = settings.data_dir / DATABASE
    if read_restore_mark(settings.data_dir) is not None:
        yield fail("table", say_unfinished(settings.data_dir), REPEAT_RESTORE)
        return
    if not path.exists():
        yield ok("table", f"There is no {path} yet; the server makes it at its first start.")
        return
    table = SqliteTable.open(path)
    try:
        async for finding in _check_file(table, path, settings):
            yield finding
    except Unavailable as failure:
        yield fail("table", f"{path}: {failure.message}", _RESTORE)
    finally:
        await table.close()


async def _check_file(table: SqliteTable, path: Path, settings: Settings) -> Findings:
    """Check every page of the file, its schema, and the work in it; raises Unavailable."""
    if problems := [*await table.find_damage(), *await table.verify()]:
        yield fail("table", " ".join(problems), _RESTORE)
        return
    yield ok("table", f"{path} fits.")
    if not os.access(path, os.W_OK):
        advice = "Let the server's user write the file, or choose another PENSTOCK_DATA_DIR."
        yield fail("table", f"{path} cannot be written.", advice)
    store = build_store(GuardedTable(table), settings)
    for check in (check_rows, check_unfinished_work):
        async for finding in check(store):
            yield finding


def judge_free_space(free: int) -> Finding:
    """Judge the number of free bytes in the directory of the file."""
    shown = f"{free // 2**20} MiB are free."
    if free < TOO_FEW_BYTES:
        return fail("space", shown, "Make room; writes fail when none is left.")
    if free < SCARCE_BYTES:
        return warn("space", shown, "Make room in time.")
    return ok("space", shown)


def _check_writable(directory: Path) -> Finding:
    try:
        with tempfile.TemporaryFile(dir=_nearest_existing(directory)):
            return ok("data directory", f"{directory} can be written.")
    except OSError as error:
        advice = "Let the server's user write there, or choose another PENSTOCK_DATA_DIR."
        return fail("data directory", f"{directory}: {error.strerror}.", advice)


def _nearest_existing(directory: Path) -> Path:
    """Return the directory, or its nearest existing parent, in which it would be created."""
    absolute = directory.absolute()
    return next(each for each in (absolute, *absolute.parents) if each.exists())
