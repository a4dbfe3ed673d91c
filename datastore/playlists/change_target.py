"""The target of a change of entries: the playlist and its expected version, with input checks."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.errors import FieldProblem, Invalid, LimitExceeded
from penstock.datastore.playlists import ranks
from penstock.datastore.playlists.header import require_version
from penstock.datastore.playlists.order import EntryOrder, Gap
from penstock.datastore.playlists.reading import PlaylistReader
from penstock.datastore.playlists.records import Entry, Playlist
from penstock.datastore.table.commit import StaleRead


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeTarget:
    """The playlist to change, as the caller saw it.

    `version` is the expected one, None for any; `hints` are positions where the caller saw the
    named entries.
    """

    id: str
    version: int | None = None
    hints: tuple[str, ...] = ()

    async def read_playlist(self, access: Access) -> Playlist:
        """Read the playlist; raises NotFound, and VersionConflict if its version differs.

        Raises Invalid for a smart playlist: its rule decides on its entries.
        """
        playlist = await PlaylistReader(access).one(self.id)
        require_version(playlist, self.version)
        if playlist.rule is not None:
            words = "is a smart playlist, whose rule decides on its entries"
            raise Invalid([FieldProblem(["id"], words)])
        return playlist


async def require_room(order: EntryOrder, gap: Gap, behind: str | None, count: int) -> None:
    """Check that the gap has `count` free ranks; if not, make room and raise StaleRead."""
    if not ranks.gap_fits(gap.low, gap.high, count):
        await order.make_room(behind, count)
        raise StaleRead


def check_several(ids: Sequence[str], field: str, maximum: int, limit: str) -> None:
    """Raise Invalid for an empty list of ids, LimitExceeded for a list that is too long."""
    if not ids:
        raise Invalid([FieldProblem([field], "must not be empty")])
    if len(ids) > maximum:
        raise LimitExceeded(limit, maximum, len(ids), (field,))


def check_distinct(ids: Collection[str], field: str) -> None:
    """Raise Invalid if an id occurs twice."""
    if len(set(ids)) < len(ids):
        raise Invalid([FieldProblem([field], "must name each entry once")])


def total_duration(entries: Iterable[Entry]) -> int:
    """The total length of entries in milliseconds; unknown lengths count as 0."""
    return sum(entry.duration_ms or 0 for entry in entries)
