"""`pytest --workers 3` reports what one process reports, whatever a test does to its worker."""

import signal
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from textwrap import dedent
from typing import IO
from xml.etree import ElementTree

from tests.support.patience import HUNG_SECONDS, wait_until
from tests.support.server_process import environment
from tests.support.warm_start import Program, start_program

SETTINGS = """[pytest]
junit_family = legacy
junit_logging = all
"""
OUTCOMES = """
    import os, warnings
    import pytest

    @pytest.fixture
    def broken():
        raise OSError("no such thing")

    @pytest.fixture
    def breaking():
        yield
        raise OSError("never ends")

    def test_passes(record_property):
        record_property("size", 7)

    @pytest.mark.parametrize("number", range(30))
    def test_has_cases(number):
        assert number != 20, f"the case {number}"

    def test_fails():
        os.write(1, b"a hint")
        assert [1, 2] == [1, 3]

    def test_is_skipped():
        pytest.skip("not here")

    @pytest.mark.xfail(reason="known")
    def test_is_known_to_fail():
        assert False

    def test_cannot_begin(broken): pass
    def test_cannot_end(breaking): pass
    def test_warns(): warnings.warn("old ways", DeprecationWarning)
"""
SHARED = """
    import os
    from pathlib import Path
    import pytest

    @pytest.fixture(scope="module")
    def made():
        with open("made", "a") as file:
            file.write(f"{os.getpid()} ")

    @pytest.mark.runs_together("shared")
    @pytest.mark.parametrize("number", range(20))
    def test_shares(made, number):
        with open("run", "a") as file:
            file.write(f"{os.getpid()} ")
"""
DEADLY = """
    import os, signal
    import pytest

    @pytest.mark.parametrize("number", range(9))
    def test_may_end_the_process(number):
        if number == 4:
            os.kill(os.getpid(), signal.SIGKILL)
"""
ENDLESS = """
    import time
    from pathlib import Path
    import pytest

    @pytest.fixture
    def begun():
        Path("begun").touch()
        yield
        Path("ended").touch()

    def test_does_not_end(begun):
        time.sleep(1000)
"""
FAILS_LATER = """
    import time
    from pathlib import Path
    import pytest

    # A worker asks for a test before it runs the one that it has, so it may hold two of these.
    @pytest.mark.parametrize("number", range(4))
    def test_fails_later(number):
        while not Path("begun").exists():
            time.sleep(0.01)
        assert False
"""
HANGING = """
    import signal
    import pytest

    @pytest.mark.parametrize("number", range(9))
    def test_may_hang(number):
        while number == 4:
            signal.pause()
"""
UNFIT = """
    import os

    def pytest_runtest_logfinish(nodeid):
        if nodeid.endswith("test_one") and os.getpid() != int(os.environ["MAIN"]):
            raise OSError("no room")

    def pytest_configure():
        os.environ["MAIN"] = str(os.getpid())
"""
ONE = "def test_one(): pass"
KILLED = "the worker ended with -9 while it ran this test"
ABORTED = "the worker ended with -6 while it ran this test"


@dataclass(frozen=True, slots=True)
class Run:
    """A run of pytest in a folder."""

    program: Program
    output: IO[bytes]

    def finish(self) -> tuple[int, str]:
        """Return the exit code, and what was printed."""
        with self.output as output:
            code = self.program.wait(HUNG_SECONDS)
            output.seek(0)
            return code, output.read().decode()


def start_pytest(folder: Path, *options: str, **files: str) -> Run:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(dedent(text))
    (folder / "pytest.ini").write_text(SETTINGS)
    output = TemporaryFile()  # noqa: SIM115 - closed when it has ended
    with chdir(folder):
        program = start_program(
            *("pytest", "-q", "-p", "tests.support.workers.plugin", "-p", "no:cacheprovider"),
            *("--junit-xml=report.xml", *options),
            variables=environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTEST_ADDOPTS=""),
            output=output,
            errors=output,
        )
    return Run(program, output)


