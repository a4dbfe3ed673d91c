"""A restore that was cut short leaves a folder that only the next restore uses."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from penstock.datastore import private_files
from penstock.datastore.errors import BadArgument
from penstock.datastore.moving import backup as module
from penstock.datastore.moving import unfinished_restore
from penstock.datastore.moving.backup import make_backup, restore_backup
from penstock.datastore.moving.unfinished_restore import (
    MARK,
    UnfinishedRestore,
    require_restored,
)
from penstock.datastore.table.port import Put
from tests.datastore.moving.data_folders import data_folder, running
from tests.datastore.moving.furnished_store import furnish_little, ignore_progress
from tests.support.table_interceptors import ProcessDied

AT = "2026-01-01T00:00:00.000Z"
LITTLE_FILES = 3


async def back_up(folder: Path, target: Path) -> Path:
    """Make a store with files, samples and a key, and its backup."""
    async with running(folder) as opened:
        await furnish_little(opened)
        make_backup(data_folder(folder), target, AT, ignore_progress)
    return target


async def back_up_less(folder: Path, target: Path) -> Path:
    """Make a store with one row and nothing else, and its backup."""
    async with running(folder) as opened:
        await opened.table.write([Put({"pk": "P:1", "sk": "PV:latest"})])
    for name in ("samples.db", "vault-key"):
        (folder / name).unlink()
    make_backup(data_folder(folder), target, AT, ignore_progress)
    return target


def dies(patch: pytest.MonkeyPatch, source: Path, folder: Path, *, steps: int) -> bool:
    """Restore until so many names were brought to the disk; tell whether it was cut short."""
    left = iter(range(steps))

    def die_in_time(_path: Path) -> None:
        if next(left, None) is None:
            raise ProcessDied

    with patch.context() as killed:
        for each in (module, unfinished_restore, private_files):
            killed.setattr(each, "sync_folder", die_in_time)
        try:
            restore_backup(source, data_folder(folder), ignore_progress)
        except ProcessDied:
            return True
    return False


def read_files(folder: Path) -> dict[str, bytes]:
    """The files of a folder by their names, without contents that no row names."""
    with closing(sqlite3.connect(folder / "files" / "index.db")) as index:
        named = {name for (name,) in index.execute("SELECT content FROM objects")}
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and (path.parent.name != "contents" or path.name in named)
    }


def restored_files(source: Path, folder: Path) -> dict[str, bytes]:
    restore_backup(source, data_folder(folder), ignore_progress)
    return read_files(folder)


@pytest.mark.parametrize("again", ["the same backup", "another backup"])
async def test_a_restore_that_is_killed_at_any_step_leaves_a_mark_and_starts_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: str
) -> None:
    first = await back_up(tmp_path / "store", tmp_path / "first")
    other = await back_up_less(tmp_path / "less", tmp_path / "other")
    second = first if again == "the same backup" else other
    wanted = restored_files(second, tmp_path / "whole")
    assert MARK not in wanted
    assert ("samples.db" in wanted) is (second is first)
    steps = 0
    while dies(monkeypatch, first, folder := tmp_path / f"cut-{steps}", steps=steps):
        # As a copy that is killed among its blocks.
        (folder / "samples.db.draft").write_bytes(b"half")
        if (folder / "penstock.db").exists() and not (folder / MARK).exists():
            break
        with pytest.raises(UnfinishedRestore, match=r"has not ended\. Repeat `penstock restore`"):
            require_restored(folder)
        assert restored_files(second, folder) == wanted
        require_restored(folder)
        steps += 1
    # The mark, the contents, the index, two databases and the key.
    assert steps == 1 + LITTLE_FILES + 4


async def test_a_restore_that_starts_anew_removes_nothing_that_others_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await back_up(tmp_path / "store", tmp_path / "first")
    other = await back_up_less(tmp_path / "less", tmp_path / "other")
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    # All but the removal of the mark.
    assert dies(monkeypatch, first, folder, steps=1 + LITTLE_FILES + 3)
    (folder / "vault-key").write_bytes(b"o" * 32)
    (folder / "penstock.db").write_bytes(b"live")
    with pytest.raises(BadArgument, match=r"There is a store in .*: move it away first"):
        restore_backup(other, data_folder(folder), ignore_progress)
    assert (folder / "penstock.db").read_bytes() == b"live"
    assert (folder / MARK).exists()
    (folder / "penstock.db").unlink()
    with pytest.raises(BadArgument, match=r"vault-key is there already: move it away first"):
        restore_backup(other, data_folder(folder), ignore_progress)
    assert (folder / "vault-key").read_bytes() == b"o" * 32
    (folder / "vault-key").unlink()
    restore_backup(other, data_folder(folder), ignore_progress)
    assert (folder / "notes.txt").read_text() == "mine"
    assert not (folder / "samples.db").exists()


@pytest.mark.parametrize(
    "name",
    [
        "penstock.db-wal",
        "samples.db",
        "samples.db-shm",
        "penstock.db-journal",
        "files/index.db",
        "files/index.db-wal",
        "vault-key",
    ],
)
async def test_what_is_left_of_another_store_is_not_replaced(tmp_path: Path, name: str) -> None:
    kept, folder = await back_up(tmp_path / "store", tmp_path / "first"), tmp_path / "new"
    left = folder / name
    left.parent.mkdir(parents=True)
    left.write_bytes(b"acknowledged")
    words = f"{left} is there already: move it away first, with all of its store."
    with pytest.raises(BadArgument) as refused:
        restore_backup(kept, data_folder(folder), ignore_progress)
    assert str(refused.value) == words
    assert [path for path in folder.rglob("*") if path.is_file()] == [left]
    assert left.read_bytes() == b"acknowledged"
    left.unlink()
    restore_backup(kept, data_folder(folder), ignore_progress)
    require_restored(folder)


async def test_what_was_written_to_a_restored_database_under_the_mark_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, folder = await back_up(tmp_path / "store", tmp_path / "first"), tmp_path / "new"
    assert dies(monkeypatch, first, folder, steps=1 + LITTLE_FILES + 3)
    before = (folder / "penstock.db").read_bytes()
    (folder / "penstock.db-wal").write_bytes(b"acknowledged")
    with pytest.raises(BadArgument, match=r"There is a store in .*: move it away first"):
        restore_backup(first, data_folder(folder), ignore_progress)
    assert (folder / "penstock.db").read_bytes() == before
    assert (folder / "penstock.db-wal").read_bytes() == b"acknowledged"


@pytest.mark.parametrize("step", ["create_private_file", "sync_file"])
async def test_a_restore_that_is_killed_as_it_begins_leaves_the_mark_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def die(*_arguments: object) -> None:
        raise ProcessDied

    first, folder = await back_up(tmp_path / "store", tmp_path / "first"), tmp_path / "new"
    with monkeypatch.context() as killed:
        killed.setattr(private_files, step, die)
        with pytest.raises(ProcessDied):
            restore_backup(first, data_folder(folder), ignore_progress)
    assert {path.name for path in folder.iterdir()} <= {MARK, f"{MARK}.draft"}
    with pytest.raises(UnfinishedRestore):
        require_restored(folder)
    assert MARK not in restored_files(first, folder)


async def test_a_server_that_makes_a_store_as_a_restore_begins_keeps_it_without_a_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, folder = await back_up(tmp_path / "store", tmp_path / "first"), tmp_path / "new"
    place = unfinished_restore.place_restore_mark

    def place_behind_a_server(path: Path, sha256: dict[str, str]) -> None:
        (folder / "penstock.db").write_bytes(b"live")
        place(path, sha256)

    monkeypatch.setattr(module, "place_restore_mark", place_behind_a_server)
    with pytest.raises(BadArgument, match=r"There is a store in .*: move it away first"):
        restore_backup(first, data_folder(folder), ignore_progress)
    assert [(path.name, path.read_bytes()) for path in folder.iterdir()] == [
        ("penstock.db", b"live")
    ]


@pytest.mark.parametrize("text", [b"", b'{"\xff": "a"}', b"[]"])
def test_a_damaged_mark_is_a_mark(tmp_path: Path, text: bytes) -> None:
    (tmp_path / MARK).write_bytes(text)
    assert unfinished_restore.read_restore_mark(tmp_path) == {}
    with pytest.raises(UnfinishedRestore):
        require_restored(tmp_path)


async def test_a_folder_with_an_unfinished_restore_is_not_backed_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, folder = await back_up(tmp_path / "store", tmp_path / "first"), tmp_path / "new"
    assert dies(monkeypatch, first, folder, steps=1 + LITTLE_FILES + 3)
    assert (folder / "penstock.db").exists()
    with pytest.raises(UnfinishedRestore):
        make_backup(data_folder(folder), tmp_path / "again", AT, ignore_progress)
    assert not (tmp_path / "again").exists()
