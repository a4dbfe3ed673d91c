"""Deletions of dead letters: all that are named or none, with their files, and for ever."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import NotFound, NotPermitted
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.dead_letters import FOLDER, LetterFiles
from penstock.datastore.ngsi.repository import LetterReplays
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.layout import DEAD_LETTER
from penstock.datastore.table.port import Update
from tests.datastore.ngsi.failing_destinations import FailingDestinations, fail_first, fail_table
from tests.datastore.ngsi.sample_sinks import SinkWorld
from tests.datastore.ngsi.test_replay import BUSY, ONCE, make_letters, notifications
from tests.datastore.ngsi.test_sink import accept
from tests.support.consistency_check import contents
from tests.support.sample_resources import SUPER, on_sqlite, without_moto


@without_moto
async def test_deleted_letters_leave_the_list_with_their_files(world: SinkWorld) -> None:
    failing = FailingDestinations(world.context.destinations, fail_table("", BUSY))
    async with world.open_sink(ONCE, destinations=failing) as sink:
        letters = await make_letters(world, sink, 3)
        files = sink.committer.letter_files.lines.files
        assert await files.list(f"{FOLDER}/") == tuple(letter.file for letter in letters)
        before = await world.counts()
        deleting = notifications(world, sink)
        gone = await deleting.delete_letters([letter.id for letter in letters[:2]])
        assert gone == letters[:2]
        assert await world.letters() == letters[2:]
        assert await files.list(f"{FOLDER}/") == (letters[2].file,)
        assert await world.counts() == before == IngestCounts(received=6, dead_lettered=6)
        failing.fails = fail_first(0, BUSY)
        assert len((await deleting.replay([letters[2].id])).replayed) == 1
        with pytest.raises(NotFound):
            await deleting.replay([letters[0].id])


@without_moto
async def test_no_ids_delete_nothing(world: SinkWorld) -> None:
    failing = FailingDestinations(world.context.destinations, fail_table("", BUSY))
    async with world.open_sink(ONCE, destinations=failing) as sink:
        letters = await make_letters(world, sink, 1)
        standing = await contents(world.context.table)
        assert await notifications(world, sink).delete_letters([]) == []
        assert await contents(world.context.table) == standing
        assert await world.letters() == letters


@without_moto
async def test_none_is_deleted_if_one_was_replayed_or_may_not_be(world: SinkWorld) -> None:
    failing = FailingDestinations(world.context.destinations, fail_table("", BUSY))
    async with world.open_sink(ONCE, destinations=failing) as sink:
        one, other = await make_letters(world, sink, 2)
        failing.fails = fail_first(0, BUSY)
        await notifications(world, sink).replay([one.id])
        await world.wait_until_settled()
        standing = await contents(world.context.table)
        with pytest.raises(NotFound) as refused:
            await notifications(world, sink).delete_letters([other.id, one.id])
        assert (refused.value.path, list(refused.value.positions or ())) == (["ids"], [1])
        with pytest.raises(NotPermitted):
            await world.caller("carla", "/vehicles=contributor").notifications.delete_letters(
                [other.id]
            )
        assert await contents(world.context.table) == standing
        assert len(await sink.committer.letter_files.read(other)) == 2


@without_moto
async def test_a_letter_is_replayed_or_deleted_and_never_both(world: SinkWorld) -> None:
    failing = FailingDestinations(world.context.destinations, fail_table("", BUSY))
    async with world.open_sink(ONCE, destinations=failing) as sink:
        letters = await make_letters(world, sink, 6)
        failing.fails = fail_first(0, BUSY)
        here = notifications(world, sink)
        results = await asyncio.gather(
            *(here.replay([letter.id]) for letter in letters[:3]),
            *(here.delete_letters([letter.id]) for letter in letters),
            *(here.replay([letter.id]) for letter in letters[3:]),
            return_exceptions=True,
        )
        replays = [each for each in results if isinstance(each, LetterReplays) and each.replayed]
        deletions = [each for each in results if isinstance(each, list)]
        assert len(replays) + len(deletions) == 6
        counts = await world.wait_until_settled()
        stored = 2 * len(replays)
        assert counts == IngestCounts(
            received=12, persisted=stored, dead_lettered=12 - stored, items=2 * stored
        )
        assert await world.letters() == []


@on_sqlite
async def test_a_file_that_cannot_be_removed_at_once_goes_by_the_sweep(world: SinkWorld) -> None:
    async with world.open_sink(ONCE) as sink:
        await accept(sink, {"type": "car"})
        (letter,) = await world.letters()
        store = world.store_beside(sink)
        without_files = replace(store, files=NO_FILES).open_session(SUPER)
        assert await without_files.notifications.delete_letters([letter.id]) == [letter]
        files = LetterFiles.of(store.files)
        assert len(await files.read(letter)) == 1
        later = replace(store, clock=Clock(lambda: datetime.now(UTC) + timedelta(hours=2)))
        assert await later.sweep_files() == 1
        with pytest.raises(NotFound):
            await files.read(letter)
        assert await later.sweep_files() == 0


@on_sqlite
async def test_a_deletion_costs_so_many_units_and_calls(world: SinkWorld) -> None:
    async with world.open_sink(ONCE) as sink:
        for _ in range(2):
            await accept(sink, {"type": "car"})
        letters = await world.letters()
        metered = MeteredTable(world.context.table)
        deleting = replace(world.store_beside(sink), table=metered).open_session(SUPER)
        await deleting.notifications.delete_letters([letter.id for letter in letters])
        # For each: its row, and that of its file, which is listed, marked and deleted.
        assert (metered.units.wcu, metered.units.calls) == (2 * 12, 2 + 2 * 2)


@on_sqlite
async def test_a_file_that_letters_of_an_older_release_share_stays(world: SinkWorld) -> None:
    async with world.open_sink(ONCE) as sink:
        await accept(sink, {"type": "car"})
        (letter,) = await world.letters()
        table, files = world.context.table, LetterFiles.of(world.context.files)
        shared = f"{FOLDER}/2022-08-10/shared.ndjson.gz"
        await files.lines.write(shared, 2 * await files.read(letter))
        await table.transact([Update(key=DEAD_LETTER.key(id=letter.id), set={"file": shared})])
        await notifications(world, sink).delete_letters([letter.id])
        assert await world.letters() == []
        assert len(await files.lines.read(shared)) == 2
