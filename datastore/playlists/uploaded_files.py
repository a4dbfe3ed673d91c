"""Playlist files that are uploaded before their import, because they are larger than a request."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.access.open_uploads import OpenedUpload
from penstock.datastore.audio.names import object_hash
from penstock.datastore.audio.object_keys import check_file_name, is_owned, owned_prefix
from penstock.datastore.audio.upkeep.loose_objects import LooseObjects
from penstock.datastore.errors import FieldProblem, Invalid, LimitExceeded, NotFound
from penstock.datastore.objects.port import UploadForm
from penstock.datastore.playlists.formats.document import MAX_BYTES

UPLOAD_SECONDS: Final = 3600
KEPT_TIME: Final = timedelta(days=1)
CONTENT_TYPE: Final = "application/octet-stream"


class PlaylistUpload(NamedTuple):
    """A form for the upload of a playlist file, and the key with which it is imported."""

    object_key: str
    form: UploadForm


@dataclass(frozen=True, slots=True)
class PlaylistUploads:
    """The uploaded playlist files of the caller; the sweep deletes them after a day."""

    access: Access

    async def form(self, file_name: str) -> PlaylistUpload:
        """Allow one upload of at most MAX_BYTES bytes."""
        check_file_name(file_name)
        key = f"{self._prefix}{self.access.clock.new_id()}/{file_name}"
        expires_at = self.access.clock.now() + timedelta(seconds=UPLOAD_SECONDS)
        await self.access.open_uploads.open(OpenedUpload("playlist", object_hash(key), expires_at))
        keep_for = timedelta(seconds=UPLOAD_SECONDS) + KEPT_TIME
        await LooseObjects(self.access).note(key, keep_for, is_upload=True)
        form = await self.access.files.presign_upload(
            key, max_bytes=MAX_BYTES, content_type=CONTENT_TYPE, expires_in=UPLOAD_SECONDS
        )
        return PlaylistUpload(key, form)

    async def read(self, object_key: str) -> bytes:
        """Read an uploaded file; raises Invalid if there is none, LimitExceeded if it is large."""
        if not is_owned(self._user, object_key) or not object_key.startswith(self._prefix):
            raise _no_upload()
        stat = await self.access.files.stat(object_key)
        if stat is None:
            raise _no_upload()
        if stat.size > MAX_BYTES:
            limit = "bytes of a playlist file"
            raise LimitExceeded(limit, MAX_BYTES, stat.size, ("objectKey",))
        try:
            return b"".join(
                [chunk async for chunk in self.access.files.read(object_key, end=MAX_BYTES)]
            )
        except NotFound:
            raise _no_upload() from None

    @property
    def _prefix(self) -> str:
        return f"{owned_prefix(self._user)}playlist-files/"

    @property
    def _user(self) -> str:
        return self.access.caller.user_id


def _no_upload() -> Invalid:
    return Invalid([FieldProblem(["objectKey"], "leads to no uploaded playlist file")])
