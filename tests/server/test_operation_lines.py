"""Lines of operations: the same as structlog's, and few writes for many of them."""

import asyncio
import io
import json
from typing import Any

import pytest
import structlog

from server.operation_lines import LOGGER, OperationLines

FACTS = {"type": "query", "operation": None, "codes": ("A", "B"), "cost": 3, "odd": "a 'b' = c"}


class Stream(io.StringIO):
    """A stream that counts what is written, and says whether it is a terminal."""

    def __init__(self, terminal: bool = False) -> None:
        super().__init__()
        self.terminal = terminal
        self.writes = 0

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        self.writes += 1
        return super().write(text)


@pytest.mark.parametrize("terminal", [False, True])
def test_text_is_what_structlog_makes_of_the_same_facts(terminal: bool) -> None:
    stream = Stream(terminal)
    OperationLines(stream, "text").log(FACTS)
    line = stream.getvalue()
    told = line.removesuffix("\n").split("Z", 1)[0].removeprefix("\x1b[2m") + "Z"
    event: dict[str, Any] = {"event": "operation", "level": "info", **FACTS}
    event |= {"timestamp": told, "logger": LOGGER}
    renderer = structlog.dev.ConsoleRenderer(colors=terminal)
    assert line == f"{renderer(None, 'info', event)}\n"


def test_json_is_one_object_a_line() -> None:
    stream = Stream()
    OperationLines(stream, "json").log(FACTS)
    line = json.loads(stream.getvalue())
    assert line.pop("timestamp").endswith("Z")
    known = {"event": "operation", "level": "info", "logger": LOGGER}
    assert line == {**FACTS, **known, "codes": ["A", "B"]}


async def test_what_is_logged_in_one_round_of_the_loop_is_written_at_once() -> None:
    stream = Stream()
    lines = OperationLines(stream, "json")
    for cost in range(5):
        lines.log({"cost": cost})
    assert stream.writes == 0
    await asyncio.sleep(0)
    assert stream.writes == 1
    assert [json.loads(line)["cost"] for line in stream.getvalue().splitlines()] == [*range(5)]
    lines.log({"cost": 5})
    await asyncio.sleep(0)
    assert stream.writes == 2
