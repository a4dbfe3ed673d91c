"""Lists of albums and tracks, in the orders that players ask for."""

from bisect import bisect_right
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from random import SystemRandom
from typing import Final, TypeAlias

from penstock.datastore.audio import names
from penstock.datastore.audio.records import Album, Audio
from penstock.datastore.listening.records import Annotation, Kind
from penstock.datastore.table.pages import walk_pages
from penstock.server.opensubsonic.answers import Fields, SubsonicCode, SubsonicError
from penstock.server.opensubsonic.browsing import read_tracks, read_up_to
from penstock.server.opensubsonic.call import MAX_NAMES, Call
from penstock.server.opensubsonic.elements import album_elements, song_elements, work_on_names

MOST: Final = 500
"""The most albums or tracks of one answer, as the specification says."""

MAX_TRACKS: Final = 5_000
"""The most tracks, plays or annotations in which a list looks for its albums."""

MAX_YEAR: Final = 9_999
_AT_ONCE: Final = 100
_RANDOM: Final = SystemRandom()


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a list that is wanted: so many entries from a place on, counted from 0."""

    offset: int
    size: int

    @classmethod
    def of(cls, call: Call, size: str, default: int, offset: str = "offset") -> "Part":
        parameters = call.parameters
        return cls(parameters.number(offset, 0, MAX_NAMES), parameters.number(size, default, MOST))

    @property
    def end(self) -> int:
        return self.offset + self.size


AlbumList: TypeAlias = Callable[[Call, Part], Awaitable[Sequence[Album]]]
"""Reads the beginning of a list of albums, at least up to the end of the part."""


async def get_album_list2(call: Call) -> Fields:
    kind = call.parameters.require("type")
    read = _LISTS.get(kind)
    if read is None:
        raise SubsonicError(SubsonicCode.GENERIC, "There is no such type of list.")
    part = Part.of(call, "size", 10)
    albums = (await read(call, part))[part.offset : part.end]
    return {"albumList2": {"album": await album_elements(call.session, albums)}}


async def all_albums(call: Call) -> list[Album]:
    return await read_up_to(MAX_NAMES, call.session.audio.lists.get_album_by_user_id)


async def _by_name(call: Call, part: Part) -> Sequence[Album]:
    return await read_up_to(part.end, call.session.audio.lists.get_album_by_user_id)


async def _by_artist(call: Call, _: Part) -> Sequence[Album]:
    albums = await all_albums(call)
    return await work_on_names(
        call.session,
        len(albums),
        lambda: sorted(albums, key=lambda album: names.sort_name(album.album_artist)),
    )


async def _random(call: Call, part: Part) -> Sequence[Album]:
    """Choose anew at each call, whatever the offset."""
    albums = await all_albums(call)
    return _RANDOM.sample(albums, min(part.end, len(albums)))


async def _by_year(call: Call, _: Part) -> Sequence[Album]:
    first = call.parameters.required_number("fromYear")
    last = call.parameters.required_number("toYear")
    low, high = sorted((first, last))
    found = [album for album in await all_albums(call) if low <= album.year <= high]
    return sorted(found, key=lambda album: album.year, reverse=first > last)


async def _newest(call: Call, part: Part) -> Sequence[Album]:
    return await _albums_of(call, walk_pages(call.session.audio.lists.audios, _AT_ONCE), part)


async def _by_genre(call: Call, part: Part) -> Sequence[Album]:
    genre = call.parameters.require("genre")
    links = walk_pages(partial(call.session.audio.lists.by_genre, genre), _AT_ONCE)
    return await _albums_of(call, _tracks_of(call, (link.audio_id async for link in links)), part)


async def _recent(call: Call, part: Part) -> Sequence[Album]:
    plays = walk_pages(call.session.listening.plays.page, _AT_ONCE)
    return await _albums_of(call, _tracks_of(call, (play.audio_id async for play in plays)), part)


async def _frequent(call: Call, part: Part) -> Sequence[Album]:
    """Order albums by the plays of their most played track."""
    notes = await _annotations(call, Kind.AUDIO)
    played = sorted((note for note in notes if note.play_count), key=_plays, reverse=True)
    return await _albums_of(call, _tracks_of(call, _each(note.id for note in played)), part)


async def _highest(call: Call, part: Part) -> Sequence[Album]:
    notes = await _annotations(call, Kind.ALBUM)
    rated = sorted((note for note in notes if note.rating), key=_rating, reverse=True)
    return await _existing_albums(call, [note.id for note in rated[: part.end]])


async def _starred_albums(call: Call, part: Part) -> Sequence[Album]:
    page = partial(call.session.listening.favourites.page, Kind.ALBUM)
    found = await read_up_to(part.end, page)
    return await _existing_albums(call, [favourite.id for favourite in found])


_LISTS: Final[Mapping[str, AlbumList]] = {
    "alphabeticalByArtist": _by_artist,
    "alphabeticalByName": _by_name,
    "byGenre": _by_genre,
    "byYear": _by_year,
    "frequent": _frequent,
    "highest": _highest,
    "newest": _newest,
    "random": _random,
    "recent": _recent,
    "starred": _starred_albums,
}


def _plays(note: Annotation) -> int:
    return note.play_count


def _rating(note: Annotation) -> int:
    return note.rating or 0


async def _annotations(call: Call, kind: Kind) -> list[Annotation]:
    return await read_up_to(MAX_TRACKS, partial(call.session.listening.annotations.page, kind))


async def _each(ids: Iterable[str]) -> AsyncIterator[str]:
    for id in ids:
        yield id


async def _tracks_of(call: Call, ids: AsyncIterator[str]) -> AsyncIterator[Audio]:
    """Read the tracks of ids, many at once; those that are gone are passed over."""
    waiting: list[str] = []
    async for id in ids:
        waiting.append(id)
        if len(waiting) == _AT_ONCE:
            for track in await read_tracks(call, waiting):
                yield track
            waiting = []
    for track in await read_tracks(call, waiting):
        yield track


async def _albums_of(call: Call, tracks: AsyncIterator[Audio], part: Part) -> list[Album]:
    """Read the albums of tracks, in the order in which they are met, up to the end of the part."""
    places: dict[str, None] = {}
    met = 0
    async for track in tracks:
        met += 1
        places[names.album_place(track)] = None
        if len(places) >= part.end or met == MAX_TRACKS:
            break
    return await _existing_albums(call, list(places))


async def _existing_albums(call: Call, places: Sequence[str]) -> list[Album]:
    found = await call.session.audio.reading.albums(places)
    return [album for album in found if isinstance(album, Album)]


async def get_songs_by_genre(call: Call) -> Fields:
    genre, part = call.parameters.require("genre"), Part.of(call, "count", 10)
    links = await read_up_to(part.end, partial(call.session.audio.lists.by_genre, genre))
    tracks = await read_tracks(call, [link.audio_id for link in links[part.offset :]])
    return {"songsByGenre": {"song": await song_elements(call.session, tracks)}}


async def get_random_songs(call: Call) -> Fields:
    """Choose tracks of a genre, or of the albums of some years, each with the same chance."""
    size = call.parameters.number("size", 10, MOST)
    genre = call.parameters.get("genre")
    ids = await (_random_of_genre(call, genre, size) if genre else _random_of_albums(call, size))
    tracks = await read_tracks(call, ids)
    return {"randomSongs": {"song": await song_elements(call.session, tracks)}}


async def _random_of_genre(call: Call, genre: str, size: int) -> list[str]:
    links = await read_up_to(MAX_NAMES, partial(call.session.audio.lists.by_genre, genre))
    chosen = _RANDOM.sample(links, min(size, len(links)))
    return [link.audio_id for link in chosen]


async def _random_of_albums(call: Call, size: int) -> list[str]:
    """Choose numbers of tracks, counted album by album, and read only the albums that have them."""
    low = call.parameters.number("fromYear", 0)
    high = call.parameters.number("toYear", MAX_YEAR)
    albums = [album for album in await all_albums(call) if low <= album.year <= high]
    ends = list(accumulate(album.count for album in albums))
    total = ends[-1] if ends else 0
    chosen: dict[int, list[int]] = {}
    for number in _RANDOM.sample(range(total), min(size, total)):
        at = bisect_right(ends, number)
        chosen.setdefault(at, []).append(number - (ends[at] - albums[at].count))
    found: list[str] = []
    for at, numbers in chosen.items():
        read = partial(call.session.audio.lists.by_album, albums[at].id)
        links = await read_up_to(max(numbers) + 1, read)
        found += [links[number].audio_id for number in numbers if number < len(links)]
    _RANDOM.shuffle(found)
    return found
