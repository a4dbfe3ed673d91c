"""Log lines: one for each event, in the chosen form."""

import json
import logging
import re
import sys
from collections.abc import Iterator
from typing import Final

import pytest
import structlog

from penstock.server.telemetry.logs import EventLog, configure_logging

CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e]")


@pytest.fixture(autouse=True)
def restore_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


def test_json_lines_hold_the_event_its_level_and_its_facts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logging("json")
    logging.getLogger("penstock.test").warning("slow", extra={"request_id": "abc"})
    line = json.loads(capsys.readouterr().err)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "slow",
        "level": "warning",
        "logger": "penstock.test",
        "request_id": "abc",
    }


def test_a_failure_is_one_json_line_with_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("json")
    try:
        raise RuntimeError("broken")
    except RuntimeError as error:
        logging.getLogger("penstock.test").error("failed", exc_info=error)
    (line,) = capsys.readouterr().err.splitlines()
    assert "RuntimeError: broken" in json.loads(line)["exception"]


def test_a_traceback_shows_no_variables(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("text")

    secret = "-".join(("of", "the", "caller"))

    def failing(token: str) -> None:
        raise RuntimeError("broken")

    try:
        failing(secret)
    except RuntimeError as error:
        logging.getLogger("penstock.test").error("failed", exc_info=error)
    shown = capsys.readouterr().err
    assert "RuntimeError: broken" in shown
    assert "in failing" in shown
    assert secret not in shown


ODD: Final = "a\x1b[2J\x9b2J\r\x85b\nforged\u2028line\u202e"
ESCAPED: Final = r"a\x1b[2J\x9b2J\r\x85b\nforged\u2028line\u202e"


@pytest.mark.parametrize("is_terminal", [False, True])
def test_no_text_in_a_line_commands_the_terminal_or_begins_another_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    configure_logging("text")
    logging.getLogger("penstock.test").warning("the name %s", ODD, extra={"path": ODD})
    EventLog("text").write("operation", {"path": ODD, "worker": "a\x1bb"})
    shown = capsys.readouterr().err
    assert len(shown.splitlines()) == 2
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert f"the name {ESCAPED}" in plain
    assert plain.count(ESCAPED) == 3
    assert CONTROLS.findall(plain) == []
    assert plain.count(r"a\x1bb") == 1


def test_no_text_in_a_traceback_commands_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("text")
    try:
        raise RuntimeError(ODD)
    except RuntimeError as error:
        logging.getLogger("penstock.test").error("failed", exc_info=error)
    shown = capsys.readouterr().err
    assert "RuntimeError: a?[2J?2J??b" in shown
    assert CONTROLS.findall(shown) == []


def test_text_lines_are_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("text")
    structlog.get_logger("penstock.test").info("started", port=8000)
    shown = capsys.readouterr().err
    assert "[info" in shown
    assert "started" in shown
    assert "port=8000" in shown


def test_libraries_stay_quiet_below_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("json")
    logging.getLogger("botocore").info("a request")
    logging.getLogger("httpx").info("another")
    assert capsys.readouterr().err == ""
