"""`curl` for the shells of pages.

A stream without an end stops after its first event, and errors of GraphQL fail, which are a success
for `curl`.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

STREAM = "-sN"
"""The options of `curl` for a stream of events."""


def main(arguments: Sequence[str]) -> None:
    """Run the machine's curl; print a stream up to the end of its first event.

    Exits with 22, as `curl --fail` does, where an answer has errors.
    """
    own = str(Path(sys.argv[0]).parent)
    others = [folder for folder in os.environ["PATH"].split(":") if folder != own]
    program = shutil.which("curl", path=":".join(others))
    assert program is not None, "no curl here"
    if STREAM not in arguments:
        answer = subprocess.run([program, *arguments], stdout=subprocess.PIPE, check=False)
        sys.stdout.buffer.write(answer.stdout)
        sys.exit(22 if answer.stdout.startswith(b'{"errors"') else answer.returncode)
    with subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            if line.startswith("data:"):
                process.terminate()
                return
