"""Covers that users upload for their tracks and albums."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.audio import names
from penstock.datastore.audio.edit_tracks import TrackEditor
from penstock.datastore.audio.lists import LibraryLists
from penstock.datastore.audio.object_keys import cover_files_prefix
from penstock.datastore.audio.records import Album, Audio
from penstock.datastore.audio.tags.file_type import picture_type
from penstock.datastore.audio.tags.tag_parser import MAX_PICTURE
from penstock.datastore.audio.tracks import TrackReader
from penstock.datastore.audio.upkeep.covers import CoverStore
from penstock.datastore.audio.upkeep.library_rows import note_upkeep
from penstock.datastore.audio.upkeep.user_uploads import UserUploads
from penstock.datastore.errors import FieldProblem, Invalid, LimitExceeded, NotFound
from penstock.datastore.table.pages import walk_pages

MAX_TRACKS: Final = 500
"""Most tracks of an album whose covers one call changes."""

PAGE: Final = 100
"""The tracks of an album that are read at once."""

_HEAD: Final = 16


@dataclass(frozen=True, slots=True)
class CoverSetter:
    """Uploaded covers of the caller's tracks and albums; the sweep deletes uploads after a day."""

    access: Access

    @property
    def uploads(self) -> UserUploads:
        """Pictures of at most MAX_PICTURE bytes."""
        prefix = cover_files_prefix(self.access.caller.user_id)
        return UserUploads(self.access, "cover", prefix, MAX_PICTURE)

    async def set_for_audio(self, id: str, object_key: str) -> Audio:
        """Give a track an uploaded cover. Raises NotFound, and Invalid if there is no picture."""
        await TrackReader(self.access).get_audio_files_by_audio_id(id)
        artwork = await self._keep_picture(object_key)
        track = await TrackEditor(self.access).rewrite(id, _with_cover(artwork))
        await self.uploads.try_note_use(object_key)
        return track

    async def set_for_album(self, place: str, object_key: str) -> Album:
        """Give all tracks of an album an uploaded cover, one after another.

        A call that ends early can be repeated. Raises NotFound, Invalid if there is no picture,
        and LimitExceeded for more than MAX_TRACKS.
        """
        album = await require_album(self.access, place)
        require_few_tracks(album)
        artwork = await self._keep_picture(object_key)
        await rewrite_tracks(self.access, album, _with_cover(artwork))
        await self.uploads.try_note_use(object_key)
        return await require_album(self.access, names.album_place_of(album))

    async def _keep_picture(self, object_key: str) -> str:
        """Store an uploaded picture as a cover; return its name. The covers before are swept."""
        content = await self.uploads.read(object_key)
        if content is None:
            raise Invalid([FieldProblem(["objectKey"], "leads to no uploaded picture")])
        if picture_type(content[:_HEAD]) is None:
            words = "is no picture in JPEG, PNG, GIF or WebP"
            raise Invalid([FieldProblem(["objectKey"], words)])
        await note_upkeep(self.access)
        return str(await CoverStore(self.access).keep(content))


def _with_cover(artwork: str) -> Callable[[Audio], Audio]:
    return lambda track: replace(track, artwork=artwork)


async def require_album(access: Access, place: str) -> Album:
    """Read an album; raises NotFound."""
    (album,) = await TrackReader(access).albums([place])
    if isinstance(album, NotFound):
        raise album
    return album


async def rewrite_tracks(access: Access, album: Album, change: Callable[[Audio], Audio]) -> None:
    """Change the tracks of an album, one after another."""
    read = partial(LibraryLists(access).by_album, album.id)
    async for link in walk_pages(read, PAGE):
        with suppress(NotFound):
            await TrackEditor(access).rewrite(link.audio_id, change)


def require_few_tracks(album: Album) -> None:
    """Raise LimitExceeded for an album with more than MAX_TRACKS."""
    if album.count > MAX_TRACKS:
        limit = "tracks whose cover changes at once"
        raise LimitExceeded(limit, MAX_TRACKS, album.count, ("id",))
