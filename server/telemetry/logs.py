"""Log lines, for people or as JSON; they never hold a document, a value or a token."""

import asyncio
import logging
import re
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from typing import Final, Literal, TextIO, TypeAlias

import orjson
import structlog
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

from penstock.datastore.logged_errors import format_traceback
from penstock.server.core.command_output import CONTROLS, shown_on_terminal
from penstock.server.core.library_records import hide_words_of_libraries, is_of_library

OPERATIONS: Final = "penstock.operations"
"""The name of the logger of operations."""

_CONTROLS: Final = re.compile(rf"[\n{CONTROLS}]")
"""Characters by which a text could command a terminal, or begin another line."""

_NEEDS_QUOTES: Final = re.compile(rf"""[\s="']|{_CONTROLS.pattern}""")
"""Texts with one of these characters are quoted."""

# uvicorn's own lines hold the whole URL of a WebSocket, in which some clients send their token.
_QUIET = (
    "aiobotocore",
    "aiohttp",
    "asyncio",
    "botocore",
    "httpx",
    "uvicorn.access",
    "uvicorn.error",
)

_extra_facts: Final = structlog.stdlib.ExtraAdder()

_FAULTS_OF_CLIENTS: Final = frozenset(
    {
        "Invalid UTF-8 sequence received from client.",
        "ASGI callable returned without completing handshake.",
    }
)
"""uvicorn's errors for what any client can do to its own WebSocket: nobody has to act on them."""


def configure_logging(form: Literal["text", "json"]) -> None:
    """Send the logs of Penstock and its libraries to standard error, in one form."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        _add_facts,
        _drop_coloured_text,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_final_processors(form),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    hide_words_of_libraries()
    _log_what_python_prints()
    root.setLevel(logging.INFO)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").addFilter(_is_fault_of_server)
    # A client's malformed form belongs in the access log, and is not a problem of the server.
    logging.getLogger("python_multipart").setLevel(logging.ERROR)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def _is_fault_of_server(record: logging.LogRecord) -> bool:
    return record.msg not in _FAULTS_OF_CLIENTS


def _add_facts(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Add the facts that a record has beside its words, but those of libraries."""
    record = event.get("_record")
    return event if record and is_of_library(record.name) else _extra_facts(logger, method, event)


def _drop_coloured_text(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Drop uvicorn's second text of an event, which has codes of colours."""
    event.pop("color_message", None)
    return event


def _escape_controls(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Escape what is no plain text, in the words of an event and in its facts."""
    return {name: _escape(fact) if isinstance(fact, str) else fact for name, fact in event.items()}


def _escape(text: str) -> str:
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def _write_traceback(stream: TextIO, error: ExcInfo) -> None:
    """Write a traceback without variables and values, which may be secret, and without controls."""
    stream.write(shown_on_terminal(f"\n{_format_traceback(error)}"))


def _format_traceback(exc_info: ExcInfo) -> str:
    _, raised, _ = exc_info
    return format_traceback(raised).rstrip("\n")


def _log_what_python_prints() -> None:
    """Log exceptions that nobody handles, which Python would print with all their words."""
    logger = logging.getLogger("penstock")
    sys.excepthook = lambda kind, error, trace: (
        logger.info("interrupted")
        if issubclass(kind, KeyboardInterrupt)
        else logger.critical("unhandled exception", exc_info=(kind, error, trace))
    )
    threading.excepthook = lambda failed: logger.critical(
        "unhandled exception in a thread", exc_info=failed.exc_value
    )
    sys.unraisablehook = lambda failed: logger.error(
        "exception that cannot be raised", exc_info=failed.exc_value
    )


def log_failure(words: str, exit_code: int, error: Exception | None = None) -> None:
    """Log the failure of a command as JSON; `error` is given if its traceback is wanted."""
    facts = {"exitCode": exit_code}
    logging.getLogger("penstock").error(words, extra=facts, exc_info=error)


_Renderer: TypeAlias = Callable[[str, Mapping[str, object], str], bytes]
"""Makes a line of the name of an event, its facts and the time."""


class EventLog:
    """Writes the events of operations to standard error, one line each.

    It bypasses the handlers of `logging` and structlog's processors, which take several times as
    long for a line. The lines of one turn of the event loop have one time, and are written together
    at its end. Text is coloured on a terminal. Lines that cannot be written, as on a broken pipe,
    fail nothing.
    """

    def __init__(self, form: Literal["text", "json"]) -> None:
        self._write = structlog.BytesLogger(sys.stderr.buffer, name=OPERATIONS).msg
        self._render = _choose_renderer(form)
        self._events: list[tuple[str, Mapping[str, object]]] = []

    def write(self, event: str, facts: Mapping[str, object]) -> None:
        """Write a line; text has the facts in the order in which they are given."""
        self._events.append((event, facts))
        if len(self._events) == 1:
            _run_at_end_of_turn(self._write_events)

    def _write_events(self) -> None:
        events, self._events = self._events, []
        now = _timestamp()
        lines = b"\n".join([self._render(event, facts, now) for event, facts in events])
        with suppress(OSError):
            self._write(lines)


def _run_at_end_of_turn(work: Callable[[], None]) -> None:
    """Call `work` behind what the event loop runs now; at once where none runs."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        work()
    else:
        loop.call_soon(work)


def _choose_renderer(form: Literal["text", "json"]) -> _Renderer:
    if form == "json":
        return _render_json
    return _coloured_renderer() if sys.stderr.isatty() else _render_text


def _timestamp() -> str:
    return f"{datetime.now(UTC).replace(tzinfo=None).isoformat()}Z"


def _render_json(event: str, facts: Mapping[str, object], now: str) -> bytes:
    return orjson.dumps(_with_head(event, facts, now))


def _with_head(event: str, facts: Mapping[str, object], now: str) -> EventDict:
    """The facts behind those that structlog's processors would add."""
    head = {"event": event, "level": "info", "timestamp": now, "logger": OPERATIONS}
    return {**head, **facts}


def _render_text(event: str, facts: Mapping[str, object], now: str) -> bytes:
    """Render a line like structlog's renderer without colours."""
    values = [_quote(value) if type(value) is str else value for value in facts.values()]
    told = _text_form(tuple(facts)) % tuple(values)
    return f"{now} [info     ] {event:<30} [{OPERATIONS}] {told}".encode()


@cache
def _text_form(names: tuple[str, ...]) -> str:
    """The form of a line's facts, of which there are few: each event has the same names."""
    return " ".join(f"{name}=%s" for name in names)


def _coloured_renderer() -> _Renderer:
    """Make a function that renders lines with structlog's renderer."""
    console = structlog.dev.ConsoleRenderer(colors=True)

    def render(event: str, facts: Mapping[str, object], now: str) -> bytes:
        escaped = _escape_controls(None, "info", _with_head(event, facts, now))
        return console(None, "info", escaped).encode()

    return render


def _quote(text: str) -> str:
    return text if text.isalnum() or not _NEEDS_QUOTES.search(text) else repr(text)


def _final_processors(form: Literal["text", "json"]) -> list[Processor]:
    if form == "text":
        colors = sys.stderr.isatty()
        console = structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=_write_traceback)
        return [_escape_controls, console]
    return [
        structlog.processors.ExceptionRenderer(_format_traceback),
        structlog.processors.JSONRenderer(serializer=_dumps),
    ]


def _dumps(event: EventDict, **_options: object) -> str:
    return orjson.dumps(event, default=repr).decode()
