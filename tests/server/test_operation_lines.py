"""Lines of operations: few writes for many of them, each with the time it was logged."""

import asyncio
import re
from datetime import UTC, datetime, timedelta

import pytest

from server import operation_lines
from server.operation_lines import OperationLines
from tests.server.written import Written

UNTIMED = "{1}".format


async def test_what_is_logged_in_one_round_of_the_loop_is_written_at_once() -> None:
    stream = Written()
    lines = OperationLines(stream, "json")
    for number in range(5):
        lines.log(UNTIMED, f"{number}\n")
    assert stream.writes == 0
    await asyncio.sleep(0)
    assert stream.writes == 1
    assert stream.getvalue() == "0\n1\n2\n3\n4\n"
    lines.log(UNTIMED, "5\n")
    await asyncio.sleep(0)
    assert stream.writes == 2


async def test_lines_that_are_written_together_keep_the_times_at_which_they_were_logged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter([1_000, 2_000])
    monkeypatch.setattr(operation_lines, "time_ns", lambda: next(clock))
    stream = Written()
    lines = OperationLines(stream, "text")
    lines.log("{} {}\n".format, "one")
    lines.log("{} {}\n".format, "two")
    await asyncio.sleep(0)
    assert stream.getvalue() == (
        "1970-01-01T00:00:00.000001Z one\n1970-01-01T00:00:00.000002Z two\n"
    )


def test_outside_of_an_event_loop_a_line_is_written_at_once() -> None:
    stream = Written()
    OperationLines(stream, "text").log(UNTIMED, "one\n")
    assert (stream.writes, stream.getvalue()) == (1, "one\n")


def told(lines: OperationLines, stream: Written) -> str:
    """The time that the next line is given."""
    before = len(stream.getvalue())
    lines.log("{} {}\n".format, "here")
    time, _, rest = stream.getvalue()[before:].partition(" ")
    assert rest == "here\n"
    return time


@pytest.mark.parametrize(
    ("nanoseconds", "time"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (999, "1970-01-01T00:00:00.000000Z"),
        (1_000, "1970-01-01T00:00:00.000001Z"),
        (1_753_660_799_999_999_999, "2025-07-27T23:59:59.999999Z"),
        (1_753_660_800_000_000_000, "2025-07-28T00:00:00.000000Z"),
    ],
)
def test_the_time_is_told_to_the_microsecond(
    nanoseconds: int, time: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operation_lines, "time_ns", lambda: nanoseconds)
    stream = Written()
    assert told(OperationLines(stream, "text"), stream) == time


def test_the_time_goes_on_within_a_second_and_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    microseconds = [0, 1, 999_999, 1_000_000, 1_500_000, 3_000_001, 2_999_999]
    clock = iter(microseconds)
    monkeypatch.setattr(operation_lines, "time_ns", lambda: next(clock) * 1_000)
    stream = Written()
    lines = OperationLines(stream, "text")
    start = datetime(1970, 1, 1, tzinfo=UTC)
    assert [datetime.fromisoformat(told(lines, stream)) for _ in microseconds] == [
        start + timedelta(microseconds=each) for each in microseconds
    ]


def test_a_line_has_the_time_at_which_it_was_logged() -> None:
    stream = Written()
    before = datetime.now(UTC)
    time = told(OperationLines(stream, "text"), stream)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", time)
    assert before <= datetime.fromisoformat(time) <= datetime.now(UTC)


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
