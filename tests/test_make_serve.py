"""The variables that `make serve` sets for the server of a developer."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("variables", "logs"),
    [
        ({}, "false"),
        ({"PENSTOCK_ACCESS_LOG": "true"}, "true"),
        ({"PENSTOCK_LOG_FORMAT": "json"}, "true"),
        ({"PENSTOCK_LOG_FORMAT": "json", "PENSTOCK_ACCESS_LOG": "false"}, "false"),
    ],
)
def test_the_server_of_a_terminal_logs_no_operations_unless_it_is_told_to(
    variables: dict[str, str], logs: str, tmp_path: Path
) -> None:
    program = tmp_path / "penstock"
    program.write_text('#!/bin/sh\necho "$PENSTOCK_ACCESS_LOG $*"\n')
    program.chmod(0o755)
    # This test may itself run below a `make`, which tells others of it.
    own = ("PENSTOCK_", "MAKE")
    others = {name: text for name, text in os.environ.items() if not name.startswith(own)}
    command = ["make", "--old-file=all", "serve", "PORT=8001", f"BIN={tmp_path}"]
    told = subprocess.run(
        command, cwd=ROOT, env=others | variables, capture_output=True, text=True, check=True
    )
    assert told.stdout == f"{logs} serve --port 8001\n"
