"""The finding of a check, with advice."""

from collections.abc import AsyncIterator
from enum import StrEnum
from typing import NamedTuple, TypeAlias


class Severity(StrEnum):
    """The severity of a finding: FAIL stops the server from working, WARN a part of it."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(NamedTuple):
    """One line of the report; `advice` says what to do about a problem."""

    check: str
    level: Severity
    message: str
    advice: str | None = None


Findings: TypeAlias = AsyncIterator[Finding]


def ok(check: str, message: str) -> Finding:
    return Finding(check, Severity.OK, message)


def warn(check: str, message: str, advice: str) -> Finding:
    return Finding(check, Severity.WARN, message, advice)


def fail(check: str, message: str, advice: str) -> Finding:
    return Finding(check, Severity.FAIL, message, advice)
