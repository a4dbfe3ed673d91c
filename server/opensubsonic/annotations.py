"""Stars, ratings, plays and bookmarks."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final

from penstock.datastore.audio import names
from penstock.datastore.audio.records import Album, Artist, Audio
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.errors import LimitExceeded
from penstock.datastore.listening.annotations import ThingKey
from penstock.datastore.listening.records import Annotation, Kind, Play
from penstock.server.opensubsonic.answers import Fields, SubsonicCode, SubsonicError
from penstock.server.opensubsonic.browsing import read_tracks, read_up_to, require_tracks
from penstock.server.opensubsonic.call import Call, read_album_id, read_artist_id
from penstock.server.opensubsonic.elements import (
    ALBUM,
    ARTIST,
    album_elements,
    artist_elements,
    song_element,
    song_elements,
)
from penstock.server.opensubsonic.lists import MAX_TRACKS

MAX_CHANGED: Final = 100
"""The most things that one call stars, or plays that it counts."""

MAX_STARRED: Final = 1_000
"""The most stars of a kind in one answer, the latest ones."""


async def star(call: Call) -> Fields:
    for thing in await _named_things(call):
        await call.session.listening.favourites.mark(thing)
    return {}


async def unstar(call: Call) -> Fields:
    for thing in await _named_things(call):
        await call.session.listening.favourites.unmark(thing)
    return {}


async def set_rating(call: Call) -> Fields:
    rating = call.parameters.required_number("rating")
    (thing,) = await _require_things(call, [call.parameters.require("id")])
    await call.session.listening.annotations.rate(thing, rating or None)
    return {}


async def _named_things(call: Call) -> list[ThingKey]:
    """Return the tracks, albums and artists of a call; all must exist before one changes."""
    given = [id for name in ("id", "albumId", "artistId") for id in call.parameters.all(name)]
    if not given:
        call.parameters.require("id")
    return await _require_things(call, list(dict.fromkeys(given)))


async def _require_things(call: Call, ids: Sequence[str]) -> list[ThingKey]:
    if len(ids) > MAX_CHANGED:
        raise LimitExceeded("things of one call", MAX_CHANGED, len(ids))
    browsing = call.session.audio.browsing
    found: list[ThingKey] = []
    for id in ids:
        if id.startswith(ALBUM):
            album = await browsing.album(read_album_id(id))
            found.append((Kind.ALBUM, names.album_place_of(album)))
        elif id.startswith(ARTIST):
            artist = await browsing.artist(read_artist_id(id))
            found.append((Kind.ARTIST, names.artist_place(artist.name)))
        else:
            (track,) = await require_tracks(call, [id])
            found.append((Kind.AUDIO, track.id))
    return found


async def get_starred2(call: Call) -> Fields:
    ids = {kind: await _starred_ids(call, kind) for kind in (Kind.ARTIST, Kind.ALBUM, Kind.AUDIO)}
    reading = call.session.audio.reading
    artists = [one for one in await reading.artists(ids[Kind.ARTIST]) if isinstance(one, Artist)]
    albums = [one for one in await reading.albums(ids[Kind.ALBUM]) if isinstance(one, Album)]
    tracks = await read_tracks(call, ids[Kind.AUDIO])
    return {
        "starred2": {
            "artist": await artist_elements(call.session, artists),
            "album": await album_elements(call.session, albums),
            "song": await song_elements(call.session, tracks),
        }
    }


async def _starred_ids(call: Call, kind: Kind) -> list[str]:
    page = partial(call.session.listening.favourites.page, kind)
    return [favourite.id for favourite in await read_up_to(MAX_STARRED, page)]


async def scrobble(call: Call) -> Fields:
    """Count plays; the notice that a track has begun to play is not kept."""
    ids, times = call.parameters.all("id"), call.parameters.numbers("time")
    call.parameters.require("id")
    if len(ids) > MAX_CHANGED:
        raise LimitExceeded("plays of one call", MAX_CHANGED, len(ids))
    tracks = await require_tracks(call, ids)
    if times and len(times) != len(ids):
        raise SubsonicError(SubsonicCode.GENERIC, "There must be a time for each id, or none.")
    if call.parameters.flag("submission", default=True):
        now = call.clock.timestamp()
        started = [_time(milliseconds) for milliseconds in times] or [now] * len(ids)
        found = [_play_of(track, at) for track, at in zip(tracks, started, strict=True)]
        for play in found:
            # A play that is refused when others were counted would come too late.
            call.session.listening.plays.require_valid(play)
        for play in found:
            await call.session.listening.plays.record(play)
    return {}


def _play_of(track: Audio, at: str) -> Play:
    """A whole play: players send it when the track counts as played."""
    return Play(audio_id=track.id, started_at=at, listened_ms=track.duration_ms)


def _time(milliseconds: int) -> str:
    try:
        return iso_timestamp(datetime.fromtimestamp(milliseconds / 1000, UTC))
    except (ValueError, OverflowError):
        raise SubsonicError(SubsonicCode.GENERIC, "The time is out of range.") from None


async def get_bookmarks(call: Call) -> Fields:
    """List the tracks with a position; at most MAX_TRACKS annotations are looked through."""
    page = partial(call.session.listening.annotations.page, Kind.AUDIO)
    kept = [note for note in await read_up_to(MAX_TRACKS, page) if note.position_ms is not None]
    tracks = {track.id: track for track in await read_tracks(call, [note.id for note in kept])}
    found = [_bookmark(call, tracks[note.id], note) for note in kept if note.id in tracks]
    return {"bookmarks": {"bookmark": found}}


def _bookmark(call: Call, track: Audio, note: Annotation) -> Fields:
    at = note.position_at or track.created_at
    comment = {} if note.position_comment is None else {"comment": note.position_comment}
    return {
        "position": note.position_ms,
        "username": call.user,
        **comment,
        "created": at,
        "changed": at,
        "entry": song_element(track, note),
    }


async def create_bookmark(call: Call) -> Fields:
    id, position = call.parameters.require("id"), call.parameters.required_number("position")
    comment = call.parameters.get("comment")
    await call.session.listening.annotations.set_position(id, position, comment)
    return {}


async def delete_bookmark(call: Call) -> Fields:
    id = call.parameters.require("id")
    await call.session.listening.annotations.set_position(id, None)
    return {}
