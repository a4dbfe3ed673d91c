"""Log lines, for people or as JSON; they never hold a document, a value or a token."""

import logging
import re
import sys
import threading
from typing import Final, Literal

import orjson
import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

OPERATIONS: Final = "penstock.operations"
"""The name of the logger of operations."""

_NEEDS_QUOTES: Final = re.compile(r"""[\s="']""")
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
        structlog.stdlib.ExtraAdder(),
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
    if form == "json":
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


def _drop_coloured_text(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Drop uvicorn's second text of an event, which has codes of colours."""
    event.pop("color_message", None)
    return event


def _log_what_python_prints() -> None:
    """Log warnings and exceptions that nobody handles, which Python would print as text."""
    logging.captureWarnings(True)
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


def operation_logger(form: Literal["text", "json"]) -> FilteringBoundLogger:
    """Return the logger of operations, which bypasses the handlers of `logging`.

    Those handlers are too slow for a line per request. Text is coloured on a terminal.
    """
    logger: FilteringBoundLogger = structlog.wrap_logger(
        structlog.BytesLogger(sys.stderr.buffer, name=OPERATIONS),
        [
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.stdlib.add_logger_name,
            *_operation_renderers(form),
        ],
        structlog.make_filtering_bound_logger(logging.INFO),
        event="operation",
        level="info",
    )
    # Bound once: structlog's lazy proxy would assemble the logger again for each line.
    return logger.bind()


def _operation_renderers(form: Literal["text", "json"]) -> list[Processor]:
    if form == "json":
        return [structlog.processors.JSONRenderer(serializer=orjson.dumps)]
    if sys.stderr.isatty():
        return [structlog.dev.ConsoleRenderer(colors=True), _encode]
    return [_plain_text, _encode]


def _plain_text(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    """Render a line like structlog's renderer without colours, in a fifth of its time."""
    head = f"{event.pop('timestamp')} [{event.pop('level'):<9}] {event.pop('event'):<30}"
    name = event.pop("logger")
    facts = " ".join([f"{fact}={_quote(value)}" for fact, value in sorted(event.items())])
    return f"{head} [{name}] {facts}"


def _quote(value: object) -> object:
    if not isinstance(value, str) or value.isalnum() or not _NEEDS_QUOTES.search(value):
        return value
    return repr(value)


def _encode(_logger: WrappedLogger, _method: str, line: EventDict | str) -> bytes:
    return str(line).encode()


def _final_processors(form: Literal["text", "json"]) -> list[Processor]:
    if form == "text":
        # The default formatter shows local variables, which may hold tokens.
        plain = structlog.dev.plain_traceback
        colors = sys.stderr.isatty()
        return [structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain)]
    return [
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(serializer=_dumps),
    ]


def _dumps(event: EventDict, **_options: object) -> str:
    return orjson.dumps(event, default=repr).decode()
