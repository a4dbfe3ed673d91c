"""A cache of the rows of reference datasets, bounded by their size in memory and on the disk."""

from asyncio import Semaphore, Task, create_task, shield
from collections import Counter
from contextlib import suppress
from functools import partial
from hashlib import sha256
from operator import attrgetter
from typing import Final, NamedTuple, Protocol

from cachetools import LRUCache

from penstock.datastore.access.work import FREE_WORK, WorkAccount, copied_units, load_units
from penstock.datastore.background_tasks import retrieve_failure
from penstock.datastore.datasets.csv import ParsedTable, UnreadableCsv, read_table
from penstock.datastore.datasets.files import key_of_file
from penstock.datastore.datasets.index_files import IndexFiles, WrongChecksum
from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.formulas.threads import run_in_formula_thread
from penstock.datastore.objects.chunks import WrongSize, read_exactly
from penstock.datastore.objects.metered_files import on_credit
from penstock.datastore.objects.port import Files
from penstock.datastore.records import ReferenceDataset
from penstock.formula.core.datasets import KeyedRows

MAX_WEIGHT = 128 * 2**20
MAX_LOADS: Final = 4
"""The files that are read into memory at the same time; each takes up to 40 MB meanwhile."""


class MissingFile(Unavailable):
    """The file of a version is missing."""

    def __init__(self, dataset: ReferenceDataset) -> None:
        super().__init__(f"The file of version {dataset.version} of {dataset.name!r} is missing.")


class DamagedFile(Unavailable):
    """The store gives another file than that of a version; it may give the right one later."""

    def __init__(self, dataset: ReferenceDataset) -> None:
        super().__init__(f"The file of version {dataset.version} of {dataset.name!r} is damaged.")


class DatasetTableCache:
    """The most recently used tables by their files, at most `max_weight` bytes in all.

    The content of a file never changes, so a cached table never goes stale. Those of large files
    are read in their index, of which there are local copies.
    """

    def __init__(self, max_weight: int = MAX_WEIGHT, indexes: IndexFiles | None = None) -> None:
        self._indexes = indexes or IndexFiles()
        self._cache = LRUCache[str, ParsedTable](max_weight, attrgetter("weight"))
        self._loading: dict[str, Task[ParsedTable]] = {}
        self._waiting = Counter[Task[ParsedTable]]()
        self._places = Semaphore(MAX_LOADS)

    def __len__(self) -> int:
        return len(self._cache)

    @property
    def weight(self) -> int:
        """The bytes that the cached tables take."""
        return int(self._cache.currsize)

    async def rows(
        self, files: Files, dataset: ReferenceDataset, work: WorkAccount = FREE_WORK
    ) -> KeyedRows:
        """The rows of a version; requests that come at the same time share one read.

        The account pays for a read of its own before it begins. A read that nobody waits for any
        more is given up. Raises Unavailable, in particular MissingFile and DamagedFile.
        """
        if dataset.content.is_indexed:
            return await self._open_index(files, dataset, work)
        file = dataset.content.file
        kept = self._cache.get(file)
        if kept is not None:
            return kept.rows
        if file not in self._loading:
            work.owe(load_units(dataset.content.size_bytes))
            self._loading[file] = loading = create_task(self._load(on_credit(files), dataset))
            loading.add_done_callback(retrieve_failure)
        return (await self._wait_for(file, self._loading[file])).rows

    async def _open_index(
        self, files: Files, dataset: ReferenceDataset, work: WorkAccount
    ) -> KeyedRows:
        if not self._indexes.has_copy(dataset):
            work.owe(copied_units(dataset.content.index_bytes))
        try:
            return await self._indexes.rows(files, dataset)
        except NotFound:
            raise MissingFile(dataset) from None
        except (WrongSize, WrongChecksum):
            raise DamagedFile(dataset) from None

    async def _wait_for(self, file: str, loading: Task[ParsedTable]) -> ParsedTable:
        self._waiting[loading] += 1
        try:
            return await shield(loading)
        finally:
            self._waiting[loading] -= 1
            if not self._waiting[loading]:
                del self._waiting[loading]
                self._forget(file, loading)
                loading.cancel()

    async def _load(self, files: Files, dataset: ReferenceDataset) -> ParsedTable:
        async with self._places:
            table = await _load_table(files, dataset)
        with suppress(ValueError):  # A table that is larger than the whole cache is not cached.
            self._cache[dataset.content.file] = table
        return table

    def _forget(self, file: str, loading: Task[ParsedTable]) -> None:
        """Let the next caller begin anew, unless one has begun already."""
        if self._loading.get(file) is loading:
            del self._loading[file]


class DatasetTables(Protocol):
    """Tables that are read by their versions."""

    async def rows(self, files: Files, dataset: ReferenceDataset) -> KeyedRows:
        """The rows of a version; raises Unavailable, in particular MissingFile and DamagedFile."""


class PaidTables(NamedTuple):
    """The tables for the work that an account pays."""

    tables: DatasetTableCache
    work: WorkAccount

    async def rows(self, files: Files, dataset: ReferenceDataset) -> KeyedRows:
        return await self.tables.rows(files, dataset, self.work)


async def _load_table(files: Files, dataset: ReferenceDataset) -> ParsedTable:
    try:
        data = await read_exactly(files.read(key_of_file(dataset)), dataset.content.size_bytes)
    except NotFound:
        raise MissingFile(dataset) from None
    except WrongSize:
        raise DamagedFile(dataset) from None
    if sha256(data).hexdigest() != dataset.content.checksum:
        raise DamagedFile(dataset)
    try:
        return await run_in_formula_thread(partial(read_table, data, dataset.content))
    except UnreadableCsv as error:
        raise DamagedFile(dataset) from error
