"""`penstock` for the shells of pages: a fork of the warm process; a ready server is stopped.

This file loads nothing of the product, so that it starts at once.
"""

import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from tests.support.warm_start import INHERITED, Program, start_program

READY = "Ctrl-C stops"
"""The beginning of the line that says that a server is ready."""


def main(arguments: Sequence[str]) -> NoReturn:
    if arguments[:1] != ["serve"]:
        sys.exit(run_in_fork("penstock", arguments))
    local = [{"0.0.0.0": "127.0.0.1"}.get(argument, argument) for argument in arguments]
    sys.exit(run_until_ready([*local, *free_ports(arguments)]))


def run_in_fork(module: str, arguments: Sequence[str]) -> int:
    """Run the module to its end, and return its exit code."""
    return _start(module, arguments, errors=2).wait()


def free_ports(arguments: Sequence[str]) -> list[str]:
    """Return the option that lets a server choose its port, if it is not given one."""
    return [] if "--port" in arguments else ["--port", "0"]


def run_until_ready(arguments: Sequence[str]) -> int:
    """Start the server, stop it once it is ready, and return its exit code."""
    printed, errors = os.pipe()
    program = _start("penstock", arguments, errors)
    os.close(errors)
    with open(printed) as lines:
        for line in lines:
            sys.stderr.write(line)
            if line.startswith(READY):
                program.send_signal(signal.SIGINT)
    return program.wait()


def _start(module: str, arguments: Sequence[str], errors: int) -> Program:
    variables = {name: text for name, text in os.environ.items() if name != INHERITED}
    return start_program(module, *arguments, variables=variables, given=0, output=1, errors=errors)
