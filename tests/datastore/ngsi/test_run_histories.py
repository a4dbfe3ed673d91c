"""Whatever arrives, comes again, is refused or dies: the manifest alone tells what became of it."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastore.clock import Clock
from penstock.datastore.errors import Unavailable
from penstock.datastore.ngsi.destinations import EmbeddedDestinations
from penstock.datastore.ngsi.segments.segment_sweep import sweep_segments
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.table.layout import DEAD_PREFIX, OPEN_PREFIX, SETTLED_PREFIX
from tests.datastore.ngsi.failing_destinations import FailingDestinations, fail_table
from tests.datastore.ngsi.run_totals import RunTotals
from tests.datastore.ngsi.sample_sinks import AT, SinkWorld, notification, open_world
from tests.datastore.ngsi.stopping_stores import Writes
from tests.datastore.ngsi.test_points_of_death import LEASE, is_stored
from tests.datastore.ngsi.test_replay import ONCE
from tests.datastore.ngsi.test_sink import runs, runs_in_hand
from tests.support.consistency_check import contents
from tests.support.patience import HUNG_SECONDS, until
from tests.support.sample_resources import Watch
from tests.support.stores import open_table

TABLE = "vehiclesxffffx002f4wheelsxffff%sxffffcar"
NAMELESS: dict[str, Any] = {"type": "car", "speed": {"type": "Number", "value": 1}}
SENT: Sequence[Sequence[Any]] = (
    ("car1",),
    ("car1", "car2"),
    ("car2", NAMELESS),
    (NAMELESS,),
    ("car1", "failing", "car1"),
    ("failing",),
)
"""The notifications: one that is sent twice is a duplicate."""


class Life(NamedTuple):
    """The notifications that one process receives, and the write at which it dies, if it does."""

    sent: Sequence[int]
    dies_at: int | None
    takes_effect: bool
    joins: bool


LIVES = st.lists(
    st.builds(
        Life,
        st.lists(st.integers(0, len(SENT) - 1), min_size=1, max_size=5),
        st.one_of(st.none(), st.integers(0, 24)),
        st.booleans(),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


@dataclass
class History:
    """Processes that live one after the other over a world, and senders that repeat until told."""

    world: SinkWorld
    watch: Watch = field(default_factory=Watch)
    unanswered: deque[int] = field(default_factory=deque)
    answered: Counter[int] = field(default_factory=Counter)

    async def run(self, life: Life) -> None:
        self.unanswered.extend(life.sent)
        self.watch.move(timedelta(seconds=LEASE + 1))
        process = Writes(dies_at=life.dies_at, takes_effect=life.takes_effect)
        options = replace(ONCE, settlement_seconds=HUNG_SECONDS if life.joins else 0.0)
        stores = process.over(self.world.context)
        shared: Any = {"clock": Clock(self.watch), "lease_seconds": LEASE, "shards": 1}
        async with self.world.open_sink(options, drain=0.0, **stores, **shared) as sink:
            going = asyncio.create_task(self._receive_and_store(sink))
            died = asyncio.create_task(process.died.wait())
            await asyncio.wait({going, died}, return_when=asyncio.FIRST_COMPLETED)
            died.cancel()
            if process.died.is_set():
                going.cancel()
            with suppress(asyncio.CancelledError):
                await going

    async def _receive_and_store(self, sink: NotificationSink) -> None:
        while self.unanswered:
            number = self.unanswered[0]
            made = notification(*SENT[number], correlator=f"c{number}")
            await sink.accept_notification(made, 100)
            self.unanswered.popleft()
            self.answered[number] += 1
            await until(partial(is_stored, sink))
        await sweep_segments(sink.committer.segments)

        async def nothing_is_left() -> bool:
            await sink.take_over_runs()
            await sink.loader.drain()
            return not await runs_in_hand(sink)

        await until(nothing_is_left)

    async def check(self) -> None:
        """Compare what the runs tell with the counts of service paths, and with what is stored."""
        async with self.world.open_sink(clock=Clock(self.watch)) as sink:
            counts, totals = await self.world.recount(), RunTotals.of(await runs(sink))
            await sweep_segments(sink.committer.segments)
        assert totals.adds_up
        assert totals.ingested == counts
        stored = Counter(TABLE % item["entityId"] for item in await self.world.read_samples(AT))
        assert Counter({name: own["items"] for name, own in totals.items.items()}) == stored
        for name in ("car1", "car2", "failing"):
            told = sum(SENT[number].count(name) * n for number, n in self.answered.items())
            own = totals.items.get(TABLE % name, Counter())
            assert own["received"] >= 2 * told
            assert own["duplicates"] >= 2 * sum(
                SENT[number].count(name) * (n - 1) for number, n in self.answered.items()
            )
        assert await self._notes() == []

    async def _notes(self) -> list[str]:
        """The notes of segments, which are of no use once all runs have ended."""
        rows = (await contents(self.world.context.table)).values()
        prefixes = (OPEN_PREFIX, SETTLED_PREFIX, DEAD_PREFIX)
        return [name for row in rows for name in row if name.startswith(prefixes)]


class HighDice(Random):
    """Dice by which no failing write takes effect."""

    def random(self) -> float:
        return 1.0


@asynccontextmanager
async def open_history() -> AsyncIterator[History]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        samples = SqliteTable.open(folder / "samples.db")
        await samples.create()
        failing = fail_table(TABLE % "failing", Unavailable("busy"))
        destinations = FailingDestinations(EmbeddedDestinations(samples), failing, HighDice())
        try:
            async with (
                open_table("sqlite", folder) as table,
                open_world(table, destinations, folder) as world,
            ):
                yield History(world)
        finally:
            await samples.close()


@settings(max_examples=20)
@given(LIVES)
def test_the_manifest_alone_tells_what_became_of_all_that_arrived(lives: Sequence[Life]) -> None:
    asyncio.run(live(lives))


async def live(lives: Sequence[Life]) -> None:
    async with open_history() as history:
        for life in lives:
            await history.run(life)
        await history.run(Life((), None, False, False))
        await history.check()
