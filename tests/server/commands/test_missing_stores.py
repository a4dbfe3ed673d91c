"""Commands that need an embedded store make none where it is missing, as by a typing error."""

import json
from pathlib import Path

import pytest

from penstock.server.command_line import run
from penstock.server.settings.settings import Settings
from tests.support.penstock_command import penstock

MISSING = "There is no a/penstock.db. --data-dir chooses the folder of a store."


@pytest.fixture(autouse=True)
def _no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in Settings.model_fields:
        monkeypatch.delenv(f"PENSTOCK_{name.upper()}", raising=False)


@pytest.mark.parametrize(
    "command",
    [
        ["seed", "--purge"],
        ["table", "verify"],
        ["table", "upgrade"],
        ["table", "reseal"],
        ["export", "archive"],
        ["import", "abandon"],
        ["history"],
        ["results", "ddl", "P", "--engine", "duckdb", "--copy-to", "copy"],
        ["manifest", "list", "--manifest", "m", "--group", "/usa"],
        ["doctor", "--recount"],
        ["doctor", "--repair"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("has_folder", [False, True])
def test_a_command_that_needs_a_store_makes_none(
    command: list[str], has_folder: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if has_folder:
        (tmp_path / "a").mkdir()
    assert run([*command, "--data-dir", "a", "--json"]) == 3
    told = json.loads(capsys.readouterr().err)
    assert told["error"] == {"exitCode": 3, "messages": [MISSING]}
    assert [path.name for path in tmp_path.rglob("*")] == ["a"] * has_folder


def test_a_worker_makes_no_store(tmp_path: Path) -> None:
    told = penstock("worker", PENSTOCK_DATA_DIR="a")
    assert (told.returncode, told.stderr) == (3, f"penstock: {MISSING}\n")
    assert [*tmp_path.iterdir()] == []
