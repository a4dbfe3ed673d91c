"""Exports and imports of playlists: nothing changes, and every omission is reported."""

import asyncio
import threading
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import Invalid, Unavailable
from penstock.datastore.playlists.change_target import ChangeTarget
from penstock.datastore.playlists.formats.document import (
    FileTrack,
    PlaylistDocument,
    PlaylistFormat,
)
from penstock.datastore.playlists.formats.files import read, write
from penstock.datastore.playlists.import_playlist import ImportOptions, ImportResult, UnmatchedEntry
from penstock.datastore.playlists.records import Entry, Playlist
from penstock.datastore.playlists.track_matching import TrackIndex, TrackMatch
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from tests.datastore.playlists.sample_playlists import (
    ANN,
    BOB,
    add_tracks,
    drift,
    ids,
    make_mix,
    make_ranked_playlist,
    open_session,
    read_order,
    titles,
)
from tests.support.consistency_check import contents
from tests.support.patience import until
from tests.support.sample_resources import on_sqlite, walk, without_moto
from tests.support.table_interceptors import CutOffTable, InterruptedTable, ProcessDied, TracedTable


async def export_text(session: Session, playlist: Playlist, format: PlaylistFormat) -> str:
    return write(format, await session.playlists.exporting.document(playlist))


def entry_contents(entries: list[Entry]) -> list[Mapping[str, Any]]:
    """The content of entries, without the place and the time of adding."""
    names = ("audio_id", "location", "title", "artist", "album", "duration_ms")
    return [{name: getattr(entry, name) for name in names} for entry in entries]


@pytest.mark.parametrize("format", PlaylistFormat)
async def test_an_exported_playlist_is_imported_unchanged(
    store: Store, format: PlaylistFormat
) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 5, "Road trip")
    target = ChangeTarget(id=playlist.id)
    await session.playlists.adding.add(target, [str(entries[3].audio_id)] * 2, entries[0].id)
    await session.playlists.moving.move(target, [entries[4].id])
    document = read(format, await export_text(session, playlist, format))
    imported = await session.playlists.importing.run(document, ImportOptions())
    found = imported.playlist
    assert found is not None
    assert (found.name, found.entry_count) == ("Road trip", 7)
    assert imported == ImportResult(found, matched=7, unmatched_count=0, unmatched=())
    assert entry_contents(await read_order(session, found.id)) == entry_contents(
        await read_order(session, playlist.id)
    )
    assert found == await session.playlists.reading.one(found.id)
    assert await walk(session.playlists.reading.page) != []
    assert await drift(store.table) == []


MIXED = PlaylistDocument(
    title="From elsewhere",
    tracks=(
        FileTrack(title="t1", creator="abba"),
        FileTrack(location="c/Unknown.mp3", title="Unknown", creator="Nobody", duration_ms=5_000),
        FileTrack(title="T0", creator="ABBA", duration_ms=3_000),
        FileTrack(location="radio"),
    ),
)


async def test_what_is_not_matched_is_told_and_left_out_or_kept_as_it_was(store: Store) -> None:
    session = open_session(store)
    await add_tracks(session, 2)
    importing = session.playlists.importing
    unmatched = (UnmatchedEntry(2, MIXED.tracks[1], ()), UnmatchedEntry(4, MIXED.tracks[3], ()))
    left = await importing.run(MIXED, ImportOptions())
    kept = await importing.run(MIXED, ImportOptions(name="Kept", keep=True))
    assert left.playlist is not None
    assert kept.playlist is not None
    for found in (left, kept):
        assert (found.matched, found.unmatched) == (2, unmatched)
    assert await titles(session, left.playlist.id) == ["t1", "t0"]
    assert await titles(session, kept.playlist.id) == ["t1", "Unknown", "t0", None]
    assert (kept.playlist.entry_count, kept.playlist.duration_ms) == (4, 7_001)
    again = await session.playlists.exporting.document(kept.playlist)
    assert (again.tracks[1], again.tracks[3]) == (MIXED.tracks[1], MIXED.tracks[3])
    assert await drift(store.table) == []


async def test_what_was_kept_moves_and_goes_as_any_entry_does(store: Store) -> None:
    session = open_session(store)
    await add_tracks(session, 2)
    found = await session.playlists.importing.run(MIXED, ImportOptions(keep=True))
    assert found.playlist is not None
    entries = await read_order(session, found.playlist.id)
    target = ChangeTarget(id=found.playlist.id)
    await session.playlists.moving.move(target, [entries[1].id])
    moved = await session.playlists.moving.remove(target, [entries[3].id])
    assert (moved.entry_count, moved.duration_ms) == (3, 7_001)
    assert await titles(session, moved.id) == ["Unknown", "t1", "t0"]
    assert await drift(store.table) == []


