"""Log lines: one for each event, in the chosen form."""

import json
import logging
import re
import sys
import threading
import warnings
from collections.abc import Iterator
from io import StringIO
from typing import Final, Literal

import pytest
import requests
import structlog
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

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


SECRET: Final = "s3cr3tVALUE"
FORMS: Final = ["text", "json"]
LIBRARIES: Final = (
    "aiobotocore.httpsession",
    "aiohttp.client",
    "asyncio",
    "botocore.hooks",
    "distributed.core",
    "httpx",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "requests",
    "root",
    "urllib3.connectionpool",
)
HIDING: Final = "the library reports something; its words may hold secrets ("


def log_secrets(logger: logging.Logger) -> None:
    """Log a secret in each way in which libraries log."""
    logger.warning(f"Header {SECRET} is malformed")
    logger.warning("Header " + SECRET)
    logger.warning("Header %s is malformed, %d of %s", SECRET, 3, "spans")
    logger.warning("Header %(name)s of %(count)d", {"name": SECRET, "count": 2})
    logger.warning("%d headers", SECRET)
    logger.warning("Failed: %s", requests.ConnectionError(SECRET))
    logger.warning(ValueError(SECRET))
    logger.warning("Header", extra={"header": SECRET, "request_id": SECRET})
    try:
        raise requests.ConnectionError(SECRET)
    except requests.ConnectionError:
        logger.exception("Retrying (%r) in %.2fs", SECRET, 1.5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_record_of_a_library_has_no_value(
    capsys: pytest.CaptureFixture[str], form: Literal["text", "json"], name: str
) -> None:
    configure_logging(form)
    logger = logging.getLogger(name)
    level, logger.disabled = logger.level, False
    logger.setLevel(logging.WARNING)
    log_secrets(logger)
    logger.setLevel(level)
    shown = capsys.readouterr().err
    assert SECRET not in shown
    assert shown.count(HIDING) == 4
    assert "Header (hidden) is malformed, 3 of spans" in shown
    assert "Header (hidden) of 2" in shown
    assert "Failed: ConnectionError" in shown
    assert f"{HIDING}ValueError, test_logs.py, line " in shown
    assert "Retrying ('(hidden)') in 1.50s" in shown
    assert "in log_secrets" in shown
    assert shown.count(name) >= 9
    if form == "json":
        lines = [json.loads(line) for line in shown.splitlines()]
        assert [line["level"] for line in lines] == ["warning"] * 8 + ["error"]
        assert lines[-1]["exception"].endswith("\nConnectionError")
        assert "request_id" not in lines[7]


def test_a_handler_of_a_library_gets_no_value_either() -> None:
    configure_logging("text")
    logger, stream = logging.getLogger("distributed.handled"), StringIO()
    handler = logging.StreamHandler(stream)
    logger.propagate = False
    logger.addHandler(handler)
    log_secrets(logger)
    logger.removeHandler(handler)
    assert SECRET not in stream.getvalue()
    assert stream.getvalue().endswith("\nConnectionError\n")


@pytest.mark.parametrize("form", FORMS)
def test_what_opentelemetry_says_of_a_failed_export_has_no_header_and_no_query(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    form: Literal["text", "json"],
) -> None:
    configure_logging(form)
    endpoint = f"http://127.0.0.1:9/?key={SECRET}"
    span = TracerProvider(shutdown_on_exit=False).get_tracer("a").start_span("a")
    assert isinstance(span, ReadableSpan)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"authorization: Bearer {SECRET}")
    odd = {"authorization": f"Bearer {SECRET}\u2028"}
    for headers in (None, odd):
        exporter = OTLPSpanExporter(endpoint=endpoint, headers=headers)
        # It gives up at its first pause.
        monkeypatch.setattr(exporter._client._shutdown_event, "wait", lambda _seconds: True)
        exporter.export([span])
    shown = capsys.readouterr().err
    assert "Header format invalid!" in shown
    assert "Transient error ConnectionError: Connection refused encountered" in shown
    assert "Failed to export spans batch code: None, reason: UnicodeEncodeError" in shown
    assert "opentelemetry.exporter" in shown
    assert SECRET not in shown


@pytest.mark.parametrize("form", FORMS)
def test_a_warning_of_python_is_named_without_its_words(
    capsys: pytest.CaptureFixture[str], form: Literal["text", "json"]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        configure_logging(form)
        warnings.warn(f"a request to {SECRET}", RuntimeWarning, stacklevel=1)
    shown = capsys.readouterr().err
    assert "a warning of Python: RuntimeWarning (" in shown
    assert "test_logs.py" in shown
    assert SECRET not in shown


@pytest.mark.parametrize("form", FORMS)
def test_the_failure_of_a_thread_is_logged_without_values(
    capsys: pytest.CaptureFixture[str], form: Literal["text", "json"]
) -> None:
    configure_logging(form)
    thread = threading.Thread(target=int, args=(SECRET,))
    thread.start()
    thread.join()
    shown = capsys.readouterr().err
    assert "unhandled exception in a thread" in shown
    assert "ValueError" in shown
    assert SECRET not in shown


def test_records_of_penstock_and_of_uvicorn_keep_their_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logging("json")
    logging.getLogger("penstock.a").warning("the table %s", "T", extra={"job": "J"})
    logging.getLogger("uvicorn.error").error("on %s", "http://a")
    own, uvicorn = map(json.loads, capsys.readouterr().err.splitlines())
    assert (own["event"], own["job"]) == ("the table T", "J")
    assert uvicorn["event"] == "on http://a"


def test_a_state_of_http_in_a_record_of_a_library_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logging("json")
    logging.getLogger("opentelemetry.a").error(
        "Failed to export %s batch code: %s, reason: %s", "spans", 502, "Bad Gateway"
    )
    told = json.loads(capsys.readouterr().err)
    assert told["event"] == "Failed to export spans batch code: 502, reason: Bad Gateway"
