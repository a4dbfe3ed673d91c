"""What a change of entries names: the playlist, what the caller expects of it, and places."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.errors import FieldProblem, Invalid, LimitExceeded
from penstock.datastore.playlists import ranks
from penstock.datastore.playlists.header import require_version
from penstock.datastore.playlists.order import Gap, Order
from penstock.datastore.playlists.reading import Reading
from penstock.datastore.playlists.records import Entry, Playlist
from penstock.datastore.table.transaction import Moved


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Which playlist is to change, and what the caller knows of it.

    `version` is the one they expect, None where any will do; `hints` are positions where they saw
    the entries that they name.
    """

    id: str
    version: int | None = None
    hints: tuple[str, ...] = ()

    async def playlist(self, access: Access) -> Playlist:
        """Read the playlist; raises NotFound, and VersionConflict where it moved on."""
        playlist = await Reading(access).one(self.id, consistent=True)
        require_version(playlist, self.version)
        return playlist


async def require_room(order: Order, gap: Gap, behind: str | None, count: int) -> None:
    """Make sure that so many ranks fit into the gap; raises Moved where room was made first."""
    if not ranks.fits(gap.low, gap.high, count):
        await order.make_room(behind, count)
        raise Moved


def check_several(ids: Sequence[str], field: str, maximum: int, limit: str) -> None:
    """Raise for an empty list of ids, and for more than may be named at once."""
    if not ids:
        raise Invalid([FieldProblem([field], "must not be empty")])
    if len(ids) > maximum:
        raise LimitExceeded(limit, maximum, len(ids), (field,))


def check_distinct(ids: Collection[str], field: str) -> None:
    """Raise for an id that is named twice."""
    if len(set(ids)) < len(ids):
        raise Invalid([FieldProblem([field], "must name each entry once")])


def duration(entries: Iterable[Entry]) -> int:
    """The length of entries together, in milliseconds, as far as it is known."""
    return sum(entry.duration_ms or 0 for entry in entries)
