"""Taking a track out of the library, and an upload out of the server's bucket with it."""

import logging
from dataclasses import dataclass

from penstock.datastore.audio.editing import Editing
from penstock.datastore.audio.objects import is_owned
from penstock.datastore.audio.records import Audio
from penstock.datastore.errors import Unavailable
from penstock.datastore.files import Files
from penstock.datastore.resources.scope import Scope

logger = logging.getLogger("penstock.audio")


@dataclass(frozen=True, slots=True)
class Removing:
    """The deletes of the caller's library; `files` is the server's own bucket."""

    scope: Scope
    files: Files

    async def delete(self, id: str, expected_version: int | None = None) -> Audio:
        """Delete a track, and then its object if that was uploaded; covers stay.

        Objects of the user's own buckets are not ours to delete. Raises NotFound, VersionConflict.
        """
        track = await Editing(self.scope).delete(id, expected_version)
        if track.connection_id is None and is_owned(track.owner, track.object_key):
            try:
                await self.files.delete(track.object_key)
            except Unavailable as error:
                # The track is gone: that is what was asked for, and what is acknowledged.
                logger.warning("an object of the audio %s stays: %s", track.id, error.message)
        return track
