"""The process that makes CSV of inputs for a worker: each conversion is a fork of it.

It reads an order from each line of standard input, and writes reports as lines to standard output.
It has loaded what a conversion needs, and has no threads, so that a fork of it is ready within
milliseconds. It ends with its input, also after the worker was killed, and ends its fork as well.
"""

import gc
import os
import select
import signal
import sys
from contextlib import suppress
from importlib import import_module
from io import FileIO
from pathlib import Path
from typing import Final, NoReturn

import msgspec

from penstock.datastore.input_files.kinds import InputKind
from penstock.datastore.input_files.write_table import ConversionOrder, ConvertedInput, write_table
from penstock.datastore.kept_rows.database import Connection, confine, open_database
from penstock.datastore.logged_errors import format_traceback
from penstock.datastore.unreadable_json import JSON_ERRORS
from penstock.transform.problems import InputRefused

REPORT_SECONDS: Final = 0.1
"""The seconds after which the worker learns how much processor time a conversion took."""

MOST_OUTCOME: Final = 64 * 1024
"""Bytes of the outcome of a conversion that are read."""

_RSS_UNIT: Final = 1024 if sys.platform == "linux" else 1

MOST_TRACEBACK: Final = 8 * 1024
"""Characters of a traceback that are kept, of its end."""


class ConversionOutcome(msgspec.Struct, frozen=True):
    """The table that a conversion made, the code and the message of its refusal, or a traceback."""

    converted: ConvertedInput | None = None
    refusal: tuple[str, str] | None = None
    failure: str | None = None


class ConversionReport(msgspec.Struct, frozen=True):
    """The seconds of processor time of a conversion until now, and how it ended if it has.

    `exit_code` is negative after a signal. `memory_bytes` is the most memory that it used.
    """

    seconds: float
    exit_code: int | None = None
    outcome: ConversionOutcome | None = None
    memory_bytes: int = 0


class _Forks:
    """The forks of this process, one after another: each obeys an order, and is reported on."""

    def __init__(self, orders: FileIO, reports: int) -> None:
        self._orders = orders
        self._reports = reports
        self._database: Connection | None = None

    def obey(self) -> None:
        """Convert a file for each order, until there are no more."""
        while line := self._orders.readline():
            order = msgspec.json.decode(line, type=ConversionOrder)
            self._load(order.kind)
            reading, writing = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(self._reports)
                _convert(order, self._database, writing)
            os.close(writing)
            self._report(self._watch(pid, reading))
            os.close(reading)

    def _load(self, kind: InputKind) -> None:
        """Load once what reads a kind of files, so that no fork has to."""
        if kind is InputKind.EXCEL:
            import_module("openpyxl.reader.excel")
        elif kind is InputKind.PARQUET and self._database is None:
            self._database = open_database()
        gc.freeze()

    def _watch(self, pid: int, reading: int) -> ConversionReport:
        """Wait for the end of a fork; end with it if nobody wants its result any more."""
        outcome = b""
        while True:
            orders = self._orders.fileno()
            ready, _, _ = select.select([orders, reading], [], [], REPORT_SECONDS)
            if orders in ready:
                os.killpg(0, signal.SIGKILL)
            if reading not in ready:
                self._report(ConversionReport(_seconds_of(pid)))
            elif piece := os.read(reading, MOST_OUTCOME):
                outcome = (outcome + piece)[:MOST_OUTCOME]
            else:
                break
        # It has ended, or else closed what it should not.
        os.kill(pid, signal.SIGKILL)
        _, status, used = os.wait4(pid, 0)
        seconds = used.ru_utime + used.ru_stime
        code, memory = os.waitstatus_to_exitcode(status), used.ru_maxrss * _RSS_UNIT
        return ConversionReport(seconds, code, _read_outcome(outcome), memory)

    def _report(self, report: ConversionReport) -> None:
        os.write(self._reports, msgspec.json.encode(report) + b"\n")


def _read_outcome(text: bytes) -> ConversionOutcome | None:
    """Return the outcome; None if the fork wrote none, or not all of it."""
    with suppress(*JSON_ERRORS):
        return msgspec.json.decode(text, type=ConversionOutcome)
    return None


def _seconds_of(pid: int) -> float:
    """The processor time of a fork until now; 0 where the system does not tell it."""
    try:
        facts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return sum(map(int, facts[11:13])) / os.sysconf("SC_CLK_TCK")


def _convert(order: ConversionOrder, database: "Connection | None", writing: int) -> NoReturn:
    """Be a fork: convert within the limits, write the outcome, and end."""
    try:
        order.limits.hold()
        if database is not None:
            confine(database, Path(order.folder))
        os.write(writing, msgspec.json.encode(_outcome_of(order, database)))
    finally:
        # Whatever is raised, this process goes no further.
        os._exit(0)


def _outcome_of(order: ConversionOrder, database: "Connection | None") -> ConversionOutcome:
    try:
        return ConversionOutcome(write_table(order, database))
    except InputRefused as refused:
        return ConversionOutcome(refusal=(refused.problem.code, refused.problem.message))
    except Exception as error:  # the worker logs it in its own way
        return ConversionOutcome(failure=format_traceback(error)[-MOST_TRACEBACK:])


def main() -> None:
    # What a library prints goes to standard error.
    reports = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # Unbuffered, because the end of the orders is waited for beside the end of a fork.
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as orders:
        _Forks(orders, reports).obey()
    # Without taking apart what is loaded.
    os._exit(0)


if __name__ == "__main__":
    main()
