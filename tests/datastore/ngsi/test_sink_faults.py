"""A sink on failing stores: nothing is lost, nothing is stored twice, every count is right."""

import asyncio
import gc
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from penstock.datastore.errors import RequestRefused, Unavailable
from penstock.datastore.manifest.transitions import Reload
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.dead_letters import ReplayResult
from penstock.datastore.ngsi.inbox import IntakeResult
from penstock.datastore.ngsi.options import BatchingOptions, LongNames, NamingOptions
from penstock.datastore.table.port import Operation, Table
from tests.datastore.ngsi.failing_destinations import (
    FailingDestinations,
    FaultInjector,
    NotAllowed,
    fail_first,
    fail_table,
)
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld, notification, wait_until_released
from tests.datastore.ngsi.test_sink import accept, runs
from tests.support.patience import HUNG_SECONDS, until
from tests.support.sample_resources import on_sqlite
from tests.support.table_interceptors import InterceptedTable

pytestmark = on_sqlite

BUSY = Unavailable("busy")
THREE = replace(QUICK, batching=BatchingOptions(ttl=3, retry_intervals=(0.001,)))


def failing(world: SinkWorld, *fails: Any) -> FailingDestinations:
    return FailingDestinations(world.context.destinations, *fails)


@pytest.mark.parametrize("failures", [1, 3])
async def test_what_fails_is_tried_again(world: SinkWorld, failures: int) -> None:
    destinations = failing(world, fail_first(failures, BUSY))
    async with world.open_sink(THREE, destinations=destinations) as sink:
        await accept(sink, "car1")
        assert await world.recount() == IngestCounts(received=1, persisted=1, items=2)
        await until(lambda: sink.loader.failing_destinations == {})


async def test_what_fails_to_the_end_becomes_a_letter_and_is_tried_again(world: SinkWorld) -> None:
    destinations = failing(world, fail_first(8, BUSY))
    async with world.open_sink(THREE, destinations=destinations) as sink:
        await accept(sink, "car1")
        assert (await world.wait_until_settled()) == IngestCounts(received=1, dead_lettered=1)
        (letter,) = await world.letters()
        assert (letter.reason, letter.attempts, letter.events) == ("busy", 4, 1)
        assert await sink.replayer.replay(letter) == ReplayResult(letter, 1, 0)
        assert await world.recount() == IngestCounts(received=1, persisted=1, items=2)
        assert await world.letters() == []
        assert await sink.replayer.replay(letter) == ReplayResult(letter, 1, 0)
        assert await world.recount() == IngestCounts(received=1, persisted=1, items=2)
        await wait_until_released(sink)


async def test_without_retries_the_first_failure_makes_a_letter(world: SinkWorld) -> None:
    options = replace(QUICK, batching=BatchingOptions(ttl=0, retry_intervals=(0.001,)))
    destinations = failing(world, fail_table("car1", BUSY))
    async with world.open_sink(options, destinations=destinations) as sink:
        await accept(sink, "car1", "car2")
        counts = await world.wait_until_settled()
    assert counts == IngestCounts(received=2, persisted=1, dead_lettered=1, items=2)


async def test_a_destination_that_fails_holds_up_no_other(world: SinkWorld) -> None:
    options = replace(QUICK, batching=BatchingOptions(ttl=-1, retry_intervals=(0.01,)))
    destinations = failing(world, fail_table("car1", BUSY))
    async with world.open_sink(options, destinations=destinations, drain=0.1) as sink:
        await accept(sink, "car1", "car2")

        async def is_stored() -> bool:
            return "car2" in {item["entityId"] for item in await world.read_samples()}

        await until(is_stored)
        assert (await world.counts()).pending == 2
        failing_now = {"vehiclesxffffx002f4wheelsxffffcar1xffffcar": "busy"}
        await until(lambda: sink.loader.failing_destinations == failing_now)
        destinations.fails = fail_first(0, BUSY)
        assert await world.recount() == IngestCounts(received=2, persisted=2, items=4)


async def test_a_wrong_set_up_waits_to_be_put_right(world: SinkWorld) -> None:
    destinations = failing(world, fail_first(50, NotAllowed("no such key")))
    async with world.open_sink(THREE, destinations=destinations) as sink:
        await accept(sink)
        assert await world.recount() == IngestCounts(received=1, persisted=1, items=2)


class RefusingTable(InterceptedTable):
    """A table whose next transactions AWS refuses, for no reason that we know."""

    def __init__(self, table: Table, count: int) -> None:
        super().__init__(table)
        self.left = count
        self.is_refusing = False

    def begin(self, _destination: str) -> None:
        self.is_refusing = True

    async def transact(self, operations: Sequence[Operation]) -> float:
        if self.is_refusing and self.left:
            self.left -= 1
            raise RequestRefused("TransactWriteItems", "ValidationException", "made up")
        return await super().transact(operations)


