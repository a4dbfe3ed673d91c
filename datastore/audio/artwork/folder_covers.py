"""Covers of tracks without one: pictures that lie beside them in a user's bucket."""

from collections.abc import Sequence
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import LISTED_UNITS
from penstock.datastore.audio.buckets import AudioSource
from penstock.datastore.audio.object_keys import file_name_of
from penstock.datastore.audio.tags.tag_parser import MAX_PICTURE
from penstock.datastore.audio.upkeep.covers import CoverStore
from penstock.datastore.errors import PenstockError
from penstock.datastore.objects.chunks import read_bounded
from penstock.datastore.objects.port import FileEntry

_NAMES: Final = ("cover", "folder", "front", "album")
"""The names of such pictures, without endings and in any letter case; the first is the best."""

_ENDINGS: Final = frozenset(("jpg", "jpeg", "png", "gif", "webp"))
_REMEMBERED: Final = 100
"""The folders whose cover is remembered."""


def is_folder_cover(key: str) -> bool:
    """Whether an object is a picture that is the cover of the tracks beside it."""
    return _rank(key) is not None


def _rank(key: str) -> int | None:
    name, _, ending = file_name_of(key).lower().rpartition(".")
    return _NAMES.index(name) if name in _NAMES and ending in _ENDINGS else None


class FolderCovers:
    """The covers of folders in the bucket of one connection of the caller, each read about once."""

    def __init__(self, access: Access) -> None:
        self._access: Final = access
        self._known: Final[dict[str, str | None]] = {}

    async def find(self, source: AudioSource, key: str) -> str | None:
        """Find the cover for a track; return its name.

        A track needs none, so a bucket that does not let its folders be listed is no failure. Only
        the first keys of a folder are looked at.
        """
        folder = key.removesuffix(file_name_of(key))
        if folder not in self._known:
            if len(self._known) == _REMEMBERED:
                self._known.clear()
            try:
                self._known[folder] = await self._read_cover(source, folder)
            except PenstockError:
                self._known[folder] = None
        return self._known[folder]

    async def _read_cover(self, source: AudioSource, folder: str) -> str | None:
        self._access.work.owe(LISTED_UNITS)
        chosen = _choose(folder, await source.list_entries(folder))
        if chosen is None:
            return None
        # A user's own store may send more than was asked for.
        content = await read_bounded(source.read(chosen.key, end=chosen.size), MAX_PICTURE)
        return None if content is None else await CoverStore(self._access).keep(content)


def _choose(folder: str, entries: Sequence[FileEntry]) -> FileEntry | None:
    """The picture with the best name in the folder itself that is no larger than covers are."""
    ranked = [
        (rank, entry.key, entry)
        for entry in entries
        if entry.key.removesuffix(file_name_of(entry.key)) == folder
        and 0 < entry.size <= MAX_PICTURE
        and (rank := _rank(entry.key)) is not None
    ]
    return min(ranked)[2] if ranked else None
