"""`penstock export`, `import`, `backup`, `restore` and `doctor --recount` as a user sees them."""

import asyncio
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.access.sealed_rows import SEALED
from penstock.datastore.access.vault import LocalVault
from penstock.datastore.moving.archive import Manifest
from penstock.datastore.moving.held_folders import hold_folder
from penstock.datastore.ngsi.repository import SinkAccess
from penstock.datastore.store import Store
from penstock.datastore.table.layout import PLAYER_PASSWORD
from penstock.datastore.table.port import Put
from penstock.server.command_line import run
from penstock.server.commands import import_
from penstock.server.commands.options import StoreOptions
from penstock.server.runtime.movable_stores import open_movable_store
from penstock.server.settings.settings import Settings
from tests.datastore.ngsi.sample_destinations import AT, event
from tests.datastore.ngsi.stored_samples import store_events
from tests.support.table_interceptors import ProcessDied

NAMING = b"NL:vehicles:/4wheels:car1:car"


@pytest.fixture(autouse=True)
def _no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in Settings.model_fields:
        monkeypatch.delenv(f"PENSTOCK_{name.upper()}", raising=False)


def answer(capsys: pytest.CaptureFixture[str], *command: object, code: int = 0) -> Any:
    """Run a command, and return its JSON answer or failure."""
    assert run([*map(str, command), "--json"]) == code
    printed = capsys.readouterr()
    return json.loads(printed.out or printed.err)


def test_a_seeded_store_is_exported_imported_and_recounted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(capsys, "seed", "--size", 3, "--audio", "ann", "--data-dir", "a")
    archive = tmp_path / "archive"
    exported = answer(capsys, "export", archive, "--data-dir", "a")
    assert exported.pop("archive") == str(archive)
    assert exported["rows"] > 100
    assert (exported["samples"], exported["files"], exported.pop("leftOut")) == (0, 22, 0)
    assert not (archive / "snapshot").exists()
    imported = answer(capsys, "import", archive, "--data-dir", "b")
    assert imported == {**exported, "lostSecrets": 0, "differences": []}
    assert answer(capsys, "doctor", "--recount", "--data-dir", "b")["differences"] == []

    failed = answer(capsys, "export", archive, "--data-dir", "a", code=1)
    assert "complete archive" in failed["error"]["messages"][0]
    failed = answer(capsys, "import", archive, "--data-dir", "b", code=1)
    assert "--into-existing" in failed["error"]["messages"][0]
    again = answer(capsys, "import", archive, "--into-existing", "--data-dir", "b")
    assert again == imported


def test_objects_of_others_that_an_export_left_out_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(capsys, "seed", "--size", 1, "--data-dir", "a")
    monkeypatch.setattr(Manifest, "count_left_out", lambda _: 2)
    assert answer(capsys, "export", "one", "--data-dir", "a")["leftOut"] == 2
    assert run(["export", "two", "--data-dir", "a"]) == 0
    assert "\n2 objects of other programs left out: " in capsys.readouterr().out


def test_secrets_that_the_key_of_an_archive_does_not_open_are_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asyncio.run(keep_a_lost_secret(StoreOptions(data_dir=Path("a")).settings()))
    answer(capsys, "export", "archive", "--data-dir", "a")
    imported = answer(capsys, "import", "archive", "--data-dir", "b", code=1)
    assert (imported["lostSecrets"], imported["differences"]) == (1, [])
    assert run(["import", "archive", "--data-dir", "c"]) == 1
    words = "1 secret of users cannot be opened by the archive's key."
    assert words in capsys.readouterr().out.splitlines()


