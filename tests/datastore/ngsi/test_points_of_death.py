"""A process dies or stands still at each of its writes: nothing acknowledged is lost.

Nothing is counted twice either: senders repeat what was not answered.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.ngsi.counts import IngestCounts, read_open_segments
from penstock.datastore.ngsi.inbox import IntakeResult
from penstock.datastore.ngsi.options import SinkOptions
from penstock.datastore.ngsi.segments.segment_sweep import sweep_segments
from penstock.datastore.ngsi.sink import NotificationSink
from tests.datastore.ngsi.latest_checks import check_latest
from tests.datastore.ngsi.run_totals import RunTotals
from tests.datastore.ngsi.sample_sinks import QUICK, NewWorld, SinkWorld, car, notification
from tests.datastore.ngsi.stopping_stores import Writes
from tests.datastore.ngsi.test_sink import SLOW, runs, runs_in_hand
from tests.support.consistency_check import faults
from tests.support.patience import HUNG_SECONDS, until
from tests.support.sample_resources import SUPER, Watch, on_sqlite, without_moto

LEASE = 60

JOINING = replace(QUICK, settlement_seconds=HUNG_SECONDS)
"""The first notification has a run of its own, the settlement of the second joins the third."""


def is_stored(sink: NotificationSink) -> bool:
    """Whether every segment of the sink is stored, and settled or about to join a commit."""
    return len(sink.loader.open_runs) == len(sink.committer.segments.settlements)


@dataclass
class Senders:
    """Three notifications, one behind the other; each has an entity of one path, and a dead one."""

    new_world: NewWorld
    watch: Watch = field(default_factory=Watch)
    rounds: int = 0
    late: int = 0
    answers: dict[int, IntakeResult | None] = field(default_factory=dict)
    world: SinkWorld = field(init=False)

    @asynccontextmanager
    async def in_new_world(self) -> AsyncIterator[None]:
        """Let one round happen in an empty store: a sweep reads what all rounds left there."""
        async with self.new_world() as self.world:
            yield
            assert await faults(self.world.context.table) == []

    @property
    def places(self) -> list[tuple[str, str]]:
        return [("vehicles", f"/{path}{self.rounds}") for path in "ab"]

    @property
    def shared(self) -> dict[str, Any]:
        return {"clock": Clock(self.watch), "lease_seconds": LEASE, "shards": 1}

    async def send(self, sink: NotificationSink, number: int) -> None:
        if number in self.answers:
            return
        made = notification(
            car(f"car{number}", speed=number),
            {"type": "car"},
            correlator=f"c{self.rounds}-{number}",
            fiware_servicepath=", ".join(f"/{path}{self.rounds}" for path in "ab"),
        )
        self.answers[number] = await sink.accept_notification(made, 100)

    async def send_all(self, sink: NotificationSink) -> None:
        for number in range(3):
            await self.send(sink, number)

    async def work(self, process: Writes) -> None:
        """Let a process receive and store all, until it is done or dies."""

        async def receive_and_store(sink: NotificationSink) -> None:
            for number in range(3):
                await self.send(sink, number)
                await until(partial(is_stored, sink))
            await sink.loader.drain()

        await self._run(process, receive_and_store, JOINING)

    async def only_receive(self) -> None:
        """Let a process receive all, and die before it stores anything."""
        await self._run(Writes(), self.send_all, SLOW)

    async def recover(self, process: Writes | None = None) -> None:
        """Let a process that begins a lease later take over all that there is."""

        async def take_over(sink: NotificationSink) -> None:
            self.late += await sweep_segments(sink.committer.segments)

            async def nothing_is_left() -> bool:
                await sink.take_over_runs()
                return not await runs_in_hand(sink)

            await until(nothing_is_left)

        self.watch.move(timedelta(seconds=LEASE + 1))
        await self._run(process or Writes(), take_over)

    async def _run(
        self,
        process: Writes,
        work: Callable[[NotificationSink], Coroutine[Any, Any, None]],
        options: SinkOptions = QUICK,
    ) -> None:
        stores = process.over(self.world.context)
        async with self.world.open_sink(options, drain=0.0, **stores, **self.shared) as sink:
            going = asyncio.create_task(work(sink))
            died = asyncio.create_task(process.died.wait())
            await asyncio.wait({going, died}, return_when=asyncio.FIRST_COMPLETED)
            died.cancel()
            if process.died.is_set():
                going.cancel()
                with suppress(asyncio.CancelledError):
                    await going
            else:
                await going

    async def finish(self, what: object) -> None:
        """Let senders repeat what was not answered, and check all that is stored."""
        await self.recover()
        async with self.world.open_sink(QUICK, **self.shared) as sink:
            await self.send_all(sink)
            await sink.loader.drain()
            counts = await self.world.recount(*self.places)
            assert await runs_in_hand(sink) == [], what
            notified = self.world.store_beside(sink).open_session(SUPER).notifications
            # Each acknowledged sample is that of an attribute of its own.
            assert await check_latest(self.world.context.table, notified) == 3, what
            totals = RunTotals.of(await runs(sink))
        open_ones = [await read_open_segments(self.world.context.table, at) for at in self.places]
        assert open_ones == [[], []], what
        assert set(self.answers) == {0, 1, 2}, what
        assert totals.adds_up, what
        assert totals.ingested == counts, what
        duplicates = counts.duplicates
        assert counts == IngestCounts(
            received=6 + duplicates, persisted=3, dead_lettered=3, duplicates=duplicates, items=3
        ), what
        self.answers.clear()
        self.rounds += 1


async def die_at_each_write(senders: Senders, *, takes_effect: bool) -> None:
    for number in range(100):
        async with senders.in_new_world():
            process = Writes(dies_at=number, takes_effect=takes_effect)
            await senders.work(process)
            await senders.finish(number)
        if not process.died.is_set():
            break
    assert 20 < senders.rounds < 50
    assert senders.late == 0


@without_moto
async def test_a_process_dies_before_each_of_its_writes(new_world: NewWorld) -> None:
    await die_at_each_write(Senders(new_world), takes_effect=False)


@on_sqlite
async def test_a_process_dies_when_each_of_its_writes_took_effect(new_world: NewWorld) -> None:
    await die_at_each_write(Senders(new_world), takes_effect=True)


@without_moto
async def test_a_process_stands_still_before_each_of_its_writes_until_another_took_over(
    new_world: NewWorld,
) -> None:
    senders = Senders(new_world)
    for number in range(100):
        async with senders.in_new_world():
            process = Writes(stalls_at=number, meanwhile=senders.recover)
            await senders.work(process)
            await senders.finish(number)
        if not process.stalled:
            break
    assert 20 < senders.rounds < 50
    assert senders.late == 0


@without_moto
async def test_a_process_that_takes_over_dies_before_each_of_its_writes(
    new_world: NewWorld,
) -> None:
    senders = Senders(new_world)
    for number in range(100):
        async with senders.in_new_world():
            await senders.only_receive()
            assert len(senders.answers) == 3
            process = Writes(dies_at=number)
            await senders.recover(process)
            await senders.finish(number)
        if not process.died.is_set():
            break
    assert 5 < senders.rounds < 50
    assert senders.late == 0


@on_sqlite
async def test_a_process_that_takes_over_stands_still_before_each_of_its_writes(
    new_world: NewWorld,
) -> None:
    senders = Senders(new_world)
    for number in range(100):
        async with senders.in_new_world():
            await senders.only_receive()
            process = Writes(stalls_at=number, meanwhile=senders.recover)
            await senders.recover(process)
            await senders.finish(number)
        if not process.stalled:
            break
    assert 5 < senders.rounds < 50
    assert senders.late == 0


@on_sqlite
@pytest.mark.parametrize("least", [1, 3])
async def test_a_process_that_stood_still_dies_soon_after(new_world: NewWorld, least: int) -> None:
    """From any write on it dies one to five later, two of these for each write."""
    senders = Senders(new_world)
    for number in range(100):
        async with senders.in_new_world():
            death = number + least + number % 3
            process = Writes(stalls_at=number, meanwhile=senders.recover, dies_at=death)
            await senders.work(process)
            await senders.finish(number)
        if not process.stalled:
            break
    assert 20 < senders.rounds < 50
