"""Lines of operations: few writes for many of them, each with the time it was logged."""

import asyncio
import re
from datetime import UTC, datetime

import pytest

from server import operation_lines
from server.operation_lines import OperationLines
from tests.server.written import Written


async def test_what_is_logged_in_one_round_of_the_loop_is_written_at_once() -> None:
    stream = Written()
    lines = OperationLines(stream, "json")
    for number in range(5):
        lines.add(f"{number}\n")
    assert stream.writes == 0
    await asyncio.sleep(0)
    assert stream.writes == 1
    assert stream.getvalue() == "0\n1\n2\n3\n4\n"
    lines.add("5\n")
    await asyncio.sleep(0)
    assert stream.writes == 2


def test_outside_of_an_event_loop_a_line_is_written_at_once() -> None:
    stream = Written()
    OperationLines(stream, "text").add("one\n")
    assert (stream.writes, stream.getvalue()) == (1, "one\n")


@pytest.mark.parametrize(
    ("nanoseconds", "told"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (999, "1970-01-01T00:00:00.000000Z"),
        (1_000, "1970-01-01T00:00:00.000001Z"),
        (1_753_660_799_999_999_999, "2025-07-27T23:59:59.999999Z"),
        (1_753_660_800_000_000_000, "2025-07-28T00:00:00.000000Z"),
    ],
)
def test_the_time_is_told_to_the_microsecond(
    nanoseconds: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operation_lines, "time_ns", lambda: nanoseconds)
    assert OperationLines(Written(), "text").now() == told


def test_the_time_goes_on_also_within_a_second() -> None:
    lines = OperationLines(Written(), "text")
    before = datetime.now(UTC)
    told = [lines.now() for _ in range(100)]
    after = datetime.now(UTC)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", each) for each in told)
    read = [datetime.fromisoformat(each) for each in told]
    assert read == sorted(read)
    assert before <= read[0] <= read[-1] <= after


@pytest.mark.parametrize(
    ("form", "terminal", "looks"),
    [
        ("text", False, "text"),
        ("text", True, "coloured"),
        ("json", False, "json"),
        ("json", True, "json"),
    ],
)
def test_only_text_on_a_terminal_is_coloured(form: str, terminal: bool, looks: str) -> None:
    lines = OperationLines(Written(terminal), "json" if form == "json" else "text")
    assert lines.form == looks
