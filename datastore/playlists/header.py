"""The header of a playlist: every change updates it, and its conditions detect conflicts."""

from dataclasses import dataclass
from typing import Final

import msgspec

from penstock.datastore.errors import LimitExceeded, VersionConflict
from penstock.datastore.playlists.records import ENTRIES_LIMIT, MAX_ENTRIES, Playlist
from penstock.datastore.playlists.rows import count_of, header_key, no_playlist
from penstock.datastore.playlists.rules import PlaylistRule
from penstock.datastore.table.commit import StaleRead, Write
from penstock.datastore.table.items import attributes_of
from penstock.datastore.table.port import (
    AllOf,
    Compare,
    Condition,
    Item,
    Update,
    Value,
)
from penstock.datastore.table.tombstones import IS_ALIVE, is_alive

NOUN: Final = "playlist"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaylistChange:
    """The effect of one write on the header: more entries, more length, a new name or rule."""

    at: str
    entries: int = 0
    duration_ms: int = 0
    name: str | None = None
    rule: PlaylistRule | None = None

    def apply_to(self, playlist: Playlist) -> Playlist:
        """The header after this change, if no other change came between."""
        return msgspec.structs.replace(
            playlist,
            name=playlist.name if self.name is None else self.name,
            version=playlist.version + 1,
            entry_count=playlist.entry_count + self.entries,
            duration_ms=playlist.duration_ms + self.duration_ms,
            updated_at=self.at,
            rule=playlist.rule if self.rule is None else self.rule,
        )

    def header_write(self, playlist: Playlist, expected: int | None) -> Write:
        """The update of the header, which also applies if others changed the playlist meanwhile.

        It fails with VersionConflict if the caller expected a version that has changed. It
        fails with StaleRead if entries got new ranks, because a chosen rank may now be at the
        wrong place.
        """
        conditions: list[Condition] = [*IS_ALIVE, Compare("ranked", "=", playlist.ranked)]
        if expected is not None:
            conditions.append(Compare("version", "=", expected))
        if self.entries > 0:
            conditions.append(Compare("entryCount", "<=", MAX_ENTRIES - self.entries))
        setting: dict[str, Value] = {"updatedAt": self.at}
        if self.name is not None:
            setting["name"] = self.name
        if self.rule is not None:
            setting["rule"] = attributes_of(self.rule)
        update = Update(
            key=header_key(playlist.id),
            set=setting,
            add={"version": 1, "entryCount": self.entries, "durationMs": self.duration_ms},
            condition=AllOf(tuple(conditions)),
        )
        return Write(update, lambda standing: self._describe_conflict(standing, expected))

    def _describe_conflict(self, standing: Item | None, expected: int | None) -> Exception:
        if not is_alive(standing):
            return no_playlist()
        if expected not in (None, version := count_of(standing, "version")):
            return VersionConflict(version)
        count = count_of(standing, "entryCount") + self.entries
        if self.entries > 0 and count > MAX_ENTRIES:
            return LimitExceeded(ENTRIES_LIMIT, MAX_ENTRIES, count)
        return StaleRead()


def rerank_write(playlist: Playlist, ranked: int) -> Write:
    """Update the header for new ranks; fails with StaleRead if the playlist has changed."""
    unchanged = (Compare("version", "=", playlist.version), Compare("ranked", "=", ranked))
    condition = AllOf((*IS_ALIVE, *unchanged))
    return Write(Update(key=header_key(playlist.id), add={"ranked": 1}, condition=condition))


def require_version(playlist: Playlist, expected: int | None) -> None:
    """Raise VersionConflict if the caller expects a different version."""
    if expected not in (None, playlist.version):
        raise VersionConflict(playlist.version)
