"""The processes that make CSV of inputs, as the worker sees them."""

import os
import signal
import subprocess
import sys
from atexit import register
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import msgspec

from penstock.datastore.errors import Unavailable
from penstock.datastore.input_files.conversion_process import ConversionReport
from penstock.datastore.input_files.kinds import unreadable_file
from penstock.datastore.input_files.write_table import ConversionOrder, ConvertedInput
from penstock.transform.problems import InputRefused

MODULE: Final = "penstock.datastore.input_files.conversion_process"

_CRASHES: Final = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE)
"""The signals by which the system or a library ends a program that breaks."""


class Converter:
    """A process that converts inputs, one after another, each in a fork of its own.

    `seconds` is the processor time of the last conversion until now.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - it is this program
            [sys.executable, "-m", MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # What reads the files of users has no secrets in its environment.
            env={name: os.environ[name] for name in os.environ if name.startswith("PYTHON")},
            start_new_session=True,
        )
        self.is_free = True
        self.seconds = 0.0

    def convert(self, order: ConversionOrder) -> ConvertedInput:
        """Convert a file; blocks its thread.

        Raises InputRefused for a file that cannot be converted within its limits, and Unavailable
        where the process or its fork was ended from outside.
        """
        self.is_free, self.seconds = False, 0.0
        report = self._wait_for_end(order)
        self.is_free = True
        return _result_of(report, order)

    def end(self) -> None:
        """End the process and its fork at once; from any thread."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(BrokenPipeError), self._process:
            self._process.wait()

    def _wait_for_end(self, order: ConversionOrder) -> ConversionReport:
        orders, reports = self._process.stdin, self._process.stdout
        if orders is None or reports is None:
            raise ValueError("the process has no pipes")
        with suppress(BrokenPipeError):
            orders.write(msgspec.json.encode(order) + b"\n")
            orders.flush()
        for line in reports:
            report = msgspec.json.decode(line, type=ConversionReport)
            self.seconds = report.seconds
            if report.exit_code is not None:
                return report
        raise Unavailable("The process that makes CSV of inputs was ended.")


def _result_of(report: ConversionReport, order: ConversionOrder) -> ConvertedInput:
    """Return the table of a conversion that ended, or raise why there is none."""
    made, code = report.outcome, report.exit_code or 0
    if made is not None and made.converted is not None:
        return made.converted
    if made is not None and made.refusal is not None:
        raise InputRefused(*made.refusal)
    if code == -signal.SIGXCPU:
        raise order.limits.too_long_error()
    if -code in _CRASHES:
        if 2 * report.memory_bytes > order.limits.memory_bytes:
            # Code in C++ may end at once where the system gives it no more.
            raise order.limits.memory_error()
        raise unreadable_file("the program that reads it breaks at it")
    if code < 0:
        raise Unavailable("The process that makes CSV of an input was ended.")
    failure = made.failure if made is not None else None
    raise RuntimeError(f"a conversion failed: {failure or 'it left no outcome'}")


_FREE: Final[list[Converter]] = []
"""The converters that wait for work; they end with this process."""


@contextmanager
def borrow_converter() -> Iterator[Converter]:
    """Give a converter, which is ended at the end of the block if it is still converting."""
    converter = _FREE.pop() if _FREE else Converter()
    try:
        yield converter
    finally:
        if converter.is_free:
            _FREE.append(converter)
        else:
            converter.end()


@register
def _end_free() -> None:
    while _FREE:
        _FREE.pop().end()
