"""Playlist files that are uploaded before their import, because they are larger than a request."""

from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.audio.object_keys import playlist_files_prefix
from penstock.datastore.audio.upkeep.user_uploads import UploadTicket, UserUploads
from penstock.datastore.errors import FieldProblem, Invalid, LimitExceeded, NotFound
from penstock.datastore.interruptible_work import InterruptibleWork
from penstock.datastore.objects.chunks import regroup_blocks
from penstock.datastore.playlists.formats.document import PlaylistDocument, PlaylistFormat
from penstock.datastore.playlists.formats.files import BLOCK_BYTES, FileParser
from penstock.datastore.request_threads import run_in_request_thread

MAX_UPLOAD: Final = 1024**3


class UploadedFile(NamedTuple):
    """The key of an uploaded playlist file, and its format."""

    object_key: str
    format: PlaylistFormat


class NoUploadedFile(Invalid):
    """The caller has no uploaded playlist file with the key, or has it no more."""

    def __init__(self) -> None:
        super().__init__([FieldProblem(["objectKey"], "leads to no uploaded playlist file")])


@dataclass(frozen=True, slots=True)
class PlaylistUploads:
    """The uploaded playlist files of the caller; the sweep deletes them after a day."""

    access: Access

    async def form(self, file_name: str) -> UploadTicket:
        """Allow one upload of at most MAX_UPLOAD bytes."""
        return await self._uploads.form(file_name)

    async def read(self, file: UploadedFile) -> PlaylistDocument:
        """Read an uploaded file, of which a block at a time is in memory.

        Raises NoUploadedFile, Invalid if it cannot be read, and LimitExceeded.
        """
        size = await self._uploads.size(file.object_key)
        if size is None:
            raise NoUploadedFile
        if size > MAX_UPLOAD:
            raise LimitExceeded("bytes of a playlist file", MAX_UPLOAD, size, ("objectKey",))
        parser, payer = FileParser(file.format, "objectKey"), self.access.payer
        try:
            async with aclosing(self.access.files.read(file.object_key, end=size)) as chunks:
                async for block in regroup_blocks(chunks, BLOCK_BYTES):
                    await run_in_request_thread(partial(_feed, parser, block), payer)
        except NotFound:
            raise NoUploadedFile from None
        return await run_in_request_thread(lambda _: parser.close(), payer)

    async def try_note_use(self, object_key: str) -> None:
        """Give the place of a file of which a playlist was made back."""
        await self._uploads.try_note_use(object_key)

    @property
    def _uploads(self) -> UserUploads:
        prefix = playlist_files_prefix(self.access.caller.user_id)
        return UserUploads(self.access, "playlist", prefix, MAX_UPLOAD)


def _feed(parser: FileParser, block: bytes, work: InterruptibleWork) -> None:
    parser.feed(block, work.require_wanted)
