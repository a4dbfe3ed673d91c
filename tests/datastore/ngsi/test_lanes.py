"""Failing destinations hold up no other, and what they hold in memory is bounded."""

import asyncio
from dataclasses import replace

import pytest

from penstock.datastore.errors import ErrorCode, Unavailable
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.intake.in_flight import EventAmount, InFlightLimit
from penstock.datastore.ngsi.loading.lanes import (
    FAILING_SHARE,
    MAX_TOGETHER,
    DestinationLane,
    DestinationLanes,
)
from penstock.datastore.ngsi.loading.open_runs import OpenRun, PendingEvent
from penstock.datastore.ngsi.options import BatchingOptions
from penstock.datastore.ngsi.segments.segment_files import SegmentContent
from penstock.datastore.ngsi.segments.shared_runs import Segment
from penstock.datastore.ngsi.sink import NotificationSink
from tests.datastore.ngsi.failing_destinations import (
    FailingDestinations,
    HangingDestinations,
    NotAllowed,
    fail_nothing,
    fail_table,
)
from tests.datastore.ngsi.sample_destinations import event
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld, notification
from tests.datastore.ngsi.test_sink import accept
from tests.support.patience import until
from tests.support.sample_resources import on_sqlite, without_moto

FOREVER = replace(QUICK, batching=BatchingOptions(ttl=-1, retry_intervals=(0.1,)))
CLOSED = NotAllowed("no such key")


async def wait_until_persisted(world: SinkWorld, count: int) -> IngestCounts:
    async def is_persisted() -> bool:
        return (await world.counts()).persisted >= count

    await until(is_persisted)
    return await world.counts()


async def fill_lanes(world: SinkWorld, sink: NotificationSink, *cars: str) -> None:
    """Send a car after the other, and wait until each is in memory or a dead letter."""
    for car in cars:
        before = await world.counts()
        await accept(sink, car)
        now = await world.counts()
        assert now.received == before.received + 1


@without_moto
@pytest.mark.parametrize("failing", [1, 60])
@pytest.mark.parametrize("tables", [False, True])
async def test_a_destination_is_written_however_many_others_never_answer(
    world: SinkWorld, failing: int, tables: bool
) -> None:
    """Each of the others is tried, and holds a place of its own while it waits."""
    destinations = HangingDestinations(world.context.destinations, "bad", tables)
    async with world.open_sink(QUICK, destinations=destinations, drain=0.0) as sink:
        for first in range(0, failing, 20):
            last = min(first + 20, failing)
            await asyncio.gather(*(accept(sink, f"bad{number}") for number in range(first, last)))
        await until(lambda: destinations.hanging == failing)
        await accept(sink, "good")
        counts = await wait_until_persisted(world, 1)
        assert counts == IngestCounts(received=failing + 1, persisted=1, pending=failing, items=2)
        assert destinations.hanging == failing


@on_sqlite
async def test_a_failure_beside_a_sink_waits_for_no_destination_that_never_answers(
    world: SinkWorld,
) -> None:
    destinations = HangingDestinations(world.context.destinations, "bad")

    async def fail() -> None:
        async with world.open_sink(QUICK, destinations=destinations) as sink:
            await accept(sink, "bad")
            await until(lambda: destinations.hanging == 1)
            raise LookupError("an assertion of a test")

    with pytest.raises(LookupError, match="an assertion of a test"):
        await fail()
    assert destinations.hanging == 0
    assert (await world.counts()).pending == 1


@on_sqlite
@pytest.mark.parametrize("failing", [1, 60])
async def test_destinations_in_one_batch_with_failing_ones_are_written(
    world: SinkWorld, failing: int
) -> None:
    destinations = HangingDestinations(world.context.destinations, "bad")
    batching = replace(QUICK.batching, size=failing + 1)
    async with world.open_sink(
        replace(QUICK, batching=batching), destinations=destinations, drain=0.0
    ) as sink:
        await accept(sink, *(f"bad{number}" for number in range(failing)), "good")
        counts = await wait_until_persisted_items(sink, destinations, failing)
        assert counts == 1
        samples = [item["entityId"] for item in await world.read_samples()]
        assert samples == ["good", "good"]


async def wait_until_persisted_items(
    sink: NotificationSink, destinations: HangingDestinations, failing: int
) -> int:
    """Wait until only failing events are held; return how many events are settled."""
    await until(lambda: sink.in_flight.held.events == failing == destinations.hanging)
    (opened,) = sink.loader.open_runs
    return len(opened.segment.content.events) - opened.unsettled


@on_sqlite
async def test_what_waits_for_one_destination_is_stored_together_when_it_recovers(
    world: SinkWorld,
) -> None:
    destinations = FailingDestinations(
        world.context.destinations, fail_table("car1", Unavailable("busy"))
    )
    async with world.open_sink(FOREVER, destinations=destinations) as sink:
        for _ in range(30):
            await accept(sink, "car1")
        (lane,) = sink.loader.lanes.by_table.values()
        await until(lambda: lane.held.events == 30)
        assert sink.loader.failing_destinations == {lane.table: "busy"}
        destinations.fails = fail_nothing
        assert await world.recount() == IngestCounts(received=30, persisted=30, items=60)
        await until(lambda: sink.loader.lanes.by_table == {})
        await until(lambda: sink.in_flight.held == EventAmount())


