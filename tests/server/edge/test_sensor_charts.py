"""Charts for Grafana: rows of JSON of several series, within the roles and the allowance."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from httpx import Response

from penstock.datastore.ngsi.repository import SinkAccess
from penstock.datastore.store import Store
from penstock.server.edge import sensor_charts
from penstock.server.edge.sensor_charts import COST
from tests.datastore.ngsi.sample_destinations import open_destinations
from tests.datastore.ngsi.stored_samples import AT, store_samples
from tests.support.application import ApplicationClient, open_application
from tests.support.penstock_command import token_of
from tests.support.stores import open_table

SPEED = {"service": "vehicles", "path": "/4wheels", "type": "car", "attribute": "speed"}


@pytest.fixture
async def stored(tmp_path: Path) -> AsyncIterator[Store]:
    async with (
        open_table("sqlite", tmp_path) as table,
        open_destinations("sqlite", tmp_path) as destinations,
    ):
        store = Store(table, ngsi_access=SinkAccess(destinations))
        await store_samples(store, entities=("car1", "car2"), values=[0, 0, 9, 0, 0, 0])
        yield store


@pytest.fixture
async def server(stored: Store, tmp_path: Path) -> AsyncIterator[ApplicationClient]:
    async with open_application(stored, tmp_path) as opened:
        yield opened


async def ask(server: ApplicationClient, given: Mapping[str, Any], **headers: str) -> Response:
    return await server.client.get("/ngsi/chart", params=given, headers=headers)


async def test_the_series_of_a_type_are_rows_of_one_answer(server: ApplicationClient) -> None:
    answer = await ask(server, {**SPEED, "attribute": ["speed", "oil_level"]})
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    rows = answer.json()
    assert rows[2] == {"time": AT + 2000, "entity": "car1", "attribute": "speed", "value": 9}
    series = {(row["entity"], row["attribute"]) for row in rows}
    assert series == {(car, name) for car in ("car1", "car2") for name in ("speed", "oil_level")}
    assert len(rows) == 4 * 6


async def test_one_entity_is_shown_by_its_id_and_type(server: ApplicationClient) -> None:
    rows = (await ask(server, {**SPEED, "entity": "car2", "points": 4})).json()
    assert [(row["time"] - AT, row["value"]) for row in rows] == [
        (0, 0),
        (2000, 9),
        (3000, 0),
        (5000, 0),
    ]
    assert {row["entity"] for row in rows} == {"car2"}


@pytest.mark.parametrize(
    ("method", "values"), [("min", [0, 0, 0]), ("max", [0, 9, 0]), ("avg", [0, 4.5, 0])]
)
async def test_points_are_chosen_by_a_method(
    server: ApplicationClient, method: str, values: list[float]
) -> None:
    rows = (await ask(server, {**SPEED, "entity": "car1", "points": 3, "method": method})).json()
    assert [row["value"] for row in rows] == values


@pytest.mark.parametrize(
    "span",
    [
        {"from": str(AT + 1000), "to": str(AT + 3000)},
        {"from": "2015-04-20T13:16:16.005Z", "to": "2015-04-20T15:16:18.005+02:00"},
    ],
)
async def test_a_span_is_in_milliseconds_or_iso_8601(
    server: ApplicationClient, span: dict[str, str]
) -> None:
    rows = (await ask(server, {**SPEED, "entity": "car1", **span})).json()
    assert [row["time"] - AT for row in rows] == [1000, 2000]


async def test_what_is_not_there_has_no_rows(server: ApplicationClient) -> None:
    for given in ({"type": "bus"}, {"attribute": "weight"}, {"from": str(AT + 10**6)}):
        answer = await ask(server, {**SPEED, **given})
        assert (answer.status_code, answer.json()) == (200, [])


@pytest.mark.parametrize(
    ("status", "code", "given"),
    [
        (400, "BAD_USER_INPUT", {"service": None}),
        (400, "BAD_USER_INPUT", {"attribute": None}),
        (400, "BAD_USER_INPUT", {"attributes": "speed"}),
        (400, "BAD_USER_INPUT", {"path": "4wheels"}),
        (400, "BAD_USER_INPUT", {"path": "/../zoo"}),
        (400, "BAD_USER_INPUT", {"from": "yesterday"}),
        (400, "BAD_USER_INPUT", {"to": "9" * 15}),
        (400, "BAD_USER_INPUT", {"to": "²"}),
        (400, "BAD_USER_INPUT", {"points": "2"}),
        (400, "BAD_USER_INPUT", {"points": "10001"}),
        (400, "BAD_USER_INPUT", {"points": "-3"}),
        (400, "BAD_USER_INPUT", {"method": "mean"}),
        (400, "BAD_USER_INPUT", {"entity": "e" * 601}),
        (400, "LIMIT_EXCEEDED", {"points": "10000"}),
        (400, "LIMIT_EXCEEDED", {"attribute": [f"a{n}" for n in range(26)], "points": "3"}),
        (404, "NOT_FOUND", {"entity": "car9"}),
        (404, "NOT_FOUND", {"entity": "car1", "type": "bus"}),
        (404, "NOT_FOUND", {"service": "trains"}),
        (404, "NOT_FOUND", {"service": "a/b"}),
        (404, "NOT_FOUND", {"path": "/9wheels"}),
    ],
)
async def test_what_no_chart_can_show_is_refused(
    server: ApplicationClient, status: int, code: str, given: dict[str, Any]
) -> None:
    asked = {name: value for name, value in {**SPEED, **given}.items() if value is not None}
    answer = await ask(server, asked)
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (status, code)


@pytest.mark.parametrize(
    ("roles", "status"),
    [
        ("/vehicles=reader", 200),
        ("/vehicles/4wheels=reader", 200),
        ("/vehicles/4wheels/x=reader", 200),
        ("/vehicles2=admin", 404),
        ("/eu=admin", 404),
    ],
)
async def test_a_chart_shows_what_its_caller_may_read(
    server: ApplicationClient, tmp_path: Path, roles: str, status: int
) -> None:
    token = token_of(tmp_path, roles, user="bob")
    answer = await ask(server, SPEED, authorization=f"Bearer {token}")
    assert answer.status_code == status
    assert (answer.status_code == 200) == isinstance(answer.json(), list)


async def test_nobody_reads_a_chart_without_a_token(server: ApplicationClient) -> None:
    answer = await ask(server, SPEED, authorization="Bearer nobody")
    assert answer.status_code == 401
    assert (await server.client.post("/ngsi/chart")).status_code == 405


async def test_a_chart_is_paid_by_its_samples(stored: Store, tmp_path: Path) -> None:
    limits = {"rate_limit_burst": COST + 7, "rate_limit_per_second": 0.001}
    async with open_application(stored, tmp_path, **limits) as server:
        assert (await ask(server, SPEED)).status_code == 200
        refused = await ask(server, SPEED)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) > 0


async def test_a_fault_of_ours_is_told_as_one(
    server: ApplicationClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensor_charts, "read_chart_request", lambda _: None)
    answer = await ask(server, SPEED)
    assert answer.status_code == 500
    assert answer.json()["errors"][0]["extensions"]["code"] == "INTERNAL_SERVER_ERROR"
