"""A user's full round: a server, a file, a pipeline, and the results."""

import csv
import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from penstock.server.samples.catalogue import BAD_EVERY, sample_rows, total_emissions
from penstock.server.streams.messages import PROTOCOL
from tests.support.patience import HUNG_SECONDS, wait_until
from tests.support.penstock_command import (
    RunningCommand,
    Server,
    client,
    penstock,
    start_command,
    start_server,
    token_of,
)
from tests.support.server_process import VERIFY_TLS, free_port
from tests.support.slowed_workers import slowed_workers
from tests.support.warm_children import children_of

pytestmark = pytest.mark.runs_together("run")

PIPELINE = "oracle:aluminium:00001"
GROUP = "/usa/northwest"
ROWS = 5_000
POLLS = {"PENSTOCK_EXECUTION_POLL_SECONDS": "0.2", "PENSTOCK_UPLOAD_POLL_SECONDS": "0.2"}
"""Short poll intervals, so that servers soon find unannounced work."""


def write_rows(folder: Path, rows: int = ROWS) -> Path:
    file = folder / "rows.csv"
    file.write_text("".join(f"{line}\n" for line in sample_rows(rows)))
    return file


def run(
    server: Server, data_dir: Path, file: Path, *more: str, pipeline: str = PIPELINE
) -> RunningCommand:
    """Start the command."""
    group = () if "--group" in more else ("--group", GROUP)
    options = ["--url", server.url, "--data-dir", str(data_dir), *group, *more]
    return start_command("run", pipeline, str(file), "--json", *options)


def assert_output_is_right(file: Path, told: dict[str, object], rows: int = ROWS) -> None:
    """Check that the output is exact, and that the rejected rows are the bad ones."""
    bad = rows // BAD_EVERY
    assert told["state"] == "SUCCESS", told
    counts = told["rowsRead"], told["rowsSucceeded"], told["rowsFailed"]
    assert counts == (rows, rows - bad, bad)
    with file.with_name("rows.csv.output.csv").open(newline="") as output:
        assert sum(Decimal(row["co2e"]) for row in csv.DictReader(output)) == total_emissions(rows)
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
    file = write_rows(tmp_path)
    with start_server(tmp_path / "log", "--port", "0", "--data-dir", str(data_dir)) as server:
        done = run(server, data_dir, file).finish()
        assert done.returncode == 0, done.stderr
        assert_output_is_right(file, json.loads(done.stdout))
        for wrong, code, words in (
            (("nothing.csv",), 2, "nothing.csv is not a file."),
            ((file.name, "--errors", f"{tmp_path}/none/e.csv"), 2, "/none is not a directory."),
            ((file.name, "--output", str(tmp_path)), 2, f"{tmp_path} is a directory."),
            ((file.name, "--group", "/eu"), 1, f"There is no pipeline '{PIPELINE}' in /eu."),
        ):
            name, *more = wrong
            failed = run(server, data_dir, tmp_path / name, *more).finish()
            assert (failed.returncode, words in failed.stderr) == (code, True), failed.stderr


def test_a_pipeline_may_be_named_by_its_global_id(data_dir: Path, tmp_path: Path) -> None:
    rows = 20
    file = write_rows(tmp_path, rows)
    with start_server(tmp_path / "log", "--port", "0", "--data-dir", str(data_dir)) as server:
        with client(server, data_dir, "/=admin") as asking:
            id = asking.ask(PIPELINE_ID, name=PIPELINE, group=GROUP)["id"]
        done = run(server, data_dir, file, pipeline=id).finish()
        assert done.returncode == 0, done.stderr
        assert_output_is_right(file, json.loads(done.stdout), rows)


