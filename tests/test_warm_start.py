"""Forks of the warm process behave as new processes do."""

import os
import signal
import socket
from pathlib import Path
from subprocess import DEVNULL, TimeoutExpired
from tempfile import TemporaryFile

import pytest

from penstock.server.runtime.child_process import start_process
from tests.support.patience import HUNG_SECONDS, until, wait_until
from tests.support.penstock_command import penstock, start_server
from tests.support.server_process import environment
from tests.support.warm_children import children_of
from tests.support.warm_start import Program, start_program

SLEEP = "import time; time.sleep(1000)"


def start_statement(statement: str, **variables: str) -> Program:
    """Start a program that runs one statement."""
    return start_program(
        "timeit",
        *("-n", "1", "-r", "1", statement),
        variables=environment(**variables),
        output=DEVNULL,
        errors=DEVNULL,
    )


def test_a_command_ends_with_its_exit_code_and_its_output() -> None:
    told = penstock("--version")
    assert (told.returncode, told.stdout.count("\n"), told.stderr) == (0, 1, "")
    told = penstock("nothing")
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.startswith('penstock: Unknown command "nothing".')


@pytest.mark.parametrize(
    ("leave", "code"), [("sys.exit()", 0), ("sys.exit(3)", 3), ("sys.exit('why')", 1), ("", 0)]
)
def test_a_program_ends_as_python_ends_it(leave: str, code: int) -> None:
    last = "atexit.register(print, 'last'); threading.Thread(target=print, args=['more']).start()"
    with TemporaryFile() as given, TemporaryFile() as output, TemporaryFile() as errors:
        given.write(f"import atexit, sys, threading\n{last}\n{leave}\n".encode())
        given.seek(0)
        program = start_program(
            "code", variables=environment(), given=given, output=output, errors=errors
        )
        assert program.wait(HUNG_SECONDS) == code
        printed = [(file.seek(0), file.read().decode())[1] for file in (output, errors)]
    assert ("more" in printed[0], "last\n" in printed[0]) == (True, True)
    assert printed[1].endswith("why\n") is ("why" in leave)


def test_a_program_that_ends_before_its_number_is_read_has_its_exit_code() -> None:
    mine, its = socket.socketpair()
    with its:
        its.sendall(b"17\n3\n")
    program = Program(mine, "ended")
    assert (program.pid, program.wait(HUNG_SECONDS)) == (17, 3)


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_a_program_and_is_its_exit_code(by: signal.Signals) -> None:
    program = start_statement(SLEEP)
    assert program.poll() is None
    with pytest.raises(TimeoutExpired):
        program.wait(0.01)
    program.send_signal(by)
    assert program.wait(HUNG_SECONDS) == -by
    assert program.poll() == -by
    # Nobody has this number any more, and nobody gets the signal.
    program.send_signal(by)
    assert not Path(f"/proc/{program.pid}").exists()


def test_a_program_has_its_variables_its_folder_and_its_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_PORT", "1")
    with TemporaryFile() as output:
        program = start_program(
            *("timeit", "-n", "1", "-r", "1"),
            "import os, resource, sys; print(os.getcwd(), os.environ.get('GIVEN'),"
            " 'PENSTOCK_PORT' in os.environ, *resource.getrlimit(resource.RLIMIT_NOFILE),"
            " sys.stdin.read() == '', __import__('threading').active_count())",
            variables=environment(GIVEN="yes"),
            output=output,
            errors=DEVNULL,
            descriptors=(100, 200),
        )
        assert program.wait(HUNG_SECONDS) == 0
        output.seek(0)
        first = output.readline().decode().split()
    assert first == [str(tmp_path), "yes", "False", "100", "200", "True", "1"]


def test_a_program_begins_with_one_thread_and_three_files() -> None:
    program = start_statement(SLEEP)
    of = Path(f"/proc/{program.pid}")
    try:
        wait_until(lambda: {one.name for one in (of / "fd").iterdir()} == {"0", "1", "2"})
        assert len([*(of / "task").iterdir()]) == 1
    finally:
        program.kill()
        assert program.wait(HUNG_SECONDS) == -signal.SIGKILL


def test_what_a_server_starts_are_its_children_and_forks_too(tmp_path: Path) -> None:
    arguments = ("--workers", "2", "--port", "0", "--no-seed", "--data-dir", str(tmp_path / "data"))
    with start_server(tmp_path / "log", *arguments) as server:
        pid = server.process.pid
        both = children_of(pid)
        commands = {Path(f"/proc/{one}/cmdline").read_bytes() for one in (pid, *both)}
        assert (len(both), len(commands)) == (2, 1)
        assert [os.getsid(one) for one in both] == both
        assert server.end(signal.SIGTERM) == 0
    assert not any(Path(f"/proc/{one}").exists() for one in both)


async def test_what_a_test_starts_is_a_fork_that_has_its_files_and_leads_a_session() -> None:
    told, tells = os.pipe()
    process = await start_process("penstock.server.runtime.part_process", b"", files=[tells])
    os.close(tells)
    of = Path(f"/proc/{process.pid}")
    await until(lambda: os.getsid(process.pid) == process.pid)
    assert b"tests.support.warm_process" in (of / "cmdline").read_bytes()
    assert {*"012", f"{tells}"} <= {one.name for one in (of / "fd").iterdir()}
    assert process.stdin is not None
    process.stdin.close()
    assert (await process.wait(), os.read(told, 1)) == (0, b"")
    os.close(told)
