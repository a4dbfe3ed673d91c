"""Spans of time as the command line takes them."""

import re
from datetime import timedelta

from penstock.server.outcome import CommandFailed, ExitCode

LONGEST = timedelta(days=366)

_SPAN = re.compile(r"([1-9]\d{0,8})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def span(option: str, text: str) -> timedelta:
    """Read what an option was given, like `12h`, at most `366d`; CommandFailed for other texts."""
    found = _SPAN.fullmatch(text)
    if found and (time := timedelta(**{_UNITS[found[2]]: int(found[1])})) <= LONGEST:
        return time
    words = f"--{option} {text}: must be like 12h, from 1s to 366d."
    raise CommandFailed(words, code=ExitCode.USAGE)
