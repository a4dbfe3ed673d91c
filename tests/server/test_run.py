"""The whole trip, as a stranger makes it: a server, a file, a pipeline, and what comes out."""

import csv
import json
import os
import signal
import time
from decimal import Decimal
from pathlib import Path
from subprocess import PIPE, Popen
from sys import executable

import pytest

from server.samples.rows import BAD_EVERY, sample_rows, total
from tests.server.running import Server, client, penstock, started
from tests.serving import environment

PIPELINE = "oracle:aluminium:00001"
GROUP = "/usa/northwest"
ROWS = 5_000
SECONDS = 120


def written(folder: Path, rows: int = ROWS) -> Path:
    file = folder / "rows.csv"
    file.write_text("".join(f"{line}\n" for line in sample_rows(rows)))
    return file


def run(server: Server, data_dir: Path, file: Path, *more: str) -> Popen[str]:
    """Start the command; it ends by itself."""
    options = ["--url", server.url, "--data-dir", str(data_dir), "--group", GROUP, *more]
    return Popen(
        [executable, "-m", "server", "run", PIPELINE, str(file), "--json", *options],
        env=environment(),
        stdout=PIPE,
        stderr=PIPE,
        text=True,
    )


def assert_is_right(file: Path, told: dict[str, object], rows: int = ROWS) -> None:
    """What came out is exact, and the rejected rows are those that were made up to be."""
    bad = rows // BAD_EVERY
    assert told["state"] == "SUCCESS", told
    counts = told["rowsRead"], told["rowsSucceeded"], told["rowsFailed"]
    assert counts == (rows, rows - bad, bad)
    with file.with_name("rows.csv.output.csv").open(newline="") as output:
        assert sum(Decimal(row["co2e"]) for row in csv.DictReader(output)) == total(rows)
    with file.with_name("rows.csv.errors.csv").open(newline="") as errors:
        found = [(row["row"], row["column"], row["code"]) for row in csv.DictReader(errors)]
    assert found == [
        (str(n), "activity", "INVALID_INPUT") for n in range(BAD_EVERY, rows + 1, BAD_EVERY)
    ]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with a few of the sample pipelines."""
    directory = tmp_path_factory.mktemp("data")
    assert penstock("seed", "--size", "3", "--data-dir", str(directory)).returncode == 0
    return directory


def test_a_file_goes_through_a_pipeline_and_comes_out_exact(data_dir: Path, tmp_path: Path) -> None:
    file = written(tmp_path)
    with started(tmp_path / "log", "--port", "0", "--data-dir", str(data_dir)) as server:
        process = run(server, data_dir, file)
        told, said = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, said
        assert_is_right(file, json.loads(told))
        absent = run(server, data_dir, file.with_name("nothing.csv"))
        assert absent.wait(SECONDS) == 2
        for pipe in (absent.stdout, absent.stderr):
            assert pipe is not None
            pipe.close()


def test_a_run_goes_on_when_its_worker_is_killed(data_dir: Path, tmp_path: Path) -> None:
    rows = 30_000
    file = written(tmp_path, rows)
    with started(tmp_path / "log", "--port", "0", "--data-dir", str(data_dir)) as server:
        process = run(server, data_dir, file)
        kill_worker(server, data_dir)
        told, said = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, said
        assert_is_right(file, json.loads(told), rows)


def test_a_run_is_finished_by_the_next_server(data_dir: Path, tmp_path: Path) -> None:
    rows = 30_001
    file = written(tmp_path, rows)
    arguments = ("--port", "0", "--data-dir", str(data_dir))
    with started(tmp_path / "log", *arguments) as server:
        process = run(server, data_dir, file)
        until_running(server, data_dir)
        server.end(signal.SIGTERM)
        assert process.wait(SECONDS) != 0
        process.communicate()
    with started(tmp_path / "log", *arguments) as server:
        until = time.monotonic() + SECONDS
        while running(server, data_dir) and time.monotonic() < until:
            time.sleep(0.1)
        assert running(server, data_dir) == []


RUNNING = """query($name: String!, $group: GroupPath) { pipelineByName(name: $name, group: $group) {
  executions(states: [WAITING, IN_PROGRESS]) { nodes { state } } } }"""


def running(server: Server, data_dir: Path) -> list[str]:
    """The states of the executions that are not over."""
    with client(server, data_dir, "/=reader") as asking:
        found = asking.ask(RUNNING, name=PIPELINE, group=GROUP)
    return [node["state"] for node in found["executions"]["nodes"]]


def until_running(server: Server, data_dir: Path) -> None:
    until = time.monotonic() + SECONDS
    while "IN_PROGRESS" not in running(server, data_dir):
        assert time.monotonic() < until
        time.sleep(0.05)


def kill_worker(server: Server, data_dir: Path) -> None:
    """End the processes of the server that run something, as a lack of memory does."""
    until_running(server, data_dir)
    process = server.process.pid
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    assert children
    for child in children:
        os.kill(int(child), signal.SIGKILL)
