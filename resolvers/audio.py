"""Reads and writes of audio that take more than one call of a repository."""

from asyncio import gather
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from penstock.datastore.audio.artwork.cover_sizes import SizedCover
from penstock.datastore.audio.names import album_place, artist_place
from penstock.datastore.audio.records import Album, Artist, Audio, AudioLink
from penstock.datastore.audio.upkeep.user_uploads import UploadTicket
from penstock.datastore.errors import NotFound
from penstock.datastore.name_search.words import NameFilter
from penstock.datastore.objects.port import Download
from penstock.datastore.table.items import Projection
from penstock.datastore.table.pages import Slice, Window, read_existing
from penstock.resolvers.batch_loader import BatchLoader
from penstock.resolvers.context import Context
from penstock.resolvers.loaders import prime_page

T = TypeVar("T")


async def load_linked_track(context: Context, link: AudioLink) -> Audio | None:
    """Load the track of a link in a list; None if it was deleted."""
    return await load_if_present(context.loaders.audio.tracks, link.audio_id)


async def list_tracks(
    context: Context,
    window: Window,
    projection: Projection,
    title: NameFilter | None,
    *,
    newest_first: bool,
) -> Slice[Audio]:
    """Read a page of tracks, and put those that are read whole into the loader.

    With a `title`, only those that have this part of it.
    """
    lists = context.session.audio.lists
    read = lists.audios if title is None else partial(lists.by_title, title)
    found = await read(window, newest_first=newest_first, projection=projection)
    loader = context.loaders.audio.tracks
    return prime_page(found, projection, lambda track: loader.prime(track.id, track))


async def load_linked_tracks(
    context: Context, window: Window, read_links: Callable[[Window], Awaitable[Slice[AudioLink]]]
) -> Slice[Audio]:
    """Load a page of the tracks behind the links of a list; deleted tracks are passed over."""

    async def load(links: Sequence[AudioLink]) -> list[Audio | None]:
        return await gather(*(load_linked_track(context, link) for link in links))

    return await read_existing(window, read_links, load)


async def load_artists(context: Context, track: Audio) -> list[Artist]:
    """Load the artists of a track in the order of its tag; removed artists are left out."""
    places = dict.fromkeys(artist_place(name) for name in track.artists)
    found = await gather(*(_load_artist(context, place) for place in places))
    return [artist for artist in found if artist is not None]


async def load_album(context: Context, track: Audio) -> Album | None:
    return await load_if_present(context.loaders.audio.albums, album_place(track))


async def cover_download(
    context: Context, artwork: str | None, size: int | None
) -> Download | None:
    """Sign the URL of a cover, of which so many pixels are enough; None without a cover."""
    if artwork is None:
        return None
    return await context.loaders.audio.covers.load(SizedCover(artwork, size))


async def create_upload(context: Context, file_name: str, content_type: str | None) -> UploadTicket:
    registering = context.session.audio.registering
    if content_type is None:
        return await registering.upload(file_name)
    return await registering.upload(file_name, content_type)


async def add(context: Context, object_key: str, connection_id: str | None) -> Audio:
    return _renew_track(
        context, await context.session.audio.registering.register(object_key, connection_id)
    )


async def update(
    context: Context, id: str, changes: Mapping[str, Any], expected_version: int
) -> Audio:
    return _renew_track(
        context, await context.session.audio.editing.edit(id, changes, expected_version)
    )


async def delete(context: Context, id: str, expected_version: int | None) -> Audio:
    return _renew_track(context, await context.session.audio.removing.delete(id, expected_version))


async def set_cover(context: Context, id: str, object_key: str) -> Audio:
    return _renew_track(context, await context.session.audio.covers.set_for_audio(id, object_key))


async def set_album_cover(context: Context, place: str, object_key: str) -> Album:
    """Give an album a cover; later fields of the request read its tracks anew."""
    album = await context.session.audio.covers.set_for_album(place, object_key)
    return _renew_album(context, album)


async def remove_cover(context: Context, id: str) -> Audio:
    return _renew_track(context, await context.session.audio.removing_covers.remove_from_audio(id))


async def remove_album_cover(context: Context, place: str) -> Album:
    """Remove the covers of an album; later fields of the request read its tracks anew."""
    album = await context.session.audio.removing_covers.remove_from_album(place)
    return _renew_album(context, album)


def _renew_album(context: Context, album: Album) -> Album:
    """Let later fields of the request read the tracks of a changed album anew."""
    context.loaders.audio.tracks.clear_all()
    context.loaders.audio.albums.clear_all()
    return album


async def _load_artist(context: Context, place: str) -> Artist | None:
    return await load_if_present(context.loaders.audio.artists, place)


async def load_if_present(loader: "BatchLoader[str, T]", key: str) -> "T | None":
    """Load a thing; None if there is none."""
    try:
        return await loader.load(key)
    except NotFound:
        return None


def _renew_track(context: Context, track: Audio) -> Audio:
    """Let later fields of the request see the track as it was written, or before it was deleted.

    The change may also affect the counts of artists and albums, so their loaders are cleared.
    """
    loaders = context.loaders.audio
    loaders.tracks.clear(track.id).prime(track.id, track)
    for loader in (loaders.artists, loaders.albums, loaders.totals):
        loader.clear_all()
    return track
