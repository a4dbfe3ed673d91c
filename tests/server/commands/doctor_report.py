"""The report of `penstock doctor`, for the tests of its checks."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.table.port import Item
from penstock.server.command_line import run
from penstock.server.settings.settings import Settings
from tests.support.stores import aws_environment

TOMBSTONE: Item = {"pk": "P:1", "sk": "PV:latest", "siKey1": "X:P", "taken": 0}


@contextmanager
def isolate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove this machine's settings and credentials, and use a separate directory."""
    monkeypatch.chdir(tmp_path)
    for name in Settings.model_fields:
        monkeypatch.delenv(f"PENSTOCK_{name.upper()}", raising=False)
    with aws_environment():
        yield


class Report:
    """The JSON that the command printed, and its exit code."""

    def __init__(self, code: int, printed: str) -> None:
        self.code = code
        self.data: dict[str, Any] = json.loads(printed)

    @property
    def levels(self) -> dict[str, str]:
        return {check["check"]: check["level"] for check in self.data["checks"]}

    def __getitem__(self, check: str) -> str:
        """Return the message of a check, with its advice."""
        (found,) = [each for each in self.data["checks"] if each["check"] == check]
        return " ".join(found[part] for part in ("message", "advice") if found[part])


async def examine(capsys: pytest.CaptureFixture[str], *options: str) -> Report:
    """Run the command in a thread, next to the loop that serves its requests."""
    code = await asyncio.to_thread(run, ["doctor", "--json", *options])
    printed = capsys.readouterr()
    assert printed.err == ""
    return Report(code, printed.out)
