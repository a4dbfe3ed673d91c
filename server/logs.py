"""One line of log for each event, for people or as JSON; never a document, a value or a token."""

import logging
import sys
from typing import Literal

import orjson
import structlog
from structlog.typing import EventDict, Processor

from server.operation_lines import OperationLines

_QUIET = ("aiobotocore", "aiohttp", "asyncio", "botocore", "httpx", "uvicorn.access")


def configure(form: Literal["text", "json"]) -> None:
    """Send what Penstock and its libraries log to standard error, in one form."""
    _operations[:] = [OperationLines(sys.stderr, form)]
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_last(form)],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    # A malformed form of a stranger is a line of the access log, and no trouble of the server's.
    logging.getLogger("python_multipart").setLevel(logging.ERROR)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


_operations: list[OperationLines] = []


def operation_lines() -> OperationLines:
    """Where operations are logged, in the form that was chosen."""
    if not _operations:
        _operations.append(OperationLines(sys.stderr, "text"))
    return _operations[0]


def _last(form: Literal["text", "json"]) -> list[Processor]:
    if form == "text":
        # The usual formatter shows what local variables hold, tokens among them.
        plain = structlog.dev.plain_traceback
        colors = sys.stderr.isatty()
        return [structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain)]
    return [
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(serializer=_dumps),
    ]


def _dumps(event: EventDict, **_options: object) -> str:
    return orjson.dumps(event, default=repr).decode()
