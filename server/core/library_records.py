"""Records of libraries for the log, without what they quote.

A library may log a header that it cannot send, or a URL with its query. Of its words those are kept
that stand in its source, and of what it puts into them numbers and names of errors.
"""

import logging
import sys
import warnings
from contextlib import suppress
from functools import cache
from types import FrameType, TracebackType
from typing import Any, Final, TextIO, TypeAlias

_KNOWN: Final = ("penstock", "uvicorn")
"""The first parts of the names of loggers whose words are known."""

_HIDDEN: Final = "(hidden)"

_SIGNALS: Final = frozenset(("logs", "metrics", "spans"))
"""What OpenTelemetry exports."""

_FIRST_LINES: Final = frozenset(
    (
        "Future exception was never retrieved",
        "Task exception was never retrieved",
        "Task was destroyed but it is pending!",
        "Unclosed client session",
        "Unclosed connection",
        "Unclosed connector",
    )
)
"""What asyncio says of what was forgotten; the next lines quote it."""

_Raised: TypeAlias = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None] | None
)


def hide_words_of_libraries() -> None:
    """Make the records of libraries, and warnings of Python, without what they quote.

    That holds for all handlers of this process, also those of libraries.
    """
    logging.setLogRecordFactory(make_record)
    warnings.showwarning = _log_warning


def is_of_library(logger: str | None) -> bool:
    """Tell whether a library has the logger of that name."""
    return logger is not None and logger.partition(".")[0] not in _KNOWN


def make_record(  # noqa: PLR0913, PLR0917 - the parameters of a factory of records
    name: str | None,
    level: int,
    path: str,
    line: int,
    words: object,
    facts: Any,
    raised: _Raised,
    function: str | None = None,
    stack: str | None = None,
    **more: Any,
) -> logging.LogRecord:
    """Make a record; `name` is None for a copy, which gets all from its original."""
    record = logging.LogRecord(
        name or "", level, path, line, words, facts, raised, function, stack, **more
    )
    if is_of_library(name):
        # The record has its facts in the form that they are formatted in.
        record.msg, record.args = _known_words(record), ()
        if raised and raised[1] is not None:
            # A handler of the library's own would format it with all its words.
            record.exc_text = _format_traceback(raised[1])
    return record


def _known_words(record: logging.LogRecord) -> str:
    if isinstance(record.msg, str):
        if _stands_in_source(record.msg, record):
            # A hidden fact is a text, which has no place where a number belongs.
            with suppress(TypeError, ValueError, KeyError):
                return _fill_words(record.msg, record.args)
        first, *_ = record.msg.splitlines() or [""]
        if first in _FIRST_LINES:
            return first
    told = f"{_show_fact(record.msg)}, " if isinstance(record.msg, BaseException) else ""
    place = f"{told}{record.filename}, line {record.lineno}"
    return f"the library reports something; its words may hold secrets ({place})"


def _stands_in_source(words: str, record: logging.LogRecord) -> bool:
    """Tell whether the code that logs has the words as they are, so that they hold no value."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - as `logging` finds the caller
    while frame is not None:
        code = frame.f_code
        place = (code.co_filename, code.co_name, frame.f_lineno)
        if place == (record.pathname, record.funcName, record.lineno):
            return words in code.co_consts or _is_constant(words, frame.f_globals)
        frame = frame.f_back
    return False


def _is_constant(words: str, names: dict[str, Any]) -> bool:
    return any(value is words and name.isupper() for name, value in names.items())


def _fill_words(words: str, facts: Any) -> str:
    if not facts:
        return words
    if isinstance(facts, dict):
        return words % {name: _show_fact(fact) for name, fact in facts.items()}
    return words % tuple(map(_show_fact, facts))


def _show_fact(fact: object) -> object:
    if fact is None or isinstance(fact, int | float):
        return fact
    if isinstance(fact, BaseException):
        # Few processes log anything of a library, and loading it takes a while.
        from penstock.datastore.logged_errors import describe_error  # noqa: PLC0415

        return describe_error(fact)
    return fact if isinstance(fact, str) and fact in _plain_facts() else _HIDDEN


@cache
def _plain_facts() -> frozenset[str]:
    """Return what OpenTelemetry exports, and what states of HTTP are called, as "Bad Gateway"."""
    from http import HTTPStatus  # noqa: PLC0415 - as above

    return _SIGNALS | {status.phrase for status in HTTPStatus}


def _format_traceback(error: BaseException) -> str:
    from penstock.datastore.logged_errors import format_traceback  # noqa: PLC0415 - as above

    return format_traceback(error).rstrip("\n")


def _log_warning(  # noqa: PLR0913, PLR0917 - the parameters of `warnings.showwarning`
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Log what kind of warning came, and from where."""
    words = "a warning of Python: %s (%s, line %d)"
    logging.getLogger("penstock").warning(words, category.__name__, filename, lineno)
