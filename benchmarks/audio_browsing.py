"""Counts the read units and the calls of the lists by which a listener browses a library."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.audio_library import TRACKS, draft, fill, listener, open_store
from benchmarks.page_tables import add_write_option, format_table, show_tables
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.listening.records import Play
from penstock.datastore.listening.ruled_entries import RuledRequest
from penstock.datastore.name_search.words import NameFilter
from penstock.datastore.playlists.rules import PlaylistRule, TrackFilter, TrackOrder
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window, walk_pages

MARK = "browsing costs"
HEADER = "access | read units | calls"
PLAYED = 5
"""One of so many tracks was played."""

PAGE = Window(size=50)


@dataclass(frozen=True, slots=True)
class Cost:
    """The read units and the calls of one access."""

    access: str
    units: float
    calls: int

    def __str__(self) -> str:
        return f"{self.access} | {self.units:,.1f} | {self.calls:,}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.audio_browsing", description=__doc__)
    add_write_option(parser)
    parser.add_argument("--tracks", type=int, default=TRACKS, help="how many tracks there are")
    options = parser.parse_args(arguments)
    costs = asyncio.run(measure_costs(options.tracks))
    show_tables({MARK: format_table(HEADER, map(str, costs))}, options.write)
    return 0


async def measure_costs(tracks: int = TRACKS) -> list[Cost]:
    """Measure each access once, in a library with so many tracks."""
    with TemporaryDirectory() as directory:
        store, table = await open_store(Path(directory))
        await fill(store, [draft(n, genre=("Rock", None)[n % 2]) for n in range(tracks)])
        await _play_some(store)
        costs = [*await _measure_lists(store), *await _measure_rules(store)]
        await table.close()
    return costs


async def _play_some(store: Store) -> None:
    session = listener(store)
    tracks = [track async for track in walk_pages(session.audio.lists.audios, 1_000)]
    for track in tracks[::PLAYED]:
        at = iso_timestamp(store.clock.now())
        play = Play(audio_id=track.id, started_at=at, listened_ms=track.duration_ms)
        await session.listening.plays.record(play)


async def _measure(store: Store, access: str, call: Callable[[Session], Awaitable[object]]) -> Cost:
    session = listener(store)
    await call(session)
    return Cost(access, session.units.rcu, session.units.calls)


async def _measure_lists(store: Store) -> list[Cost]:
    first = await listener(store).audio.lists.audios(Window(size=1))
    track = first.entries[0][1]
    (album,) = (await listener(store).audio.lists.get_album_by_user_id(Window(size=1))).entries
    (artist,) = (await listener(store).audio.lists.get_artists_by_user_id(Window(size=1))).entries
    title = NameFilter(contains=track.title.split()[2])

    async def read_at_random(session: Session, genre: str | None) -> None:
        page = await session.audio.lists.at_random(genre, "seed", PAGE)
        await session.audio.reading.many([link.audio_id for _, link in page.entries])

    calls: dict[str, Callable[[Session], Awaitable[object]]] = {
        "the albums of an artist": lambda s: s.audio.browsing.albums_of(artist[1].id),
        "the artists of an album": lambda s: s.audio.browsing.page_of_artists(album[1].id, PAGE),
        "50 albums, the newest first": lambda s: s.listening.albums.newest(PAGE),
        "50 albums by year, or at random": lambda s: s.listening.albums.by_year(PAGE),
        "50 albums by plays": lambda s: s.listening.albums.most_played(PAGE),
        "the tracks with a word of the title that one has": lambda s: s.audio.lists.by_title(
            title, PAGE
        ),
        "50 tracks at random": lambda s: read_at_random(s, None),
        "50 tracks of a genre at random, which half of the tracks have": lambda s: read_at_random(
            s, "Rock"
        ),
    }
    return [await _measure(store, access, call) for access, call in calls.items()]


async def _measure_rules(store: Store) -> list[Cost]:
    first = await listener(store).audio.lists.audios(Window(size=1))
    track = first.entries[0][1]
    rules: dict[str, tuple[TrackOrder, dict[str, Any]]] = {
        "all tracks, by title": (TrackOrder.TITLE, {}),
        "all tracks, the most played first": (TrackOrder.MOST_PLAYED, {}),
        "an artist with 20 tracks": (TrackOrder.ALBUM, {"artists": track.artists}),
        "an artist with 20 tracks, the most played first": (
            TrackOrder.MOST_PLAYED,
            {"artists": track.artists},
        ),
        "a genre that half of the tracks have": (TrackOrder.ALBUM, {"genres": ("rock",)}),
        "what was played, one track of five": (TrackOrder.MOST_PLAYED, {"min_plays": 1}),
        "what was played more often than once, none": (TrackOrder.MOST_PLAYED, {"min_plays": 2}),
        "a word of the title that one track has": (
            TrackOrder.TITLE,
            {"title_contains": track.title.split()[2]},
        ),
    }
    costs = []
    for access, (order, filter) in rules.items():
        rule = PlaylistRule(filter=TrackFilter(**filter), order=order, limit=100)
        smart = await listener(store).playlists.writing.create(access, rule=rule)
        choose = partial(_choose, RuledRequest(smart))
        costs.append(await _measure(store, f"a smart playlist: {access}", choose))
    return costs


async def _choose(request: RuledRequest, session: Session) -> object:
    return await session.listening.ruled.choose(request)


if __name__ == "__main__":
    sys.exit(main())