async def test_a_run_whose_settlement_is_refused_is_settled_when_it_is_not(
    world: SinkWorld, caplog: pytest.LogCaptureFixture
) -> None:
    unread: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: unread.append(str(context["message"])))
    table = RefusingTable(world.context.table, 3)
    destinations = failing(world, table.begin)
    async with world.open_sink(THREE, destinations=destinations, table=table) as sink:
        await accept(sink)
        assert await world.recount() == IngestCounts(received=1, persisted=1, items=2)
        await wait_until_released(sink)
    gc.collect()
    assert (table.left, unread) == (0, [])
    refused = [line.message for line in caplog.records if line.levelname == "ERROR"]
    said = "TransactWriteItems was refused with ValidationException: made up"
    assert refused == [f"a run cannot be settled yet: {said}"] * 3


async def test_poison_that_is_tried_again_is_poison_again(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        await accept(sink, {"type": "car"})
        (letter,) = await world.letters()
        assert await sink.replayer.replay(letter) == ReplayResult(letter, 0, 1)
        assert await world.recount() == IngestCounts(received=1, dead_lettered=1)
        (again,) = await world.letters()
    assert (again.reason, again.first_seen) == (letter.reason, letter.first_seen)
    assert again.id != letter.id


async def test_a_name_that_was_refused_is_given_by_the_rules_of_the_day(world: SinkWorld) -> None:
    refusing = replace(QUICK, naming=NamingOptions(long_names=LongNames.REJECT))
    async with world.open_sink(refusing) as sink:
        answer = await accept(sink, "c" * 250)
        assert isinstance(answer, IntakeResult)
        assert "characters of a table's name" in answer.refused[0].reason
    async with world.open_sink() as sink:
        (letter,) = await world.letters()
        await sink.replayer.replay(letter)
        assert await world.recount() == IngestCounts(received=1, persisted=1, items=2)


async def test_a_run_that_is_loaded_once_more_counts_once(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        await accept(sink)
        await sink.loader.drain()
        (run,) = await runs(sink)
        await sink.committer.run_log.runs.change(run.name, Reload(force=True, reason="to be sure"))
        assert await sink.take_over_runs() == 1
        await sink.loader.drain()
        (again,) = await runs(sink)
        assert (again.state, again.fence) == ("LOADED", 2)
        assert await world.recount() == IngestCounts(received=1, persisted=1, items=2)


async def test_a_notification_that_cannot_be_kept_is_refused_and_may_come_again(
    world: SinkWorld,
) -> None:
    dice = random.Random(1)
    table = FaultInjector(world.context.table, dice, 2.0, "transact")
    async with world.open_sink(table=table) as sink:
        with pytest.raises(Unavailable):
            await accept(sink, correlator="c")
        assert sink.in_flight.held.events == 0
        table.often = 0.0
        assert await accept(sink, correlator="c") == IntakeResult(1)
        assert (await world.recount()).persisted == 1


@pytest.mark.parametrize("seed", range(6))
async def test_whatever_fails_everything_is_stored_once(world: SinkWorld, seed: int) -> None:
    """Senders repeat unacknowledged notifications; sinks fail anywhere and are killed."""
    dice = random.Random(seed)
    ground = world.context
    changes: dict[str, Any] = {
        "lease_seconds": 1,
        "table": FaultInjector(ground.table, dice, 0.1, "get", "transact", "write"),
        "files": FaultInjector(ground.files, dice, 0.1, "write"),
        "destinations": FaultInjector(ground.destinations, dice, 0.2, "write"),
    }
    waiting = [[f"car{n % 7}", f"car{n % 5}x"] for n in range(40)]
    sent = 0

    async def send(number: int, sink: Any) -> bool:
        cars = waiting[number]
        made = notification(*cars, correlator=f"c{number}")
        try:
            return (await sink.accept_notification(made, 100)) is not None
        except Unavailable:
            return False

    left = list(range(40))
    for _ in range(200):
        if not left:
            break
        options = replace(THREE, settlement_seconds=dice.choice([0.0, 0.01, HUNG_SECONDS]))
        async with world.open_sink(options, drain=dice.choice([0.0, 0.05]), **changes) as sink:
            for _ in range(3):
                some = left[:8]
                sent += len(some)
                answers = await asyncio.gather(*(send(number, sink) for number in some))
                left = [n for n, ok in zip(some, answers, strict=True) if not ok] + left[8:]
    assert not left
    async with world.open_sink(QUICK, lease_seconds=1) as sink:
        counts = await world.wait_until_settled()
        while letters := await world.letters():
            for letter in letters:
                await sink.replayer.replay(letter)
        counts = await world.recount()
    assert counts.persisted == 80
    assert counts.items == 160
    assert counts.received == 80 + counts.duplicates
    assert counts.received <= 2 * sent