def test_a_long_run_is_watched_elsewhere_and_survives_its_worker(
    data_dir: Path, tmp_path: Path
) -> None:
    rows = 60_000
    file = write_rows(tmp_path, rows)
    arguments = ("--port", "0", "--data-dir", str(data_dir))
    with (
        start_server(tmp_path / "a", *arguments, **POLLS) as server,
        start_server(tmp_path / "b", *arguments, **POLLS) as other,
        ThreadPoolExecutor(2) as threads,
    ):
        with slowed_workers(server.process.pid, other.process.pid):
            command = run(server, data_dir, file)
            until_running(server, data_dir)
            token = token_of(data_dir, "/=reader")
            (id,) = unfinished_executions(server, data_dir, "id")
            over_socket = threads.submit(watch_over_socket, other, token, id)
            over_events = threads.submit(watch_over_events, server, token, id)
            kill_workers(server, other)
        done = command.finish()
        assert done.returncode == 0, done.stderr
        assert_output_is_right(file, json.loads(done.stdout), rows)
        for seen in (over_socket.result(HUNG_SECONDS), over_events.result(HUNG_SECONDS)):
            assert_tells_of(seen, rows)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_is_finished_by_the_next_server(
    how: signal.Signals, data_dir: Path, tmp_path: Path
) -> None:
    # A file that has been processed before would not be processed again.
    rows = 100_000 + how
    file = write_rows(tmp_path, rows)
    arguments = ("--port", "0", "--data-dir", str(data_dir))
    with start_server(tmp_path / "log", *arguments) as server:
        command = run(server, data_dir, file)
        until_running(server, data_dir)
        (id,) = unfinished_executions(server, data_dir, "id")
        server.end(how)
        assert command.finish().returncode != 0
    with start_server(tmp_path / "log", *arguments, **POLLS) as server:
        wait_until(lambda: not unfinished_executions(server, data_dir, "id"))
        with client(server, data_dir, "/=reader") as asking:
            found = asking.ask(OVER, id=id)
        bad = rows // BAD_EVERY
        progress = {"rowsRead": rows, "rowsSucceeded": rows - bad, "rowsFailed": bad}
        assert (found["state"], found["progress"]) == ("SUCCESS", progress)
        url = found["outputDownload"]["url"]
        output = httpx.get(url, timeout=HUNG_SECONDS, trust_env=False, verify=VERIFY_TLS).text
        told = csv.DictReader(StringIO(output, newline=""))
        assert sum(Decimal(row["co2e"]) for row in told) == total_emissions(rows)


@pytest.mark.parametrize("uploaded", [False, True], ids=["before its input", "after its input"])
def test_an_execution_outlives_a_server_that_is_killed_while_it_waits(
    uploaded: bool, data_dir: Path, tmp_path: Path
) -> None:
    """The client never confirms the upload: the next server finds it."""
    rows = 10 + uploaded
    content = write_rows(tmp_path, rows).read_bytes()
    # A server without workers leaves ready executions to the next one.
    arguments = ("--port", str(free_port()), "--data-dir", str(data_dir))
    with start_server(tmp_path / "log", *arguments, PENSTOCK_EXECUTION_WORKERS="0") as server:
        made = create_execution(server, data_dir)
        if uploaded:
            send(made["upload"], content)
        server.end(signal.SIGKILL)
    with start_server(tmp_path / "log", *arguments, **POLLS) as server:
        if not uploaded:
            send(made["upload"], content)
        with client(server, data_dir, "/=reader") as asking:
            wait_until(lambda: asking.ask(OVER, id=made["id"])["state"] == "SUCCESS")
            found = asking.ask(OVER, id=made["id"])
        assert found["progress"] == {"rowsRead": rows, "rowsSucceeded": rows, "rowsFailed": 0}


OVER = """query($id: ID!) { execution(id: $id) { state outputDownload { url }
  progress { rowsRead rowsSucceeded rowsFailed } } }"""
PIPELINE_ID = "query($name: String!, $group: GroupPath) { \
pipelineByName(name: $name, group: $group) { id } }"
CREATE = """mutation($input: CreateExecutionInput!) { createExecution(input: $input) {
  ...on CreateExecutionPayload { execution { id upload { url fields { name value } } } } } }"""
PROGRESS = """subscription($id: ID!) { executionProgress(id: $id) {
  state progress { rowsRead bytesTotal rowsPerSecond etaSeconds } } }"""


