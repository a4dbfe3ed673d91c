"""`penstock query` sends what a file has, and ends with 1 if the answer is no success."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.server.command_line import run as run_command
from tests.support.penstock_command import Server, start_server

pytestmark = pytest.mark.runs_together("queries of the command line")

CREATE = """mutation Create($path: GroupPath!) { createGroup(input: { path: $path }) {
  ...on UserError { code message } ...on CreateGroupPayload { group { path } } } }
query Show($path: GroupPath!) { group(path: $path) { path } }"""


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def server(data_dir: Path) -> Iterator[Server]:
    options = ("--port", "0", "--no-seed", "--data-dir", str(data_dir))
    with start_server(data_dir / "log", *options) as server:
        yield server


@pytest.fixture(autouse=True)
def _variables(server: Server, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_URL", server.url)
    monkeypatch.setenv("PENSTOCK_DATA_DIR", str(data_dir))
    monkeypatch.setenv("PENSTOCK_CONFIG", str(data_dir / "none.toml"))


def ask(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    capsys.readouterr()
    assert run_command(["query", *arguments]) == code
    return json.loads(capsys.readouterr().out)


def refuse(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert run_command(["query", *arguments]) == 2
    return capsys.readouterr().err


def test_an_operation_of_a_file_runs_with_variables_from_the_line_or_from_a_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file, variables = tmp_path / "groups.graphql", tmp_path / "variables.json"
    file.write_text(CREATE)
    variables.write_text('{"path": "/made"}')
    create = (str(file), "--operation", "Create", "--variables", str(variables))
    assert ask(capsys, *create)["data"] == {"createGroup": {"group": {"path": "/made"}}}
    show = (str(file), "--operation", "Show", "--variables", '{"path": "/made"}')
    assert ask(capsys, *show, "--json")["data"] == {"group": {"path": "/made"}}
    again = ask(capsys, *create, code=1)["data"]["createGroup"]
    assert again["code"] == "NAME_TAKEN"


def test_an_answer_with_errors_is_printed_and_ends_with_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = SimpleNamespace(buffer=io.BytesIO(b"{ vieer { userId } }"))
    monkeypatch.setattr("sys.stdin", stream)
    (error,) = ask(capsys, "-", code=1)["errors"]
    assert error["message"].endswith("Did you mean 'viewer'?")


def test_variables_that_are_no_json_are_a_wrong_option_with_the_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "groups.graphql"
    file.write_text(CREATE)
    said = refuse(capsys, str(file), "--operation", "Show", "--variables", '{"path": ')
    assert said == "penstock: --variables is no JSON: line 1, column 10.\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("query($path: GroupPath!) { group(path: $path) { path } }", "$path. Did you mean 'path'?"),
        ("query($other: ID!) { node(id: $ other) { id } }", "$other."),
        ("{ viewer { userId } }", "none."),
    ],
)
def test_a_variable_that_the_document_does_not_have_is_refused(
    text: str, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "groups.graphql"
    file.write_text(text)
    said = refuse(capsys, str(file), "--variables", '{"pathh": "/usa"}')
    assert said == f"penstock: The document has no variable 'pathh'; there are {words}\n"


def test_a_file_of_variables_must_hold_an_object(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file, variables = tmp_path / "groups.graphql", tmp_path / "variables.json"
    file.write_text(CREATE)
    variables.write_text("[]")
    said = refuse(capsys, str(file), "--variables", str(variables))
    assert said == f"penstock: {variables} is no JSON object.\n"
    variables.write_text("[" * 100_000)
    said = refuse(capsys, str(file), "--variables", str(variables))
    assert said == f"penstock: {variables} is nested too deep.\n"
