"""One line of log for each operation: what it was and how it went, and nothing that was sent.

Lines look as structlog's, which takes longer for one than a small operation takes as a whole.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import orjson
import structlog

from datastore.observed import Ended
from server.logs import operation_lines
from server.observing import Seen
from server.operation_lines import Form, OperationLines

LOGGER: Final = "penstock.operations"
_ODD: Final = re.compile(r"""[\s="']""")
"""What a text has to be quoted for."""

_EVENT: Final = "operation"
_HEAD: Final = f"[info     ] {_EVENT:<30} [{LOGGER}]"


def logged(seen: Seen) -> Ended:
    """Log the operation when it has ended."""
    return partial(log, operation_lines(), seen)


def log(lines: OperationLines, seen: Seen) -> None:
    """Log an operation that has ended."""
    lines.add(_LINES[lines.form](lines.now(), seen))


def facts_of(now: str, seen: Seen) -> dict[str, object]:
    """Name what a line tells of an operation; `trace_id` only where it is part of a trace."""
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
        "milliseconds": _milliseconds(seen),
        "cost": seen.cost,
        "rcu": units.rcu if units else 0.0,
        "wcu": units.wcu if units else 0.0,
        "calls": units.calls if units else 0,
        **({} if seen.trace_id is None else {"trace_id": seen.trace_id}),
        "timestamp": now,
        "logger": LOGGER,
    }


def _milliseconds(seen: Seen) -> float:
    return round(seen.seconds * 1_000, 2)


def _json(now: str, seen: Seen) -> str:
    return orjson.dumps(facts_of(now, seen), option=orjson.OPT_APPEND_NEWLINE).decode()


def _text(now: str, seen: Seen) -> str:
    """Write the facts in the order of their names; of these, only an id can be odd."""
    id, units = seen.request_id, seen.units
    rcu, wcu, calls = (units.rcu, units.wcu, units.calls) if units else (0.0, 0.0, 0)
    trace = "" if seen.trace_id is None else f" trace_id={seen.trace_id}"
    return (
        f"{now} {_HEAD} calls={calls} codes={seen.codes} cost={seen.cost} document={seen.digest}"
        f" milliseconds={_milliseconds(seen)} operation={seen.name} outcome={seen.outcome}"
        f" rcu={rcu} request_id={repr(id) if _ODD.search(id) else id} status={seen.status}{trace}"
        f" transport={seen.transport} type={seen.kind} wcu={wcu}\n"
    )


_renderer = structlog.dev.ConsoleRenderer(colors=True)


def _coloured(now: str, seen: Seen) -> str:
    return f"{_renderer(None, 'info', facts_of(now, seen))}\n"


_LINES: Final[Mapping[Form, Callable[[str, Seen], str]]] = {
    "text": _text,
    "coloured": _coloured,
    "json": _json,
}
