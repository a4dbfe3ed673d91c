"""Servers and commands take no folder and no table for a store that a move has not filled yet."""

import json
from pathlib import Path

import pytest

from penstock.datastore.moving import backup as backup_module
from penstock.datastore.moving.unfinished_restore import MARK, UnfinishedRestore
from penstock.datastore.sqlite.table import SqliteTable
from penstock.server.command_line import run
from penstock.server.runtime.run_server import prepare_store
from penstock.server.settings.settings import Settings
from tests.support.penstock_command import penstock
from tests.support.table_interceptors import ProcessDied

RESTORE_AGAIN = (
    "A restore to a has not ended. Repeat `penstock restore`, which starts anew, or choose "
    "another data directory."
)


@pytest.fixture(autouse=True)
def _no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in Settings.model_fields:
        monkeypatch.delenv(f"PENSTOCK_{name.upper()}", raising=False)


def die(*_arguments: object, **_options: object) -> None:
    raise ProcessDied


def cut_short_a_restore(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore a backup in `kept` to `a`, and die before the first database is copied."""
    assert run(["seed", "--size", "1", "--data-dir", "seeded"]) == 0
    assert run(["backup", "kept", "--data-dir", "seeded"]) == 0
    with monkeypatch.context() as killed:
        killed.setattr(backup_module, "_copy_whole", die)
        assert run(["restore", "kept", "--data-dir", "a"]) == 1


def list_files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize(
    "command",
    [
        ["seed"],
        ["seed", "--purge"],
        ["table", "create"],
        ["table", "verify"],
        ["table", "upgrade"],
        ["table", "reseal"],
        ["export", "archive"],
        ["import", "archive"],
        ["backup", "copy"],
        ["history"],
        ["results", "ddl", "P", "--engine", "duckdb", "--copy-to", "copy"],
        ["manifest", "list", "--manifest", "m", "--group", "/usa"],
        ["doctor", "--recount"],
    ],
    ids=" ".join,
)
def test_a_command_refuses_a_folder_whose_restore_was_cut_short(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cut_short_a_restore(monkeypatch)
    left = list_files(tmp_path)
    assert MARK in list_files(tmp_path / "a")
    capsys.readouterr()
    assert run([*command, "--data-dir", "a", "--json"]) == 3
    told = json.loads(capsys.readouterr().err)
    assert told["error"] == {"exitCode": 3, "messages": [RESTORE_AGAIN]}
    assert list_files(tmp_path) == left


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_server_does_not_start_in_a_folder_whose_restore_was_cut_short(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_short_a_restore(monkeypatch)
    left = list_files(tmp_path)
    told = penstock(command, PENSTOCK_DATA_DIR="a", PENSTOCK_PORT="0")
    assert (told.returncode, told.stdout) == (3, "")
    assert told.stderr == f"penstock: {RESTORE_AGAIN}\n"
    assert list_files(tmp_path) == left
    assert run(["restore", "kept", "--data-dir", "a"]) == 0
    assert run(["table", "verify", "--data-dir", "a"]) == 0


def test_the_doctor_tells_of_a_restore_that_was_cut_short(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_short_a_restore(monkeypatch)
    capsys.readouterr()
    assert run(["doctor", "--data-dir", "a", "--json"]) == 3
    (found,) = [
        check for check in json.loads(capsys.readouterr().out)["checks"] if check["level"] == "fail"
    ]
    assert found["check"] == "table"
    assert f"{found['message']} {found['advice']}" == RESTORE_AGAIN


async def test_a_server_that_starts_as_a_restore_begins_ends_before_it_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def create_as_a_restore_begins(table: SqliteTable) -> None:
        await create(table)
        (tmp_path / "a" / MARK).write_text("{}")

    create = SqliteTable.create
    monkeypatch.setattr(SqliteTable, "create", create_as_a_restore_begins)
    with pytest.raises(UnfinishedRestore):
        await prepare_store(Settings.load(data_dir=Path("a")), "http://127.0.0.1:1")
