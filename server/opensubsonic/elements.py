"""The elements of answers: tracks, albums and artists with the caller's stars and ratings."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, TypeVar

from penstock.datastore.audio import names
from penstock.datastore.audio.records import Album, Artist, Audio
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.listening.annotations import ThingKey
from penstock.datastore.listening.records import Annotation, Kind
from penstock.datastore.request_threads import run_in_request_thread
from penstock.datastore.session import Session

T = TypeVar("T")

ALBUM: Final = "al-"
ARTIST: Final = "ar-"
"""The beginnings of the ids of albums and artists; those of tracks and playlists are UUIDs."""

Fields = dict[str, object]


def album_id(id: str) -> str:
    return ALBUM + id


def artist_id(name: str) -> str:
    return ARTIST + names.artist_id(name)


def named_artists(artists: Sequence[str]) -> list[Fields]:
    return [{"id": artist_id(name), "name": name} for name in artists]


async def annotations_of(session: Session, things: Sequence[ThingKey]) -> list[Annotation]:
    return await session.listening.annotations.many(things)


FEW: Final = 20
"""The things that are named or described at once; more are, at the turn of the caller."""


async def work_on_names(session: Session, count: int, work: Callable[[], T]) -> T:
    """Do work on the names of so many things, such as to compare, sort or describe them.

    Names are brought to their normal forms for it, so many of them are left to a thread, at the
    turn of the caller, who pays for the time.
    """
    if count <= FEW:
        return work()
    return await run_in_request_thread(lambda _: work(), session.payer)


async def _describe_with_notes(
    session: Session,
    things: Sequence[T],
    key: Callable[[T], ThingKey],
    describe: Callable[[T, Annotation], Fields],
) -> list[Fields]:
    """Describe things whose keys are made of their names, with their annotations."""
    keys = await work_on_names(session, len(things), lambda: list(map(key, things)))
    kept = await annotations_of(session, keys)
    return await work_on_names(session, len(things), lambda: list(map(describe, things, kept)))


async def song_elements(session: Session, tracks: Sequence[Audio]) -> list[Fields]:
    """Describe tracks, with one batch of reads of their annotations."""
    kept = await annotations_of(session, [(Kind.AUDIO, track.id) for track in tracks])
    return await work_on_names(session, len(tracks), lambda: list(map(song_element, tracks, kept)))


def song_element(track: Audio, note: Annotation) -> Fields:
    """Describe a track as a `Child` of the specification."""
    album, artist = album_id(names.album_key(track).id), names.album_artist(track)
    return _without_empty(
        {
            "id": track.id,
            "parent": album,
            "isDir": False,
            "title": track.title,
            "album": track.album,
            "artist": ", ".join(track.artists) or artist,
            "track": track.track or None,
            "year": track.year or None,
            "genre": track.genres[0] if track.genres else None,
            "coverArt": track.artwork,
            "size": track.size,
            "contentType": track.format.media_type,
            "suffix": track.format.value,
            "duration": track.duration_ms // 1000,
            "bitRate": track.bitrate,
            "samplingRate": track.sample_rate,
            "path": track.file_name,
            "isVideo": False,
            "discNumber": track.disc or None,
            "created": track.created_at,
            "albumId": album,
            "artistId": artist_id(track.artists[0] if track.artists else artist),
            "type": "music",
            "mediaType": "song",
            "musicBrainzId": track.recording_mbid,
            "genres": [{"name": name} for name in track.genres],
            "artists": named_artists(track.artists or (artist,)),
            "displayArtist": ", ".join(track.artists) or artist,
            "albumArtists": named_artists((artist,)),
            "displayAlbumArtist": artist,
            "bookmarkPosition": note.position_ms,
            **_listening_fields(note),
        }
    )


def _listening_fields(note: Annotation) -> Fields:
    return {
        "starred": note.favourite_at,
        "userRating": note.rating,
        "playCount": note.play_count or None,
        "played": note.last_played_at,
    }


async def album_elements(session: Session, albums: Sequence[Album]) -> list[Fields]:
    """Describe albums; the first track of each tells when the album came."""
    first = await session.audio.browsing.first_tracks([album.id for album in albums])

    def describe(found: tuple[Album, str | None], note: Annotation) -> Fields:
        album, track = found
        return album_element(album, "" if track is None else time_of_id(track), note)

    return await _describe_with_notes(
        session,
        list(zip(albums, first, strict=True)),
        lambda found: (Kind.ALBUM, names.album_place_of(found[0])),
        describe,
    )


def album_element(album: Album, created: str, note: Annotation) -> Fields:
    """Describe an album as an `AlbumID3` of the specification."""
    return _without_empty(
        {
            "id": album_id(album.id),
            "name": album.name,
            "artist": album.album_artist,
            "artistId": artist_id(album.album_artist),
            "artists": named_artists((album.album_artist,)),
            "displayArtist": album.album_artist,
            "coverArt": album.artwork,
            "songCount": album.count,
            "duration": album.duration_ms // 1000,
            "created": created,
            "year": album.year or None,
            "starred": note.favourite_at,
            "userRating": note.rating,
        }
    )


async def artist_elements(session: Session, artists: Sequence[Artist]) -> list[Fields]:
    """Describe artists, with one batch of reads of their annotations."""
    return await _describe_with_notes(
        session,
        artists,
        lambda artist: (Kind.ARTIST, names.artist_place(artist.name)),
        lambda artist, note: _without_empty(
            {**artist_element(artist), "starred": note.favourite_at, "userRating": note.rating}
        ),
    )


def artist_element(artist: Artist) -> Fields:
    """Describe an artist as an `ArtistID3` of the specification."""
    return {**plain_artist_element(artist), "sortName": names.sort_name(artist.name)}


def plain_artist_element(artist: Artist) -> Fields:
    """Describe an artist as an `Artist` of the specification."""
    return {"id": ARTIST + artist.id, "name": artist.name}


def time_of_id(id: str) -> str:
    """Return the time at which an id was made, which a UUID of version 7 begins with."""
    milliseconds = int(id[:8] + id[9:13], 16)
    return iso_timestamp(datetime.fromtimestamp(milliseconds / 1000, UTC))


def index_by_letter(
    artists: Sequence[Artist], describe: Callable[[Artist], Fields] = artist_element
) -> list[Fields]:
    """Put artists, who are sorted by name, under their first letters."""
    found: dict[str, list[Fields]] = {}
    for artist in artists:
        first = names.sort_name(artist.name)[:1].upper()
        found.setdefault(first if first.isalpha() else "#", []).append(describe(artist))
    return [{"name": letter, "artist": under} for letter, under in found.items()]


def _without_empty(fields: Mapping[str, object]) -> Fields:
    return {name: value for name, value in fields.items() if value is not None}