def run_pytest(folder: Path, *options: str, **files: str) -> tuple[int, str]:
    return start_pytest(folder, *options, **files).finish()


def read_report(folder: Path) -> dict[str, list[tuple[str, ...]]]:
    """Return what the report tells of each test: elements, their messages, and their texts."""
    suite = ElementTree.parse(folder / "report.xml").getroot()[0]
    return {
        case.attrib["name"]: sorted(
            (part.tag, part.get("message", ""), part.get("value", ""), part.text or "")
            for part in case.iter()
            if part is not case
        )
        for case in suite.iter("testcase")
    }


def failures_in(folder: Path) -> set[tuple[str, str]]:
    """Return the tests that failed, and why."""
    return {
        (name, why)
        for name, parts in read_report(folder).items()
        for tag, why, _, _ in parts
        if tag == "failure"
    }


def test_workers_report_what_one_process_reports(tmp_path: Path) -> None:
    told = []
    for workers in ("1", "3"):
        code, printed = run_pytest(tmp_path, "--workers", workers, test_outcomes=OUTCOMES)
        assert code == 1
        *_, last = printed.splitlines()
        assert last.startswith(
            "2 failed, 32 passed, 1 skipped, 1 xfailed, 1 warning, 2 errors in "
        ), printed
        assert "old ways" in printed
        told.append(read_report(tmp_path))
    assert told[1] == told[0]
    assert len(told[0]) == 37
    printed_by_test = {tag: text for tag, _, _, text in told[0]["test_fails"]}["system-out"]
    assert "a hint" in printed_by_test


def test_one_worker_runs_what_shares_something(tmp_path: Path) -> None:
    code, printed = run_pytest(tmp_path, "--workers", "3", test_shared=SHARED, test_other=OUTCOMES)
    assert code == 1, printed
    (maker,) = (tmp_path / "made").read_text().split()
    assert (tmp_path / "run").read_text().split() == [maker] * 20


def test_a_test_that_ends_its_worker_fails_and_the_others_run(tmp_path: Path) -> None:
    code, printed = run_pytest(tmp_path, "--workers", "2", test_deadly=DEADLY)
    assert (code, printed.splitlines()[-1][:20]) == (1, "1 failed, 8 passed i")
    assert failures_in(tmp_path) == {("test_may_end_the_process[4]", KILLED)}


def test_a_test_that_hangs_fails_and_the_others_run(tmp_path: Path) -> None:
    code, printed = run_pytest(
        tmp_path, "--workers", "2", "--hung-seconds", "10", test_hanging=HANGING
    )
    assert (code, printed.splitlines()[-1][:20]) == (1, "1 failed, 8 passed i")
    assert failures_in(tmp_path) == {("test_may_hang[4]", ABORTED)}
    assert "in test_may_hang\n" in printed


def test_the_first_failure_ends_the_other_workers(tmp_path: Path) -> None:
    code, printed = run_pytest(tmp_path, "--workers", "2", "-x", test_a=ENDLESS, test_b=FAILS_LATER)
    assert (code, "stopping after 1 failures" in printed) == (1, True)
    assert (tmp_path / "ended").exists()


def test_an_interrupt_ends_the_workers_and_what_their_tests_hold(tmp_path: Path) -> None:
    run = start_pytest(tmp_path, "--workers", "2", test_a=ENDLESS, test_b=ONE)
    wait_until((tmp_path / "begun").exists)
    run.program.send_signal(signal.SIGINT)
    code, printed = run.finish()
    assert (code, "KeyboardInterrupt" in printed) == (2, True)
    assert (tmp_path / "ended").exists()


def test_a_worker_that_fails_beside_its_tests_ends_the_run(tmp_path: Path) -> None:
    code, printed = run_pytest(tmp_path, "--workers", "2", conftest=UNFIT, test_a=ONE, test_b=ONE)
    assert (code, "OSError: no room" in printed) == (3, True)
