"""Notes of segments of runs that have ended are taken away some at a time, and once by a commit."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.clock import Clock
from penstock.datastore.errors import Unavailable
from penstock.datastore.ngsi.counts import count_key, read_count_rows
from penstock.datastore.ngsi.run_log import SINK_CALLER
from penstock.datastore.ngsi.segment_notes import MOST_REMOVED, settled_notes
from penstock.datastore.ngsi.segments.segment_sweep import sweep_segments
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.table.port import Operation, Update
from tests.datastore.ngsi.sample_sinks import AT, QUICK, SinkWorld
from tests.datastore.ngsi.test_sink import accept
from tests.support.sample_resources import without_moto
from tests.support.table_interceptors import InterceptedTable

MANY = 2 * MOST_REMOVED + 50
NOTES = [f"settled:2022-08-10/gone{number:03}.0" for number in range(MANY)]


class Removals(InterceptedTable):
    """A table that remembers how many attributes each update removes from counts, and may fail."""

    def __init__(self, table: Any) -> None:
        super().__init__(table)
        self.seen: list[int] = []
        self.fails = False

    async def transact(self, operations: Sequence[Operation]) -> float:
        counts = [each for each in operations if each.key.pk.startswith("NC:")]
        found = [len(each.remove) for each in counts if isinstance(each, Update)]
        self.seen += [each for each in found if each]
        if self.fails and counts:
            raise Unavailable("busy")
        return await super().transact(operations)


async def notes_in(world: SinkWorld) -> int:
    rows = await read_count_rows(world.context.table, AT, consistent=True)
    return sum(len(names) for row in rows for names in settled_notes(row).values())


async def note_many(world: SinkWorld, sink: NotificationSink) -> None:
    """Note segments of many runs, which ended long ago, in the row of the sink's own shard."""
    await accept(sink, "car1")
    await world.wait_until_settled()
    key = count_key(AT, sink.committer.segments.shard)
    for start in range(0, MANY, 50):
        noted = dict.fromkeys(NOTES[start : start + 50], 1)
        await world.context.table.transact([Update(key=key, add=noted)])
    sink.committer.segments.ended[AT] = set(NOTES)


@without_moto
async def test_a_commit_takes_away_so_many_notes_and_the_next_one_more(world: SinkWorld) -> None:
    table = Removals(world.context.table)
    async with world.open_sink(QUICK, table=table) as sink:
        await note_many(world, sink)
        left = []
        for _ in range(3):
            await accept(sink, "car1")
            await world.wait_until_settled()
            left.append(await notes_in(world))
        # The run in hand has a note of its own.
        assert left == [MANY - MOST_REMOVED + 1, MANY - 2 * MOST_REMOVED + 1, 1]
        assert max(table.seen) == MOST_REMOVED
        assert sink.committer.segments.ended == {}


@without_moto
async def test_a_sweep_takes_away_so_many_notes_at_a_time(world: SinkWorld) -> None:
    table = Removals(world.context.table)
    async with world.open_sink(QUICK) as sink:
        await note_many(world, sink)
        access = Access(table, SINK_CALLER, Clock(), Budget())
        segments = sink.committer.segments
        segments.log = replace(segments.log, access=access)
        assert await sweep_segments(segments) == 0
        assert table.seen == [MOST_REMOVED, MOST_REMOVED, 50]
        assert await notes_in(world) == 0
        # No later commit has to take them away.
        assert segments.ended == {}


@without_moto
async def test_a_commit_that_fails_leaves_notes_to_the_sweep(world: SinkWorld) -> None:
    table = Removals(world.context.table)
    async with world.open_sink(QUICK, table=table) as sink:
        await note_many(world, sink)
        sink.committer.segments.ended[AT] = set(NOTES[:9])
        table.fails = True
        with pytest.raises(Unavailable):
            await accept(sink, "car1")
        table.fails = False
        assert table.seen == [9]
        assert sink.committer.segments.ended == {}
        await accept(sink, "car1")
        await world.wait_until_settled()
        assert await notes_in(world) == MANY
        await sweep_segments(sink.committer.segments)
        assert await notes_in(world) == 0
