"""A library of the audio design's size: tracks of albums, written by the real code."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from penstock.datastore.audio.add_tracks import TrackDraft
from penstock.datastore.audio.object_keys import upload_key
from penstock.datastore.audio.records import Audio, AudioFile, AudioFormat, Tags
from penstock.datastore.roles import Caller
from penstock.datastore.session import Session
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import Units
from penstock.datastore.table.limits import item_size
from penstock.datastore.table.port import Query

TRACKS, ALBUM, PER_ARTIST = 10_000, 10, 20
ROW_OVERHEAD = 100
"""The bytes that DynamoDB adds to the size of each stored row."""

BUCKET = "music-2026"
USER = str(UUID(int=2**100 - 1))
_CHUNK = 500
_WORDS = ("Night", "River", "Golden", "Silent", "Stone", "Winter", "Motion", "Echo")


class Storage(NamedTuple):
    rows: int
    size: int

    @property
    def megabytes(self) -> float:
        return (self.size + ROW_OVERHEAD * self.rows) / 1e6


CONNECTION = str(UUID(int=1))
"""The bucket of the user that most large imports come from."""


def draft(n: int, *, genre: str | None = None) -> TrackDraft:
    """The track with this number: ten in an album, two albums by an artist, usual names."""
    album, artist = n // ALBUM, n // PER_ARTIST
    name = f"The {_WORDS[artist % 8]} {artist:03}"
    tags = Tags(
        title=f"{_WORDS[n % 8]} {_WORDS[n // 8 % 8]} {n:05}",
        artists=(name,),
        album=f"{_WORDS[album % 8]} Songs {album:04}",
        album_artist=name,
        disc=1,
        track=n % ALBUM + 1,
        track_total=ALBUM,
        year=1960 + album % 60,
        genres=() if genre is None else (genre,),
    )
    id = str(UUID(int=n))
    file = AudioFile(
        bucket=BUCKET,
        object_key=upload_key(USER, id, f"{n:05}.flac"),
        file_name=f"{n:05}.flac",
        connection_id=CONNECTION,
        duration_ms=180_000 + n,
        format=AudioFormat.FLAC,
        bitrate=900,
        sample_rate=44_100,
        size=20_000_000 + n,
        etag=f'"{n:032x}"',
        artwork=f"{album:026}",
    )
    return TrackDraft(tags, file)


async def open_store(directory: Path) -> tuple[Store, SqliteTable]:
    """An empty embedded table, which charges units by `table.limits`."""
    table = SqliteTable.open(directory / "audio.sqlite")
    await table.create()
    return Store(table), table


def listener(store: Store) -> Session:
    return store.open_session(Caller(USER, {}))


async def fill(store: Store, drafts: Sequence[TrackDraft]) -> Units:
    """Import the tracks as a job does; return the units."""
    session = listener(store)
    for start in range(0, len(drafts), _CHUNK):
        outcomes = await session.audio.adding.add_many(drafts[start : start + _CHUNK])
        if not all(isinstance(outcome, Audio) for outcome in outcomes):
            raise RuntimeError("a track was not added")
    return session.units


async def storage(table: SqliteTable) -> Storage:
    """The rows of the library and their bytes, by DynamoDB's rules."""
    rows = size = 0
    after = None
    while True:
        page = await table.query(Query(partition=f"U:{USER}", after=after))
        rows, size = rows + len(page.items), size + sum(map(item_size, page.items))
        if page.last is None:
            return Storage(rows, size)
        after = page.last
