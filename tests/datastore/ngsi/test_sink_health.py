"""The health of a sink: its events by state, its troubled destinations, its commits."""

import asyncio
import random
from dataclasses import replace

import pytest

from penstock.datastore.errors import Unavailable
from penstock.datastore.ngsi.inbox import FAILING_SECONDS
from penstock.datastore.ngsi.options import BatchingOptions
from tests.datastore.ngsi.failing_destinations import (
    FailingDestinations,
    FaultInjector,
    NotAllowed,
    fail_table,
)
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld
from tests.datastore.ngsi.test_sink import accept
from tests.support.patience import until
from tests.support.sample_resources import on_sqlite

pytestmark = on_sqlite


@pytest.mark.parametrize("seconds", [0.0, 60.0])
async def test_events_are_totalled_by_state(world: SinkWorld, seconds: float) -> None:
    options = replace(QUICK, settlement_seconds=seconds)
    async with world.open_sink(options) as sink:
        await accept(sink, "car1", "car2", correlator="c")
        await accept(sink, "car1", "car2", correlator="c")
        await accept(sink, "car3", {"id": 7})
        assert sink.committer.totals.by_state["received"] == 6
    expected = {"received": 6, "persisted": 3, "duplicate": 2, "dead": 1}
    assert sink.committer.totals.by_state == expected
    assert sink.in_flight.held.events == 0
    counts = await world.recount()
    assert (counts.received, counts.persisted, counts.duplicates) == (6, 3, 2)


async def test_a_replayed_letter_is_not_received_again(world: SinkWorld) -> None:
    options = replace(QUICK, batching=BatchingOptions(ttl=0, retry_intervals=(0.001,)))
    broken = FailingDestinations(world.context.destinations, fail_table("car1", Unavailable("no")))
    async with world.open_sink(options, destinations=broken) as sink:
        await accept(sink, "car1")
        await world.wait_until_settled()
        totals = sink.committer.totals
        dead = {"received": 1, "persisted": 0, "duplicate": 0, "dead": 1}
        await until(lambda: totals.by_state == dead)
        broken.fails = lambda _: None
        (letter,) = await world.letters()
        await sink.replayer.replay(letter)
        await world.recount()
        stored = {"received": 1, "persisted": 1, "duplicate": 0, "dead": 1}
        await until(lambda: totals.by_state == stored)


async def test_a_destination_that_fails_leaves_the_sink_writable(world: SinkWorld) -> None:
    broken = FailingDestinations(world.context.destinations, fail_table("car1", NotAllowed("no")))
    async with world.open_sink(destinations=broken, drain=0.1) as sink:
        await accept(sink, "car1", "car2")
        await until(lambda: len(sink.loader.failing_destinations) == 1)
        sink.require_writable()
        broken.fails = lambda _: None
        await until(lambda: sink.loader.failing_destinations == {})


async def test_a_sink_whose_commits_fail_cannot_write_until_one_succeeds(world: SinkWorld) -> None:
    files = FaultInjector(world.context.files, random.Random(0), 1.0, "write")
    async with world.open_sink(files=files) as sink:
        sink.require_writable()
        with pytest.raises(Unavailable):
            await accept(sink, "car1")
        with pytest.raises(Unavailable, match=r"The latest notifications could not be kept\."):
            sink.require_writable()
        files.often = 0.0
        await accept(sink, "car1")
        sink.require_writable()


async def test_a_failed_commit_is_forgotten_where_nobody_sends_any_more(world: SinkWorld) -> None:
    files = FaultInjector(world.context.files, random.Random(0), 1.0, "write")
    async with world.open_sink(files=files) as sink:
        with pytest.raises(Unavailable):
            await accept(sink, "car1")
        sink.inbox._failed_at = asyncio.get_running_loop().time() - FAILING_SECONDS
        sink.require_writable()


async def test_a_full_sink_is_writable_for_it_only_asks_to_wait(world: SinkWorld) -> None:
    broken = FailingDestinations(world.context.destinations, lambda _: NotAllowed("no"))
    options = replace(QUICK, max_pending=2)
    async with world.open_sink(options, destinations=broken, drain=0.1) as sink:
        await accept(sink, "car1", "car2")
        with pytest.raises(Unavailable):
            await accept(sink, "car3")
        sink.require_writable()
