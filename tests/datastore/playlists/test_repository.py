"""Playlists are made, renamed, listed and read by their owner, and by nobody else."""

import pytest

from penstock.datastore.errors import Invalid, NotFound, VersionConflict
from penstock.datastore.playlists.change_target import ChangeTarget
from penstock.datastore.playlists.records import Playlist
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Slice, Window
from penstock.datastore.table.port import Key
from tests.datastore.playlists.sample_playlists import (
    ABSENT,
    ANN,
    BOB,
    add_tracks,
    drift,
    make_mix,
    open_session,
    read_order,
)
from tests.support.consistency_check import contents
from tests.support.sample_resources import on_sqlite, walk


async def test_a_new_playlist_is_a_header_and_a_row_in_its_owners_list(store: Store) -> None:
    session = open_session(store)
    made = await session.playlists.writing.create("  Road trip ")
    rows = await contents(store.table)
    assert dict(rows[Key(f"PL:{made.id}", "PL")]) == {
        "pk": f"PL:{made.id}",
        "sk": "PL",
        "name": "Road trip",
        "owner": "ann",
        "version": 1,
        "ranked": 0,
        "entryCount": 0,
        "durationMs": 0,
        "createdAt": made.created_at,
        "updatedAt": made.created_at,
    }
    assert dict(rows[Key("U:ann", f"PL:{made.id}")]) == {
        "pk": "U:ann",
        "sk": f"PL:{made.id}",
        "siKey1": f"PL:{made.id}",
        "name": "Road trip",
        "role": "owner",
        "createdAt": made.created_at,
    }
    assert await session.playlists.reading.one(made.id) == made


async def test_an_entry_is_one_row_that_its_track_finds(store: Store) -> None:
    session = open_session(store)
    _, (entry,) = await make_mix(session, 1)
    key = Key(f"PL:{entry.playlist_id}", f"PLI:{entry.rank}:{entry.id}")
    assert dict((await contents(store.table))[key]) == {
        "pk": key.pk,
        "sk": key.sk,
        "siKey1": f"AU:{entry.audio_id}",
        "audioId": entry.audio_id,
        "title": "t0",
        "artist": "Abba",
        "album": "Gold",
        "durationMs": 1_000,
        "addedAt": entry.added_at,
        "addedBy": "ann",
    }


@on_sqlite
@pytest.mark.parametrize("name", ["", "  ", "x" * 129, "a\nb", "\x00"])
async def test_a_name_is_one_line_of_1_to_128_characters(store: Store, name: str) -> None:
    session = open_session(store)
    made, _ = await make_mix(session, 1)
    before = await contents(store.table)
    for call in (
        session.playlists.writing.create(name),
        session.playlists.writing.rename(made.id, name),
    ):
        with pytest.raises(Invalid) as caught:
            await call
        assert [problem.path for problem in caught.value.problems] == [["name"]]
    assert await contents(store.table) == before


async def test_two_playlists_may_have_one_name(store: Store) -> None:
    session = open_session(store)
    made = [await session.playlists.writing.create("Same") for _ in range(2)]
    assert await walk(session.playlists.reading.page) == made[::-1]


async def test_a_create_sent_twice_happens_once(store: Store) -> None:
    session = open_session(store)
    made = await session.playlists.writing.create("Mix", "key")
    assert await session.playlists.writing.create("Mix", "key") == made
    with pytest.raises(Invalid, match="another input"):
        await session.playlists.writing.create("Other", "key")
    await session.playlists.deleting.delete(made.id)
    with pytest.raises(Invalid, match="gone"):
        await session.playlists.writing.create("Mix", "key")
    assert await walk(session.playlists.reading.page) == []
    assert await open_session(store, BOB).playlists.writing.create("Mix", "key") != made


