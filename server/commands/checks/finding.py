"""The finding of a check, with advice."""

from collections.abc import AsyncIterator
from enum import StrEnum
from typing import NamedTuple, TypeAlias


class Level(StrEnum):
    """The severity of a finding: FAIL stops the server from working, WARN a part of it."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(NamedTuple):
    """One line of the report; `advice` says what to do about a problem."""

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
