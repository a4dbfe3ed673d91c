"""`POST /v2/notify`: its correlator, its line of log, its metrics, and a sink that cannot write."""

import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from httpx import ASGITransport, AsyncClient

from penstock.datastore.table.port import Table
from penstock.server.app import Runtime, open_app
from penstock.server.app_options import streams_of
from penstock.server.runtime.stores import build_store
from penstock.server.settings.settings import Settings
from tests.datastore.ngsi.failing_destinations import FaultInjector
from tests.datastore.ngsi.sample_destinations import open_destinations
from tests.datastore.ngsi.sample_sinks import open_world
from tests.server.edge.test_ngsi_notifications import NotifyClient, open_notify_client
from tests.support.stores import open_table


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[Table]:
    async with open_table("sqlite", tmp_path) as opened:
        yield opened


@pytest.fixture
async def notified(table: Table, tmp_path: Path) -> AsyncIterator[NotifyClient]:
    async with open_notify_client(table, tmp_path) as opened:
        yield opened


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        ("8f2b; cbnotif=1", "8f2b; cbnotif=1"),
        ("c" * 256, "c" * 256),
        ("c" * 257, "r1"),
        ("", "r1"),
        (None, "r1"),
    ],
)
async def test_an_answer_names_the_transaction_of_its_sender(
    notified: NotifyClient, sent: str | None, answered: str
) -> None:
    answer = await notified.send(fiware_correlator=sent, x_request_id="r1")
    assert answer.headers["fiware-correlator"] == answered
    assert answer.headers["x-request-id"] == "r1"
    refused = await notified.send("{", fiware_correlator=sent, x_request_id="r1")
    assert (refused.status_code, refused.headers["fiware-correlator"]) == (400, answered)


async def test_a_notification_is_a_line_of_log_with_its_correlator(
    table: Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_notify_client(table, tmp_path, log_format="json") as notified:
        await notified.send(fiware_correlator="8f2b; cbnotif=1", x_request_id="r1")
        await notified.send("{", fiware_correlator="8f2c", x_request_id="r2")
    first, second = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert first.pop("milliseconds") > 0
    assert first.pop("timestamp")
    assert first == {
        "event": "notification",
        "level": "info",
        "logger": "penstock.operations",
        "request_id": "r1",
        "correlator": "8f2b; cbnotif=1",
        "status": 200,
    }
    assert (second["correlator"], second["status"]) == ("8f2c", 400)


async def test_notifications_have_no_lines_without_an_access_log(
    table: Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_notify_client(table, tmp_path, access_log=False) as notified:
        assert (await notified.send()).status_code == 200
    assert capsys.readouterr().err == ""


async def test_the_events_of_the_sink_are_counted(notified: NotifyClient) -> None:
    await notified.send(fiware_correlator="c")
    await notified.send(fiware_correlator="c")
    await notified.world.recount()
    lines = (await notified.client.get("/metrics")).text.splitlines()
    found = dict(line.rsplit(" ", 1) for line in lines if line.startswith("penstock_ngsi"))
    assert found == {
        'penstock_ngsi_events_total{state="received"}': "2.0",
        'penstock_ngsi_events_total{state="persisted"}': "1.0",
        'penstock_ngsi_events_total{state="duplicate"}': "1.0",
        'penstock_ngsi_events_total{state="dead"}': "0.0",
        "penstock_ngsi_pending_events": "0.0",
        "penstock_ngsi_pending_bytes": "0.0",
        "penstock_ngsi_troubled_destinations": "0.0",
    }


async def test_a_server_whose_sink_cannot_write_is_not_ready(table: Table, tmp_path: Path) -> None:
    async with open_notify_client(table, tmp_path) as notified:
        assert (await notified.client.get("/readyz")).json() == {"status": "ready"}
    async with open_failing_client(table, tmp_path) as notified:
        assert (await notified.send()).status_code == 503
        answer = await notified.client.get("/readyz")
        assert (await notified.client.get("/healthz")).status_code == 200
    assert answer.status_code == 503
    assert answer.json() == {
        "status": "unavailable",
        "reason": "The latest notifications could not be kept.",
    }


@asynccontextmanager
async def open_failing_client(table: Table, tmp_path: Path) -> AsyncIterator[NotifyClient]:
    """Open a client of a server whose sink can write no file."""
    chosen = Settings.load(data_dir=tmp_path / "data")
    async with (
        open_destinations("sqlite", tmp_path) as destinations,
        open_world(table, destinations, tmp_path) as world,
        world.open_sink(
            files=FaultInjector(world.context.files, random.Random(0), 1.0, "write")
        ) as sink,
        open_app(
            chosen, build_store(table, chosen), None, Runtime(streams_of(chosen), sink)
        ) as app,
        AsyncClient(transport=ASGITransport(app), base_url="http://localhost") as client,
    ):
        yield NotifyClient(client, world, chosen.data_dir)
