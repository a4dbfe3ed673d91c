"""The manifest alone tells what arrived and what was written, also of refused entities."""

from collections import Counter
from typing import Any

from penstock.datastore.errors import Unavailable
from penstock.datastore.manifest.records import RunState
from penstock.datastore.ngsi.inbox import IntakeResult
from penstock.datastore.ngsi.run_counts import MAX_CODES, show_counts
from penstock.datastore.ngsi.sink import NotificationSink
from tests.datastore.ngsi.failing_destinations import FailingDestinations, fail_first, fail_table
from tests.datastore.ngsi.sample_sinks import SinkWorld, event_counts
from tests.datastore.ngsi.test_replay import ONCE, notifications
from tests.datastore.ngsi.test_sink import accept, runs

NAMELESS: dict[str, Any] = {"type": "car", "speed": {"type": "Number", "value": 1}}
TABLE = "vehiclesxffffx002f4wheelsxffff%sxffffcar"
FAILING = TABLE % "car9"


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
        nothing = await accept(sink, NAMELESS, NAMELESS)
        assert isinstance(nothing, IntakeResult)
        assert (nothing.events, len(nothing.refused)) == (0, 2)
        (empty,) = await runs(sink)
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
        await accept(sink, NAMELESS)
        await accept(sink, "car1", NAMELESS)
        await accept(sink, "car2", "car9")
        await accept(sink, NAMELESS, "car3")
        await settle(world, sink)
        _, shared = await runs(sink)
        assert event_counts(shared) == {
            "events": 4,
            "persisted": 3,
            "deadLettered": 1,
            "refused": 3,
            "refused:BAD_USER_INPUT": 3,
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


async def test_what_is_sent_again_is_counted_for_each_destination(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        for _ in range(3):
            await accept(sink, "car1", NAMELESS, "car1", "car2", correlator="c")
            await world.wait_until_settled()
        await settle(world, sink)
        found = Counter[str]()
        for run in await runs(sink):
            found.update(run.counts or {})
        counts = await world.recount()
    assert (counts.received, counts.duplicates, counts.dead_lettered) == (12, 8, 1)
    one, two = (TABLE % name for name in ("car1", "car2"))
    assert found == {
        "received": 12,
        "events": 3,
        "persisted": 3,
        "deadLettered": 0,
        "duplicates": 8,
        "refused": 1,
        "refused:BAD_USER_INPUT": 1,
        "items": 6,
        f"items:{one}": 4,
        f"items:{two}": 2,
        f"duplicates:{one}": 8,
        f"duplicates:{two}": 4,
        f"received:{one}": 8,
        f"received:{two}": 4,
    }


def test_the_codes_that_most_entities_had_are_counted_one_by_one() -> None:
    codes = {f"refused:{letter}": number for number, letter in enumerate("abcde", 1)}
    found = show_counts({"refused": 15, "replayed": 0, **codes})
    assert found == {"refused": 15, "refused:c": 3, "refused:d": 4, "refused:e": 5}
    assert len(found) == 1 + MAX_CODES
