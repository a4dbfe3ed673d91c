"""Latest samples of many series in a few calls, by the rows that name them."""

from asyncio import gather
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.errors import LimitExceeded, PenstockError, RequestRefused, Unavailable
from penstock.datastore.ngsi.catalog import EntityName
from penstock.datastore.ngsi.destinations import TableKey
from penstock.datastore.ngsi.directory import Attribute, series_partition
from penstock.datastore.ngsi.latest_rows import entry_of, row_key
from penstock.datastore.ngsi.reading.series import Sample, SeriesReader
from penstock.datastore.table import limits
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.port import Attributes, Key

FEW: Final = 2
"""The series that are queried at once: their rows and samples would take as many calls."""


@dataclass(frozen=True, slots=True)
class LatestReader:
    """Reads the latest samples of attributes that the caller may see."""

    access: Access
    series: SeriesReader

    async def many(self, wanted: Sequence[Attribute]) -> list[Sample | PenstockError | None]:
        """The latest sample of each attribute; None without any, and an error in its own place.

        `pk = NL:<service>:<path>:<id>:<type>` of the entities, then the samples that these rows
        name, each in batches of 100. Series whose sample is not there are queried.
        """
        if len(wanted) <= FEW:
            return await gather(*map(self._query, wanted))
        named = await self._named_samples(wanted)
        found = await self._get([key for keys in named for key in keys])
        return await gather(*(self._read(*each, found) for each in zip(wanted, named, strict=True)))

    async def _named_samples(self, wanted: Sequence[Attribute]) -> list[list[TableKey]]:
        """The keys under which the latest sample of each attribute may be, one for each table."""
        rows = await read_rows(self.access.table, map(_row_of, wanted))
        named = []
        for of in wanted:
            entry = entry_of(rows.get(_row_of(of), {}), of.name)
            places = () if entry is None else of.places
            named.append(
                [
                    TableKey(table, Key(series_partition(of, persistence), entry or ""))
                    for persistence, table in places
                ]
            )
        return named

    async def _get(self, keys: Sequence[TableKey]) -> Mapping[TableKey, Attributes]:
        distinct = list(dict.fromkeys(keys))
        starts = range(0, len(distinct), limits.GET_KEYS)
        batches = (distinct[start : start + limits.GET_KEYS] for start in starts)
        found: dict[TableKey, Attributes] = {}
        for batch in await gather(*map(self._get_batch, batches)):
            found |= batch
        return found

    async def _get_batch(self, keys: Sequence[TableKey]) -> Mapping[TableKey, Attributes]:
        """Get up to 100 samples; none if a table is not there, does not answer, or refuses it.

        Nor if a key is longer than any table has: the directory lists such a series, whose samples
        became dead letters.
        """
        try:
            return await self.series.get_items(keys)
        except (LimitExceeded, RequestRefused, Unavailable):
            return {}

    async def _read(
        self, of: Attribute, keys: Sequence[TableKey], found: Mapping[TableKey, Attributes]
    ) -> Sample | PenstockError | None:
        """Read the sample that is there, or else query."""
        try:
            for (persistence, _), key in zip(of.places, keys, strict=False):
                item = found.get(key)
                if item is None or not self.series.is_readable(item, of.name, persistence):
                    continue
                sample = await self.series.read_item(item, of.name)
                if sample is not None:
                    return sample
        except PenstockError as error:
            return error
        return await self._query(of)

    async def _query(self, of: Attribute) -> Sample | PenstockError | None:
        try:
            return await self.series.latest(of)
        except PenstockError as error:
            return error


def _row_of(of: Attribute) -> Key:
    """The key of the row that may name the latest sample of an attribute."""
    entity = of.entity
    return row_key(EntityName(entity.service, entity.path, entity.entity_id, entity.entity_type))
