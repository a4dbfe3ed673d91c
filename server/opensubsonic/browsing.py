"""Calls that browse the library: artists, albums, tracks and genres."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from penstock.datastore.audio import names
from penstock.datastore.audio.records import Album, Artist, Audio
from penstock.datastore.errors import NotFound
from penstock.datastore.listening.records import Kind
from penstock.datastore.table.pages import Slice, Window, walk_pages
from penstock.server.opensubsonic.answers import Fields
from penstock.server.opensubsonic.call import MAX_NAMES, PAGE, Call, read_album_id, read_artist_id
from penstock.server.opensubsonic.elements import (
    album_element,
    album_elements,
    annotations_of,
    artist_elements,
    index_by_letter,
    plain_artist_element,
    song_elements,
    work_on_names,
)

T = TypeVar("T")

_ARTICLES: Final = " ".join(sorted(article.capitalize() for article in names.ARTICLES))


async def read_up_to(
    most: int, read_page: Callable[[Window], Awaitable[Slice[T]]], page: int = PAGE
) -> list[T]:
    """Read the first `most` records of a list."""
    found: list[T] = []
    if most == 0:
        return found
    async for each in walk_pages(read_page, min(page, most)):
        found.append(each)
        if len(found) == most:
            break
    return found


async def get_music_folders(_: Call) -> Fields:
    """Name the only folder, which is the whole library."""
    return {"musicFolders": {"musicFolder": [{"id": 0, "name": "Library"}]}}


async def read_artists(call: Call) -> list[Artist]:
    return await read_up_to(MAX_NAMES, call.session.audio.lists.get_artists_by_user_id)


async def get_artists(call: Call) -> Fields:
    artists = await read_artists(call)
    index = await work_on_names(call.session, len(artists), lambda: index_by_letter(artists))
    return {"artists": {"ignoredArticles": _ARTICLES, "index": index}}


async def get_indexes(call: Call) -> Fields:
    """List the artists, as changed right now: nothing tells when a library changed last."""
    artists = await read_artists(call)
    index = await work_on_names(
        call.session, len(artists), lambda: index_by_letter(artists, plain_artist_element)
    )
    now = int(call.clock.now().timestamp() * 1000)
    indexes = {"ignoredArticles": _ARTICLES, "lastModified": now, "index": index}
    return {"indexes": indexes}


async def get_artist(call: Call) -> Fields:
    id = read_artist_id(call.parameters.require("id"))
    browsing = call.session.audio.browsing
    artist = await browsing.artist(id)
    albums = await album_elements(call.session, await browsing.albums_of(id))
    (shown,) = await artist_elements(call.session, [artist])
    return {"artist": {**shown, "albumCount": len(albums), "album": albums}}


async def get_album(call: Call) -> Fields:
    id = read_album_id(call.parameters.require("id"))
    album = await call.session.audio.browsing.album(id)
    tracks = await tracks_of_album(call, album)
    created = min((track.created_at for track in tracks), default="")
    songs = await song_elements(call.session, tracks)
    (note,) = await annotations_of(call.session, [(Kind.ALBUM, names.album_place_of(album))])
    return {"album": {**album_element(album, created, note), "song": songs}}


async def tracks_of_album(call: Call, album: Album) -> list[Audio]:
    """Read the tracks of an album in order."""
    library = call.session.audio
    links = await read_up_to(MAX_NAMES, lambda window: library.lists.by_album(album.id, window))
    return await read_tracks(call, [link.audio_id for link in links])


async def read_tracks(call: Call, ids: list[str]) -> list[Audio]:
    """Read the tracks that still exist, in the order of the ids."""
    found = await call.session.audio.reading.many(ids)
    return [track for track in found if isinstance(track, Audio)]


async def require_tracks(call: Call, ids: Sequence[str]) -> list[Audio]:
    """Read tracks; raises NotFound if one does not exist."""
    found = await call.session.audio.reading.many(ids)
    for track in found:
        if isinstance(track, NotFound):
            raise track
    return [track for track in found if isinstance(track, Audio)]


async def get_song(call: Call) -> Fields:
    id = call.parameters.require("id")
    track = await call.session.audio.reading.get_audio_files_by_audio_id(id)
    (song,) = await song_elements(call.session, [track])
    return {"song": song}


async def get_genres(call: Call) -> Fields:
    found = await read_up_to(MAX_NAMES, call.session.audio.lists.genres)
    genres = [{"value": genre.name, "songCount": genre.count, "albumCount": 0} for genre in found]
    return {"genres": {"genre": genres}}
