"""Replays of dead letters: each wholly or not at all, once, and with a result that stays."""

import asyncio
import random
from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import ErrorCode, NotFound, Unavailable
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.dead_letters import RESULT_LIFETIME, DeadLetter
from penstock.datastore.ngsi.options import BatchingOptions
from penstock.datastore.ngsi.repository import IngestRepository, LetterReplays, ReplayFailure
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.objects.chunks import single_chunk
from penstock.datastore.table.layout import DEAD_LETTER
from penstock.datastore.table.port import TTL
from tests.datastore.ngsi.failing_destinations import (
    FailingDestinations,
    FaultInjector,
    fail_first,
    fail_table,
)
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld, wait_until_released
from tests.datastore.ngsi.test_sink import accept
from tests.support.consistency_check import contents
from tests.support.sample_resources import SUPER, Watch, on_sqlite, without_moto

BUSY = Unavailable("busy")
ONCE = replace(QUICK, batching=BatchingOptions(ttl=0, retry_intervals=(0.001,)))


def notifications(world: SinkWorld, sink: NotificationSink) -> IngestRepository:
    return world.store_beside(sink).open_session(SUPER).notifications


async def make_letters(world: SinkWorld, sink: NotificationSink, count: int) -> list[DeadLetter]:
    """Let as many notifications of two cars fail, and return their letters, oldest first."""
    for number in range(count):
        await accept(sink, f"car{number}", f"bus{number}")
        await world.wait_until_settled()
    return sorted(await world.letters(), key=lambda letter: letter.id)


@without_moto
async def test_a_letter_that_cannot_be_replayed_is_named_and_the_others_are_replayed(
    world: SinkWorld,
) -> None:
    destinations = FailingDestinations(world.context.destinations, fail_table("", BUSY))
    async with world.open_sink(ONCE, destinations=destinations) as sink:
        letters = await make_letters(world, sink, 3)
        destinations.fails = fail_first(0, BUSY)
        await sink.committer.letter_files.lines.files.delete(letters[1].file)
        ids = [letter.id for letter in letters]
        result = await notifications(world, sink).replay(ids)
        assert [each.letter.id for each in result.replayed] == [ids[0], ids[2]]
        assert [(each.id, each.code) for each in result.failures] == [(ids[1], ErrorCode.NOT_FOUND)]
        counts = await world.wait_until_settled()
        assert counts == IngestCounts(received=6, persisted=4, dead_lettered=2, items=8)
        assert [letter.id for letter in await world.letters()] == [ids[1]]


@on_sqlite
@pytest.mark.parametrize("lines", [0, 1])
async def test_a_letter_whose_file_has_too_few_lines_stays(world: SinkWorld, lines: int) -> None:
    destinations = FailingDestinations(world.context.destinations, fail_table("", BUSY))
    async with world.open_sink(ONCE, destinations=destinations) as sink:
        (letter,) = await make_letters(world, sink, 1)
        destinations.fails = fail_first(0, BUSY)
        files = sink.committer.letter_files.lines
        dead = await files.read(letter.file)
        if lines:
            await files.write(letter.file, dead[:lines])
        else:
            await files.files.write(letter.file, single_chunk(b""), content_type="application/gzip")
        before = await contents(world.context.table)
        result = await notifications(world, sink).replay([letter.id])
        assert result.replayed == []
        assert [(each.id, each.code) for each in result.failures] == [
            (letter.id, ErrorCode.SERVICE_UNAVAILABLE)
        ]
        assert await contents(world.context.table) == before
        await files.write(letter.file, dead)
        result = await notifications(world, sink).replay([letter.id])
        assert [each.letter.id for each in result.replayed] == [letter.id]
        counts = await world.wait_until_settled()
        assert counts == IngestCounts(received=2, persisted=2, items=4)


@without_moto
async def test_a_repeated_replay_gives_the_same_result_and_stores_nothing_twice(
    world: SinkWorld,
) -> None:
    destinations = FailingDestinations(world.context.destinations, fail_table("", BUSY))
    async with world.open_sink(ONCE, destinations=destinations) as sink:
        letters = await make_letters(world, sink, 2)
        destinations.fails = fail_first(0, BUSY)
        ids = [letter.id for letter in letters]
        first = await notifications(world, sink).replay(ids)
        assert [(each.letter, each.events, each.dead) for each in first.replayed] == [
            (letter, letter.events, 0) for letter in letters
        ]
        for _ in range(3):
            assert await notifications(world, sink).replay(ids) == first
        assert await world.letters() == []
        counts = await world.recount()
    assert counts == IngestCounts(received=4, persisted=4, items=8)


