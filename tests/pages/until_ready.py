"""`penstock` for the shells of pages: a fork of the warm process; a ready server is stopped.

This file loads nothing of the product, so that it starts at once.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import NoReturn

from tests.support.warm_start import INHERITED, start_program

READY = "Ctrl-C stops"
"""The beginning of the line that says that a server is ready."""


def main(arguments: Sequence[str]) -> NoReturn:
    if arguments[:1] != ["serve"]:
        sys.exit(run_in_fork(arguments))
    local = [{"0.0.0.0": "127.0.0.1"}.get(argument, argument) for argument in arguments]
    command = [sys.executable, "-m", "penstock", *local, *free_ports(arguments)]
    sys.exit(run_until_ready(command))


def run_in_fork(arguments: Sequence[str]) -> int:
    """Run the command to its end, and return its exit code."""
    variables = {name: text for name, text in os.environ.items() if name != INHERITED}
    program = start_program(
        "penstock", *arguments, variables=variables, given=0, output=1, errors=2
    )
    return program.wait()


def free_ports(arguments: Sequence[str]) -> list[str]:
    """Return the option that lets a server choose its port, if it is not given one."""
    return [] if "--port" in arguments else ["--port", "0"]


def run_until_ready(command: Sequence[str]) -> int:
    """Start the program, stop it once it is ready, and return its exit code."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            sys.stderr.write(line)
            if line.startswith(READY):
                process.send_signal(signal.SIGINT)
        return process.wait()
