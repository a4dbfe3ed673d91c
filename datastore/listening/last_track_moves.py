"""Annotations of albums and artists that follow the last track to another name.

They move in the transaction that changes this track. Until then the old name is there and can be
starred, rated and played; from then on whoever notes something of it learns that it is gone.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.audio.names import album_place, artist_place
from penstock.datastore.audio.records import Audio
from penstock.datastore.jobs.jobs import RenamedKind, Renaming
from penstock.datastore.listening.annotation_moves import AnnotationMover
from penstock.datastore.listening.annotations import ThingKey, listed_key
from penstock.datastore.listening.records import Kind
from penstock.datastore.table.commit import Write
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.port import Compare, Delete, Key


@dataclass(slots=True)
class LastTrackMoves:
    """The moves that come with one renamed track, if it is the last of its album or artist.

    First the track is taken for one of several. If a count says otherwise, the write changes
    nothing, and the next one also moves what is noted of the thing that the track leaves empty.
    """

    access: Access
    renaming: Renaming
    is_first_try: bool = True

    async def add_writes(self, old: Audio, new: Audio, writes: Sequence[Write]) -> Sequence[Write]:
        """Add the moves of annotations to the writes of a changed track."""
        moves = _list_moves(self.renaming, old, new)
        counts = {
            listed_key(self.access, source): (source, target) for source, target in moves.items()
        }
        emptied: list[Key] = []
        if not self.is_first_try:
            rows = await read_rows(self.access.table, counts.keys(), consistent=True)
            emptied = [key for key, row in rows.items() if row.get("count") == 1]
        self.is_first_try = False
        mover, more = AnnotationMover(self.access), list[Write]()
        for key in emptied:
            more += await mover.list_writes(*counts[key])
        return [*(_guard_count(write, counts.keys(), emptied) for write in writes), *more]


def _guard_count(write: Write, counts: Container[Key], emptied: Container[Key]) -> Write:
    """Let a write that lowers a count fail where the count is another than was thought."""
    key = write.operation.key
    if key in emptied:
        return Write(Delete(key, Compare("count", "=", 1)))
    return Write(write.operation) if key in counts else write


def _list_moves(renaming: Renaming, old: Audio, new: Audio) -> dict[ThingKey, ThingKey]:
    """The things that a renamed track leaves, and those that it joins in their place."""
    if renaming.kind is RenamedKind.GENRE:
        return {}
    moves = {(Kind.ALBUM, album_place(old)): (Kind.ALBUM, album_place(new))}
    if renaming.kind is RenamedKind.ARTIST:
        moves[Kind.ARTIST, renaming.place] = (Kind.ARTIST, artist_place(renaming.name))
    return {source: target for source, target in moves.items() if source != target}
