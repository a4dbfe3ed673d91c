"""A signal ends a process in order, at whatever moment of its start it comes."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.server import command_line
from tests.support.patience import HUNG_SECONDS, wait_until
from tests.support.penstock_command import LAST_LINE
from tests.support.server_process import environment
from tests.support.warm_children import FRESH, children_of
from tests.support.warm_start import Program, start_program

pytestmark = pytest.mark.runs_together("stop signals")

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LOADING = ("penstock.server\n", "cyclopts.core\n", "strawberry\n")
"""The ends of the lines that Python writes when it has loaded these modules."""

SERVING = ("Console ", LAST_LINE)
"""The first and the last line of what a server says when it serves, which it has loaded before."""

STARTED_IN_THE_BACKGROUND = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
"""A script's shell makes the commands that it starts in the background ignore Ctrl-C."""


def load(directory: Path, *options: str, within: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """Start a server that tells what it loads."""
    command = [sys.executable, "-X", "importtime", "-m", "penstock", "serve", "--port", "0"]
    return subprocess.Popen(
        [*within, *command, "--no-seed", "--data-dir", str(directory / "data"), *options],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def read_until(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(f"the server never said {words!r}")


def end(process: subprocess.Popen[str], by: signal.Signals) -> tuple[int, list[str]]:
    """Send the signal; returns the exit code, and the lines that tell of something wrong."""
    process.send_signal(by)
    try:
        _, said = process.communicate(timeout=HUNG_SECONDS)
    finally:
        process.kill()
        process.wait()
    return process.returncode, wrong_lines(said)


def wrong_lines(said: str) -> list[str]:
    wrong = ("Traceback", "Exception", "Error", "never")
    lines = [line for line in said.splitlines() if not line.startswith("import time:")]
    return [line for line in lines if any(word in line for word in wrong)]


@contextmanager
def serve(log: Path, *options: str, **variables: str) -> Iterator[Program]:
    """Start a server that has loaded everything."""
    arguments = ("serve", "--port", "0", "--no-seed", "--data-dir", str(log.parent / "data"))
    with log.open("wb") as errors:
        server = start_program(
            "penstock",
            *arguments,
            *options,
            variables=environment(**variables),
            output=subprocess.DEVNULL,
            errors=errors,
        )
    try:
        yield server
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize(
    ("by", "within"), [(signal.SIGINT, STARTED_IN_THE_BACKGROUND), (signal.SIGTERM, ())]
)
@pytest.mark.parametrize("words", LOADING)
def test_a_signal_ends_a_server_that_is_loaded(
    words: str, by: signal.Signals, within: tuple[str, ...], tmp_path: Path
) -> None:
    process = load(tmp_path, within=within)
    read_until(process, words)
    assert end(process, by) == (-by, [])
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("by", SIGNALS)
@pytest.mark.parametrize("words", SERVING)
def test_a_signal_ends_a_server_that_begins_to_serve(
    words: str, by: signal.Signals, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with serve(log) as server:
        wait_until(lambda: words in log.read_text() or server.poll() is not None)
        server.send_signal(by)
        assert server.wait(HUNG_SECONDS) == 0
    assert wrong_lines(log.read_text()) == []


def test_a_server_that_a_script_starts_in_the_background_obeys_ctrl_c(tmp_path: Path) -> None:
    process = load(tmp_path, within=STARTED_IN_THE_BACKGROUND)
    read_until(process, SERVING[0])
    assert end(process, signal.SIGINT) == (0, [])


@pytest.mark.parametrize("by", SIGNALS)
def test_a_signal_ends_processes_that_still_start(by: signal.Signals, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with serve(log, "--workers", "2", **{FRESH: "yes"}) as server:
        wait_until(lambda: len(children_of(server.pid)) == 2)
        started = children_of(server.pid)
        server.send_signal(by)
        assert server.wait(HUNG_SECONDS) == 0
    assert wrong_lines(log.read_text()) == []
    wait_until(lambda: not any(Path(f"/proc/{one}").exists() for one in started))


HANDLER = """
import signal, sys, types
from penstock.__main__ import main
stub = sys.modules["penstock.server.command_line"] = types.ModuleType("stub")
stub.main = lambda ignores_interrupts: print(
    ignores_interrupts, signal.getsignal(signal.SIGINT) is signal.SIG_DFL
)
main()
"""


def test_the_command_line_is_told_that_a_script_started_it_in_the_background() -> None:
    done = subprocess.run(
        [*STARTED_IN_THE_BACKGROUND, sys.executable, "-c", HANDLER],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=HUNG_SECONDS,
        check=True,
    )
    assert done.stdout == "True True\n"


@pytest.mark.parametrize(
    ("command", "ignores"),
    [
        (("serve", "--port", "0"), False),
        (("worker",), False),
        (("table", "check"), True),
        (("--help",), True),
    ],
)
@pytest.mark.parametrize("in_background", [True, False])
def test_only_servers_and_workers_of_a_script_in_the_background_obey_ctrl_c(
    command: tuple[str, ...], ignores: bool, in_background: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    met = []

    def note_handler(_tokens: Sequence[str]) -> int:
        met.append(signal.getsignal(signal.SIGINT))
        return 0

    monkeypatch.setattr(command_line, "run", note_handler)
    monkeypatch.setattr(sys, "argv", ["penstock", *command])
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit):
            command_line.main(ignores_interrupts=in_background)
    finally:
        signal.signal(signal.SIGINT, before)
    expected = signal.SIG_IGN if ignores and in_background else signal.default_int_handler
    assert met == [expected]


SCRIPT = """
import asyncio, contextlib, os, signal, sys
from penstock.server.runtime import stop_signals

def send(): os.kill(os.getpid(), signal.{by})
async def main(stop):
{main}
{before}
stop_signals.run_until_stopped(main)
print("over")
"""


def run_script(by: signal.Signals, main: str, before: str = "") -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(by=by.name, main=main, before=before)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=HUNG_SECONDS,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("by", SIGNALS)
def test_a_signal_whose_cancellation_is_swallowed_is_heard_at_the_next_step(
    by: signal.Signals,
) -> None:
    main = """
    send()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    with stop.handled_by(lambda heard: print(heard.name)):
        send()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        print("served")
    """
    code, said = run_script(by, main)
    assert (code, said[0], set(said[1:-2]), said[-2:]) == (
        0,
        by.name,
        {by.name} & set(said[1:-2]),
        ["served", "over"],
    )


@pytest.mark.parametrize("by", SIGNALS)
def test_a_signal_that_python_ignores_before_the_loop_runs_is_heard(by: signal.Signals) -> None:
    before = """
new_event_loop = stop_signals.new_event_loop
class Sends:
    def __del__(self): send()
def new_loop():
    Sends()
    return new_event_loop()
stop_signals.new_event_loop = new_loop
"""
    assert run_script(by, "    print('it runs')", before) == (0, ["over"])


@pytest.mark.parametrize("by", SIGNALS)
def test_what_is_open_closes_before_the_process_ends(by: signal.Signals) -> None:
    main = """
    try:
        send()
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0)
        print("closed")
    """
    assert run_script(by, main) == (0, ["closed", "over"])


def test_a_failure_is_no_stop() -> None:
    assert run_script(signal.SIGINT, "    raise asyncio.CancelledError")[0] == 1