async def test_a_track_that_was_deleted_is_exported_and_kept_with_what_it_said(
    store: Store,
) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 2)
    await session.audio.editing.delete(str(entries[1].audio_id))
    document = await session.playlists.exporting.document(playlist)
    gone = FileTrack(
        id=entries[1].audio_id, title="t1", creator="Abba", album="Gold", duration_ms=1_001
    )
    assert document.tracks[1] == gone
    found = await session.playlists.importing.run(document, ImportOptions(keep=True))
    assert found.unmatched == (UnmatchedEntry(2, gone, ()),)
    assert found.playlist is not None
    assert await titles(session, found.playlist.id) == ["t0", "t1"]


@without_moto
async def test_only_looking_changes_nothing(store: Store) -> None:
    session = open_session(store)
    await add_tracks(session, 2)
    before = await contents(store.table)
    found = await session.playlists.importing.run(MIXED, ImportOptions(only_look=True, keep=True))
    assert (found.playlist, found.matched, len(found.unmatched)) == (None, 2, 2)
    assert await contents(store.table) == before


async def test_callers_take_turns_at_matching_and_it_ends_when_nobody_waits_for_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Semaphore(0), threading.Event()
    match = TrackIndex.match

    def match_slowly(index: TrackIndex, wanted: FileTrack) -> TrackMatch:
        if wanted.title == "slow":
            begun.release()
            go_on.wait()
        return match(index, wanted)

    monkeypatch.setattr(TrackIndex, "match", match_slowly)
    slow = PlaylistDocument(title="a", tracks=(FileTrack(title="slow"),) * 1_000)
    look = ImportOptions(only_look=True)
    running = [
        asyncio.create_task(open_session(store).playlists.importing.run(slow, look))
        for _ in range(2)
    ]
    await until(lambda: begun.acquire(blocking=False))
    found = await open_session(store, BOB).playlists.importing.run(MIXED, look)
    assert found.matched == 0
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    go_on.set()
    # The next of the same caller waits for the thread, which goes on with no further track.
    await open_session(store).playlists.importing.run(MIXED, look)
    assert not begun.acquire(blocking=False)


async def test_the_ids_in_anothers_file_match_nothing(store: Store) -> None:
    session = open_session(store)
    playlist, _ = await make_mix(session, 2)
    document = await session.playlists.exporting.document(playlist)
    found = await open_session(store, BOB).playlists.importing.run(document, ImportOptions())
    assert (found.matched, len(found.unmatched)) == (0, 2)
    assert found.playlist is not None
    assert found.playlist.owner == "bob"
    assert await read_order(open_session(store, BOB), found.playlist.id) == []


@on_sqlite
async def test_a_name_is_that_of_the_file_or_the_callers_and_there_has_to_be_one(
    store: Store,
) -> None:
    session = open_session(store)
    before = await contents(store.table)
    for document, wish in (
        (PlaylistDocument(), ImportOptions()),
        (PlaylistDocument(title="x" * 129), ImportOptions()),
        (PlaylistDocument(title="Fine"), ImportOptions(name=" ")),
    ):
        with pytest.raises(Invalid) as caught:
            await session.playlists.importing.run(document, wish)
        assert caught.value.path == ["name"]
    assert await contents(store.table) == before
    found = await session.playlists.importing.run(
        PlaylistDocument(title="File"), ImportOptions(name=" Mine ")
    )
    assert found.playlist is not None
    assert (found.playlist.name, found.playlist.entry_count) == ("Mine", 0)


@on_sqlite
async def test_the_title_of_a_file_loses_invisible_characters_and_a_typed_name_is_refused(
    store: Store,
) -> None:
    importing = open_session(store).playlists.importing
    found = await importing.run(PlaylistDocument(title="a\u202eb\u200bc"), ImportOptions())
    assert found.playlist is not None
    assert found.playlist.name == "abc"
    before = await contents(store.table)
    for document, wish in (
        (PlaylistDocument(title="\u200b"), ImportOptions()),
        (PlaylistDocument(title="fine"), ImportOptions(name="a\u202eb")),
    ):
        with pytest.raises(Invalid) as caught:
            await importing.run(document, wish)
        assert caught.value.path == ["name"]
    assert await contents(store.table) == before


