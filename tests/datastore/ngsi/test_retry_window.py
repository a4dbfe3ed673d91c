"""The window in which an equal notification is a retry of its sender, and not a new value."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.inbox import IntakeResult
from penstock.datastore.table.layout import NOTIFIED
from penstock.datastore.table.port import TTL, Put
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld, notification
from tests.datastore.ngsi.test_sink import accept
from tests.support.sample_resources import Watch, on_sqlite, without_moto

WINDOW = QUICK.retry_window
NEW, REPEATED = IntakeResult(1), IntakeResult(1, repeated=True)


@without_moto
@pytest.mark.parametrize("window", [1, 60, 300, 86_400])
async def test_equal_values_of_a_constant_correlator_are_kept_when_they_are_apart(
    world: SinkWorld, window: int
) -> None:
    watch = Watch()
    options = replace(QUICK, retry_window=window)
    async with world.open_sink(options, clock=Clock(watch)) as sink:
        answers = []
        for _ in range(3):
            answers.append(await accept(sink, correlator="constant"))
            watch.move(timedelta(seconds=window / 2))
            answers.append(await accept(sink, correlator="constant"))
            watch.move(timedelta(seconds=window / 2 + 2))
        counts = await world.recount()
    assert answers == [NEW, REPEATED] * 3
    assert counts == IngestCounts(received=6, persisted=3, duplicates=3, items=6)


@without_moto
async def test_a_retry_does_not_lengthen_the_window(world: SinkWorld) -> None:
    watch = Watch()
    async with world.open_sink(clock=Clock(watch)) as sink:
        answers = []
        for _ in range(4):
            answers.append(await accept(sink, correlator="constant"))
            watch.move(timedelta(seconds=WINDOW / 2 - 1))
        assert answers == [NEW, REPEATED, REPEATED, NEW]
        counts = await world.recount()
    assert counts == IngestCounts(received=4, persisted=2, duplicates=2, items=4)


@without_moto
async def test_retries_at_two_servers_whose_clocks_differ_are_stored_once(world: SinkWorld) -> None:
    early, late = Watch(), Watch()
    late.move(timedelta(seconds=30))
    async with (
        world.open_sink(clock=Clock(early)) as one,
        world.open_sink(clock=Clock(late)) as other,
    ):
        assert await accept(other, correlator="c") == NEW
        answers = await asyncio.gather(
            *(accept(sink, correlator="c") for sink in (one, other) for _ in range(3))
        )
        counts = await world.recount()
    assert answers == [REPEATED] * 6
    assert counts == IngestCounts(received=7, persisted=1, duplicates=6, items=2)


@on_sqlite
async def test_a_receipt_of_a_whole_day_drops_nothing_any_more(world: SinkWorld) -> None:
    """An older server remembered each notification for a day."""
    watch = Watch()
    made = notification(correlator="constant")
    old = int((watch.time + timedelta(hours=20)).timestamp())
    await world.context.table.transact([Put({**NOTIFIED.item(id=made.identity), TTL: old})])
    async with world.open_sink(clock=Clock(watch)) as sink:
        assert await accept(sink, correlator="constant") == NEW
        assert await accept(sink, correlator="constant") == REPEATED
        counts = await world.recount()
    assert counts == IngestCounts(received=2, persisted=1, duplicates=1, items=2)


@on_sqlite
async def test_the_body_and_the_headers_belong_to_a_retry(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        assert await accept(sink, "car1", correlator="constant") == NEW
        assert await accept(sink, "car2", correlator="constant") == NEW
        assert await accept(sink, "car1", correlator="constant", fiware_service="other") == NEW
        assert await accept(sink, "car1", correlator="constant") == REPEATED
        assert await accept(sink, "car1") == NEW
        counts = await world.recount()
    assert counts == IngestCounts(received=4, persisted=3, duplicates=1, items=6)


@on_sqlite
async def test_equal_notifications_that_fail_together_are_counted_one_by_one(
    world: SinkWorld,
) -> None:
    """Both copies wait in one batch: the fate of one must not be taken for that of the other."""
    watch = Watch()
    batching = replace(QUICK.batching, size=1000, timeout=1000.0)
    async with world.open_sink(replace(QUICK, batching=batching), clock=Clock(watch)) as sink:
        await accept(sink, correlator="constant")
        watch.move(timedelta(seconds=WINDOW + 2))
        await accept(sink, correlator="constant")
        identities = {entry.event.identity for entry in sink.loader._buffer}
        assert len(identities) == 2
    assert await world.recount() == IngestCounts(received=2, persisted=2, items=4)
