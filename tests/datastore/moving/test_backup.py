"""A backup of a running embedded store has everything, and so has the restored store."""

import sqlite3
from pathlib import Path

import pytest

from penstock.datastore.errors import BadArgument, Unavailable
from penstock.datastore.moving import backup as module
from penstock.datastore.moving.archive import DamagedArchive
from penstock.datastore.moving.backup import (
    DataFolder,
    check_backup,
    make_backup,
    restore_backup,
    verify_backup,
)
from penstock.datastore.sqlite.copy_file import copy_database
from penstock.datastore.table.port import Put, Scan
from tests.datastore.moving.data_folders import data_folder, running
from tests.datastore.moving.furnished_store import (
    furnish,
    furnish_little,
    ignore_progress,
    read_everything,
    rows_of_samples,
)
from tests.support.table_interceptors import ProcessDied

AT = "2026-01-01T00:00:00.000Z"


async def test_a_backup_of_a_running_store_is_restored_with_everything(tmp_path: Path) -> None:
    store = data_folder(tmp_path / "store")
    async with running(store.path) as opened:
        await furnish(opened)
        made = make_backup(store, tmp_path / "backup", AT, ignore_progress)
        before = await read_everything(opened)
        assert len(await rows_of_samples(opened)) == 2
        await opened.table.write([Put({"pk": "P:later", "sk": "PV:latest"})])
        await opened.files.delete(next(iter(before.files)))
    # Two files of rejected rows are alike: both executions of the sample reject none.
    assert made.files == len(set(before.files.values())) + 1
    restored = data_folder(tmp_path / "restored")
    assert restore_backup(tmp_path / "backup", restored, ignore_progress) == made
    async with running(restored.path) as opened:
        assert await read_everything(opened) == before
        assert await rows_of_samples(opened) == []
        assert await opened.table.verify() == []
        assert await opened.files.verify() == []


async def test_what_was_acknowledged_before_a_backup_is_in_it(tmp_path: Path) -> None:
    store = data_folder(tmp_path / "store")
    async with running(store.path) as opened:
        for number in range(30):
            await opened.table.write([Put({"pk": "P:1", "sk": f"PV:{number:010}"})])
            make_backup(store, tmp_path / f"backup{number}", AT, ignore_progress)
    for number in (0, 13, 29):
        async with running(tmp_path / f"backup{number}") as kept:
            assert len((await kept.table.scan(Scan())).items) == number + 1


async def test_a_file_that_is_deleted_during_a_backup_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = data_folder(tmp_path / "store")
    async with running(store.path) as opened:
        await furnish_little(opened)
        index = sqlite3.connect(store.path / "files" / "index.db", check_same_thread=False)

        def copy_and_change(source: Path, target: Path) -> None:
            copy(source, target)
            if source.name == "penstock.db":
                with index:
                    ((content,),) = index.execute(
                        "DELETE FROM objects WHERE key = ? RETURNING content", (b"datasets/2.csv",)
                    ).fetchall()
                (store.contents / content).unlink()

        copy = copy_database
        monkeypatch.setattr(module, "copy_database", copy_and_change)
        make_backup(store, tmp_path / "backup", AT, ignore_progress)
        index.close()
        assert await opened.files.stat("datasets/2.csv") is None
    async with running(tmp_path / "backup") as kept:
        assert [*await kept.files.list("")] == [f"datasets/{number}.csv" for number in range(3)]
        assert await kept.files.verify() == []


@pytest.mark.parametrize("steps", range(5))
async def test_a_backup_that_is_killed_at_any_step_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    store = data_folder(tmp_path / "store")
    async with running(store.path) as opened:
        await furnish_little(opened)
        before = await read_everything(opened)
        with monkeypatch.context() as patch:
            left = iter(range(steps))

            def die_in_time(folder: Path) -> None:
                if next(left, None) is None:
                    raise ProcessDied

            for name in ("penstock.datastore.sqlite.copy_file", module.__name__):
                patch.setattr(f"{name}.sync_folder", die_in_time)
            died = dies(store, tmp_path / "backup")
        assert died
        with pytest.raises(DamagedArchive, match="was cut short"):
            check_backup(data_folder(tmp_path / "backup"))
        make_backup(store, tmp_path / "backup", AT, ignore_progress)
    restore_backup(tmp_path / "backup", data_folder(tmp_path / "new"), ignore_progress)
    async with running(tmp_path / "new") as opened:
        assert await read_everything(opened) == before


