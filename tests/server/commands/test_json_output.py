"""`--json` prints one object on standard output; JSON logs are all of standard error."""

import json
import os
import pty
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

import httpx
import pytest

from penstock.server.auth.dev_tokens import dev_key
from penstock.server.command_line import app
from penstock.server.command_line import run as run_command
from tests.support.patience import HUNG_SECONDS, wait_until
from tests.support.penstock_command import read_announcement
from tests.support.server_process import VERIFY_TLS, environment, free_port
from tests.support.warm_start import Program, start_program
from tests.test_docs import commands

UNREACHABLE = ["--url", "http://127.0.0.1:9"]

ANSWERS: dict[str, list[str]] = {
    "run": ["nothing", "nothing.csv"],
    "pipelines list": UNREACHABLE,
    "calculations list": UNREACHABLE,
    "calculations find": ["scope=1", *UNREACHABLE],
    "calculations show": ["nothing", *UNREACHABLE],
    "datasets list": UNREACHABLE,
    "datasets find": ["scope=1", *UNREACHABLE],
    "datasets show": ["nothing", *UNREACHABLE],
    "pipelines find": ["scope=1", *UNREACHABLE],
    "pipelines show": ["nothing", *UNREACHABLE],
    "metrics list": UNREACHABLE,
    "metrics show": ["nothing", *UNREACHABLE],
    "metrics values": ["nothing", *UNREACHABLE],
    "query": ["absent.graphql", *UNREACHABLE],
    "executions list": ["nothing", *UNREACHABLE],
    "executions show": ["nothing", *UNREACHABLE],
    "executions follow": ["nothing", *UNREACHABLE],
    "executions download": ["nothing", "--output", "-", *UNREACHABLE],
    "executions cancel": ["nothing", *UNREACHABLE],
    "groups list": UNREACHABLE,
    "groups show": ["/usa", *UNREACHABLE],
    "tags list": UNREACHABLE,
    "explain": ["nothing", *UNREACHABLE],
    "completion": ["bash"],
    "sample-rows": ["--rows", "3"],
    "seed": ["--size", "2"],
    "table create": [],
    "table reseal": [],
    "table upgrade": [],
    "table verify": [],
    "export": ["archive"],
    "history": ["--to", "history.jsonl"],
    "import": ["absent"],
    "import abandon": [],
    "import sif": ["absent", *UNREACHABLE],
    "backup": ["copy"],
    "restore": ["absent"],
    "doctor": [],
    "iam": [],
    "documents sync": ["absent"],
    "results ddl": ["absent", "--engine", "duckdb"],
    "schema": [],
    "token": ["--user", "ana", "--role", "/=admin"],
    "console-url": [],
    "graphiql-url": [],
    "manifest list": ["--group", "/usa", "absent"],
}
"""Arguments of commands that end by themselves; those of a manifest share one way of printing."""

WITHOUT_ANSWER = {"serve", "worker", "ngsi adopt"}
"""Commands that run on, or that need tables of DynamoDB and are tested on those."""


def test_every_command_is_walked() -> None:
    others = {name for name in commands(app) if not name.startswith("manifest ")}
    walked = {name for name in ANSWERS if not name.startswith("manifest ")}
    assert others == walked | WITHOUT_ANSWER


