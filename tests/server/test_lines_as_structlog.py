"""The line of an operation is the one that structlog makes of the same facts, in every form."""

from typing import Any, Literal
from unittest.mock import patch

import orjson
import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from datastore.errors import ErrorCode
from datastore.metered import Units
from server.access_log import LOGGER, AccessLog
from server.observing import ABORTED, OK, Seen
from server.operation_lines import OperationLines
from tests.server.written import Written

NOW = "2026-07-28T12:00:00.000123Z"
NANOSECONDS = 1_785_240_000_000_123_456
CODES = tuple(code.value for code in ErrorCode)


def facts_of(seen: Seen) -> dict[str, Any]:
    """What a line tells, as structlog is told it."""
    units = seen.units or Units()
    trace = {} if seen.trace_id is None else {"trace_id": seen.trace_id}
    return {
        "event": "operation",
        "level": "info",
        "request_id": seen.request_id,
        "transport": seen.transport,
        "type": seen.kind,
        "operation": seen.name,
        "document": seen.digest,
        "status": seen.status,
        "outcome": seen.outcome,
        "codes": seen.codes,
        "milliseconds": round(seen.seconds * 100_000) / 100,
        "cost": seen.cost,
        "rcu": units.rcu,
        "wcu": units.wcu,
        "calls": units.calls,
        **trace,
        "timestamp": NOW,
        "logger": LOGGER,
    }


def written(seen: Seen, form: Literal["text", "json"], *, terminal: bool = False) -> str:
    stream = Written(terminal)
    with patch("server.operation_lines.time_ns", lambda: NANOSECONDS):
        AccessLog(OperationLines(stream, form)).operation(seen)(seen)
    return stream.getvalue()


FLOATS = st.floats(0, 1e7)
MANY = st.builds(
    Seen,
    # Of these characters, a client may send some.
    request_id=st.from_regex(r"[ -~]{1,40}", fullmatch=True),
    transport=st.sampled_from(["http", "sse", "websocket"]),
    trace_id=st.none() | st.just("0af7651916cd43dd8448eb211c80319c"),
    text=st.none() | st.text(st.characters(codec="utf-8")),
    kind=st.sampled_from(["query", "mutation", "subscription", "unknown"]),
    name=st.none() | st.from_regex(r"[_A-Za-z][_0-9A-Za-z]{0,30}", fullmatch=True),
    cost=st.none() | st.integers(0, 10**6),
    units=st.none() | st.builds(Units, FLOATS, FLOATS, st.integers(0, 10**6)),
    status=st.none() | st.integers(200, 503),
    codes=st.lists(st.sampled_from(CODES), max_size=3).map(tuple),
    seconds=st.floats(0, 1e5),
    outcome=st.sampled_from([OK, ABORTED, *CODES]),
)


@given(MANY)
@pytest.mark.parametrize("terminal", [False, True])
def test_text_is_what_structlog_makes_of_the_same_facts(terminal: bool, seen: Seen) -> None:
    renderer = structlog.dev.ConsoleRenderer(colors=terminal)
    assert written(seen, "text", terminal=terminal) == f"{renderer(None, 'info', facts_of(seen))}\n"


@given(MANY)
def test_json_is_one_object_a_line_with_the_same_facts(seen: Seen) -> None:
    line = written(seen, "json")
    assert line == f"{orjson.dumps(facts_of(seen)).decode()}\n"
    assert line.count("\n") == 1


def test_a_line_of_text_reads_like_this() -> None:
    seen = Seen(request_id="a=b", transport="http", kind="query", name="Find", cost=3, text="{ a }")
    seen.units, seen.seconds = Units(1.5, 0.0, 2), 0.0123456
    seen.failed([{"extensions": {"code": "NOT_FOUND"}}])
    seen.answered(200)
    assert written(seen, "text") == (
        f"{NOW} [info     ] operation                      [penstock.operations] calls=2"
        f" codes=('NOT_FOUND',) cost=3 document={seen.digest} milliseconds=12.35 operation=Find"
        " outcome=NOT_FOUND rcu=1.5 request_id='a=b' status=200 transport=http type=query wcu=0.0\n"
    )
