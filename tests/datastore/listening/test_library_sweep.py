"""The sweep removes covers without a track and annotations of deleted things, never others."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from penstock.datastore.audio.names import album_place, artist_place
from penstock.datastore.audio.object_keys import artwork_key
from penstock.datastore.audio.upkeep import covers
from penstock.datastore.audio.upkeep.covers import YOUNG, CoverStore
from penstock.datastore.clock import Clock
from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.listening.annotations import ThingKey
from penstock.datastore.listening.library_sweep import REST
from penstock.datastore.listening.records import Kind, Play
from penstock.datastore.objects.port import Files
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from penstock.datastore.text import escape
from tests.datastore.audio.sample_library import ANN, BOB, add, drift, library_rows
from tests.datastore.audio.sample_uploads import (
    COVER,
    TAGS,
    content_of,
    open_files,
    sound,
    upload_and_register,
)
from tests.support.consistency_check import contents
from tests.support.sample_resources import Watch

AT = "2022-08-10T23:55:20.322Z"
LONG = timedelta(days=1)


@pytest.fixture(params=["local", "s3"])
async def files(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Files]:
    async with open_files(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture
def store(table: Table, files: Files) -> Store:
    return Store(table, files=files)


def later(store: Store, by: timedelta = LONG) -> Store:
    watch = Watch()
    watch.time = store.clock.now() + by
    return replace(store, clock=Clock(watch))


async def annotate(session: Session, thing: ThingKey) -> None:
    await session.listening.favourites.mark(thing)
    await session.listening.annotations.rate(thing, 3)
    if thing[0] is Kind.AUDIO:
        await session.listening.annotations.set_position(thing[1], 5)
        play = Play(audio_id=thing[1], started_at=AT, listened_ms=180_000)
        await session.listening.plays.record(play)


async def annotations_of(store: Store) -> dict[str, Any]:
    """The rows about things, by the things' ids."""
    kept = ("AN:", "FV:", "HI:")
    rows = await library_rows(store.table)
    found: dict[str, Any] = {}
    for key in rows:
        if key.sk.startswith(kept):
            found.setdefault(key.sk.rpartition(":")[2], []).append(key.sk[:2])
    return found


async def picture(session: Session, name: str, cover: bytes = COVER) -> Any:
    tags = structs.replace(TAGS, title=name)
    return await upload_and_register(session.audio, f"{name}.mp3", sound("mp3", 1, tags, cover))


async def test_annotations_of_deleted_things_go_and_all_others_stay(store: Store) -> None:
    ann, bob = store.open_session(ANN), store.open_session(BOB)
    tracks = [await add(ann.audio, f"{n}.mp3", f"t{n}", "A") for n in range(3)]
    theirs = await add(bob.audio, "1.mp3", "t", "A")
    mixes = [await ann.playlists.writing.create(name) for name in "uv"]
    things = [(Kind.AUDIO, track.id) for track in tracks]
    things += [(Kind.PLAYLIST, mix.id) for mix in mixes]
    for thing in things:
        await annotate(ann, thing)
    await annotate(bob, (Kind.AUDIO, theirs.id))
    played = {escape(album_place(theirs)): 2}
    kept = {tracks[1].id: 3, mixes[1].id: 2, theirs.id: 3, **played}
    await ann.audio.removing.delete(tracks[0].id)
    await ann.audio.removing.delete(tracks[2].id)
    await ann.playlists.deleting.delete(mixes[0].id)
    assert await store.sweep_files() == 0, "calls that were under way may still end"
    assert await later(store).sweep_files() == 8
    assert {id: len(rows) for id, rows in (await annotations_of(store)).items()} == kept
    assert await later(store).sweep_files() == 0
    assert not [key for key in await contents(store.table) if key.pk.startswith("LU:")]


async def test_albums_and_artists_keep_their_annotations_until_they_come_back(store: Store) -> None:
    ann = store.open_session(ANN)
    track = await add(ann.audio, "1.mp3", "t", "A", album="Grain")
    things = [(Kind.ALBUM, album_place(track)), (Kind.ARTIST, artist_place("A"))]
    for thing in things:
        await annotate(ann, thing)
    await ann.audio.removing.delete(track.id)
    await later(store).sweep_files()
    for thing in things:
        with pytest.raises(NotFound):
            await ann.listening.favourites.mark(thing)
    await add(ann.audio, "2.mp3", "t", "A", album="Grain")
    kept = await ann.listening.annotations.many(things)
    assert [(note.favourite_at is not None, note.rating) for note in kept] == [(True, 3)] * 2


