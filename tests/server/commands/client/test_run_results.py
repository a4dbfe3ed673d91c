"""The files of `penstock run`: results of this run or none, however it ends."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from penstock.server.command_line import run as run_command
from penstock.server.commands.client.file_run import ExecutionLeft, FileRun, UploadCut, run_file
from penstock.server.commands.client.graphql_client import GraphQLClient
from penstock.server.commands.client.run_files import open_result
from penstock.server.core.command_output import CommandFailed

STEPS_BEFORE = ("find", "create", "upload", "start")
STEPS_AFTER = ("follow", "result", "output", "errors")
FAILURES = [CommandFailed("no"), KeyboardInterrupt(), OSError("full")]
EARLIER = {"rows.csv": "old", "output.csv": "old", "errors.csv": "old"}
READY = {"status": "READY", "url": "http://files.test/"}
FINISHED = {"id": "e", "state": "SUCCESS", "stateMessage": None, "progress": None}


class ScriptedClient(GraphQLClient):
    """A client whose server works until one step, at which this failure happens."""

    def __init__(self, failing: str | None, failure: BaseException, state: str = "SUCCESS") -> None:
        self.failing = failing
        self.failure = failure
        self.state = state
        self.cancelled: str | None = None
        self.is_reachable = True

    def take(self, step: str) -> None:
        if step == self.failing:
            raise self.failure

    def cancel(self, id: str) -> Any:
        if not self.is_reachable:
            raise CommandFailed("no")
        self.cancelled = id
        return {"execution": {"id": id, "state": "CANCELLED"}}

    async def execute(self, query: str, **variables: Any) -> Any:
        if query.startswith("query($name"):
            self.take("find")
            return {"id": "p"}
        if "viewer" in query:
            return {"defaultGroup": "/usa", "roles": []}
        if query.startswith("query($id: ID!) { node"):
            return None
        if "createExecution" in query:
            self.take("create")
            return {"execution": {"id": "e", "upload": {}}}
        if "startExecution" in query:
            self.take("start")
            return None
        return self.cancel(variables["id"]) if "cancelExecution" in query else self.finish()

    def finish(self) -> Any:
        self.take("result")
        output = READY if self.state == "SUCCESS" else {"status": "NOT_READY", "url": None}
        return {**FINISHED, "state": self.state, "outputDownload": output, "errorsDownload": READY}

    async def upload(self, form: Any, file: Path) -> None:
        self.take("upload")

    async def subscribe(self, query: str, **variables: Any) -> AsyncIterator[Any]:
        self.take("follow")
        yield {"state": "IN_PROGRESS", "progress": None}

    async def download(self, url: str, to: Path) -> None:
        with open_result(to) as file:
            file.write(b"new")
            self.take("output" if "output" in to.name else "errors")


@pytest.fixture
def file_run(tmp_path: Path) -> FileRun:
    """A run beside the results of an earlier one."""
    file, output, errors = (tmp_path / name for name in ("rows.csv", "output.csv", "errors.csv"))
    for path in (file, output, errors):
        path.write_text("old")
    return FileRun(pipeline="p", group=None, file=file, output=output, errors=errors)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def end(client: GraphQLClient, file_run: FileRun) -> None:
    asyncio.run(run_file(client, file_run, lambda _words, _done, _total: None))


def end_by(step: str, failure: BaseException, file_run: FileRun) -> None:
    """Run until this step fails, and check what is raised."""
    ends: dict[str, type[Exception]] = {
        "upload": UploadCut,
        "start": UploadCut,
        "follow": ExecutionLeft,
    }
    is_interrupt = isinstance(failure, KeyboardInterrupt)
    with pytest.raises(ends.get(step, KeyboardInterrupt) if is_interrupt else type(failure)):
        end(ScriptedClient(step, failure), file_run)


@pytest.mark.parametrize("step", STEPS_BEFORE)
@pytest.mark.parametrize("failure", FAILURES)
def test_a_run_that_starts_nothing_leaves_the_results_of_an_earlier_one(
    step: str, failure: BaseException, file_run: FileRun, tmp_path: Path
) -> None:
    end_by(step, failure, file_run)
    assert contents(tmp_path) == EARLIER


@pytest.mark.parametrize("step", STEPS_AFTER)
@pytest.mark.parametrize("failure", FAILURES)
def test_a_run_that_has_started_leaves_nothing_of_an_earlier_one(
    step: str, failure: BaseException, file_run: FileRun, tmp_path: Path
) -> None:
    end_by(step, failure, file_run)
    kept = {"rows.csv": "old", "output.csv": "new"} if step == "errors" else {"rows.csv": "old"}
    assert contents(tmp_path) == kept


@pytest.mark.parametrize("step", ["upload", "start"])
def test_an_interrupted_upload_cancels_its_execution_or_says_that_it_is_left(
    step: str, file_run: FileRun
) -> None:
    client = ScriptedClient(step, KeyboardInterrupt())
    with pytest.raises(UploadCut):
        end(client, file_run)
    assert client.cancelled == "e"
    client = ScriptedClient(step, KeyboardInterrupt())
    client.is_reachable = False
    with pytest.raises(ExecutionLeft):
        end(client, file_run)


def test_an_execution_that_fails_leaves_its_errors_alone(file_run: FileRun, tmp_path: Path) -> None:
    end(ScriptedClient(None, CommandFailed("no"), "FAILED"), file_run)
    assert contents(tmp_path) == {"rows.csv": "old", "errors.csv": "new"}


def test_a_run_that_succeeds_replaces_both_files(file_run: FileRun, tmp_path: Path) -> None:
    end(ScriptedClient(None, CommandFailed("no")), file_run)
    assert contents(tmp_path) == {"rows.csv": "old", "output.csv": "new", "errors.csv": "new"}


def test_a_device_takes_an_output_too(file_run: FileRun) -> None:
    with open_result(Path("/dev/null")) as device:
        device.write(b"new")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("option", ["--output", "--errors"])
def test_the_input_is_never_a_result(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("old")
    (tmp_path / "link.csv").symlink_to(file)
    for path in (file, tmp_path / "link.csv"):
        arguments = [option, str(path), "--url", "http://127.0.0.1:9", "--token", "t"]
        assert run_command(["run", "p", str(file), *arguments]) == 2
        assert "must be three files" in capsys.readouterr().err
    assert file.read_text() == "old"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--url", "http://127.0.0.1:9", "--token", "t"), 3),
        (("--url", "127.0.0.1:9", "--token", "t"), 2),
        (("--errors", "none/e.csv"), 2),
    ],
    ids=["no server", "no address", "no folder"],
)
def test_a_command_that_reaches_no_server_leaves_the_results_of_an_earlier_run(
    options: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    file = tmp_path / "rows.csv"
    earlier = {"rows.csv": "old", "rows.csv.output.csv": "old", "rows.csv.errors.csv": "old"}
    for name, text in earlier.items():
        (tmp_path / name).write_text(text)
    assert run_command(["run", "p", str(file), *options]) == code
    assert contents(tmp_path) == earlier
