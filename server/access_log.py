"""One line of log for each operation: what it was and how it went, and nothing that was sent.

Lines look as structlog's, which takes longer for one than a small operation takes as a whole.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Final

import orjson
import structlog

from server.observing import OperationEnded, Seen
from server.operation_lines import Form, OperationLines

LOGGER: Final = "penstock.operations"
_ODD: Final = re.compile(r"""[\s="']""")
"""What a text has to be quoted for."""

_EVENT: Final = "operation"
_HEAD: Final = f"[info     ] {_EVENT:<30} [{LOGGER}]"
_HUNDREDTHS: Final = 100_000
"""Of a millisecond, in a second."""

_FRACTIONS: Final = tuple(str(hundredths / 100)[1:] for hundredths in range(100))
"""The hundredths behind a whole number, as Python shows them."""


class AccessLog:
    """Logs operations among the other lines of their kind."""

    def __init__(self, lines: OperationLines) -> None:
        self._ended = partial(lines.log, _LINES[lines.form])

    def operation(self, _seen: Seen) -> OperationEnded:
        """Log the operation when it has ended."""
        return self._ended


def _facts_of(now: str, seen: Seen) -> dict[str, object]:
    units = seen.units
    return {
        "event": _EVENT,
        "level": "info",
        "request_id": seen.request_id,
        "transport": seen.transport,
        "type": seen.kind,
        "operation": seen.name,
        "document": seen.digest,
        "status": seen.status,
        "outcome": seen.outcome,
        "codes": seen.codes,
        "milliseconds": round(seen.seconds * _HUNDREDTHS) / 100,
        "cost": seen.cost,
        "rcu": units.rcu if units else 0.0,
        "wcu": units.wcu if units else 0.0,
        "calls": units.calls if units else 0,
        **({} if seen.trace_id is None else {"trace_id": seen.trace_id}),
        "timestamp": now,
        "logger": LOGGER,
    }


def _json(now: str, seen: Seen) -> str:
    return orjson.dumps(_facts_of(now, seen), option=orjson.OPT_APPEND_NEWLINE).decode()


def _text(now: str, seen: Seen) -> str:
    """Write the facts in the order of their names; of these, only an id can be odd."""
    id, units, time = seen.request_id, seen.units, round(seen.seconds * _HUNDREDTHS)
    rcu, wcu, calls = (units.rcu, units.wcu, units.calls) if units else (0.0, 0.0, 0)
    before, between, behind = _around(
        (calls, seen.codes, seen.cost, seen.digest),
        (seen.name, seen.outcome, rcu),
        (seen.transport, seen.kind, wcu),
    )
    milliseconds = f"{time // 100}{_FRACTIONS[time % 100]}"
    shown = id if id.isalnum() or not _ODD.search(id) else repr(id)
    trace = "" if seen.trace_id is None else f" trace_id={seen.trace_id}"
    return f"{now}{before}{milliseconds}{between}{shown} status={seen.status}{trace}{behind}"


@lru_cache(1_000)
def _around(
    first: tuple[int, tuple[str, ...], int | None, str | None],
    then: tuple[str | None, str, float],
    last: tuple[str, str, float],
) -> tuple[str, str, str]:
    """Write what many operations have in common, which takes longer than to find it."""
    return (
        " {} calls={} codes={} cost={} document={} milliseconds=".format(_HEAD, *first),
        " operation={} outcome={} rcu={} request_id=".format(*then),
        " transport={} type={} wcu={}\n".format(*last),
    )


_renderer = structlog.dev.ConsoleRenderer(colors=True)


def _coloured(now: str, seen: Seen) -> str:
    return f"{_renderer(None, 'info', _facts_of(now, seen))}\n"


_LINES: Final[Mapping[Form, Callable[[str, Seen], str]]] = {
    "text": _text,
    "coloured": _coloured,
    "json": _json,
}
