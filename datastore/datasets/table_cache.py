"""A cache of the rows of reference datasets, bounded by their size in memory."""

from asyncio import Task, create_task, shield, to_thread
from contextlib import suppress
from hashlib import sha256
from operator import attrgetter

from cachetools import LRUCache

from penstock.datastore.datasets.csv import ParsedTable, UnreadableCsv, read_table
from penstock.datastore.datasets.files import key_of_file
from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.objects.port import Files
from penstock.datastore.records import ReferenceDataset
from penstock.formula.core.datasets import DatasetRows

MAX_WEIGHT = 128 * 2**20


class DamagedFile(Unavailable):
    """The file of a version is missing, or its checksum is wrong."""


class DatasetTableCache:
    """The most recently used tables by their files, at most `max_weight` bytes in all.

    The content of a file never changes, so a cached table never goes stale.
    """

    def __init__(self, max_weight: int = MAX_WEIGHT) -> None:
        self._cache = LRUCache[str, ParsedTable](max_weight, attrgetter("weight"))
        self._loading: dict[str, Task[ParsedTable]] = {}

    def __len__(self) -> int:
        return len(self._cache)

    @property
    def weight(self) -> int:
        """The bytes that the cached tables take."""
        return int(self._cache.currsize)

    async def rows(self, files: Files, dataset: ReferenceDataset) -> DatasetRows:
        """The rows of a version; requests that come at the same time share one read.

        Raises Unavailable, in particular DamagedFile.
        """
        file = dataset.content.file
        kept = self._cache.get(file)
        if kept is not None:
            return kept.rows
        if file not in self._loading:
            self._loading[file] = create_task(self._load(files, dataset))
        return (await shield(self._loading[file])).rows

    async def _load(self, files: Files, dataset: ReferenceDataset) -> ParsedTable:
        try:
            table = await _load_table(files, dataset)
        finally:
            del self._loading[dataset.content.file]
        with suppress(ValueError):  # A table that is larger than the whole cache is not cached.
            self._cache[dataset.content.file] = table
        return table


async def _load_table(files: Files, dataset: ReferenceDataset) -> ParsedTable:
    try:
        data = b"".join([chunk async for chunk in files.read(key_of_file(dataset))])
    except NotFound:
        raise _damage_error(dataset) from None
    if sha256(data).hexdigest() != dataset.content.checksum:
        raise _damage_error(dataset)
    try:
        return await to_thread(read_table, data, dataset.content)
    except UnreadableCsv as error:
        raise _damage_error(dataset) from error


def _damage_error(dataset: ReferenceDataset) -> DamagedFile:
    return DamagedFile(f"The file of version {dataset.version} of {dataset.name!r} is damaged.")
