"""The library as playlists read it: thousands of tracks at once, a little at a time."""

from asyncio import gather
from collections.abc import Sequence

from penstock.datastore.audio.lists import Lists
from penstock.datastore.audio.reading import Reading
from penstock.datastore.audio.records import Audio
from penstock.datastore.errors import NotFound
from penstock.datastore.resources.scope import Scope
from penstock.datastore.slices import Window

SHARE = 250
AT_ONCE = 4
"""So many times a share, at most, are made of rows before other work has its turn."""


async def tracks_by_ids(
    scope: Scope, ids: Sequence[str], *, consistent: bool = False
) -> list[Audio | NotFound]:
    """The caller's tracks of any number of ids, a thousand at a time side by side; aligned."""
    reading, found = Reading(scope), list[Audio | NotFound]()
    shares = [ids[start : start + SHARE] for start in range(0, len(ids), SHARE)]
    for start in range(0, len(shares), AT_ONCE):
        part = shares[start : start + AT_ONCE]
        for tracks in await gather(*(reading.many(s, consistent=consistent) for s in part)):
            found += tracks
    return found


async def all_tracks(scope: Scope) -> list[Audio]:
    """The caller's whole library, page by page."""
    lists, tracks = Lists(scope), list[Audio]()
    after: str | None = None
    while True:
        page = await lists.audios(Window(size=SHARE, after=after))
        tracks += [track for _, track in page.entries]
        after = page.reached
        if not page.more:
            return tracks
