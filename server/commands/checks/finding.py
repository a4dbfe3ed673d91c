"""What a check found, and what to do about it."""

from collections.abc import AsyncIterator
from enum import StrEnum
from typing import NamedTuple, TypeAlias


class Level(StrEnum):
    """How bad it is: with FAIL the server does not work, with WARN a part of it may not."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(NamedTuple):
    """One line of the report; `advice` says what to do unless all is well."""

    check: str
    level: Level
    message: str
    advice: str | None = None


Findings: TypeAlias = AsyncIterator[Finding]


def ok(check: str, message: str) -> Finding:
    return Finding(check, Level.OK, message)


def warn(check: str, message: str, advice: str) -> Finding:
    return Finding(check, Level.WARN, message, advice)


def fail(check: str, message: str, advice: str) -> Finding:
    return Finding(check, Level.FAIL, message, advice)
