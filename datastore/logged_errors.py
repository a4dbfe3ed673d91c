"""Words for errors in logs, without the values that some of them quote."""

from collections.abc import Iterator
from textwrap import indent
from traceback import format_tb
from typing import Final

import msgspec

from penstock.datastore.unreadable_json import place_of_value

_QUOTING: Final = (ArithmeticError, LookupError, ValueError, msgspec.MsgspecError)
"""Errors of Python and of libraries whose messages quote what was read, such as a stored value."""

_QUOTING_PACKAGES: Final = frozenset({"_duckdb", "duckdb", "pyarrow"})
_OWN_PACKAGE: Final = "penstock"
_MOST_CAUSES: Final = 20


def describe_error(error: BaseException) -> str:
    """Return the name of the error, with its message where that quotes no value.

    An error of msgspec has the place of the value.
    """
    name = type(error).__name__
    if not _quotes_values(error):
        return f"{name}: {error}"
    place = place_of_value(error) if isinstance(error, msgspec.ValidationError) else None
    return f"{name} at {place}" if place else name


def _quotes_values(error: BaseException) -> bool:
    package = type(error).__module__.partition(".")[0]
    return package in _QUOTING_PACKAGES or (isinstance(error, _QUOTING) and package != _OWN_PACKAGE)


def format_traceback(error: BaseException) -> str:
    """Return the tracebacks of the error and of what caused it, the first cause first.

    They have no variables, and errors are named as `describe_error` names them.
    """
    chain = [error]
    while len(chain) < _MOST_CAUSES and (cause := _cause_of(chain[-1])) is not None:
        if cause in chain:
            break
        chain.append(cause)
    return "\n".join("".join(_lines_of(one)) for one in reversed(chain))


def _cause_of(error: BaseException) -> BaseException | None:
    if error.__cause__ is not None or error.__suppress_context__:
        return error.__cause__
    return error.__context__


def _lines_of(error: BaseException) -> Iterator[str]:
    if error.__traceback__ is not None:
        yield "Traceback (most recent call last):\n"
        yield from format_tb(error.__traceback__)
    yield f"{describe_error(error)}\n"
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions[:_MOST_CAUSES]:
            yield indent(format_traceback(part), "  ")
