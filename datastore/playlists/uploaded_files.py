"""Playlist files that are uploaded before their import, because they are larger than a request."""

from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.audio.object_keys import playlist_files_prefix
from penstock.datastore.audio.upkeep.user_uploads import UploadTicket, UserUploads
from penstock.datastore.errors import FieldProblem, Invalid, LimitExceeded
from penstock.datastore.playlists.formats.document import MAX_BYTES


@dataclass(frozen=True, slots=True)
class PlaylistUploads:
    """The uploaded playlist files of the caller; the sweep deletes them after a day."""

    access: Access

    async def form(self, file_name: str) -> UploadTicket:
        """Allow one upload of at most MAX_BYTES bytes."""
        return await self._uploads.form(file_name)

    async def read(self, object_key: str) -> bytes:
        """Read an uploaded file; raises Invalid if there is none, LimitExceeded if it is large."""
        size = await self._uploads.size(object_key)
        if size is not None and size > MAX_BYTES:
            raise LimitExceeded("bytes of a playlist file", MAX_BYTES, size, ("objectKey",))
        content = None if size is None else await self._uploads.read(object_key)
        if content is None:
            words = "leads to no uploaded playlist file"
            raise Invalid([FieldProblem(["objectKey"], words)])
        return content

    @property
    def _uploads(self) -> UserUploads:
        prefix = playlist_files_prefix(self.access.caller.user_id)
        return UserUploads(self.access, "playlist", prefix, MAX_BYTES)
