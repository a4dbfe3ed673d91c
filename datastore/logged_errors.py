"""Words for errors in logs, without the values that some of them quote."""

import os
import sys
from collections.abc import Callable, Iterator
from textwrap import indent
from traceback import format_tb
from typing import Any, Final

import msgspec

from penstock.datastore.unreadable_json import place_of_value

_QUOTING: Final = (ArithmeticError, LookupError, ValueError)
"""Errors of Python whose messages quote what was read, such as a stored value."""

_QUOTING_PACKAGES: Final = frozenset(("http", "subprocess", "urllib"))
"""Packages of Python whose errors quote URLs, headers or commands."""

_OWN_PACKAGE: Final = "penstock"
_MOST_CAUSES: Final = 20

_HIDDEN: Final = "(hidden)"
_SHOWN_FACTS: Final = frozenset(("cred_var", "operation_name", "provider", "region_name"))
"""What botocore's errors may say: names of variables, operations, sources and regions."""


def describe_error(error: BaseException) -> str:
    """Return the name of the error, with its message where that quotes no value.

    A library may quote what it was given, such as a URL with a secret or a header, so its error has
    what the operating system said, if that is the reason, in place of a message. An error of
    msgspec has the place of the value.
    """
    name = type(error).__name__
    if not _quotes_values(error):
        return f"{name}: {error}"
    if isinstance(error, msgspec.ValidationError) and (place := place_of_value(error)):
        return f"{name} at {place}"
    words = (_words_of_aws(error), reason_of_system(error))
    return ": ".join((name, *filter(None, words)))


def reason_of_system(error: BaseException) -> str | None:
    """Return what the operating system or OpenSSL said, if an error of a library comes of that."""
    if _package_of(error) in sys.stdlib_module_names and not isinstance(error, OSError):
        return None
    # Libraries hide what they handle, by `from None`.
    for cause in _chain_of(error, lambda one: one.__cause__ or one.__context__):
        for one in cause.exceptions if isinstance(cause, BaseExceptionGroup) else (cause,):
            if words := _words_of_system(one):
                return words
    return None


def _words_of_system(error: BaseException) -> str | None:
    if not isinstance(error, OSError) or not isinstance(error.errno, int):
        return None
    match _package_of(error):
        case "builtins":
            return os.strerror(error.errno)
        case "socket" | "ssl":
            # Their numbers are not those of the operating system.
            return error.strerror
        case _:
            return None


def _words_of_aws(error: BaseException) -> str | None:
    """Return what an error of botocore says, without what it quotes."""
    if _package_of(error) != "botocore":
        return None
    match vars(error):
        case {"operation_name": str(operation), "response": {"Error": {"Code": str(code)}}}:
            return f"{code} of {operation}"
        case {"kwargs": dict(facts)}:
            return _fill_form(type(error), facts)
        case _:
            return None


def _fill_form(kind: Any, facts: dict[str, object]) -> str:
    shown = {
        name: fact if name in _SHOWN_FACTS else hide_fact(fact) for name, fact in facts.items()
    }
    return str(kind.fmt).format(**shown)


def hide_fact(fact: object) -> str:
    """Return what may be told of a fact of a library: of an error its name."""
    return describe_error(fact) if isinstance(fact, BaseException) else _HIDDEN


def _quotes_values(error: BaseException) -> bool:
    package = _package_of(error)
    if package == _OWN_PACKAGE:
        return False
    return (
        isinstance(error, _QUOTING)
        or package in _QUOTING_PACKAGES
        or package not in sys.stdlib_module_names
    )


def _package_of(error: BaseException) -> str:
    return type(error).__module__.partition(".")[0]


def format_traceback(error: BaseException) -> str:
    """Return the tracebacks of the error and of what caused it, the first cause first.

    They have no variables, and errors are named as `describe_error` names them.
    """
    chain = reversed(_chain_of(error, _shown_cause))
    return "\n".join("".join(_lines_of(one)) for one in chain)


def _chain_of(
    error: BaseException, cause_of: Callable[[BaseException], BaseException | None]
) -> list[BaseException]:
    chain = [error]
    while len(chain) < _MOST_CAUSES and (cause := cause_of(chain[-1])) is not None:
        if any(cause is one for one in chain):
            break
        chain.append(cause)
    return chain


def _shown_cause(error: BaseException) -> BaseException | None:
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
