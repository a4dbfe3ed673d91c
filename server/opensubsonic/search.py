"""Search for artists, albums and tracks by parts of their names; without a query it lists all."""

from collections.abc import Sequence
from functools import partial
from typing import Final, TypeVar

from penstock.datastore.audio.records import Album, Artist, Audio
from penstock.datastore.name_search.words import NameFilter, search_form
from penstock.server.opensubsonic.answers import Fields
from penstock.server.opensubsonic.browsing import read_artists, read_tracks, read_up_to
from penstock.server.opensubsonic.call import Call
from penstock.server.opensubsonic.elements import (
    album_elements,
    artist_elements,
    song_elements,
    work_on_names,
)
from penstock.server.opensubsonic.lists import Part, all_albums

Named = TypeVar("Named", Artist, Album)

_EMPTY: Final = ("", '""')
"""The queries that ask for everything: players send the second one, too."""

_DEFAULT: Final = 20


async def search3(call: Call) -> Fields:
    text = (call.parameters.get("query") or "").strip()
    query = None if text in _EMPTY else NameFilter(contains=text)
    artists = await _artists(call, query)
    albums = await _albums(call, query)
    tracks = await _tracks(call, query)
    return {
        "searchResult3": {
            "artist": await artist_elements(call.session, artists),
            "album": await album_elements(call.session, albums),
            "song": await song_elements(call.session, tracks),
        }
    }


async def _artists(call: Call, query: NameFilter | None) -> Sequence[Artist]:
    part = Part.of(call, "artistCount", _DEFAULT, "artistOffset")
    if part.size == 0:
        return []
    return await _choose(call, await read_artists(call), query, part)


async def _albums(call: Call, query: NameFilter | None) -> Sequence[Album]:
    part = Part.of(call, "albumCount", _DEFAULT, "albumOffset")
    if part.size == 0:
        return []
    return await _choose(call, await all_albums(call), query, part)


async def _tracks(call: Call, query: NameFilter | None) -> list[Audio]:
    """Read tracks; all of them in the order of their smallest rows, which are passed quickly."""
    part = Part.of(call, "songCount", _DEFAULT, "songOffset")
    lists = call.session.audio.lists
    if part.size == 0:
        return []
    if query is not None:
        found = await read_up_to(part.end, partial(lists.by_title, query), part.size)
        return found[part.offset :]
    links = await read_up_to(part.end, lists.get_audio_id_by_user_id)
    return await read_tracks(call, [link.audio_id for link in links[part.offset :]])


async def _choose(
    call: Call, things: Sequence[Named], query: NameFilter | None, part: Part
) -> Sequence[Named]:
    """The part of the things whose names match, or of all."""
    if query is None:
        return things[part.offset : part.end]
    term = query.term("query")
    found = await work_on_names(
        call.session,
        len(things),
        lambda: [each for each in things if term.matches(search_form(each.name))],
    )
    return found[part.offset : part.end]
