"""Favourites, ratings, plays and play positions: combined reads, and writes that update loaders."""

from asyncio import gather
from collections.abc import Sequence
from functools import partial
from typing import TypeVar

from penstock.datastore.audio.names import album_place
from penstock.datastore.audio.records import Album, Artist, Audio
from penstock.datastore.errors import NotFound
from penstock.datastore.listening.annotations import AnnotatedThing, Thing, ThingKey
from penstock.datastore.listening.records import Favourite, Kind, Play
from penstock.datastore.playlists.records import Playlist
from penstock.datastore.table.pages import Slice, Window, read_existing
from penstock.resolvers.audio import load_if_present
from penstock.resolvers.batch_loader import BatchLoader
from penstock.resolvers.context import Context

T = TypeVar("T")


async def favourite_audio(context: Context, window: Window) -> Slice[Audio]:
    """Read a page of favourite tracks; deleted ones are passed over."""

    async def load(links: Sequence[Favourite]) -> list[Audio | None]:
        return await load_tracks(context, [each.id for each in links])

    favourites = context.session.listening.favourites
    return await read_existing(window, partial(favourites.page, Kind.AUDIO), load)


async def favourite_albums(context: Context, window: Window) -> Slice[Album]:
    """Read a page of favourite albums; those without tracks are passed over."""
    return await _favourite_places(context, Kind.ALBUM, window, context.loaders.audio.albums)


async def favourite_artists(context: Context, window: Window) -> Slice[Artist]:
    """Read a page of favourite artists; those without tracks are passed over."""
    return await _favourite_places(context, Kind.ARTIST, window, context.loaders.audio.artists)


async def _favourite_places(
    context: Context, kind: Kind, window: Window, loader: BatchLoader[str, T]
) -> Slice[T]:
    async def load_one(place: str) -> T | None:
        return await load_if_present(loader, place)

    async def load(links: Sequence[Favourite]) -> list[T | None]:
        return list(await gather(*(load_one(each.id) for each in links)))

    favourites = context.session.listening.favourites
    return await read_existing(window, partial(favourites.page, kind), load)


async def favourite_playlists(context: Context, window: Window) -> Slice[Playlist]:
    """Read a page of favourite playlists; deleted ones are passed over."""

    async def load(links: Sequence[Favourite]) -> list[Playlist | None]:
        found = await context.session.playlists.reading.many([each.id for each in links])
        return [each if isinstance(each, Playlist) else None for each in found]

    favourites = context.session.listening.favourites
    return await read_existing(window, partial(favourites.page, Kind.PLAYLIST), load)


async def load_track(context: Context, play: Play) -> Audio | None:
    (found,) = await load_tracks(context, [play.audio_id])
    return found


async def load_tracks(context: Context, ids: Sequence[str]) -> list[Audio | None]:
    """Load the caller's tracks of these ids in the same order; None for a missing one."""
    loads = (context.loaders.audio.tracks.load(id) for id in ids)
    found = await gather(*loads, return_exceptions=True)
    for each in found:
        if isinstance(each, BaseException) and not isinstance(each, NotFound):
            raise each
    return [each if isinstance(each, Audio) else None for each in found]


async def set_favourite(context: Context, thing: ThingKey, favourite: bool) -> Thing:
    favourites = context.session.listening.favourites
    return _renew_annotation(
        context, await (favourites.mark if favourite else favourites.unmark)(thing)
    )


async def rate(context: Context, thing: ThingKey, rating: int | None) -> Thing:
    return _renew_annotation(
        context, await context.session.listening.annotations.rate(thing, rating)
    )


async def set_play_position(context: Context, audio_id: str, position_ms: int | None) -> Thing:
    annotations = context.session.listening.annotations
    return _renew_annotation(context, await annotations.set_position(audio_id, position_ms))


async def record_play(context: Context, play: Play) -> tuple[Thing, bool]:
    audio, kept, counts = await context.session.listening.plays.record(play)
    context.loaders.listener.annotations.clear((Kind.ALBUM, album_place(audio)))
    return _renew_annotation(context, (audio, kept)), counts


def _renew_annotation(context: Context, written: AnnotatedThing) -> Thing:
    """Return the annotated object, and let later fields of the request see the annotation."""
    thing, kept = written
    key = (kept.kind, kept.id)
    context.loaders.listener.annotations.clear(key).prime(key, kept)
    return thing