async def test_a_rename_changes_both_rows_and_counts_a_version(store: Store) -> None:
    session = open_session(store)
    made = await session.playlists.writing.create("Mix")
    renamed = await session.playlists.writing.rename(made.id, " Mixed ", 1)
    assert (renamed.name, renamed.version) == ("Mixed", 2)
    assert await session.playlists.reading.one(made.id) == renamed
    again = await session.playlists.writing.rename(made.id, "Mixed")
    assert again == renamed
    with pytest.raises(VersionConflict) as caught:
        await session.playlists.writing.rename(made.id, "Late", 1)
    assert caught.value.current_version == 2
    assert await drift(store.table) == []


async def test_playlists_are_listed_by_the_time_they_were_made_both_ways(store: Store) -> None:
    session = open_session(store)
    made = [await session.playlists.writing.create(f"p{n}") for n in range(4)]
    await open_session(store, BOB).playlists.writing.create("theirs")
    reading = session.playlists.reading
    for size in (1, 3):
        assert await walk(reading.page, size) == made[::-1]
        assert await walk(reading.page, size, backward=True) == made[::-1]
        oldest = await walk(lambda window: reading.page(window, newest_first=False), size)
        assert oldest == made
    listed = await walk(reading.get_playlist_ids_by_user_id)
    assert listed == [each.id for each in made[::-1]]


async def test_what_is_anothers_is_told_as_what_is_not_there_and_stays(store: Store) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 2)
    before = await contents(store.table)
    other = open_session(store, BOB).playlists
    for id in (playlist.id, ABSENT, "no id"):
        target = ChangeTarget(id=id)
        for call in (
            other.reading.one(id),
            other.writing.rename(id, "Mine"),
            other.deleting.delete(id),
            other.moving.move(target, [entries[1].id]),
            other.moving.remove(target, [entries[0].id]),
        ):
            with pytest.raises(NotFound) as caught:
                await call
            assert caught.value.message == "There is no playlist with this id."
            assert caught.value.path == ["id"]
    assert await walk(other.reading.page) == []
    assert await contents(store.table) == before


async def test_a_track_of_another_cannot_be_added_nor_found_by(store: Store) -> None:
    session, other = open_session(store), open_session(store, BOB)
    (theirs,) = await add_tracks(session, 1)
    await make_mix(session, 1)
    mine = await other.playlists.writing.create("Mine")
    before = await contents(store.table)
    for id in (theirs, ABSENT, "no id"):
        with pytest.raises(NotFound) as caught:
            await other.playlists.adding.add(ChangeTarget(id=mine.id), [id])
        assert caught.value.path == ["audioIds"]
    assert await contents(store.table) == before


async def test_playlists_that_hold_a_track_are_each_listed_once(store: Store) -> None:
    session = open_session(store)
    (wanted, other) = await add_tracks(session, 2)
    made = [await session.playlists.writing.create(f"p{n}") for n in range(4)]
    for n, playlist in enumerate(made):
        ids = [wanted] * n + [other]
        await session.playlists.adding.add(ChangeTarget(id=playlist.id), ids)
    audio = await session.audio.reading.get_audio_files_by_audio_id(wanted)

    async def page(window: Window) -> Slice[Playlist]:
        (found,) = await session.playlists.reading.playlists_holding([(audio, window)])
        return found

    for backward in (False, True):
        found = await walk(page, 1, backward=backward)
        assert [each.id for each in found] == [each.id for each in made[1:]]
    whole = await page(Window(size=10))
    assert (len(whole.entries), whole.more) == (3, False)
    await session.playlists.deleting.delete(made[2].id)
    left = await page(Window(size=10))
    assert [id for id, _ in left.entries] == [made[1].id, made[3].id]


async def test_an_entry_stays_when_its_track_is_deleted(store: Store) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 2)
    await session.audio.editing.delete(str(entries[0].audio_id))
    assert await read_order(session, playlist.id) == entries
    assert await session.audio.reading.many([str(entries[0].audio_id)]) != []
    assert await drift(store.table) == []
    assert ANN.user_id == entries[0].added_by
