"""Tracks with another name of an artist, an album or a genre in their tags."""

from collections.abc import Callable, Iterable
from typing import Final

from msgspec.structs import replace

from penstock.datastore.audio import names
from penstock.datastore.audio.records import Album, Audio, Tags
from penstock.datastore.jobs.jobs import RenamedKind, Renaming
from penstock.datastore.table.layout import (
    ALBUM,
    ARTIST,
    AUDIO_BY_ALBUM,
    AUDIO_BY_ARTIST,
    AUDIO_BY_GENRE,
    GENRE,
)

LISTED: Final = {RenamedKind.ARTIST: ARTIST, RenamedKind.ALBUM: ALBUM, RenamedKind.GENRE: GENRE}
"""The rows that list what is renamed, with the number of its tracks."""


def renamed_id(renaming: Renaming) -> str:
    """The id of what is renamed, with which its place ends."""
    return renaming.place.rpartition(":")[2]


def tracks_prefix(renaming: Renaming) -> str:
    """The beginning of the sort keys of the rows that list the tracks of what is renamed."""
    id = renamed_id(renaming)
    match renaming.kind:
        case RenamedKind.ARTIST:
            return AUDIO_BY_ARTIST.sk.prefix({"artist": id})
        case RenamedKind.GENRE:
            return AUDIO_BY_GENRE.sk.prefix({"genre": id})
        case RenamedKind.ALBUM:
            key = names.AlbumKey.parse(id)
            if key is None:
                raise ValueError(f"{id} is no id of an album")
            return AUDIO_BY_ALBUM.sk.prefix(key._asdict())


def rename_track(track: Audio, renaming: Renaming) -> Audio:
    """Return the track with the new name; the same one if it has nothing of the old."""
    id = renamed_id(renaming)
    match renaming.kind:
        case RenamedKind.ARTIST:
            return _with_artist(track, id, renaming.name)
        case RenamedKind.ALBUM:
            return _with_album(track, id, renaming)
        case RenamedKind.GENRE:
            return replace(
                track, genres=_replace_name(track.genres, names.genre_id, id, renaming.name)
            )


def album_listing_artist(album: Album) -> str | None:
    """The normal form of the artist by whom an album is one; None for one with a MusicBrainz id."""
    key = names.album_key(_album_tags(album.name, album.album_artist))
    return names.normalize_name(album.album_artist) if key.id == album.id else None


def renamed_album_place(renaming: Renaming) -> str:
    """The place of the album that gets the tracks of the renamed one."""
    artist = renaming.artist or renaming.old_artist
    key = names.AlbumKey.parse(renamed_id(renaming))
    if not renaming.merges and renaming.old_artist is None and key is not None:
        id = names.AlbumKey(names.album_title(renaming.name), key.album).id
        return names.place_of_album(renaming.name, id)
    return names.album_place(_album_tags(renaming.name, artist, renaming.mbid))


def old_album_place(renaming: Renaming, place: str, album: str | None) -> str | None:
    """The place that an album of an artist had before the renaming of them.

    None for one whose place does not depend on the name of the artist.
    """
    if names.album_place(_album_tags(album, renaming.name)) != place or not renaming.old_artist:
        return None
    return names.album_place(_album_tags(album, renaming.old_artist))


def _album_tags(name: str | None, artist: str | None, mbid: str | None = None) -> Tags:
    return Tags(title="", album=name, album_artist=artist, album_mbid=mbid)


def _with_artist(track: Audio, id: str, name: str) -> Audio:
    artists = _replace_name(track.artists, names.artist_id, id, name)
    album_artist = track.album_artist
    if names.artist_id(names.album_artist(track)) == id:
        if album_artist is not None or track.compilation:
            album_artist = name
        elif not artists:
            artists = (name,)
    return replace(track, artists=artists, album_artist=album_artist)


def _with_album(track: Audio, id: str, renaming: Renaming) -> Audio:
    if names.album_key(track).id != id:
        return track
    artist = track.album_artist if renaming.artist is None else renaming.artist
    mbid = renaming.mbid if renaming.merges else track.album_mbid
    return replace(track, album=renaming.name, album_artist=artist, album_mbid=mbid)


def _replace_name(
    held: Iterable[str], id_of: Callable[[str], str], id: str, name: str
) -> tuple[str, ...]:
    """Replace one name; a name that is there twice then is kept once, in its first place."""
    renamed = [name if id_of(each) == id else each for each in held]
    return tuple({id_of(each): each for each in reversed(renamed)}.values())[::-1]
