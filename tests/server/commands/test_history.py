"""`penstock history`: each entry once, as a line of JSON."""

import asyncio
import json
from pathlib import Path

import pytest

from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.server.command_line import run
from penstock.server.settings.store_settings import DATABASE
from tests.support.sample_resources import EU, USA, create_groups, make

ADA = Caller("ada", {ROOT: Role.ADMIN})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory in which a grant, a delete and the deletion of a group were made."""

    async def fill() -> None:
        table = SqliteTable.open(tmp_path / DATABASE)
        await table.create()
        store = Store(table)
        made = await make(await create_groups(store), USA, "Smelt")
        session = store.open_session(ADA, address="192.0.2.7")
        await session.pipelines.writing.grant(made.id, EU)
        await session.pipelines.deleting.delete(made.id)
        await session.groups.delete(GroupPath("/eu"))
        await table.close()

    asyncio.run(fill())
    return tmp_path


def test_each_entry_is_a_line(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["history", "--data-dir", str(data)]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sorted((one["action"], one["subject"], one["home"]) for one in found) == [
        ("deleted", "Smelt", "/usa"),
        ("granted", "Smelt", "/usa"),
        ("group_deleted", "/eu", "/"),
    ]
    assert {(one["by"], one["address"]) for one in found} == {("ada", "192.0.2.7")}


def test_entries_of_one_group_go_into_a_file(data: Path, tmp_path: Path) -> None:
    target = tmp_path / "history.jsonl"
    options = ["--data-dir", str(data), "--group", "/eu", "--to", str(target)]
    assert run(["history", *options]) == 0
    (line,) = target.read_text().splitlines()
    assert json.loads(line)["action"] == "granted"
    assert run(["history", *options, "--since", "2999-01-01"]) == 0
    assert target.read_text() == ""


def test_a_folder_that_cannot_be_written_is_named(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["history", "--data-dir", str(data), "--to", str(data / "none" / "x")]) != 0
    assert "No such file or directory" in capsys.readouterr().err
