"""Reads and writes of audio that take more than a call of a repository."""

from asyncio import gather
from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar

from aiodataloader import DataLoader

from penstock.datastore.audio.names import album_place, artist_place
from penstock.datastore.audio.records import Album, Artist, Audio, AudioLink, Connection
from penstock.datastore.audio.uploads import Upload
from penstock.datastore.errors import NotFound
from penstock.datastore.objects.port import Download
from penstock.datastore.table.items import Asked
from penstock.datastore.table.pages import Slice, Window
from penstock.resolvers.context import Context
from penstock.resolvers.loaders import known

T = TypeVar("T")


async def linked(context: Context, link: AudioLink) -> Audio | None:
    """The track that a list names; None where it is gone by now."""
    return await _if_there(context.loaders.audio.tracks, link.audio_id)


async def newest(
    context: Context, window: Window, asked: Asked, *, newest_first: bool
) -> Slice[Audio]:
    """A page of tracks, which the loader then knows as well, where they are whole."""
    lists = context.session.audio.lists
    found = await lists.audios(window, newest_first=newest_first, asked=asked)
    loader = context.loaders.audio.tracks
    return known(found, asked, lambda track: loader.prime(track.id, track))


async def tracks_in(context: Context, page: Awaitable[Slice[AudioLink]]) -> Slice[Audio]:
    """The tracks that a page of a list names; what is gone by now is left out."""
    links = await page
    found = await gather(*(linked(context, link) for _, link in links.entries))
    entries = [
        (position, track)
        for (position, _), track in zip(links.entries, found, strict=True)
        if track is not None
    ]
    return Slice(tuple(entries), links.more, links.reached)


async def artists_of(context: Context, track: Audio) -> list[Artist]:
    """The artists of a track in the order of the tag, but for those that an edit just took."""
    places = dict.fromkeys(artist_place(name) for name in track.artists)
    found = await gather(*(_artist(context, place) for place in places))
    return [artist for artist in found if artist is not None]


async def album_of(context: Context, track: Audio) -> Album | None:
    return await _if_there(context.loaders.audio.albums, album_place(track))


async def storage_of(context: Context, track: Audio) -> Connection | None:
    """The user's own bucket that a track lies in; None in the server's, or where it is gone."""
    if track.connection_id is None:
        return None
    return await _if_there(context.loaders.audio.storages, track.connection_id)


async def cover(context: Context, artwork: str | None) -> Download | None:
    return None if artwork is None else await context.session.audio.streaming.cover(artwork)


async def upload(context: Context, file_name: str, content_type: str | None) -> Upload:
    registering = context.session.audio.registering
    if content_type is None:
        return await registering.upload(file_name)
    return await registering.upload(file_name, content_type)


async def add(context: Context, object_key: str, connection_id: str | None) -> Audio:
    return _renewed(
        context, await context.session.audio.registering.register(object_key, connection_id)
    )


async def update(
    context: Context, id: str, changes: Mapping[str, Any], expected_version: int
) -> Audio:
    return _renewed(
        context, await context.session.audio.editing.edit(id, changes, expected_version)
    )


async def delete(context: Context, id: str, expected_version: int | None) -> Audio:
    return _renewed(context, await context.session.audio.removing.delete(id, expected_version))


async def _artist(context: Context, place: str) -> Artist | None:
    return await _if_there(context.loaders.audio.artists, place)


async def _if_there(loader: "DataLoader[str, T]", key: str) -> "T | None":
    try:
        return await loader.load(key)
    except NotFound:
        return None


def _renewed(context: Context, track: Audio) -> Audio:
    """Let later fields of the document see the track as it was written, or last was.

    What counts it may have changed as well.
    """
    loaders = context.loaders.audio
    loaders.tracks.clear(track.id).prime(track.id, track)
    for loader in (loaders.artists, loaders.albums, loaders.totals):
        loader.clear_all()
    return track
