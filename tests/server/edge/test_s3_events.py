"""Events of S3, as a bucket's notifications and EventBridge send them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest

from penstock.datastore.executions.files import ingest_key
from penstock.datastore.executions.records import Execution
from penstock.datastore.executions.rows import key_of_execution
from penstock.datastore.store import Store
from penstock.datastore.table.port import Update
from tests.datastore.executions.sample_executions import (
    INPUT,
    begin_execution,
    current_execution,
    pipeline_in,
    plant_pipeline,
    put_file,
)
from tests.support.application import open_application
from tests.support.consistency_check import contents
from tests.support.penstock_command import token_of
from tests.support.sample_resources import EU, SUPER

STRANGER = {"authorization": "Bearer nobody"}


def notification(*keys: str) -> dict[str, Any]:
    return {"Records": [{"s3": {"object": {"key": quote_plus(key)}}} for key in keys]}


def eventbridge_event(*keys: str) -> dict[str, Any]:
    (key,) = keys
    return {"detail-type": "Object Created", "detail": {"object": {"key": key, "size": 1}}}


async def waiting_execution(store: Store) -> Execution:
    """Return an execution with an uploaded input that is not yet confirmed."""
    made = await begin_execution(store, await plant_pipeline(store))
    await put_file(store.files, ingest_key(made), INPUT)
    return made


@pytest.mark.parametrize("form", [notification, eventbridge_event])
async def test_an_event_makes_an_execution_ready_once(
    store: Store, tmp_path: Path, form: Any
) -> None:
    made = await waiting_execution(store)
    woken: list[int] = []
    watched = replace(store, on_execution_ready=lambda: woken.append(1))
    async with open_application(watched, tmp_path) as server:
        for _ in range(2):
            answer = await server.client.post("/events/s3", json=form(ingest_key(made)))
            assert (answer.status_code, answer.json()) == (200, {"started": 1, "ignored": 0})
    after = await current_execution(store, made)
    assert after.ready_at is not None
    assert after.events == 2
    assert woken == [1]


async def test_an_execution_of_an_earlier_release_is_found_by_its_time(
    store: Store, tmp_path: Path
) -> None:
    new = await begin_execution(store, await plant_pipeline(store))
    update = Update(key=key_of_execution(new.id), set={"ingest": new.created_at})
    await store.table.transact([update])
    made = await current_execution(store, new)
    assert ingest_key(made).endswith(f"-1-{new.created_at}.txt")
    await put_file(store.files, ingest_key(made), INPUT)
    async with open_application(store, tmp_path) as server:
        answer = await server.client.post(
            "/events/s3", json=notification(ingest_key(made), ingest_key(new))
        )
    assert answer.json() == {"started": 1, "ignored": 1}
    assert (await current_execution(store, made)).ready_at is not None


async def test_an_event_starts_only_what_its_caller_may_start(store: Store, tmp_path: Path) -> None:
    made = await waiting_execution(store)
    await store.open_session(SUPER).pipelines.writing.grant(made.pipeline_id, EU)
    async with open_application(store, tmp_path) as server:
        before = await contents(store.table)
        for roles, started in (("/eu=contributor", 0), ("/usa=reader", 0), ("/usa=contributor", 1)):
            headers = {"authorization": f"Bearer {token_of(tmp_path, roles, user='bob')}"}
            events = notification(ingest_key(made))
            answer = await server.client.post("/events/s3", json=events, headers=headers)
            assert answer.json() == {"started": started, "ignored": 1 - started}
            assert (await contents(store.table) == before) == (started == 0)


async def test_what_is_no_input_of_an_execution_is_ignored(store: Store, tmp_path: Path) -> None:
    made = await waiting_execution(store)
    pipeline = await pipeline_in(store, name="other")
    other = await begin_execution(store, pipeline)
    keys = [
        ingest_key(made).replace("ingest", "executions"),
        ingest_key(made).replace(".txt", ".csv"),
        ingest_key(made).replace(made.created_at, "2021-08-10T23:55:20.322Z"),
        ingest_key(made).replace(made.id, other.id),
        ingest_key(made).replace(made.id, "-" * 36),
        ingest_key(made).replace(f"-{made.id}", ""),
        ingest_key(other),  # has no upload
        "audio/ann/song.flac",
    ]
    async with open_application(store, tmp_path) as server:
        before = await contents(store.table)
        answer = await server.client.post("/events/s3", json=notification(*keys))
        assert answer.json() == {"started": 0, "ignored": len(keys)}
    assert await contents(store.table) == before


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"3",
        b'{"Records": [{}]}',
        b'{"Records": 1}',
        b'{"Records": [{"s3": {"object": {"key": 1}}}]}',
        b'{"detail": {"object": {"key": 1}}}',
    ],
)
async def test_what_is_no_event_is_refused(store: Store, tmp_path: Path, body: bytes) -> None:
    async with open_application(store, tmp_path) as server:
        answer = await server.client.post("/events/s3", content=body)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["extensions"]["code"] == "BAD_REQUEST"


async def test_an_event_of_too_many_files_is_refused(store: Store, tmp_path: Path) -> None:
    async with open_application(store, tmp_path, max_body_bytes=20_000) as server:
        many = notification(*(f"a/{n}" for n in range(101)))
        assert (await server.client.post("/events/s3", json=many)).status_code == 400
        large = json.dumps(notification("x" * 30_000))
        assert (await server.client.post("/events/s3", content=large)).status_code == 413


async def test_nothing_is_told_by_strangers(store: Store, tmp_path: Path) -> None:
    made = await waiting_execution(store)
    async with open_application(store, tmp_path) as server:
        before = await contents(store.table)
        event = notification(ingest_key(made))
        answer = await server.client.post("/events/s3", json=event, headers=STRANGER)
        assert answer.status_code == 401
        assert (await server.client.get("/events/s3")).status_code == 405
    assert await contents(store.table) == before


LONG = json.dumps([[]] * 240_000).encode()
ENDLESS = json.dumps({"Records": [{"s3": {"object": {"key": "%41" * 320_000}}}]}).encode()


@pytest.mark.parametrize("body", [LONG, ENDLESS])
async def test_whoever_sends_what_is_no_event_pays_for_its_reading(
    store: Store, tmp_path: Path, body: bytes
) -> None:
    limits = {"rate_limit_per_second": 1, "rate_limit_burst": 1_200}
    async with open_application(store, tmp_path, **limits) as server:
        for status in (400, 429):
            answer = await server.client.post("/events/s3", content=body)
            assert answer.status_code == status


async def test_what_an_event_reads_of_the_store_is_paid(store: Store, tmp_path: Path) -> None:
    pipeline = (await plant_pipeline(store)).id
    keys = [
        f"pipelines/{pipeline}/1/ingest/{pipeline}-1-2026-01-01T00:00:00.000Z_{n}.txt"
        for n in range(100)
    ]
    limits = {"rate_limit_per_second": 1, "rate_limit_burst": 310}
    async with open_application(store, tmp_path, **limits) as server:
        for status in (200, 429):
            answer = await server.client.post("/events/s3", json=notification(*keys))
            assert answer.status_code == status


@pytest.mark.parametrize(
    "moment", ["2026-99-99T99:99:99.999Z", "0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"]
)
async def test_a_key_with_a_time_that_cannot_be_is_ignored(
    store: Store, tmp_path: Path, moment: str
) -> None:
    pipeline = (await plant_pipeline(store)).id
    key = f"pipelines/{pipeline}/1/ingest/{pipeline}-1-{moment}.txt"
    async with open_application(store, tmp_path) as server:
        answer = await server.client.post("/events/s3", json=notification(key))
    assert (answer.status_code, answer.json()) == (200, {"started": 0, "ignored": 1})
