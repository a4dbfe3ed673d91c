"""Playlist files that are uploaded before their import, because they are larger than a request."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.access.upload_forms import FormTerms, open_form
from penstock.datastore.audio.names import object_hash
from penstock.datastore.audio.object_keys import check_file_name, is_owned, playlist_files_prefix
from penstock.datastore.audio.upkeep.loose_objects import LooseObjects
from penstock.datastore.errors import FieldProblem, Invalid, LimitExceeded, NotFound
from penstock.datastore.objects.port import UNKNOWN_TYPE, UploadForm
from penstock.datastore.playlists.formats.document import MAX_BYTES


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
        prefix = playlist_files_prefix(self._user)
        key = f"{prefix}{self.access.clock.new_id()}/{file_name}"
        terms = FormTerms("playlist", object_hash(key), key, MAX_BYTES, UNKNOWN_TYPE)
        note = partial(LooseObjects(self.access).note_upload, key)
        return PlaylistUpload(key, await open_form(self.access, terms, note=note))

    async def read(self, object_key: str) -> bytes:
        """Read an uploaded file; raises Invalid if there is none, LimitExceeded if it is large."""
        prefix = playlist_files_prefix(self._user)
        if not is_owned(self._user, object_key) or not object_key.startswith(prefix):
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
    def _user(self) -> str:
        return self.access.caller.user_id


def _no_upload() -> Invalid:
    return Invalid([FieldProblem(["objectKey"], "leads to no uploaded playlist file")])
