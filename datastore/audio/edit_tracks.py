"""Edits and deletes of the caller's tracks, each in one transaction.

Deleting a track from the library also deletes its uploaded object from the server's bucket.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.audio.derived_rows import (
    NO_ROWS,
    object_claim,
    object_taken,
    row_changes,
    track_rows,
)
from penstock.datastore.audio.object_keys import is_owned
from penstock.datastore.audio.records import Audio
from penstock.datastore.audio.track_rules import new_name_problems, tag_problems
from penstock.datastore.audio.tracks import TrackReader, audio_item, audio_key, still_as_read
from penstock.datastore.audio.upkeep.covers import CoverStore
from penstock.datastore.audio.upkeep.library_rows import upkeep_update
from penstock.datastore.audio.upkeep.loose_objects import LooseObjects, loose_rows
from penstock.datastore.errors import Invalid, VersionConflict
from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.table.commit import Write, commit, retry_on_conflict
from penstock.datastore.table.items import overwrite
from penstock.datastore.table.port import Delete, Missing, Put, key_of

Companion: TypeAlias = Callable[[Audio, Audio, Sequence[Write]], Awaitable[Sequence[Write]]]
"""Makes the writes of a changed track those of a larger transaction; called anew for each try."""


@dataclass(frozen=True, slots=True)
class TrackEditor:
    """Changes of the caller's tracks."""

    access: Access

    async def edit(
        self, id: str, changes: Mapping[str, Any], expected_version: int | None = None
    ) -> Audio:
        """Change some tags; raises VersionConflict if the track has a different version.

        The rows that list the track and its counters change in the same transaction.
        Without an expected version the edit applies to any version. An edit that changes
        nothing writes nothing.
        """

        def apply_changes(track: Audio) -> Audio:
            if expected_version not in (None, track.version):
                raise VersionConflict(track.version)
            changed = msgspec.structs.replace(track, **changes)
            if problems := [*tag_problems(changed), *new_name_problems(changes)]:
                raise Invalid(problems)
            return changed

        return await self.rewrite(id, apply_changes)

    async def delete(self, id: str, expected_version: int | None = None) -> Audio:
        """Delete a track with its list rows and counts; entries of playlists stay.

        An object of its own in the server's bucket is left to the sweep; annotations and covers are
        swept, too.
        """

        async def attempt() -> Audio:
            track = await TrackReader(self.access).get_audio_files_by_audio_id(id)
            if expected_version not in (None, track.version):
                raise VersionConflict(track.version)
            unchanged = still_as_read(track)
            gone = [
                Write(Delete(audio_key(track.owner, id), unchanged)),
                Write(Delete(key_of(object_claim(track)))),
                Write(upkeep_update(self.access)),
            ]
            if is_uploaded(track):
                rows = loose_rows(self.access, track.object_key, timedelta(0))
                gone += [Write(Put(row)) for row in rows]
            await commit(self.access.table, [*gone, *row_changes(track_rows(track), NO_ROWS)])
            return track

        return await retry_on_conflict("audio", attempt)

    async def rewrite(
        self, id: str, change: Callable[[Audio], Audio], companion: Companion | None = None
    ) -> Audio:
        """Read, change and write a track; retry if another writer was faster.

        Raises ObjectTaken if the track changes to an object that another track has, and
        QuotaExceeded if it changes to content that is larger than the room left.
        """

        async def attempt() -> Audio:
            track = await TrackReader(self.access).get_audio_files_by_audio_id(id)
            changed = change(track)
            if changed == track:
                return track
            changed = msgspec.structs.replace(
                changed,
                version=track.version + 1,
                updated_at=self.access.clock.timestamp(),
                named=True,
            )
            unchanged = still_as_read(track)
            growth = Amounts(bytes=changed.size - track.size)
            writes: Sequence[Write] = [
                *await self.access.quotas.admit(self.access.table, None, track.owner, growth),
                Write(overwrite(Audio, audio_item(changed), unchanged)),
                *self._object_changes(track, changed),
                *row_changes(track_rows(track), track_rows(changed)),
            ]
            if companion is not None:
                writes = await companion(track, changed, writes)
            await commit(self.access.table, writes)
            return changed

        return await retry_on_conflict("audio", attempt)

    def _object_changes(self, old: Audio, new: Audio) -> list[Write]:
        """The writes that move the claim on the object, and note the use of another cover."""
        writes: list[Write] = []
        before, after = object_claim(old), object_claim(new)
        if key_of(before) != key_of(after):
            writes += [Write(Delete(key_of(before))), Write(Put(after, Missing()), object_taken)]
        if new.artwork not in (None, old.artwork):
            writes += CoverStore(self.access).use_writes([new.artwork])
        return writes


@dataclass(frozen=True, slots=True)
class TrackRemover:
    """Deletes from the caller's library."""

    access: Access

    async def delete(self, id: str, expected_version: int | None = None) -> Audio:
        """Delete a track, then its object if it was uploaded.

        Objects in the user's own buckets are not deleted. Raises NotFound, VersionConflict.
        """
        track = await TrackEditor(self.access).delete(id, expected_version)
        if is_uploaded(track):
            # The track is deleted, so the call succeeds even if its object stays for now.
            await LooseObjects(self.access).try_drop(track.object_key)
        return track


def is_uploaded(track: Audio) -> bool:
    """Whether the object of a track is the user's own in the server's bucket."""
    return track.connection_id is None and is_owned(track.owner, track.object_key)
