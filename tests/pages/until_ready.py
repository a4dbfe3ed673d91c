"""`penstock` for the shells of pages: a server that is ready is stopped."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import NoReturn

READY = "Ctrl-C stops"
"""The beginning of the line that says that a server is ready."""


def main(arguments: Sequence[str]) -> NoReturn:
    command = [sys.executable, "-m", "penstock", *arguments]
    if arguments[:1] != ["serve"]:
        os.execv(sys.executable, command)
    local = [{"0.0.0.0": "127.0.0.1"}.get(argument, argument) for argument in command]
    sys.exit(run_until_ready([*local, *free_ports(arguments)]))


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