async def test_a_backup_of_a_process_that_was_paused_and_dies_damages_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, target = data_folder(tmp_path / "store"), tmp_path / "backup"
    async with running(store.path) as opened:
        await furnish_little(opened)
        with monkeypatch.context() as patch:

            def copy_while_another_begins(source: Path, made: Path) -> None:
                patch.setattr(module, "copy_database", copy)
                with pytest.raises(BadArgument, match="Another process writes to"):
                    make_backup(store, target, AT, ignore_progress)
                raise ProcessDied

            copy = copy_database
            patch.setattr(module, "copy_database", copy_while_another_begins)
            assert dies(store, target)
        made = make_backup(store, target, AT, ignore_progress)
    assert verify_backup(data_folder(target), ignore_progress) == made


async def test_a_folder_is_restored_by_one_process_at_a_time(tmp_path: Path) -> None:
    store, new = data_folder(tmp_path / "store"), data_folder(tmp_path / "new")
    async with running(store.path) as opened:
        await furnish_little(opened)
        made = make_backup(store, tmp_path / "backup", AT, ignore_progress)
    refused: list[int] = []

    def begin_another(files: int) -> None:
        with pytest.raises(BadArgument, match="Another process writes to"):
            restore_backup(tmp_path / "backup", new, ignore_progress)
        refused.append(files)

    assert restore_backup(tmp_path / "backup", new, begin_another) == made
    assert refused == [1] * made.files


def dies(store: DataFolder, target: Path) -> bool:
    try:
        make_backup(store, target, AT, ignore_progress)
    except ProcessDied:
        return True
    return False


async def test_a_restore_refuses_a_folder_with_a_store_and_a_backup_that_changed(
    tmp_path: Path,
) -> None:
    store = data_folder(tmp_path / "store")
    async with running(store.path) as opened:
        await furnish_little(opened)
        make_backup(store, tmp_path / "backup", AT, ignore_progress)
        with pytest.raises(BadArgument, match="move it away first"):
            restore_backup(tmp_path / "backup", store, ignore_progress)
        assert len((await opened.table.scan(Scan())).items) == 5
    assert [path.name for path in (tmp_path / "backup").glob("*.draft")] == []
    with pytest.raises(BadArgument, match="complete backup already"):
        make_backup(store, tmp_path / "backup", AT, ignore_progress)
    (tmp_path / "backup" / "vault-key").write_bytes(b"w" * 32)
    with pytest.raises(DamagedArchive, match="/backup, vault-key differ from"):
        restore_backup(tmp_path / "backup", data_folder(tmp_path / "new"), ignore_progress)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("when", ["among the files", "behind the last look"])
async def test_a_restore_replaces_nothing_of_a_server_that_starts_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    store, new = data_folder(tmp_path / "store"), data_folder(tmp_path / "new")
    async with running(store.path) as opened:
        await furnish_little(opened)
        make_backup(store, tmp_path / "backup", AT, ignore_progress)

    def start_server(_files: int) -> None:
        (new.path / new.main).write_bytes(b"live")

    if when == "behind the last look":
        monkeypatch.setattr(module, "_require_no_store", lambda _store: None)
    with pytest.raises(BadArgument, match="move it away first"):
        restore_backup(tmp_path / "backup", new, start_server)
    assert (new.path / new.main).read_bytes() == b"live"
    if when == "among the files":
        assert not (new.path / "samples.db").exists()


@pytest.mark.parametrize("damage", ["flipped", "lost", "swapped"])
async def test_a_backup_with_a_damaged_file_is_noticed_and_makes_no_store(
    tmp_path: Path, damage: str
) -> None:
    store, kept = data_folder(tmp_path / "store"), data_folder(tmp_path / "backup")
    async with running(store.path) as opened:
        await furnish_little(opened)
        made = make_backup(store, kept.path, AT, ignore_progress)
    assert verify_backup(kept, ignore_progress) == made
    # Some files have equal contents, and no order of their own.
    (content, first), (other, second) = sorted(
        {path.read_bytes(): path for path in kept.contents.iterdir()}.items()
    )[:2]
    for path in (first, second):
        path.unlink()  # A content is linked: the store keeps its own.
    # The number of files and their bytes stay the same.
    match damage:
        case "flipped":
            first.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
            second.write_bytes(other)
        case "swapped":
            first.write_bytes(other)
            second.write_bytes(content)
        case _:
            second.write_bytes(other)
            (kept.contents / "another").write_bytes(content)
    assert check_backup(kept) == made
    new = data_folder(tmp_path / "new")
    with pytest.raises(DamagedArchive, match="content"):
        verify_backup(kept, ignore_progress)
    assert not new.path.exists()
    with pytest.raises(DamagedArchive, match="content"):
        restore_backup(kept.path, new, ignore_progress)
    assert not (new.path / new.main).exists()


