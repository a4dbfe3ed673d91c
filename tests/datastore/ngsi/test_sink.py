"""The sink makes every notification durable, stores it once, and counts it."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.manifest.lists import RunListFilter, RunLists
from penstock.datastore.manifest.records import Run, RunState
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.inbox import IntakeResult, RefusedEntity
from penstock.datastore.ngsi.options import (
    Ack,
    BatchingOptions,
    DataModel,
    NamingOptions,
    SinkOptions,
)
from penstock.datastore.ngsi.rows import Event
from penstock.datastore.ngsi.run_log import MANIFEST, RunLog
from penstock.datastore.ngsi.sink import NotificationSink
from tests.datastore.ngsi.sample_sinks import (
    QUICK,
    SinkWorld,
    car,
    event_counts,
    notification,
    wait_until_released,
)
from tests.support.loop_clock import LONG, let_tasks_run, pass_time
from tests.support.patience import until
from tests.support.sample_resources import Watch, on_sqlite, walk, without_moto

SLOW = replace(QUICK, batching=BatchingOptions(size=1000, timeout=1000.0))
"""Nothing is stored before it has to be."""


async def accept(sink: NotificationSink, *entities: Any, **headers: str) -> IntakeResult | None:
    return await sink.accept_notification(notification(*entities, **headers), 100)


async def runs(sink: NotificationSink) -> list[Run]:
    lists = RunLists(sink.committer.run_log.runs)
    return await walk(partial(lists.page, MANIFEST, RunListFilter()), 100)


async def read_events(log: RunLog, run: Run) -> list[Event]:
    """Read the events of all segments of a run; raises NotFound if they are gone."""
    return [event for file in await log.list_files(run) for event in await log.lines.read(file)]


async def runs_in_hand(sink: NotificationSink) -> list[Run]:
    """The runs that are not loaded: of all, since a list for each state takes ten times longer."""
    try:
        return [run for run in await runs(sink) if run.state is not RunState.LOADED]
    except NotFound:
        # The manifest does not exist before its first run.
        return []


@without_moto
async def test_what_is_notified_is_stored_and_counted(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        assert await accept(sink) == IntakeResult(1)
        counts = await world.recount()
    assert counts == IngestCounts(received=1, persisted=1, items=2)
    found = {item["attrName"]: item["attrValue"] for item in await world.read_samples()}
    assert found == {"speed": "112.9", "oil_level": "74.6"}


@without_moto
async def test_a_segment_is_a_run_of_the_manifest_until_it_is_loaded(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        await accept(sink, "car1", "car2")
        await world.wait_until_settled()
        await sink.loader.drain()
        (run,) = await runs(sink)
        assert run.state is RunState.LOADED
        assert event_counts(run) == {"events": 2, "persisted": 2, "deadLettered": 0}
        assert run.shred_types == (
            "vehiclesxffffx002f4wheelsxffffcar1xffffcar",
            "vehiclesxffffx002f4wheelsxffffcar2xffffcar",
        )
        assert run.saved_to == f"s3://penstock/{run.run_id}"
        assert [
            event.update.entity_id for event in await read_events(sink.committer.run_log, run)
        ] == ["car1", "car2"]


@without_moto
async def test_what_is_notified_twice_is_stored_once_and_counted_twice(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        assert await accept(sink, correlator="c") == IntakeResult(1)
        assert await accept(sink, correlator="c") == IntakeResult(1, repeated=True)
        assert await accept(sink, correlator="d") == IntakeResult(1)
        counts = await world.recount()
    assert counts == IngestCounts(received=3, persisted=2, duplicates=1, items=4)


@without_moto
async def test_many_at_once_of_the_same_are_stored_once(world: SinkWorld) -> None:
    async with world.open_sink() as one, world.open_sink() as other:
        answers = await asyncio.gather(
            *(accept(sink, correlator="c") for sink in (one, other) for _ in range(5))
        )
        counts = await world.recount()
    assert sorted(answer.repeated for answer in answers if answer) == [False] + [True] * 9
    assert counts == IngestCounts(received=10, persisted=1, duplicates=9, items=2)


@without_moto
async def test_what_arrives_together_is_kept_together(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        await asyncio.gather(*(accept(sink, f"car{n}") for n in range(60)))
        counts = await world.recount()
        assert len(await runs(sink)) < 15
    assert counts == IngestCounts(received=60, persisted=60, items=120)


@on_sqlite
async def test_a_batch_waits_for_its_size(world: SinkWorld) -> None:
    batching = BatchingOptions(size=3, timeout=1000.0)
    async with world.open_sink(replace(QUICK, batching=batching)) as sink:
        await accept(sink, "car1")
        await accept(sink, "car2")
        await let_tasks_run()
        assert await world.counts() == IngestCounts(received=2, pending=2)
        await accept(sink, "car3")
        assert (await world.recount()).persisted == 3


@on_sqlite
async def test_a_batch_that_does_not_fill_waits_for_its_timeout(world: SinkWorld) -> None:
    batching = BatchingOptions(size=1000, timeout=LONG)
    async with world.open_sink(replace(QUICK, batching=batching)) as sink:
        await accept(sink)
        assert (await world.counts()).pending == 1
        await pass_time(LONG)
        assert (await world.recount()).persisted == 1


@on_sqlite
async def test_a_sink_that_stops_stores_what_it_has(world: SinkWorld) -> None:
    async with world.open_sink(SLOW) as sink:
        await accept(sink)
    assert await world.counts() == IngestCounts(received=1, persisted=1, items=2)


@on_sqlite
async def test_what_a_dead_sink_kept_is_stored_by_the_next(world: SinkWorld) -> None:
    async with world.open_sink(SLOW, drain=0.0, lease_seconds=1) as sink:
        await accept(sink)
    assert (await world.counts()).pending == 1
    async with world.open_sink(lease_seconds=1):
        counts = await world.recount()
    assert counts == IngestCounts(received=1, persisted=1, items=2)


@on_sqlite
async def test_a_run_whose_segment_is_gone_is_left_to_people(world: SinkWorld) -> None:
    async with world.open_sink(SLOW, drain=0.0, lease_seconds=1) as sink:
        await accept(sink)
        (run,) = await runs(sink)
        for file in await sink.committer.run_log.list_files(run):
            await world.context.files.delete(file)
    async with world.open_sink(lease_seconds=1) as sink:

        async def has_failed() -> bool:
            return (await runs(sink))[0].state is RunState.FAILED

        await until(has_failed)
        (run,) = await runs(sink)
    assert (run.state, run.last_error) == (RunState.FAILED, "The segments are gone.")


@on_sqlite
async def test_a_run_that_takes_long_stays_in_hand(world: SinkWorld) -> None:
    watch = Watch()
    slow: Any = {"clock": Clock(watch), "lease_seconds": 60}
    async with world.open_sink(SLOW, **slow) as one, world.open_sink(SLOW, **slow) as other:
        await accept(one)
        for _ in range(3):
            watch.move(timedelta(seconds=50))
            await one.renew_leases()
            assert await other.take_over_runs() == 0
        watch.move(timedelta(seconds=61))
        assert await other.take_over_runs() == 1
        await one.loader.drain()
        assert (await world.counts()).pending == 1
        await other.loader.drain()
        assert await world.recount() == IngestCounts(received=1, persisted=1, items=2)
        await wait_until_released(one, other)


@on_sqlite
async def test_a_queued_notification_is_answered_before_it_is_kept(world: SinkWorld) -> None:
    async with world.open_sink(replace(QUICK, ack=Ack.QUEUED)) as sink:
        assert await accept(sink) is None
        assert (await world.counts()).received == 0
        assert sink.in_flight.held.events == 1
        await sink.inbox.wait_until_empty()
        assert (await world.recount()).persisted == 1
        await wait_until_released(sink)


@on_sqlite
async def test_a_full_sink_tells_senders_to_wait_and_keeps_nothing(world: SinkWorld) -> None:
    async with world.open_sink(replace(SLOW, max_pending=2)) as sink:
        await accept(sink, "car1", "car2")
        with pytest.raises(Unavailable) as refused:
            await accept(sink, "car3")
        assert refused.value.retry_after == 5
        assert await world.counts() == IngestCounts(received=2, pending=2)
        await sink.loader.drain()
        assert sink.in_flight.held.events == 0
        await accept(sink, "car3")
    assert (await world.recount()).persisted == 3


@on_sqlite
async def test_segments_of_what_was_stored_go_after_some_days(world: SinkWorld) -> None:
    watch = Watch()
    async with world.open_sink(SLOW, clock=Clock(watch), lease_seconds=60) as sink:
        ledger = sink.committer.run_log
        await accept(sink, "car1")
        await sink.loader.drain()
        await ledger.write_segment(await read_events(ledger, (await runs(sink))[0]), {})
        watch.move(timedelta(days=3))
        await accept(sink, "car2")
        await sink.loader.drain()
        assert await ledger.delete_old_segments(timedelta(days=3)) == 0
        watch.move(timedelta(days=1))
        assert await ledger.delete_old_segments(timedelta(days=3)) == 2
        loaded, other = await runs(sink)
        assert len(await read_events(ledger, other)) == 1
        with pytest.raises(NotFound):
            await read_events(ledger, loaded)


@without_moto
async def test_each_service_path_has_its_own_counts(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        await accept(sink, "car1", "car2", "car3", fiware_servicepath="/a, /b, /a")
        assert (await world.wait_until_settled(("vehicles", "/a"))).persisted == 2
        assert (await world.wait_until_settled(("vehicles", "/b"))).persisted == 1
        assert (await world.counts()).received == 0


@without_moto
async def test_by_service_path_entities_share_a_table_and_no_series(world: SinkWorld) -> None:
    options = replace(QUICK, naming=NamingOptions(data_model=DataModel.BY_SERVICE_PATH))
    async with world.open_sink(options) as sink:
        await accept(sink, "car1", "car2")
        assert (await world.recount()).items == 4
        await sink.loader.drain()
        (run,) = await runs(sink)
    assert run.shred_types == ("vehiclesxffffx002f4wheels",)


@without_moto
async def test_a_poisoned_entity_becomes_a_dead_letter_beside_what_is_stored(
    world: SinkWorld,
) -> None:
    async with world.open_sink() as sink:
        answer = await accept(sink, "car1", {"type": "car"}, 7)
        counts = await world.recount()
    reason = "The entity's id is missing or not a text."
    assert answer == IntakeResult(
        1, (RefusedEntity(1, reason), RefusedEntity(2, "The entity is not an object."))
    )
    assert counts == IngestCounts(received=3, persisted=1, dead_lettered=2, items=2)
    (letter,) = await world.letters()
    assert (letter.events, letter.reason, letter.attempts) == (2, reason, 0)
    dead = await sink.committer.letter_files.read(letter)
    assert [each.entity for each in dead] == ['{"type":"car"}', "7"]


@without_moto
async def test_a_notification_of_nothing_but_poison_is_kept_as_a_letter(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        refused = (RefusedEntity(0, "The entity's id is missing or not a text."),)
        for repeated in (False, True):
            answer = await accept(sink, {}, correlator="c")
            assert answer == IntakeResult(0, refused, repeated)
        counts = await world.recount()
    assert counts == IngestCounts(received=2, duplicates=1, dead_lettered=1)


@on_sqlite
async def test_an_event_that_no_table_can_hold_becomes_a_letter(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        large = car("large", text=1)
        large["text"]["metadata"] = {"note": {"type": "Text", "value": "x" * 500_000}}
        await accept(sink, "car1", large)
        counts = await world.recount()
    assert counts == IngestCounts(received=2, persisted=1, dead_lettered=1, items=2)
    (letter,) = await world.letters()
    assert "bytes of an item" in letter.reason


@on_sqlite
async def test_hundreds_of_entities_of_forty_paths_are_kept_at_once(world: SinkWorld) -> None:
    paths = [f"/p{n % 40}" for n in range(200)]
    async with world.open_sink() as sink:
        cars = [car(f"car{n}", speed=n) if n % 9 else {} for n in range(200)]
        await accept(sink, *cars, fiware_servicepath=",".join(paths))
        places = [("vehicles", path) for path in dict.fromkeys(paths)]
        counts = await world.recount(*places)
    assert counts == IngestCounts(received=200, persisted=177, dead_lettered=23, items=177)


def test_the_defaults_are_those_of_the_document() -> None:
    options = SinkOptions()
    assert (options.batching.size, options.batching.timeout) == (1, 30.0)
    assert (options.batching.ttl, options.batching.retry_intervals) == (10, (5.0,))
    assert (options.naming.data_model, options.naming.enable_lowercase) == ("dm-by-entity", False)
    assert options.layout.attr_persistence == "row"
    assert not options.enable_grouping
    assert not options.enable_name_mappings


@pytest.mark.parametrize(
    ("ttl", "pauses"), [(3, [1.0, 2.0, 2.0, None]), (0, [None]), (-1, [1.0, 2.0, 2.0, 2.0, 2.0])]
)
def test_intervals_of_retries_go_in_turn_and_the_last_repeats(
    ttl: int, pauses: list[float | None]
) -> None:
    batching = BatchingOptions(ttl=ttl, retry_intervals=(1.0, 2.0))
    assert [batching.retry_delay(attempt) for attempt in range(1, len(pauses) + 1)] == pauses
