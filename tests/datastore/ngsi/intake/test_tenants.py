"""A tenant who sends very much neither fills the sink for the others nor goes before them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import chain

import pytest

from penstock.datastore.errors import Unavailable
from penstock.datastore.ngsi.commit import RetryWindow, find_repeated
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.inbox import WORKERS, IntakeResult
from penstock.datastore.ngsi.intake.in_flight import NOTHING
from penstock.datastore.ngsi.notification import Notification
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.table.port import Table
from tests.datastore.ngsi.failing_destinations import (
    FailingDestinations,
    NotAllowed,
    fail_nothing,
    fail_table,
)
from tests.datastore.ngsi.sample_sinks import SinkWorld, notification
from tests.datastore.ngsi.test_lanes import FOREVER
from tests.datastore.ngsi.test_sink import SLOW
from tests.support.patience import until
from tests.support.sample_resources import on_sqlite

pytestmark = on_sqlite

RED, BLUE = ("red", "/4wheels"), ("blue", "/4wheels")
PATHS = ", ".join(f"/p{number}" for number in range(40))
"""The most service paths of a notification: no transaction holds a second one like it."""


async def send(
    sink: NotificationSink, service: str, *cars: str, size: int = 100
) -> IntakeResult | None:
    return await sink.accept_notification(notification(*cars, fiware_service=service), size)


async def flood(sink: NotificationSink, service: str) -> int:
    """Send one car after the other, until the service is refused; return their number."""
    count = 0
    while True:
        try:
            await send(sink, service, f"car{count}")
        except Unavailable:
            return count
        count += 1


@asynccontextmanager
async def check_emptiness(world: SinkWorld, sink: NotificationSink) -> AsyncIterator[None]:
    """Check at the end that everything is stored, and that no room stays taken."""
    yield
    await sink.loader.drain()
    counts = await world.recount(RED, BLUE)
    assert counts.received == counts.persisted
    assert (sink.in_flight.held, len(sink.in_flight.moving)) == (NOTHING, 0)


async def test_a_tenant_fills_half_of_the_sink_and_the_next_one_finds_room(
    world: SinkWorld,
) -> None:
    async with world.open_sink(replace(SLOW, max_pending=16)) as sink, check_emptiness(world, sink):
        assert await flood(sink, "red") == 8
        assert await send(sink, "blue", "car1") == IntakeResult(1)
        assert await world.counts(RED) == IngestCounts(received=8, pending=8)
        assert await world.counts(BLUE) == IngestCounts(received=1, pending=1)


async def test_the_room_of_a_tenant_is_given_back_whoever_shares_its_run(world: SinkWorld) -> None:
    """Notifications of two tenants that arrive together are one run."""
    async with world.open_sink(SLOW) as sink, check_emptiness(world, sink):
        await asyncio.gather(
            send(sink, "red", "car1", "car2", "car3", size=50_000), send(sink, "blue", "car1")
        )
        (opened,) = sink.loader.open_runs
        assert {service: load.size for service, load in opened.loads} == {
            "red": 50_000,
            "blue": 100,
        }
        assert dict(sink.in_flight.moving) == dict(opened.loads)


async def test_a_tenant_stores_elsewhere_while_a_destination_of_it_fails(world: SinkWorld) -> None:
    destinations = FailingDestinations(
        world.context.destinations, fail_table("bad", NotAllowed("no such key"))
    )
    options = replace(FOREVER, max_pending=16)
    async with (
        world.open_sink(options, destinations=destinations) as sink,
        check_emptiness(world, sink),
    ):
        for number in range(8):
            await send(sink, "red", f"bad{number % 4}")
            await until(lambda: len(sink.in_flight.moving) == 0)
        assert sink.in_flight.held.events == 8
        assert await send(sink, "red", "good") == IntakeResult(1)
        destinations.fails = fail_nothing


async def test_a_tenant_goes_before_what_another_had_waiting(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups: list[list[str]] = []

    async def note_group(
        table: Table, window: RetryWindow, notifications: Sequence[Notification]
    ) -> list[bool]:
        groups.append([each.service for each in notifications])
        return await find_repeated(table, window, notifications)

    monkeypatch.setattr("penstock.datastore.ngsi.inbox.find_repeated", note_group)
    cars = [f"car{number}" for number in range(40)]
    large = notification(*cars, fiware_service="red", fiware_servicepath=PATHS)
    async with world.open_sink(SLOW, drain=0.0) as sink, asyncio.TaskGroup() as tasks:
        for _ in range(8):
            tasks.create_task(sink.accept_notification(large, 100))
        tasks.create_task(send(sink, "blue", "car1"))
    assert sorted(chain(*groups)) == ["blue"] + ["red"] * 8
    assert any("blue" in group for group in groups[:WORKERS])
