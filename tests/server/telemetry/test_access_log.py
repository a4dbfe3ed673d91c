"""The log of operations: one line each, without any sent or stored data."""

import asyncio
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import Units
from penstock.schema.engine.documents import _digest_of_text
from penstock.server.telemetry.operation import NAME_CHARS, AccessLog, OperationRecord
from tests.support.application import CREATE, FIND, SECRET, open_application

TIMES = ("timestamp", "milliseconds")


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


async def test_an_operation_is_one_line_with_what_it_was_and_what_it_cost(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_application(store, tmp_path, log_format="json") as app:
        await app.ask(FIND, headers={"x-request-id": "r-1"})
    (line,) = lines(capsys)
    assert 0 < line["milliseconds"] < 10_000
    assert {name: value for name, value in line.items() if name not in TIMES} == {
        "event": "operation",
        "level": "info",
        "logger": "penstock.operations",
        "request_id": "r-1",
        "transport": "http",
        "type": "query",
        "operation": "Find",
        "document": _digest_of_text(FIND),
        "status": 200,
        "outcome": "NOT_FOUND",
        "codes": ["NOT_FOUND", "NOT_FOUND", "NOT_FOUND"],
        "cost": 3,
        "rcu": 3.0,
        "wcu": 0.0,
        "calls": 1,
    }


async def test_a_refused_request_has_its_line_as_well(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_application(store, tmp_path, log_format="json") as app:
        await app.client.post("/graphql", headers={"authorization": "Bearer no"})
        await app.ask("{ nothing }")
        await app.client.put("/graphql")
        await app.client.options("/graphql")
    found = [
        (line["type"], line["document"], line["status"], line["outcome"]) for line in lines(capsys)
    ]
    assert found == [
        ("unknown", None, 401, "UNAUTHENTICATED"),
        ("unknown", _digest_of_text("{ nothing }"), 200, "GRAPHQL_VALIDATION_FAILED"),
        ("unknown", None, 405, "METHOD_NOT_ALLOWED"),
    ]


async def test_nothing_that_was_sent_or_stored_is_logged(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_application(store, tmp_path, log_format="json") as app:
        token = app.client.headers["authorization"].removeprefix("Bearer ")
        await app.ask(CREATE, {"path": f"/{SECRET}"})
        assert SECRET in (await app.ask(FIND)).text
        await app.ask(f'{{ group(path: "{SECRET}") {{ nothing }} }}')
        await app.ask(f'{{ group(path: "{SECRET} {{')
        await app.ask(FIND, headers={"authorization": f"Bearer {SECRET}"})
        await app.client.get("/graphql", params={"query": SECRET, "documentId": SECRET})
    written = capsys.readouterr().err
    assert written.count("\n") == 6
    for kept_out in (SECRET, "group(path", token, token.rpartition(".")[2], "ann"):
        assert kept_out not in written


async def test_a_long_name_is_cut(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_application(store, tmp_path, log_format="json") as app:
        await app.ask(f"query {'N' * 5_000} {{ viewer {{ __typename }} }}")
    (line,) = lines(capsys)
    assert line["operation"] == "N" * NAME_CHARS
    assert line["outcome"] == "OK"


async def test_the_log_of_operations_can_be_off(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_application(store, tmp_path, log_format="json", access_log=False) as app:
        assert (await app.ask(FIND)).status_code == 200
    assert lines(capsys) == []


def ended_operation() -> OperationRecord:
    seen = OperationRecord(
        request_id="a=b", transport="http", kind="query", name="Find", cost=3, text="{ a }"
    )
    seen.units, seen.seconds = Units(1.5, 0.0, 2), 0.0123456
    seen.note_errors([{"extensions": {"code": "NOT_FOUND"}}])
    seen.note_answer(200)
    return seen


def log(seen: OperationRecord) -> None:
    AccessLog("text").operation(seen)(seen)


def test_a_line_of_text_reads_like_this(capsys: pytest.CaptureFixture[str]) -> None:
    seen = ended_operation()
    log(seen)
    time, _, rest = capsys.readouterr().err.partition(" ")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z", time)
    assert rest == (
        "[info     ] operation                      [penstock.operations] calls=2"
        f" codes=('NOT_FOUND',) cost=3 document={seen.digest} milliseconds=12.35 operation=Find"
        " outcome=NOT_FOUND rcu=1.5 request_id='a=b' status=200 transport=http type=query wcu=0.0\n"
    )


def test_text_is_coloured_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = ended_operation()
    log(seen)
    _, _, plain = capsys.readouterr().err.partition(" ")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    log(seen)
    coloured = capsys.readouterr().err
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).partition(" ")[2] == plain


def test_a_log_that_cannot_be_written_fails_no_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    class BrokenStream(io.BytesIO):
        def write(self, _line: object) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(BrokenStream()))
    log(ended_operation())


async def test_the_lines_of_one_turn_of_the_loop_are_written_together_at_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[bytes] = []

    class NotingStream(io.BytesIO):
        def write(self, lines: Any) -> int:
            written.append(bytes(lines))
            return len(lines)

    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(NotingStream()))
    access_log, seen = AccessLog("json"), ended_operation()
    for count in (3, 1):
        for _ in range(count):
            access_log.operation(seen)(seen)
        assert written == []
        await asyncio.sleep(0)
        (lines,) = written
        times = [json.loads(line)["timestamp"] for line in lines.splitlines()]
        assert (len(times), len(set(times))) == (count, 1)
        written.clear()