@without_moto
async def test_replays_at_the_same_time_have_one_result(world: SinkWorld) -> None:
    destinations = FailingDestinations(world.context.destinations, fail_table("", BUSY))
    async with (
        world.open_sink(ONCE, destinations=destinations) as one,
        world.open_sink(ONCE, destinations=destinations) as other,
    ):
        ids = [letter.id for letter in await make_letters(world, one, 3)]
        destinations.fails = fail_first(0, BUSY)
        results = await asyncio.gather(
            *(
                notifications(world, sink).replay(order)
                for sink in (one, other)
                for order in (ids, ids[::-1])
            )
        )
        found = [
            sorted((each.letter.id, each.events, each.dead) for each in result.replayed)
            for result in results
        ]
        assert found == [sorted((id, 2, 0) for id in ids)] * 4
        assert [result.failures for result in results] == [[]] * 4
        counts = await world.recount()
        await wait_until_released(one, other)
    assert counts == IngestCounts(received=6, persisted=6, items=12)


@on_sqlite
async def test_a_replay_whose_answer_was_lost_is_found_by_the_next_one(world: SinkWorld) -> None:
    destinations = FailingDestinations(world.context.destinations, fail_table("", BUSY))
    table = FaultInjector(world.context.table, random.Random(0), 0.0, "transact")
    async with world.open_sink(ONCE, destinations=destinations, table=table) as sink:
        (letter,) = await make_letters(world, sink, 1)
        destinations.fails = fail_first(0, BUSY)
        # Every transaction takes effect, and its answer is lost.
        table.dice, table.often = AlwaysAfter(), 1.0
        lost = await notifications(world, sink).replay([letter.id])
        table.often = 0.0
        assert lost == LetterReplays(
            [], [ReplayFailure(letter.id, ErrorCode.SERVICE_UNAVAILABLE, "by chance, after")]
        )
        again = await notifications(world, sink).replay([letter.id])
        assert [(each.events, each.dead) for each in again.replayed] == [(2, 0)]
    async with world.open_sink(QUICK):
        counts = await world.recount()
    assert counts == IngestCounts(received=2, persisted=2, items=4)


class AlwaysAfter(random.Random):
    """Draws that let a FaultInjector fail after each call, while `often` is 1."""

    def random(self) -> float:
        return 0.75


@on_sqlite
async def test_a_full_sink_replays_what_it_can_hold(world: SinkWorld) -> None:
    destinations = FailingDestinations(world.context.destinations, fail_table("", BUSY))
    slow = BatchingOptions(size=1000, timeout=1000.0)
    async with world.open_sink(ONCE, destinations=destinations) as sink:
        ids = [letter.id for letter in await make_letters(world, sink, 3)]
    async with world.open_sink(replace(QUICK, batching=slow, max_pending=5)) as sink:
        result = await notifications(world, sink).replay(ids)
        assert [each.letter.id for each in result.replayed] == ids[:2]
        assert [(each.id, each.code) for each in result.failures] == [
            (ids[2], ErrorCode.SERVICE_UNAVAILABLE)
        ]
    counts = await world.wait_until_settled()
    assert counts == IngestCounts(received=6, persisted=4, dead_lettered=2, items=8)


@on_sqlite
async def test_a_result_stays_for_a_day_and_the_lists_do_not_hold_it(world: SinkWorld) -> None:
    watch = Watch()
    async with world.open_sink(clock=Clock(watch)) as sink:
        await accept(sink, {"type": "car"})
        (letter,) = await world.letters()
        await notifications(world, sink).replay([letter.id])
        key = DEAD_LETTER.key(id=letter.id)
        row = (await world.context.table.get([key])).items[key]
        assert row[TTL] == int((watch.time + RESULT_LIFETIME).timestamp())
        assert timedelta(days=1) == RESULT_LIFETIME
        assert letter.id not in {each.id for each in await world.letters()}


@on_sqlite
async def test_a_letter_that_is_gone_without_a_result_is_not_found(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        await accept(sink, {"type": "car"})
        (letter,) = await world.letters()
        gone = msgspec.structs.replace(letter, id="another")
        with pytest.raises(NotFound, match="no dead letter with this id any more"):
            await sink.replayer.replay(gone)
        assert await world.recount() == IngestCounts(received=1, dead_lettered=1)