def test_an_export_writes_nothing_into_a_folder_with_other_things(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(capsys, "seed", "--size", 1, "--data-dir", "a")
    target = tmp_path / "documents"
    target.mkdir(mode=0o755)
    (target / "letter.txt").write_text("Dear Ann")
    failed = answer(capsys, "export", target, "--data-dir", "a", code=1)
    assert failed["error"]["messages"] == [f"{target} is not empty: there is letter.txt."]
    assert [path.name for path in target.iterdir()] == ["letter.txt"]
    assert target.stat().st_mode & 0o777 == 0o755


def test_an_export_waits_for_another_process_that_writes_to_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(capsys, "seed", "--size", 1, "--data-dir", "a")
    archive = tmp_path / "archive"
    archive.mkdir()
    with hold_folder(archive):
        failed = answer(capsys, "export", archive, "--data-dir", "a", code=1)
    words = f"Another process writes to {archive}: wait for its end, or end it."
    assert failed["error"]["messages"] == [words]
    answer(capsys, "export", archive, "--data-dir", "a")


def die(*_arguments: object, **_options: object) -> None:
    raise ProcessDied


def test_a_move_that_is_killed_behind_its_last_part_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(capsys, "seed", "--size", 1, "--data-dir", "a")
    archive = tmp_path / "archive"
    with monkeypatch.context() as killed:
        killed.setattr(shutil, "rmtree", die)
        answer(capsys, "export", archive, "--data-dir", "a", code=1)
    exported = answer(capsys, "export", archive, "--data-dir", "a")
    assert not (archive / "snapshot").exists()

    with monkeypatch.context() as killed:
        killed.setattr(import_, "recount", die)
        answer(capsys, "import", archive, "--data-dir", "b", code=1)
    imported = answer(capsys, "import", archive, "--data-dir", "b")
    del exported["archive"], exported["leftOut"]
    assert imported == {**exported, "lostSecrets": 0, "differences": []}
    assert "--into-existing" in str(answer(capsys, "import", archive, "--data-dir", "b", code=1))


def test_a_backup_is_made_and_restored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer(capsys, "seed", "--size", 3, "--data-dir", "a")
    made = answer(capsys, "backup", tmp_path / "kept", "--data-dir", "a")
    assert made["folder"] == str(tmp_path / "kept")
    assert made["sha256"].keys() == {"penstock.db", "files/index.db", "url-key"}
    checked = answer(capsys, "restore", tmp_path / "kept", "--data-dir", "b", "--dry-run")
    assert checked["sha256"] == made["sha256"]
    assert not Path("b").exists()
    restored = answer(capsys, "restore", tmp_path / "kept", "--data-dir", "b")
    assert restored["sha256"] == made["sha256"]
    found = answer(capsys, "seed", "--size", 3, "--data-dir", "b")
    assert found == {"created": 0, "found": 3}
    failed = answer(capsys, "restore", tmp_path / "kept", "--data-dir", "b", code=1)
    assert "move it away first" in failed["error"]["messages"][0]


def test_what_differs_is_told_and_repaired(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(capsys, "seed", "--size", 3, "--data-dir", "a")
    with sqlite3.connect(tmp_path / "a" / "penstock.db") as file:
        ((pk, sk),) = file.execute(
            "SELECT pk, sk FROM items WHERE CAST(pk AS TEXT) LIKE 'T:%' LIMIT 1"
        )
        file.execute("DELETE FROM items WHERE pk = ? AND sk = ?", (pk, sk))
    (one,) = answer(capsys, "doctor", "--recount", "--data-dir", "a", code=3)["differences"]
    assert (one["pk"], one["sk"], one["standing"]) == (pk.decode(), sk.decode(), None)
    assert run(["doctor", "--recount", "--data-dir", "a"]) == 3
    assert f"{pk.decode()}, {sk.decode()} is missing." in capsys.readouterr().out
    repaired = answer(capsys, "doctor", "--repair", "--data-dir", "a")
    assert [check["level"] for check in repaired["checks"]] == ["warn", "warn"]
    assert answer(capsys, "doctor", "--recount", "--data-dir", "a")["differences"] == []


def test_a_row_that_is_behind_a_sample_is_told_and_raised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(keep_a_sample(StoreOptions(data_dir=Path("a")).settings()))
    found = answer(capsys, "doctor", "--recount", "--data-dir", "a")
    assert found["checks"][1]["message"] == "No row is behind the samples of 1 series."
    with sqlite3.connect(tmp_path / "a" / "penstock.db") as file:
        ((sk, right),) = file.execute("SELECT sk, body FROM items WHERE pk = ?", (NAMING,))
        late, early = (b"001429535775005:", b"000429535775005:")
        assert late in right
        wrong = right.replace(late, early)
        file.execute("UPDATE items SET body = ? WHERE pk = ? AND sk = ?", (wrong, NAMING, sk))
    (one,) = answer(capsys, "doctor", "--recount", "--data-dir", "a", code=3)["differences"]
    assert (one["pk"], one["sk"]) == (NAMING.decode(), "NL")
    ((standing,), (wanted,)) = one["standing"].values(), one["wanted"].values()
    assert (standing[:16], wanted[:16]) == (early.decode(), late.decode())
    assert run(["doctor", "--recount", "--data-dir", "a"]) == 3
    assert "1 row is behind the samples of 1 series." in capsys.readouterr().out
    repaired = answer(capsys, "doctor", "--repair", "--data-dir", "a")
    assert [check["level"] for check in repaired["checks"]] == ["ok", "warn", "warn"]
    assert answer(capsys, "doctor", "--recount", "--data-dir", "a")["differences"] == []


async def keep_a_lost_secret(settings: Settings) -> None:
    async with open_movable_store(settings) as store:
        await store.table.create()
        key = PLAYER_PASSWORD.key(user="ann", password="1")
        sealed = await LocalVault(b"lost" * 8).seal(b"secret", {"purpose": "another"})
        await store.table.write([Put({"pk": key.pk, "sk": key.sk, SEALED: sealed})])


async def keep_a_sample(settings: Settings) -> None:
    async with open_movable_store(settings) as store:
        await store.table.create()
        access = SinkAccess(store.destinations)
        await store_events(Store(store.table, ngsi_access=access), [event("t-t", at=AT)])


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_a_table_at_dynamodb_is_not_backed_up_as_a_folder(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PENSTOCK_STORE", "dynamodb")
    failed = answer(capsys, command, "kept", code=2)
    assert "point-in-time recovery" in failed["error"]["messages"][0]


@pytest.mark.parametrize("command", ["export", "backup"])
def test_a_store_that_is_not_there_is_not_made(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(capsys, command, "kept", "--data-dir", "none", code=3)
    assert [*tmp_path.iterdir()] == []
