"""The manifest alone tells what arrived and what was written, also of refused entities."""

from collections import Counter
from typing import Any

from penstock.datastore.errors import Unavailable
from penstock.datastore.manifest.records import RunState
from penstock.datastore.ngsi.inbox import IntakeResult
from penstock.datastore.ngsi.run_log import MAX_CODES, intake_counts
from penstock.datastore.ngsi.sink import NotificationSink
from tests.datastore.ngsi.failing_destinations import FailingDestinations, fail_first, fail_table
from tests.datastore.ngsi.sample_sinks import SinkWorld, event_counts
from tests.datastore.ngsi.test_replay import ONCE, notifications
from tests.datastore.ngsi.test_sink import accept, runs

NAMELESS: dict[str, Any] = {"type": "car", "speed": {"type": "Number", "value": 1}}
FAILING = "vehiclesxffffx002f4wheelsxffffcar9xffffcar"


async def counts_of_runs(sink: NotificationSink) -> list[dict[str, int]]:
    return [event_counts(run) for run in await runs(sink)]


async def total(sink: NotificationSink) -> Counter[str]:
    found = Counter[str]()
    for counts in await counts_of_runs(sink):
        found.update(counts)
    return found


async def settle(world: SinkWorld, sink: NotificationSink) -> None:
    await world.wait_until_settled()
    await sink.loader.drain()


async def test_what_was_received_follows_from_the_runs(world: SinkWorld) -> None:
    failing = fail_table(FAILING, Unavailable("busy"))
    destinations = FailingDestinations(world.context.destinations, failing)
    async with world.open_sink(ONCE, destinations=destinations) as sink:
        await accept(sink, "car1", NAMELESS)
        await world.wait_until_settled()
        assert await counts_of_runs(sink) == [
            {
                "events": 1,
                "persisted": 1,
                "deadLettered": 0,
                "refused": 1,
                "refused:BAD_USER_INPUT": 1,
            }
        ]
        nothing = await accept(sink, NAMELESS, NAMELESS)
        assert isinstance(nothing, IntakeResult)
        assert (nothing.events, len(nothing.refused)) == (0, 2)
        (_, empty) = await runs(sink)
        assert (empty.state, empty.lease_until, empty.loaded_at) == (
            RunState.LOADED,
            None,
            empty.added_at,
        )
        assert event_counts(empty) == {
            "events": 0,
            "persisted": 0,
            "deadLettered": 0,
            "refused": 2,
            "refused:BAD_USER_INPUT": 2,
        }
        await accept(sink, "car2", "car9")
        await accept(sink, NAMELESS)
        await accept(sink, NAMELESS, "car3")
        await settle(world, sink)
        shared = (await runs(sink))[-1]
        assert event_counts(shared) == {
            "events": 3,
            "persisted": 2,
            "deadLettered": 1,
            "refused": 2,
            "refused:BAD_USER_INPUT": 2,
        }
        found, counts = await total(sink), await world.counts()
        assert (counts.received, counts.persisted, counts.dead_lettered) == (9, 3, 6)
        assert counts.received == found["events"] + found["refused"]
        assert counts.dead_lettered == found["deadLettered"] + found["refused"]


async def test_replayed_events_are_told_from_received_ones(world: SinkWorld) -> None:
    failing = fail_table(FAILING, Unavailable("busy"))
    destinations = FailingDestinations(world.context.destinations, failing)
    async with world.open_sink(ONCE, destinations=destinations) as sink:
        await accept(sink, "car9", NAMELESS)
        await settle(world, sink)
        destinations.fails = fail_first(0, Unavailable("busy"))
        letters = [letter.id for letter in await world.letters()]
        result = await notifications(world, sink).replay(letters)
        assert sorted((each.events, each.dead) for each in result.replayed) == [(0, 1), (1, 0)]
        await settle(world, sink)
        found, counts = await total(sink), await world.counts()
    assert found == Counter(
        {
            "events": 2,
            "replayed": 1,
            "persisted": 1,
            "deadLettered": 1,
            "refused": 1,
            "refused:BAD_USER_INPUT": 1,
        }
    )
    assert counts.received == found["events"] - found["replayed"] + found["refused"] == 2
    assert counts.dead_lettered == 1


async def test_a_notification_that_is_sent_again_is_in_no_run(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        for _ in range(2):
            await accept(sink, NAMELESS, correlator="c")
        assert len(await runs(sink)) == 1
        counts = await world.recount()
        assert (counts.received, counts.duplicates, counts.dead_lettered) == (2, 1, 1)


def test_the_codes_that_most_entities_had_are_counted_one_by_one() -> None:
    codes = {f"refused:{letter}": number for number, letter in enumerate("abcde", 1)}
    found = intake_counts({"refused": 15, "replayed": 0, **codes})
    assert found == {"refused": 15, "refused:c": 3, "refused:d": 4, "refused:e": 5}
    assert len(found) == 1 + MAX_CODES
