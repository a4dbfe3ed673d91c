"""Rows that name latest samples and are behind a stored sample: found, and raised.

An entry that names no stored sample, and one that is missing, only cost a query. But an entry that
is earlier than a stored sample hides that sample from `latest`. Samples are read before rows, and
rows are raised before their samples are stored: so a row that is behind then is wrong, whatever is
written meanwhile.
"""

from asyncio import gather
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from penstock.datastore.errors import PenstockError, RequestRefused
from penstock.datastore.ngsi.catalog import EntityName
from penstock.datastore.ngsi.destinations import FailureKind
from penstock.datastore.ngsi.directory import (
    Attribute,
    Directory,
    Entity,
    ServicePath,
    walk_service_paths,
)
from penstock.datastore.ngsi.latest_rows import Entries, LatestRows, entry_of, row_key
from penstock.datastore.ngsi.reading.series import SeriesReader
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.pages import walk_pages
from penstock.datastore.table.port import Attributes, Key

TOGETHER: Final = 8
"""The entities that are compared at the same time."""

_PAGE: Final = 100


class RowBehind(NamedTuple):
    """The entries of a row that are behind, and those that it should have at least."""

    name: EntityName
    standing: Entries
    newest: Entries

    @property
    def key(self) -> Key:
        return row_key(self.name)


class LatestDifferences(NamedTuple):
    """The rows that are behind, of so many series; those that are `unread` could not be read."""

    rows: Sequence[RowBehind]
    series: int
    unread: int


@dataclass(frozen=True, slots=True)
class LatestSamplesMending:
    """Compares rows of latest samples with samples, and raises those that are behind."""

    directory: Directory
    reader: SeriesReader

    async def find(self, progress: Callable[[int], None]) -> LatestDifferences:
        """Compare the rows of all entities that the directory lists; nothing is changed.

        A query for each entity and each of its series, and a read of each row.
        """
        rows: list[RowBehind] = []
        series = unread = 0
        async for page in self._entity_pages():
            found = await gather(*map(self._read_newest, page))
            rows += await self._find_behind([each.newest for each in found])
            series += sum(each.series for each in found)
            unread += sum(each.unread for each in found)
            progress(len(page))
        return LatestDifferences(rows, series, unread)

    async def raise_rows(self, found: Sequence[RowBehind]) -> None:
        """Raise rows as the sink does; raises Unavailable."""
        rows = LatestRows(self.directory, self.reader.destinations)
        wanted = {each.name: each.newest for each in found}
        await rows.raise_rows(await rows.plan(wanted))

    async def _entity_pages(self) -> AsyncIterator[Sequence[Entity]]:
        async for service, path in walk_service_paths(self.directory.access):
            entities = partial(self.directory.entities, ServicePath(service, path))
            page: list[Entity] = []
            async for entity in walk_pages(entities, _PAGE):
                page.append(entity)
                if len(page) == TOGETHER:
                    yield page
                    page = []
            if page:
                yield page

    async def _read_newest(self, of: Entity) -> "_NewestSamples":
        newest: dict[str, str] = {}
        series = unread = 0
        async for attribute in self.directory.walk_attributes(of):
            series += 1
            try:
                found = await self._newest_key(attribute)
            except (PenstockError, RequestRefused) as error:
                kind = self.reader.destinations.failure_kind(error)
                unread += kind is not FailureKind.MISSING
            else:
                newest |= {} if found is None else {attribute.name: found}
        name = EntityName(of.service, of.path, of.entity_id, of.entity_type)
        return _NewestSamples(RowBehind(name, {}, newest), series, unread)

    async def _newest_key(self, of: Attribute) -> str | None:
        found = await self.reader.newest(of)
        return None if found is None else found[0]

    async def _find_behind(self, newest: Sequence[RowBehind]) -> list[RowBehind]:
        keys = [each.key for each in newest]
        rows = await read_rows(self.directory.access.table, keys, consistent=True)
        compared = (_compare(each, rows[each.key]) for each in newest if each.key in rows)
        return [each for each in compared if each.newest]


class _NewestSamples(NamedTuple):
    """The newest samples of an entity, of so many series, some of which could not be read."""

    newest: RowBehind
    series: int
    unread: int


def _compare(one: RowBehind, row: Attributes) -> RowBehind:
    """Keep only the entries that are behind."""
    standing = {name: entry for name in one.newest if (entry := entry_of(row, name)) is not None}
    behind = {name: key for name, key in one.newest.items() if standing.get(name, key) < key}
    return RowBehind(one.name, {name: standing[name] for name in behind}, behind)
