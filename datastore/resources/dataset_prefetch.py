"""The reference datasets that one evaluation needs, read before it runs."""

from asyncio import gather
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from penstock.datastore.access.access import Access
from penstock.datastore.datasets.table_cache import DatasetTableCache
from penstock.datastore.errors import LimitExceeded
from penstock.datastore.records import ReferenceDataset
from penstock.datastore.resources.calculation_refs import CallOrigin
from penstock.datastore.resources.name_resolution import NameReference, NameResolver
from penstock.datastore.table.layout import REFERENCE_DATASET
from penstock.formula.core.datasets import KeyedRows, RowsByName, VersionPin, unknown_dataset

MAX_DATASETS = 20
MAX_FIELDS = 500_000


def check_dataset_count(names: int) -> None:
    """Refuse more datasets than may be used together."""
    if names > MAX_DATASETS:
        raise LimitExceeded("datasets that a formula names", MAX_DATASETS, names)


def check_dataset_sizes(datasets: Iterable[ReferenceDataset]) -> None:
    """Refuse datasets, each given once, that together take too much memory.

    Those with an index take next to none.
    """
    contents = [one.content for one in datasets if not one.content.is_indexed]
    fields = sum(one.row_count * len(one.columns) for one in contents)
    if fields > MAX_FIELDS:
        raise LimitExceeded("fields of the datasets together", MAX_FIELDS, fields)


@dataclass(slots=True)
class PrefetchedDatasets(RowsByName):
    """The rows of datasets, for formulas; a name refers to what the formula's owner group sees.

    `origins` are the formulas' resources by their identities. A name that only a row's value
    decides is noted at its first lookup, and available once `read_missing` has read it.
    """

    access: Access
    tables: DatasetTableCache
    origins: Mapping[str | None, CallOrigin]
    used: dict[str, ReferenceDataset] = field(default_factory=dict)
    _rows: dict[NameReference, KeyedRows | None] = field(default_factory=dict)
    _asked: dict[tuple[str, VersionPin, str | None], KeyedRows] = field(default_factory=dict)
    _missing: set[NameReference] = field(default_factory=set)

    async def read(self, mentions: Iterable[NameReference]) -> None:
        """Read the mentioned datasets that the caller sees; raises LimitExceeded for too many."""
        wanted = {*mentions} - self._rows.keys()
        check_dataset_count(len(self._rows) + len(wanted))
        meant = await NameResolver(REFERENCE_DATASET, self.access, for_run=True).resolve(wanted)
        versions = [one.version for one in meant.values()]
        self.used |= {f"{one.id}:{one.version}": one for one in versions}
        check_dataset_sizes(self.used.values())
        files, work = self.access.files, self.access.work
        tables = await gather(*(self.tables.rows(files, one, work) for one in versions))
        self._rows |= dict.fromkeys(wanted) | dict(zip(meant, tables, strict=True))

    async def read_missing(self) -> bool:
        """Read the datasets that lookups missed; return whether there were any."""
        missing, self._missing = self._missing, set()
        await self.read(missing)
        return bool(missing)

    def find_rows(self, name: str, pin: VersionPin, within: str | None) -> KeyedRows:
        rows = self._asked.get((name, pin, within))
        if rows is None:
            rows = self._asked[name, pin, within] = self._find_rows(name, pin, within)
        return rows

    def _find_rows(self, name: str, pin: VersionPin, within: str | None) -> KeyedRows:
        mention = self.origins[within].mention(REFERENCE_DATASET.letter, name, pin)
        if mention not in self._rows:
            self._missing.add(mention)
        rows = self._rows.get(mention)
        if rows is None:
            raise unknown_dataset(name)
        return rows