def test_a_backup_goes_to_an_empty_folder_and_comes_from_a_store(tmp_path: Path) -> None:
    store = data_folder(tmp_path / "store")
    with pytest.raises(Unavailable, match=r"no .*penstock\.db"):
        make_backup(store, tmp_path / "backup", AT, ignore_progress)
    store.path.mkdir()
    (store.path / "penstock.db").write_bytes(b"no database" * 100)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(BadArgument, match=r"notes\.txt"):
        make_backup(store, tmp_path / "other", AT, ignore_progress)
    with pytest.raises(Unavailable, match="cannot be copied"):
        make_backup(store, tmp_path / "backup", AT, ignore_progress)


async def test_only_the_owner_can_read_a_backup(tmp_path: Path) -> None:
    store = data_folder(tmp_path / "store")
    async with running(store.path) as opened:
        await furnish_little(opened)
        make_backup(store, tmp_path / "backup", AT, ignore_progress)
    found = [tmp_path / "backup", *(tmp_path / "backup").rglob("*")]
    assert len(found) > 6
    # Contents are protected by their folder.
    loose = {path.parent.name for path in found if path.stat().st_mode & 0o077}
    assert loose <= {"contents"}


@pytest.mark.parametrize("changes", [1, 3])
async def test_the_keys_of_a_backup_open_what_is_in_its_databases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: int
) -> None:
    store = data_folder(tmp_path / "store")
    key = store.path / "vault-key"
    async with running(store.path) as opened:
        await opened.table.write([Put({"pk": "K", "sk": "K", "key": key.read_bytes().hex()})])
        database = sqlite3.connect(store.path / "penstock.db", check_same_thread=False)
        left = changes

        def copy_and_reseal(source: Path, target: Path) -> None:
            nonlocal left
            copy(source, target)
            if source.name == "penstock.db" and left:
                left -= 1
                key.write_bytes(bytes([left]) * 32)
                with database:
                    database.execute("DELETE FROM items WHERE pk = ?", (b"K",))

        copy = copy_database
        monkeypatch.setattr(module, "copy_database", copy_and_reseal)
        made = make_backup(store, tmp_path / "backup", AT, ignore_progress)
        database.close()
    assert check_backup(data_folder(tmp_path / "backup")) == made
    assert (tmp_path / "backup" / "vault-key").read_bytes() == bytes(32)
    async with running(tmp_path / "backup") as kept:
        assert (await kept.table.scan(Scan())).items == ()


async def test_keys_that_change_without_end_make_no_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = data_folder(tmp_path / "store")
    async with running(store.path):
        number = iter(range(100))

        def copy_and_change(source: Path, target: Path) -> None:
            copy(source, target)
            (store.path / "vault-key").write_bytes(bytes([next(number)]) * 32)

        copy = copy_database
        monkeypatch.setattr(module, "copy_database", copy_and_change)
        with pytest.raises(Unavailable, match="Keys change faster"):
            make_backup(store, tmp_path / "backup", AT, ignore_progress)
    with pytest.raises(DamagedArchive):
        check_backup(data_folder(tmp_path / "backup"))


async def test_a_key_that_is_removed_amid_a_backup_is_missing_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = data_folder(tmp_path / "store")._replace(keys=("vault-key", "vault-key-previous"))
    async with running(store.path):
        previous = store.path / "vault-key-previous"
        previous.write_bytes(b"p" * 32)

        def copy_and_remove(source: Path, target: Path) -> None:
            copy(source, target)
            previous.unlink(missing_ok=True)

        copy = copy_database
        monkeypatch.setattr(module, "copy_database", copy_and_remove)
        made = make_backup(store, tmp_path / "backup", AT, ignore_progress)
    assert "vault-key-previous" not in made.sha256
    assert not (tmp_path / "backup" / "vault-key-previous").exists()