@on_sqlite
async def test_the_names_of_entries_lose_what_no_new_name_has(store: Store) -> None:
    session = open_session(store)
    odd = FileTrack(
        location="a\u202eb.mp3", title="a\u202eb\x1b[31m", creator="\u200bt\x01", album="\u200b"
    )
    found = await session.playlists.importing.run(
        PlaylistDocument(title="Odd", tracks=(odd,)), ImportOptions(keep=True)
    )
    assert found.playlist is not None
    (entry,) = await read_order(session, found.playlist.id)
    shown = (entry.location, entry.title, entry.artist, entry.album)
    assert shown == ("a\u202eb.mp3", "ab [31m", "t", None)


@without_moto
async def test_an_import_sent_twice_happens_once(store: Store) -> None:
    session = open_session(store)
    await add_tracks(session, 2)
    first = await session.playlists.importing.run(MIXED, ImportOptions(idempotency_key="key"))
    again = await session.playlists.importing.run(MIXED, ImportOptions(idempotency_key="key"))
    assert again == first
    with pytest.raises(Invalid, match="another input"):
        await session.playlists.importing.run(
            MIXED, ImportOptions(keep=True, idempotency_key="key")
        )
    assert len(await walk(session.playlists.reading.page)) == 1
    assert await drift(store.table) == []


LONG = PlaylistDocument(title="Long", tracks=(FileTrack(title="t0", creator="Abba"),) * 120)


@without_moto
@pytest.mark.parametrize("writes", range(1, 7))
async def test_an_import_cut_short_is_seen_by_nobody_and_taken_away_later(
    store: Store, writes: int
) -> None:
    session = open_session(store)
    await add_tracks(session, 1)
    before = await contents(store.table)
    with pytest.raises(ProcessDied):
        await (
            Store(CutOffTable(store.table, writes))
            .open_session(ANN)
            .playlists.importing.run(LONG, ImportOptions())
        )
    assert await walk(session.playlists.reading.page) == []
    assert await contents(store.table) != before
    # While a living process may still publish it, the sweep ignores it.
    assert await store.finish_deletes() == 0
    later = Store(store.table, _later(store))
    assert await later.finish_deletes() == 1
    assert await contents(store.table) == before


def _later(store: Store) -> Clock:
    return Clock(now=lambda: store.clock.now() + timedelta(minutes=3))


@without_moto
async def test_an_import_taken_for_left_behind_does_not_come_to_sight_in_part(store: Store) -> None:
    session = open_session(store)
    await add_tracks(session, 1)
    before = await contents(store.table)

    async def sweeper() -> None:
        assert await Store(store.table, _later(store)).finish_deletes() == 1

    interrupted = InterruptedTable(store.table, sweeper, writes=4)
    with pytest.raises(Unavailable):
        await Store(interrupted).open_session(ANN).playlists.importing.run(LONG, ImportOptions())
    assert interrupted.other is None
    assert await walk(session.playlists.reading.page) == []
    assert await contents(store.table) == before


@on_sqlite
async def test_ten_thousand_tracks_are_imported_and_exported_in_their_order(store: Store) -> None:
    session = open_session(store)
    audio = await add_tracks(session, 3)
    wanted = [FileTrack(id=audio[n * n % 3], title=f"{n}") for n in range(10_000)]
    document = PlaylistDocument(title="Everything", tracks=tuple(wanted))
    found = await session.playlists.importing.run(document, ImportOptions())
    assert found.playlist is not None
    assert found.playlist.entry_count == 10_000
    again = await session.playlists.exporting.document(found.playlist)
    assert [track.id for track in again.tracks] == [track.id for track in wanted]
    first, *_ = await read_order(session, found.playlist.id)
    moved = ChangeTarget(id=found.playlist.id, hints=(first.position,))
    assert (await session.playlists.moving.remove(moved, ids([first]))).entry_count == 9_999


@on_sqlite
async def test_an_export_reads_tracks_a_hundred_at_a_time_side_by_side(store: Store) -> None:
    traced = TracedTable(store.table)
    session = Store(traced).open_session(ANN)
    playlist, _ = await make_ranked_playlist(
        session, [f"MMMM{a}{b}{c}B" for a in "BC" for b in "BCDEF" for c in "BCDEF"]
    )
    traced.start()
    await session.playlists.exporting.document(playlist)
    assert traced.seen == (2, 0, 2)
