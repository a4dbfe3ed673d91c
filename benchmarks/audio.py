"""Counts the units of each audio use case, beside the numbers that the design calculated."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from benchmarks.audio_library import ALBUM, TRACKS, draft, fill, listener, open_store, storage
from benchmarks.page_tables import add_write_option, format_table, show_tables
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window

EVERYTHING = 100_000
SWEEP = 3.0
"""The units of the row that has a library swept, which the calculated numbers do not contain."""
WORDS = 6.0
"""The units of the rows of a title's three words; the calculated numbers do not contain them."""
WORD_MEGABYTES = 6.0
"""The size of these rows for the design's 10,000 tracks."""
MARK = "costs"
HEADER = "operation | one item for each attribute | calculated | measured"


@dataclass(frozen=True, slots=True)
class Row:
    """An operation; `eav` and `calculated` are the design's numbers, in units of one kind."""

    operation: str
    eav: str
    calculated: float | None
    measured: float
    note: str = ""

    @property
    def is_kept(self) -> bool:
        return self.calculated is None or round(self.measured, 2) <= self.calculated

    def __str__(self) -> str:
        promised = "" if self.calculated is None else f"{self.calculated:,.1f}"
        return f"{self.operation} | {self.eav} | {promised} | {self.measured:,.1f}{self.note}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.audio", description=__doc__)
    parser.add_argument("--check", action="store_true", help="end with 1 if a number is higher")
    add_write_option(parser)
    parser.add_argument("--tracks", type=int, default=TRACKS, help="how many tracks there are")
    options = parser.parse_args(arguments)
    rows = asyncio.run(measure_costs(options.tracks))
    show_tables({MARK: format_table(HEADER, map(str, rows))}, options.write)
    broken = [row for row in rows if not row.is_kept]
    if options.check:
        print("\n".join(f"higher: {row}" for row in broken) or "No number is higher.")
    return 1 if options.check and broken else 0


async def measure_costs(tracks: int = TRACKS) -> list[Row]:
    """All rows; the numbers of whole lists are scaled from the design's 10,000 tracks."""
    with TemporaryDirectory() as directory, TemporaryDirectory() as other:
        store, table = await open_store(Path(directory))
        imported = await fill(store, [draft(n) for n in range(tracks)])
        held = await storage(table)
        rows = [*await _reads(store, tracks / TRACKS), *await _writes(store, tracks)]
        await table.close()
        genres, table = await open_store(Path(other))
        with_genres = await fill(genres, [draft(n, genre="Rock") for n in range(ALBUM * 20)])
        await table.close()
    share = tracks / TRACKS
    return [
        *rows,
        Row("import of all, WCU", "270,000", (90_000 + WORDS * TRACKS) * share, imported.wcu),
        Row("import, a track", "27", 9.0 + WORDS, imported.wcu / tracks),
        Row("import, a track with one genre", "", None, with_genres.wcu / (ALBUM * 20)),
        Row("storage, MB", "71", (17.0 + WORD_MEGABYTES) * share, held.megabytes),
    ]


async def _reads(store: Store, share: float) -> list[Row]:
    lists: Any = listener(store).audio.lists
    one = await lists.audios(Window(size=1))
    track = one.entries[0][1]
    artist, album, everything = track.artists[0], track.album, Window(size=EVERYTHING)

    async def read(call: Callable[[Session], Awaitable[object]]) -> float:
        session = listener(store)
        await call(session)
        return session.units.rcu

    async def whole(name: str, *arguments: str) -> float:
        """The units of reading a list to its end in pages of the largest size."""
        session = listener(store)
        after, call = None, getattr(session.audio.lists, name)
        while True:
            page = await call(*arguments, Window(size=EVERYTHING, after=after))
            if not page.more:
                return session.units.rcu
            after = page.reached

    def one_of(session: Session) -> Callable[[str], Awaitable[object]]:
        return session.audio.reading.get_audio_files_by_audio_id

    names = {"artist": artist, "album": album}

    def by(name: str) -> Callable[[Session], Awaitable[object]]:
        method = f"get_audio_id_by_user_id_by_{name}"
        return lambda session: getattr(session.audio.lists, method)(names[name], everything)

    return [
        Row("1 one audio, RCU", "0.5", 1.0, await read(lambda v: one_of(v)(track.id))),
        Row("2 all ids, RCU", "170", 154 * share, await whole("get_audio_id_by_user_id")),
        Row("2 all audio, whole, RCU", "", 854 * share, await whole("audios")),
        Row(
            "2 the first page of 50, RCU",
            "26 in 51 calls",
            4.5,
            await read(lambda v: v.audio.lists.audios(Window(size=50))),
            " in 1 call",
        ),
        Row("3 an artist with 20 tracks, RCU", "0.5, ids only", 1.0, await read(by("artist"))),
        Row("4 an album with 10 tracks, RCU", "0.5, in no order", 0.5, await read(by("album"))),
        Row(
            "5 a bucket with all tracks, RCU",
            "203",
            154 * share,
            await whole("get_audio_id_by_user_id_by_s3bucket_name", track.bucket),
        ),
        Row("6 artists, RCU", "190", 7.5 * share, await whole("get_artists_by_user_id")),
        Row("7 albums, RCU", "194", 26.0 * share, await whole("get_album_by_user_id")),
    ]


async def _writes(store: Store, tracks: int) -> list[Row]:
    """Adds one track to an existing album, edits it in two ways, and deletes it."""

    async def units(call: Callable[[Session], Awaitable[Any]]) -> tuple[Any, float]:
        session = listener(store)
        answer = await call(session)
        return answer, session.units.wcu + session.units.rcu

    last = draft(tracks)
    tags, file = last.tags, last.file
    beside = draft(tracks - 1).tags
    here = msgspec.structs.replace(beside, title=tags.title, track=99)
    track, added = await units(lambda v: v.audio.adding.add(here, file))
    _, deleted = await units(lambda v: v.audio.editing.delete(track.id))
    track, _ = await units(lambda v: v.audio.adding.add(here, file))
    other, elsewhere = draft(0).tags.artists, draft(0).tags.album
    _, edited = await units(lambda v: v.audio.editing.edit(track.id, {"artists": other}))
    _, moved = await units(lambda v: v.audio.editing.edit(track.id, {"album": elsewhere}))
    _, emptied = await units(lambda v: v.audio.editing.delete(track.id))
    return [
        Row("add one track by itself, WCU", "36", None, added),
        Row("edit the artist of one, R + WCU", "4", 14.0, edited),
        Row("edit the album of one, R + WCU", "4", None, moved),
        Row("delete one track, R + WCU", "27.5", 15.5 + SWEEP + WORDS, deleted),
        Row("delete the last track of an album, R + WCU", "27.5", None, emptied),
    ]


if __name__ == "__main__":
    sys.exit(main())
