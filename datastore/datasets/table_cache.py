"""Reference datasets in memory, read when they are first asked for and kept within a bound."""

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
    """The file of a version is gone, or is not what was put there."""


class DatasetTables:
    """The tables used last, by their files, while they take at most `max_weight` bytes in all.

    A file is of one content for ever, so what is kept is never out of date.
    """

    def __init__(self, max_weight: int = MAX_WEIGHT) -> None:
        self._kept = LRUCache[str, Table](max_weight, attrgetter("weight"))
        self._coming: dict[str, Task[Table]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def weight(self) -> int:
        """How many bytes the kept tables take."""
        return int(self._kept.currsize)

    async def rows(self, files: Files, dataset: ReferenceDataset) -> Rows:
        """The rows of a version, read once for all who ask at the same time.

        Raises Unavailable, in particular Damaged.
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
        with suppress(ValueError):  # one that weighs more than the bound is not kept
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