@on_sqlite
async def test_a_failing_destination_holds_a_share_and_the_rest_become_letters(
    world: SinkWorld,
) -> None:
    options = replace(FOREVER, max_pending=80)
    destinations = FailingDestinations(world.context.destinations, fail_table("bad", CLOSED))
    async with world.open_sink(options, destinations=destinations) as sink:
        await accept(sink, "bad1")
        await until(lambda: sink.loader.failing_destinations)
        await fill_lanes(world, sink, *["bad1"] * 29)
        await until(lambda: sink.in_flight.held.events == 80 // FAILING_SHARE)
        letters = await world.letters()
        assert sum(letter.events for letter in letters) == 20
        assert {letter.code for letter in letters} == {ErrorCode.SERVICE_UNAVAILABLE}
        assert letters[0].reason == (
            "Too much waits for vehiclesxffffx002f4wheelsxffffbad1xffffcar, which cannot be "
            "written: The destination refuses it; the log of the server says why."
        )
        await accept(sink, "good")
        assert (await wait_until_persisted(world, 1)).pending == 10
        destinations.fails = fail_nothing
        await wait_until_persisted(world, 11)
        for letter in letters:
            await sink.replayer.replay(letter)
        assert await world.recount() == IngestCounts(received=31, persisted=31, items=62)
        await until(lambda: sink.in_flight.held == EventAmount())


@on_sqlite
async def test_failing_destinations_leave_half_of_the_room_to_the_others(world: SinkWorld) -> None:
    options = replace(FOREVER, max_pending=80)
    destinations = FailingDestinations(world.context.destinations, fail_table("bad", CLOSED))
    async with world.open_sink(options, destinations=destinations) as sink:
        for number in range(8):
            await accept(sink, f"bad{number}")
        await until(lambda: len(sink.loader.failing_destinations) == 8)
        await fill_lanes(world, sink, *[f"bad{number}" for number in range(8)] * 9)
        await until(lambda: sink.in_flight.held.events == 40)
        for number in range(50):
            await accept(sink, f"good{number}")
        assert (await wait_until_persisted(world, 50)).dead_lettered == 40
        destinations.fails = fail_nothing
        counts = await world.recount()
    assert counts == IngestCounts(received=130, persisted=90, dead_lettered=40, items=180)


@on_sqlite
async def test_a_stored_event_is_let_go_while_another_of_its_run_waits(world: SinkWorld) -> None:
    destinations = FailingDestinations(world.context.destinations, fail_table("bad", CLOSED))
    async with world.open_sink(FOREVER, destinations=destinations) as sink:
        cars = notification("bad", *(f"good{number}" for number in range(9)))
        await sink.accept_notification(cars, 1000)
        await until(lambda: sink.in_flight.held == EventAmount(1, 100))
        destinations.fails = fail_nothing
        await world.wait_until_settled()
        await until(lambda: sink.in_flight.held == EventAmount())


def pending(count: int, size: int, table: str = "t") -> list[PendingEvent]:
    events = [event(table) for _ in range(count)]
    sizes = {each.service: count * size for each in events}
    segment = Segment("id", None, 0, SegmentContent(events))  # type: ignore[arg-type]
    opened = OpenRun.of(segment, sizes)
    return [PendingEvent(opened, each) for each in events]


def lanes_of(max_events: int, max_bytes: int) -> DestinationLanes:
    return DestinationLanes(InFlightLimit(max_events, max_bytes))


def open_lane(lanes: DestinationLanes, table: str) -> DestinationLane:
    return lanes.by_table.setdefault(table, DestinationLane(table))


def test_a_lane_that_does_not_fail_holds_everything() -> None:
    lanes = lanes_of(80, 800)
    lane = open_lane(lanes, "t")
    assert lanes.put(lane, pending(100, 100)) == []
    assert lane.held == EventAmount(100, 10_000)
    assert len(lanes.fail(lane, "busy")) == 100 - 1


def test_a_lane_that_begins_to_fail_sheds_its_newest_events() -> None:
    lanes = lanes_of(80, 10**9)
    lane, entries = open_lane(lanes, "t"), pending(30, 1)
    lanes.put(lane, entries)
    assert lanes.fail(lane, "busy") == entries[:9:-1]
    assert list(lane.waiting) == entries[:10]
    assert lanes.put(lane, entries[:1]) == entries[:1]
    lanes.recover(lane)
    assert lanes.put(lane, pending(30, 1)) == []


def test_bytes_are_bounded_as_events_are() -> None:
    lanes = lanes_of(10**6, 8000)
    lane = open_lane(lanes, "t")
    lanes.fail(lane, "busy")
    assert len(lanes.put(lane, pending(50, 100))) == 40
    assert lane.held == EventAmount(10, 1000)


def test_an_attempt_takes_the_oldest_events_and_still_holds_them() -> None:
    lanes = lanes_of(10**6, 10**9)
    lane, entries = open_lane(lanes, "t"), pending(MAX_TOGETHER + 1, 1)
    lanes.put(lane, entries)
    taken = lane.take()
    assert (taken, list(lane.waiting)) == (entries[:-1], entries[-1:])
    assert lane.held.events == MAX_TOGETHER + 1
    lane.put_back(taken)
    assert list(lane.waiting) == entries
    lanes.release(lane, lane.take())
    assert lane.held.events == 1


def test_what_failing_lanes_hold_together_follows_them() -> None:
    lanes = lanes_of(80, 10**9)
    found = [open_lane(lanes, f"t{number}") for number in range(8)]
    for lane in found:
        lanes.fail(lane, "busy")
    kept = [10 - len(lanes.put(lane, pending(10, 1))) for lane in found]
    assert kept == [10, 10, 10, 10, 0, 0, 0, 0]
    lanes.recover(found[0])
    assert len(lanes.put(found[7], pending(10, 1))) == 0
    lanes.release(found[1], found[1].take())
    assert len(lanes.put(found[6], pending(20, 1))) == 10
