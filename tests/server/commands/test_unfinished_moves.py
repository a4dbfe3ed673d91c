"""Servers and commands take no folder and no table for a store that a move has not filled yet."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from penstock.datastore.moving import backup as backup_module
from penstock.datastore.moving.unfinished_restore import MARK, UnfinishedRestore
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.datastore.table.layout import IMPORT
from penstock.datastore.table.port import Attributes, Key, Put
from penstock.datastore.table.unfinished_imports import UnfinishedImport
from penstock.server.command_line import run
from penstock.server.commands import import_
from penstock.server.runtime.run_server import prepare_store
from penstock.server.runtime.stores import open_table
from penstock.server.settings.settings import Settings
from tests.support.application import open_application
from tests.support.consistency_check import contents
from tests.support.penstock_command import penstock
from tests.support.stores import REGION, aws_environment, moto_endpoint
from tests.support.table_interceptors import ProcessDied

RESTORE_AGAIN = (
    "A restore to a has not ended. Repeat `penstock restore`, which starts anew, or choose "
    "another data directory."
)
IMPORT_AGAIN = (
    "An import into the table has not ended. Repeat `penstock import`, which goes on, or choose "
    "another table. `penstock import abandon` lets servers use this one as it is."
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


def cut_short_an_import(monkeypatch: pytest.MonkeyPatch) -> None:
    """Import an archive in `archive` to `a`, and die before its end."""
    assert run(["seed", "--size", "1", "--data-dir", "seeded"]) == 0
    assert run(["export", "archive", "--data-dir", "seeded"]) == 0
    with monkeypatch.context() as killed:
        killed.setattr(import_, "recount", die)
        assert run(["import", "archive", "--data-dir", "a"]) == 1


async def read_rows(settings: Settings) -> dict[Key, Attributes]:
    async with open_table(settings) as table:
        return dict(await contents(table))


@pytest.mark.parametrize(
    "command",
    [
        ["seed"],
        ["seed", "--purge"],
        ["table", "upgrade"],
        ["table", "reseal"],
        ["export", "copy"],
        ["history"],
        ["results", "ddl", "P", "--engine", "duckdb", "--copy-to", "copy"],
        ["manifest", "list", "--manifest", "m", "--group", "/usa"],
        ["doctor", "--recount"],
        ["doctor", "--repair"],
    ],
    ids=" ".join,
)
def test_a_command_refuses_a_table_whose_import_was_cut_short(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cut_short_an_import(monkeypatch)
    before = asyncio.run(read_rows(Settings.load(data_dir=Path("a"))))
    capsys.readouterr()
    assert run([*command, "--data-dir", "a", "--json"]) == 3
    told = json.loads(capsys.readouterr().err)
    assert told["error"] == {"exitCode": 3, "messages": [IMPORT_AGAIN]}
    assert asyncio.run(read_rows(Settings.load(data_dir=Path("a")))) == before
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_server_does_not_start_on_a_table_whose_import_was_cut_short(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_short_an_import(monkeypatch)
    settings = Settings.load(data_dir=Path("a"))
    before = asyncio.run(read_rows(settings))
    told = penstock(command, PENSTOCK_DATA_DIR="a", PENSTOCK_PORT="0")
    assert (told.returncode, told.stdout) == (3, "")
    assert told.stderr == f"penstock: {IMPORT_AGAIN}\n"
    assert asyncio.run(read_rows(settings)) == before
    assert run(["import", "archive", "--data-dir", "a"]) == 0
    asyncio.run(prepare_store(settings, "http://127.0.0.1:1"))


async def test_a_server_is_not_ready_while_an_import_beside_it_has_not_ended(
    store: Store, tmp_path: Path
) -> None:
    async with open_application(store, tmp_path) as server:
        assert (await server.client.get("/readyz")).status_code == 200
    await store.table.write([Put({**IMPORT.item(archive="a"), "began": "now"})])
    async with open_application(store, tmp_path) as server:
        answer = await server.client.get("/readyz")
    assert (answer.status_code, answer.json()["reason"]) == (503, IMPORT_AGAIN)


def test_a_store_whose_import_was_cut_short_is_none_in_its_backup_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cut_short_an_import(monkeypatch)
    assert run(["backup", "kept", "--data-dir", "a"]) == 0
    assert run(["restore", "kept", "--data-dir", "b"]) == 0
    with pytest.raises(UnfinishedImport):
        asyncio.run(prepare_store(Settings.load(data_dir=Path("b")), "http://127.0.0.1:1"))


def test_the_doctor_tells_of_an_import_that_was_cut_short_until_it_is_abandoned(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_short_an_import(monkeypatch)
    capsys.readouterr()
    assert run(["doctor", "--data-dir", "a", "--json"]) == 3
    checks = json.loads(capsys.readouterr().out)["checks"]
    (found,) = [check for check in checks if check["level"] == "fail"]
    assert found["check"] == "imports"
    assert f"{found['message']} {found['advice']}" == IMPORT_AGAIN
    for number in (1, 0):
        assert run(["import", "abandon", "--data-dir", "a", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["abandoned"] == number
    assert run(["doctor", "--data-dir", "a"]) == 0
    asyncio.run(prepare_store(Settings.load(data_dir=Path("a")), "http://127.0.0.1:1"))


@pytest.fixture
def dynamodb() -> Iterator[list[str]]:
    """The options of a new table at DynamoDB."""
    where = ["--endpoint-url", moto_endpoint(), "--region", REGION]
    options = ["--store", "dynamodb", "--table", f"penstock-{uuid4()}", *where]
    with aws_environment():
        assert run(["table", "create", *options]) == 0
        yield options


async def begin_import(settings: Settings) -> None:
    async with open_table(settings) as table:
        await table.write([Put({**IMPORT.item(archive="a"), "begun": True})])


def test_a_server_does_not_start_on_a_table_at_dynamodb_whose_import_was_cut_short(
    dynamodb: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    table, endpoint = dynamodb[3], dynamodb[5]
    settings = Settings.load(store="dynamodb", table=table, endpoint_url=endpoint, region=REGION)
    asyncio.run(begin_import(settings))
    for command in (["serve", "--port", "0"], ["worker"]):
        told = penstock(*command, *dynamodb)
        assert (told.returncode, told.stderr) == (3, f"penstock: {IMPORT_AGAIN}\n")
    before = asyncio.run(read_rows(settings))
    capsys.readouterr()
    assert run(["ngsi", "adopt", "other", "--service", "s", *dynamodb]) == 3
    assert capsys.readouterr().err == f"penstock: {IMPORT_AGAIN}\n"
    assert asyncio.run(read_rows(settings)) == before
    assert run(["doctor", *dynamodb, "--json"]) == 3
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert [one["check"] for one in checks if one["level"] == "fail"] == ["imports"]
    assert run(["import", "abandon", *dynamodb]) == 0
    asyncio.run(prepare_store(settings, "http://127.0.0.1:1"))