async def test_an_annotation_that_came_after_the_delete_is_swept_by_the_next_reason(
    store: Store,
) -> None:
    ann = store.open_session(ANN)
    track = await add(ann.audio, "1.mp3", "t", "A")
    other = await add(ann.audio, "2.mp3", "u", "A")
    await ann.audio.removing.delete(track.id)
    late = ann.listening.annotations
    await late.write_fields((Kind.AUDIO, track.id), {"rating": 3})
    assert await later(store).sweep_files() == 1
    await ann.audio.removing.delete(other.id)
    assert await annotations_of(store) == {}
    assert await drift(store.table) == []


async def test_a_cover_goes_with_its_last_track_and_album(store: Store, files: Files) -> None:
    ann = store.open_session(ANN)
    one, two = await picture(ann, "1"), await picture(ann, "2")
    other = await picture(ann, "3", COVER + b"\0")
    assert one.artwork == two.artwork != other.artwork
    await ann.audio.removing.delete(one.id)
    await later(store).sweep_files()
    assert len(await files.list("audio/ann/artwork/")) == 2
    assert await content_of(files, artwork_key("ann", two.artwork)) == COVER
    for track in (two, other):
        await ann.audio.removing.delete(track.id)
    await later(store).sweep_files()
    assert await files.list("audio/ann/artwork/") == ()


async def test_a_cover_that_an_album_shows_stays(store: Store, files: Files) -> None:
    ann = store.open_session(ANN)
    shown = await picture(ann, "1")
    await upload_and_register(ann.audio, "2.mp3", sound("mp3", 1, TAGS))
    await ann.audio.removing.delete(shown.id)
    await later(store).sweep_files()
    assert await content_of(files, artwork_key("ann", shown.artwork)) == COVER


async def test_a_young_cover_stays_until_its_track_had_time(store: Store, files: Files) -> None:
    ann = store.open_session(ANN)
    name = await CoverStore(ann.audio.reading.access).keep(COVER)
    assert name is not None
    assert await later(store, REST + YOUNG - timedelta(hours=1, minutes=1)).sweep_files() == 0
    assert await files.stat(artwork_key("ann", name)) is not None
    await later(store).sweep_files()
    assert await files.stat(artwork_key("ann", name)) is None


async def test_a_track_that_takes_a_cover_during_the_sweep_keeps_it(
    store: Store, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the moment: the sweep leaves the cover, or the registration is told to try again."""
    ann = store.open_session(ANN)
    name = await CoverStore(ann.audio.reading.access).keep(COVER)
    sweep = covers.CoverStore.sweep
    added: list[Any] = []

    async def add_before(self: CoverStore, uses: Any, used: Any) -> bool:
        added.append(await picture(ann, "1"))
        return await sweep(self, uses, used)

    monkeypatch.setattr(covers.CoverStore, "sweep", add_before)
    await later(store).sweep_files()
    assert added[0].artwork == name
    assert await content_of(files, artwork_key("ann", added[0].artwork)) == COVER


async def test_a_track_whose_cover_is_swept_is_refused_and_then_gets_another_name(
    store: Store, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = store.open_session(ANN)
    name = await CoverStore(ann.audio.reading.access).keep(COVER)
    keep = covers.CoverStore.keep

    async def sweep_behind(self: CoverStore, content: bytes | None) -> str | None:
        kept = await keep(self, content)
        await later(store).sweep_files()
        return kept

    with monkeypatch.context() as patch:
        patch.setattr(covers.CoverStore, "keep", sweep_behind)
        with pytest.raises(Unavailable):
            await picture(ann, "1")
    assert (await ann.audio.reading.totals()).count == 0
    track = await picture(ann, "1")
    assert track.artwork != name
    await later(store).sweep_files()
    assert await content_of(files, artwork_key("ann", track.artwork)) == COVER


async def test_the_sweep_does_not_touch_libraries_without_a_reason(
    store: Store, files: Files
) -> None:
    ann, bob = store.open_session(ANN), store.open_session(BOB)
    await picture(ann, "1")
    track = await picture(bob, "1")
    await later(store, 2 * LONG).sweep_files()
    before = await contents(store.table)
    assert await later(store, 2 * LONG).sweep_files() == 0
    assert await contents(store.table) == before
    assert await content_of(files, artwork_key("bob", track.artwork)) == COVER