def create_execution(server: Server, data_dir: Path) -> Any:
    """Create an execution that waits for its input."""
    with client(server, data_dir, "/=admin") as asking:
        pipeline = asking.ask(PIPELINE_ID, name=PIPELINE, group=GROUP)["id"]
        return asking.ask(CREATE, input={"pipelineId": pipeline})["execution"]


def send(form: Any, content: bytes) -> None:
    """Upload a file as a browser sends the form."""
    fields = {field["name"]: field["value"] for field in form["fields"]}
    answer = httpx.post(
        form["url"],
        data=fields,
        files={"file": content},
        timeout=HUNG_SECONDS,
        trust_env=False,
        verify=VERIFY_TLS,
    )
    assert answer.is_success, answer.text


def watch_over_socket(server: Server, token: str, id: str) -> list[Any]:
    """Return the events of a subscription over graphql-transport-ws, until it completes."""
    url = f"{server.url.replace('http', 'ws')}/graphql"
    options = {"open_timeout": HUNG_SECONDS, "ping_interval": None, "proxy": None}
    with connect(url, subprotocols=[Subprotocol(PROTOCOL)], **options) as socket:  # type: ignore[arg-type]
        init = {"type": "connection_init", "payload": {"authorization": f"Bearer {token}"}}
        socket.send(json.dumps(init))
        assert json.loads(socket.recv(HUNG_SECONDS)) == {"type": "connection_ack"}
        payload = {"query": PROGRESS, "variables": {"id": id}}
        socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": payload}))
        told = []
        while (said := json.loads(socket.recv(HUNG_SECONDS)))["type"] == "next":
            told.append(said["payload"]["data"]["executionProgress"])
        assert said == {"id": "1", "type": "complete"}
        return told


def watch_over_events(server: Server, token: str, id: str) -> list[Any]:
    """Return the events of the same subscription over server-sent events."""
    headers = {"authorization": f"Bearer {token}", "accept": "text/event-stream"}
    body = {"query": PROGRESS, "variables": {"id": id}}
    told, kind = [], ""
    with httpx.stream(
        "POST",
        f"{server.url}/graphql",
        json=body,
        headers=headers,
        timeout=HUNG_SECONDS,
        trust_env=False,
        verify=VERIFY_TLS,
    ) as stream:
        for line in stream.iter_lines():
            name, _, value = line.partition(": ")
            if name == "event":
                kind = value
            elif name == "data" and kind == "next":
                told.append(json.loads(value)["data"]["executionProgress"])
    assert kind == "complete"
    return told


def assert_tells_of(seen: list[Any], rows: int) -> None:
    """Check that progress began during the run, fell only at the restart, and reached the end."""
    assert seen[0]["state"] in {"WAITING", "IN_PROGRESS"}
    assert seen[-1]["state"] == "SUCCESS"
    assert seen[-1]["progress"]["rowsRead"] == rows
    assert seen[-1]["progress"]["etaSeconds"] == 0
    read = [one["progress"]["rowsRead"] for one in seen]
    assert sum(later < earlier for earlier, later in pairwise(read)) <= 1, read


RUNNING = """query($name: String!, $group: GroupPath) { pipelineByName(name: $name, group: $group) {
  executions(states: [WAITING, IN_PROGRESS]) { nodes { id state } } } }"""


def unfinished_executions(server: Server, data_dir: Path, field: str) -> list[str]:
    """Return the ids or the states of the unfinished executions."""
    with client(server, data_dir, "/=reader") as asking:
        found = asking.ask(RUNNING, name=PIPELINE, group=GROUP)
    return [node[field] for node in found["executions"]["nodes"]]


def until_running(server: Server, data_dir: Path) -> None:
    wait_until(lambda: "IN_PROGRESS" in unfinished_executions(server, data_dir, "state"))


def kill_workers(*servers: Server) -> None:
    """Kill the worker processes of busy servers, as the kernel does when memory runs out."""
    workers = [worker for server in servers for worker in children_of(server.process.pid)]
    assert workers
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
