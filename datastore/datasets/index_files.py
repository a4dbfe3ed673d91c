"""Local copies of the indexes of large datasets, bounded by their size on the disk."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final
from uuid import uuid4
from weakref import WeakValueDictionary, finalize

from penstock.datastore.datasets.files import key_of_index
from penstock.datastore.datasets.indexed_rows import IndexedRows
from penstock.datastore.datasets.limits import COPIED_BYTES
from penstock.datastore.objects.chunks import require_size
from penstock.datastore.objects.local_copies import write_local
from penstock.datastore.objects.port import Files
from penstock.datastore.records import DatasetContent, ReferenceDataset
from penstock.datastore.scratch_folders import make_scratch_folder

READERS: Final = 2
"""The indexes that are copied at the same time."""


class WrongChecksum(Exception):
    """The copied file is not the one that was made for the version."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class IndexFiles:
    """The most recently used indexes; a copy goes when nobody has its rows any more.

    An index never changes under its key, so that a copy never goes stale.
    """

    most_bytes: int = COPIED_BYTES
    _folder: Path | None = None
    _kept: OrderedDict[str, tuple[IndexedRows, int]] = field(default_factory=OrderedDict)
    _open: WeakValueDictionary[str, IndexedRows] = field(default_factory=WeakValueDictionary)
    _loading: dict[str, asyncio.Lock] = field(default_factory=dict)
    _readers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(READERS))

    def has_copy(self, dataset: ReferenceDataset) -> bool:
        """Whether there is a copy of the index of a version."""
        return dataset.content.file in self._open

    async def rows(self, files: Files, dataset: ReferenceDataset) -> IndexedRows:
        """The rows of a version; requests that come at the same time share one copy.

        Raises NotFound if the index is gone, WrongChecksum, and Unavailable.
        """
        file = dataset.content.file
        lock = self._loading.setdefault(file, asyncio.Lock())
        try:
            async with lock, self._readers:
                rows = self._open.get(file) or await self._copy(files, dataset)
                self._open[file] = rows
        finally:
            if not lock.locked():
                self._loading.pop(file, None)
        self._kept[file] = (rows, dataset.content.index_bytes)
        self._kept.move_to_end(file)
        self._drop_oldest()
        return rows

    async def _copy(self, files: Files, dataset: ReferenceDataset) -> IndexedRows:
        path = self._make_folder() / f"{uuid4()}.rows"
        try:
            await _copy_checked(files, key_of_index(dataset), path, dataset.content)
            return open_rows(path, dataset.content)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def _make_folder(self) -> Path:
        """The folder of copies, which is removed with this object, or when the process ends."""
        if self._folder is None:
            made = make_scratch_folder("datasets")
            finalize(self, made.remove)
            self._folder = made.path
        return self._folder

    def _drop_oldest(self) -> None:
        total = sum(size for _, size in self._kept.values())
        while total > self.most_bytes and self._kept:
            _, (_, size) = self._kept.popitem(last=False)
            total -= size


def open_rows(path: Path, content: DatasetContent) -> IndexedRows:
    """Open an index; its file is removed when nobody has the rows any more."""
    rows = IndexedRows(path, content)
    finalize(rows, path.unlink, missing_ok=True)
    return rows


async def _copy_checked(files: Files, key: str, path: Path, content: DatasetContent) -> None:
    digest = sha256()
    await write_local(require_size(files.read(key), content.index_bytes), path, digest.update)
    if digest.hexdigest() != content.index_checksum:
        raise WrongChecksum
