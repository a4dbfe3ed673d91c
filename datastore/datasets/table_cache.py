"""A cache of the rows of reference datasets, bounded by their size in memory."""

from asyncio import Task, create_task, shield, to_thread
from contextlib import suppress
from hashlib import sha256
from operator import attrgetter

from cachetools import LRUCache

from penstock.datastore.datasets.csv import Table, Unreadable, read_table
from penstock.datastore.datasets.files import key_of_file
from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.objects.port import Files
from penstock.datastore.records import ReferenceDataset
from penstock.formula.core.datasets import Rows

MAX_WEIGHT = 128 * 2**20


class Damaged(Unavailable):
    """The file of a version is missing, or its checksum is wrong."""


class DatasetTables:
    """The most recently used tables by their files, at most `max_weight` bytes in all.

    The content of a file never changes, so a cached table never goes stale.
    """

    def __init__(self, max_weight: int = MAX_WEIGHT) -> None:
        self._kept = LRUCache[str, Table](max_weight, attrgetter("weight"))
        self._coming: dict[str, Task[Table]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def weight(self) -> int:
        """The bytes that the cached tables take."""
        return int(self._kept.currsize)

    async def rows(self, files: Files, dataset: ReferenceDataset) -> Rows:
        """The rows of a version; requests that come at the same time share one read.

        Raises Unavailable, in particular DamagedFile.
        """
        file = dataset.content.file
        kept = self._kept.get(file)
        if kept is not None:
            return kept.rows
        if file not in self._coming:
            self._coming[file] = create_task(self._read(files, dataset))
        return (await shield(self._coming[file])).rows

    async def _read(self, files: Files, dataset: ReferenceDataset) -> Table:
        try:
            table = await _table(files, dataset)
        finally:
            del self._coming[dataset.content.file]
        with suppress(ValueError):  # A table that is larger than the whole cache is not cached.
            self._kept[dataset.content.file] = table
        return table


async def _table(files: Files, dataset: ReferenceDataset) -> Table:
    try:
        data = b"".join([chunk async for chunk in files.read(key_of_file(dataset))])
    except NotFound:
        raise _damaged(dataset) from None
    if sha256(data).hexdigest() != dataset.content.checksum:
        raise _damaged(dataset)
    try:
        return await to_thread(read_table, data, dataset.content)
    except Unreadable as error:
        raise _damaged(dataset) from error


def _damaged(dataset: ReferenceDataset) -> Damaged:
    return Damaged(f"The file of version {dataset.version} of {dataset.name!r} is damaged.")
