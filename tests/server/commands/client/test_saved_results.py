"""The results of executions: what a run says of them, and the command that saves them later."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.server.command_line import run as run_command
from penstock.server.commands.client.execution_results import describe_results
from tests.support.penstock_command import Server, client, start_server

pytestmark = pytest.mark.runs_together("lists of the command line")

PIPELINE = ("oracle:aluminium:00001", "--group", "/usa/northwest")
FIND = """{ pipelineByName(name: "oracle:aluminium:00001", group: "/usa/northwest") { id } }"""
CREATE = """mutation($id: ID!) { createExecution(input: {pipelineId: $id}) {
  ...on CreateExecutionPayload { execution { id } } } }"""
ENDED = "success: 2 rows, 1 succeeded, 1 failed"


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("data")
    assert run_command(["seed", "--size", "3", "--data-dir", str(directory)]) == 0
    return directory


@pytest.fixture(scope="module")
def server(data_dir: Path) -> Iterator[Server]:
    with start_server(data_dir / "log", "--port", "0", "--data-dir", str(data_dir)) as server:
        yield server


@pytest.fixture(autouse=True)
def _variables(
    server: Server, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_URL", server.url)
    monkeypatch.setenv("PENSTOCK_DATA_DIR", str(data_dir))
    monkeypatch.setenv("PENSTOCK_CONFIG", str(data_dir / "none.toml"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "rows.csv"
    file.write_text("Date,Activity,Emission factor\n2/2/21,2.1,0.101\n5/21/26,unknown,0.3\n")
    return file


def run(rows: Path, *options: str) -> list[str]:
    name, *group = PIPELINE
    return ["run", name, str(rows), *group, *options]


def run_standard_input(rows: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(rows.read_bytes())))
    return run_command(run(Path("-")))


def test_a_run_of_standard_input_names_the_command_that_saves_its_rejected_rows(
    rows: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(run(rows)) == 0
    capsys.readouterr()
    assert run_standard_input(rows, monkeypatch) == 0
    printed = capsys.readouterr()
    saved = [Path(f"rows.csv.{name}.csv").read_bytes() for name in ("output", "errors")]
    assert printed.out.encode() == saved[0]
    ended, rejected, copied, hint = printed.err.splitlines()
    assert (ended, rejected) == (ENDED, "rejected  1 row: INVALID_INPUT in activity")
    _, command, end = hint.split("`")
    assert (end, command.endswith(" --errors FILE")) == (" saves the rejected rows.", True)
    words = command.replace("FILE", "later.csv").split()
    assert run_command([*words[1:], "--output", "-"]) == 0
    printed = capsys.readouterr()
    assert printed.err == f"{ended}\n{rejected}\n{copied}\nerrors  later.csv\n"
    assert [printed.out.encode(), Path("later.csv").read_bytes()] == saved


def test_an_ended_execution_is_followed_to_its_counts(
    rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(run(rows, "--json")) == 0
    id = json.loads(capsys.readouterr().out)["id"]
    assert run_command(["executions", "follow", id]) == 0
    command = f"penstock executions download {id} --output FILE --errors FILE"
    first, *_, last = capsys.readouterr().out.splitlines()
    assert (first, last) == (ENDED, f"`{command}` saves the output and the rejected rows.")
    assert run_command(["executions", "follow", id, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["id"], told["state"], told["rowsFailed"]) == (id, "SUCCESS", 1)
    assert told["rejections"] == [{"code": "INVALID_INPUT", "column": "activity", "rows": 1}]
    assert run_command(["executions", "show", id]) == 0
    assert "rejections       1 row: INVALID_INPUT in activity\n" in capsys.readouterr().out


def test_rows_that_were_rejected_for_rarer_reasons_are_told_together() -> None:
    reasons = [{"code": f"CODE_{n}", "column": None, "rows": 20 - n} for n in range(2)]
    counts = {"rowsRead": 50, "rowsSucceeded": 8, "rowsFailed": 42}
    execution = {"id": "1", "state": "SUCCESS", "stateMessage": None, "progress": counts}
    downloads = {"outputDownload": None, "errorsDownload": None}
    told = describe_results({**execution, **downloads, "rejections": reasons}, None, None)
    assert told.text.splitlines() == [
        "success: 50 rows, 8 succeeded, 42 failed",
        "rejected  20 rows: CODE_0",
        "rejected  19 rows: CODE_1",
        "rejected  3 rows: for other reasons",
    ]


def test_a_download_that_cannot_be_leaves_the_file_as_it_is(
    rows: Path, server: Server, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(run(rows, "--json")) == 0
    id = json.loads(capsys.readouterr().out)["id"]
    with client(server, data_dir, "/=admin") as asking:
        waiting = asking.ask(CREATE, id=asking.ask(FIND)["id"])["execution"]["id"]
    for name in ("x.csv", "x.parquet", "x.xlsx"):
        Path(name).write_text("old")
    for arguments, code, words in (
        ([id], 2, "Name a file for the output by --output, for the rejected rows by --errors."),
        (["nope", "--output", "x.csv"], 1, "There is no execution 'nope'."),
        (
            [waiting, "--output", "x.csv"],
            1,
            f"The execution {waiting} is waiting: the output cannot be had.",
        ),
        ([id, "--output", "none/x.csv"], 2, "none is not a directory."),
        (
            [id, "--output", "x.parquet"],
            1,
            "--output x.parquet: the output of this execution is CSV.",
        ),
        (
            [id, "--output", "x.xlsx"],
            2,
            "--output x.xlsx: output is CSV, as .csv or .csv.gz, or .parquet.",
        ),
        (
            [id, "--errors", "x.parquet"],
            2,
            "--errors x.parquet: rejected rows are CSV, as .csv or .csv.gz.",
        ),
    ):
        assert run_command(["executions", "download", *arguments]) == code
        assert capsys.readouterr() == ("", f"penstock: {words}\n")
    assert [Path(f"x.{end}").read_text() for end in ("csv", "parquet", "xlsx")] == ["old"] * 3
    assert not Path("none").exists()


def test_an_output_that_is_named_parquet_is_parquet(
    rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(run(rows, "--output", "out.parquet", "--json")) == 0
    told = json.loads(capsys.readouterr().out)
    content = Path("out.parquet").read_bytes()
    assert (content[:4], content[-4:]) == (b"PAR1", b"PAR1")
    assert run_command(["executions", "download", told["id"], "--output", "again.parquet"]) == 0
    assert Path("again.parquet").read_bytes() == content


def test_the_reason_of_a_failed_run_is_printed_as_that_of_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "other.csv"
    file.write_text("Date,Activity,Emission factor,Remark\n2/2/21,2.1,0.101,x\n")
    assert run_command(run(file)) == 1
    printed = capsys.readouterr()
    assert printed.out == f"failed: 0 rows, 0 succeeded, 0 failed\nerrors  {file}.errors.csv\n"
    assert printed.err.startswith("penstock: ")
    assert "no parameter is called 'Remark'" in printed.err
    assert run_command(run(file, "--json")) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["state"], f"penstock: {told['message']}\n") == ("FAILED", printed.err)


@pytest.mark.parametrize(
    ("most", "words"),
    [
        ("-1", 'Invalid value "-1" for --max-failed-rows. Must be >= 0.'),
        (
            "2147483648",
            'Invalid value "2147483648" for --max-failed-rows. Must be <= 2147483647.',
        ),
        ("many", 'Invalid value for --max-failed-rows: unable to convert "many" into int.'),
    ],
)
def test_a_limit_of_failed_rows_that_is_none_is_a_wrong_option(
    most: str, words: str, rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("rows.csv.output.csv").write_text("old")
    assert run_command(run(rows, "--max-failed-rows", most)) == 2
    assert capsys.readouterr() == ("", f"penstock: {words}\n")
    assert Path("rows.csv.output.csv").read_text() == "old"