@pytest.mark.parametrize("command", ANSWERS)
def test_with_json_everything_printed_is_one_object(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PENSTOCK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    if command in {"token", "console-url", "graphiql-url"}:
        dev_key(tmp_path / "data")
    if command in {"table upgrade", "table verify", "export", "backup"}:
        assert run_command(["table", "create"]) == 0
        capfd.readouterr()
    code = run_command([*command.split(), *ANSWERS[command], "--json"])
    printed = capfd.readouterr()
    text = printed.out or printed.err
    assert isinstance(json.loads(text), dict), text
    assert text.count("\n") == 1
    assert ("error" in json.loads(text)) is (not printed.out and code != 0)


def test_sample_rows_are_the_same_as_objects(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["sample-rows", "--rows", "1000"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert run_command(["sample-rows", "--rows", "1000", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [list(row) for row in rows] == [header.split(",")] * 1000
    assert [",".join(row.values()) for row in rows] == lines


def log_events(text: str) -> list[dict[str, object]]:
    """Read lines of a log; every one is an object, without codes of colours."""
    assert "\x1b" not in text
    return [json.loads(line) for line in text.splitlines()]


def is_served(announced: Mapping[str, str]) -> bool:
    """Tell whether the announced server answers: before, a signal may come too early for it."""
    if not announced:
        return False
    url = announced["GraphQL"].removesuffix("/graphql")
    with suppress(httpx.TransportError):
        answer = httpx.get(
            f"{url}/healthz", timeout=HUNG_SECONDS, trust_env=False, verify=VERIFY_TLS
        )
        return answer.is_success
    return False


def run_with_terminal(
    *arguments: str, data_dir: Path, is_loaded: bool = True, **more: str
) -> tuple[int, str, str]:
    """Run a command with standard error on a terminal; a server is stopped when it is ready.

    Unless it is loaded already, it may also write while it loads.
    """
    main, terminal = pty.openpty()
    output = TemporaryFile()  # noqa: SIM115 - closed below
    variables = environment(PENSTOCK_LOG_FORMAT="json", PENSTOCK_DATA_DIR=str(data_dir), **more)
    process: Program | subprocess.Popen[bytes]
    if is_loaded:
        process = start_program(
            "penstock", *arguments, variables=variables, output=output, errors=terminal
        )
    else:
        command = [sys.executable, "-m", "penstock", *arguments]
        process = subprocess.Popen(command, env=variables, stdout=output, stderr=terminal)
    os.close(terminal)
    os.set_blocking(main, False)
    text, is_stopped = "", False

    def is_over() -> bool:
        nonlocal text, is_stopped
        has_ended = process.poll() is not None
        with suppress(BlockingIOError, OSError):
            text += os.read(main, 65_536).decode()
            has_ended = False
        if not is_stopped and is_served(read_announcement(text)):
            is_stopped = True
            process.send_signal(signal.SIGINT)
        return has_ended

    wait_until(is_over)
    os.close(main)
    with output:
        output.seek(0)
        printed = output.read().decode()
    return process.wait(), printed, text.replace("\r\n", "\n")


@pytest.mark.parametrize(("workers", "is_loaded"), [("1", True), ("2", False)])
def test_a_server_logs_nothing_but_json(workers: str, is_loaded: bool, tmp_path: Path) -> None:
    port = free_port()
    code, output, text = run_with_terminal(
        *("serve", "--port", str(port), "--workers", workers),
        data_dir=tmp_path,
        is_loaded=is_loaded,
        PENSTOCK_SEED="false",
    )
    assert (code, output) == (0, ""), text
    events = log_events(text)
    (ready,) = [one for one in events if one["event"] == "the server is ready"]
    assert ready["graphql"] == f"http://127.0.0.1:{port}/graphql"
    assert all({"level", "logger", "timestamp"} <= one.keys() for one in events)


def test_a_server_that_seeds_logs_nothing_but_json(tmp_path: Path) -> None:
    code, _, text = run_with_terminal("seed", "--size", "2", data_dir=tmp_path)
    assert (code, log_events(text)) == (0, [])


def test_failures_at_the_start_are_json_lines(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for arguments, words in (
            (("serve", "--port", port), f"Cannot listen on 127.0.0.1:{port}"),
            (("serve", "--port", "x"), "Invalid value"),
            (("serve", "--port", "99999"), "--port: "),
            (("run", "p", "absent.csv"), "absent.csv is not a file."),
            (("run", "p", "."), ". is not a file."),
        ):
            code, output, text = run_with_terminal(*arguments, data_dir=tmp_path)
            (event,) = log_events(text)
            assert (code != 0, output, event["level"]) == (True, "", "error")
            assert event["exitCode"] == code
            assert words in str(event["event"])


def test_an_exception_that_nobody_handles_is_a_json_line() -> None:
    script = """
import threading, warnings
from penstock.server.telemetry.logs import configure_logging
configure_logging("json")
warnings.warn("odd")
def fail(): raise RuntimeError("in a thread")
thread = threading.Thread(target=fail); thread.start(); thread.join()
raise RuntimeError("at the end")
"""
    ended = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    warning, thread, last = log_events(ended.stderr)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert warning["event"] == "a warning of Python: UserWarning (<string>, line 5)"
    assert "in a thread" in str(thread["exception"])
    assert "at the end" in str(last["exception"])
