"""The log of operations: one line each, and nothing in it that was sent or stored."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from datastore.store import Store
from schema.persisted import _digest
from server.logs import configure
from server.observing import NAME_CHARS
from tests.server.whole import CREATE, FIND, SECRET, whole

TIMES = ("timestamp", "milliseconds")


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


async def test_an_operation_is_one_line_with_what_it_was_and_what_it_cost(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure("json")
    async with whole(store, tmp_path) as app:
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
        "document": _digest(FIND),
        "status": 200,
        "outcome": "NOT_FOUND",
        "codes": ["NOT_FOUND", "NOT_FOUND", "NOT_FOUND"],
        "cost": 3,
        "rcu": 1.5,
        "wcu": 0.0,
        "calls": 1,
    }


async def test_a_refused_request_has_its_line_as_well(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure("json")
    async with whole(store, tmp_path) as app:
        await app.client.post("/graphql", headers={"authorization": "Bearer no"})
        await app.ask("{ nothing }")
        await app.client.put("/graphql")
        await app.client.options("/graphql")
    found = [
        (line["type"], line["document"], line["status"], line["outcome"]) for line in lines(capsys)
    ]
    assert found == [
        ("unknown", None, 401, "UNAUTHENTICATED"),
        ("unknown", _digest("{ nothing }"), 200, "GRAPHQL_VALIDATION_FAILED"),
        ("unknown", None, 405, "METHOD_NOT_ALLOWED"),
    ]


async def test_nothing_that_was_sent_or_stored_is_logged(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure("json")
    async with whole(store, tmp_path) as app:
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
    configure("json")
    async with whole(store, tmp_path) as app:
        await app.ask(f"query {'N' * 5_000} {{ viewer {{ __typename }} }}")
    (line,) = lines(capsys)
    assert line["operation"] == "N" * NAME_CHARS
    assert line["outcome"] == "OK"


async def test_the_log_of_operations_can_be_off(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure("json")
    async with whole(store, tmp_path, access_log=False) as app:
        assert (await app.ask(FIND)).status_code == 200
    assert lines(capsys) == []
