"""The port of destinations: tables of samples, each created when it is first needed.

Also its implementation on the embedded store, which keeps all destinations in one table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, NamedTuple, Protocol

from penstock.datastore.errors import Unavailable
from penstock.datastore.table.items import in_partition
from penstock.datastore.table.keys import SEPARATOR
from penstock.datastore.table.port import (
    Attributes,
    Delete,
    Item,
    Key,
    Page,
    Put,
    Query,
    Scan,
    Table,
)
from penstock.datastore.text import escape


class TableItem(NamedTuple):
    """An item, and the table to which it belongs."""

    table: str
    item: Item


class TableKey(NamedTuple):
    """The key of an item, and the table that may have it."""

    table: str
    key: Key


class TableBatch(NamedTuple):
    """The items that exist, by table and key. `units` are read units."""

    items: Mapping[TableKey, Attributes]
    units: float


class FailureKind(Enum):
    """The kind of a failure."""

    TRANSIENT = "it may succeed later"
    MISSING = "the table does not exist"
    INVALID = "something in the request is what no table takes"
    CONFIGURATION = "the credentials or permissions are wrong"
    FOREIGN = "the table belongs to another program"


class SampleTable(Protocol):
    """One destination, for reading."""

    async def query(self, query: Query) -> Page:
        """Read one page of one series, with the semantics of the table port."""

    async def scan(self, scan: Scan) -> Page:
        """Read one page of all series; a table that does not exist is empty."""


class Destinations(Protocol):
    """All tables of samples. Every method may raise `errors.Unavailable`."""

    @property
    def has_tables(self) -> bool:
        """Whether each destination is a table of its own, which must be created before its use."""

    async def create(self, name: str) -> None:
        """Create the table if it is missing, and wait until it is usable.

        Raises ForeignTable if a table of that name has other keys than ours.
        """

    async def write(self, items: Sequence[TableItem], *, patient: bool = True) -> None:
        """Write up to 25 items in one request, each separately, replacing items with the same keys.

        Items that the store left unprocessed are sent again; on return all are written. Without
        `patient`, nothing is sent again, and what is left raises Unavailable.
        """

    async def get(self, keys: Sequence[TableKey]) -> TableBatch:
        """Read up to 100 distinct items of any tables in one request, eventually consistent.

        Keys that the store left unprocessed are requested again; the answer is complete.
        """

    async def delete(self, table: str, keys: Sequence[Key]) -> None:
        """Delete up to 25 items of one table; those that are gone already are left out."""

    def table(self, name: str) -> SampleTable:
        """The table of this name; it need not exist."""

    def failure_kind(self, error: Exception) -> FailureKind:
        """Classify a failure of a call."""

    async def close(self) -> None:
        """Close connections and threads."""


class NoDestinations:
    """The destinations of a store without any: every call raises Unavailable."""

    has_tables = False

    async def create(self, name: str) -> None:
        raise _no_destinations()

    async def write(self, items: Sequence[TableItem], *, patient: bool = True) -> None:
        raise _no_destinations()

    async def get(self, keys: Sequence[TableKey]) -> TableBatch:
        raise _no_destinations()

    async def delete(self, table: str, keys: Sequence[Key]) -> None:
        raise _no_destinations()

    def table(self, name: str) -> SampleTable:
        raise _no_destinations()

    def failure_kind(self, error: Exception) -> FailureKind:
        return FailureKind.TRANSIENT

    async def close(self) -> None:
        """Do nothing: no connection is open."""


NO_DESTINATIONS: Final[Destinations] = NoDestinations()


def _no_destinations() -> Unavailable:
    return Unavailable("This process has no destinations open.")


@dataclass(frozen=True, slots=True)
class EmbeddedSamples:
    """One destination: the items whose partition begins with its name."""

    shared: Table
    name: str

    async def query(self, query: Query) -> Page:
        inside = _prefixed_partition(self.name, query.partition)
        after = query.after and Key(_prefixed_partition(self.name, query.after.pk), query.after.sk)
        page = await self.shared.query(replace(query, partition=inside, after=after))
        last = page.last and Key(query.partition, page.last.sk)
        items = tuple(in_partition(item, query.partition) for item in page.items)
        return Page(items, last, page.units)

    async def scan(self, scan: Scan) -> Page:
        prefix = _prefixed_partition(self.name, scan.prefix)
        after = scan.after and Key(_prefixed_partition(self.name, scan.after.pk), scan.after.sk)
        page = await self.shared.scan(replace(scan, prefix=prefix, after=after))
        last = page.last and Key(self._partition_without_prefix(page.last.pk), page.last.sk)
        return Page(tuple(map(self._without_prefix, page.items)), last, page.units)

    def _without_prefix(self, item: Attributes) -> Attributes:
        # What is scanned is written again as it is: its text has to have the key, too.
        return {**item, "pk": self._partition_without_prefix(str(item["pk"]))}

    def _partition_without_prefix(self, partition: str) -> str:
        return partition[len(_prefixed_partition(self.name, "")) :]


@dataclass(frozen=True, slots=True)
class EmbeddedDestinations:
    """All destinations of the embedded store, in one existing table."""

    shared: Table

    @property
    def has_tables(self) -> bool:
        return False

    async def create(self, name: str) -> None:
        """Do nothing: the shared table takes items of every destination."""

    async def write(self, items: Sequence[TableItem], *, patient: bool = True) -> None:
        await self.shared.write(
            [
                Put({**item, "pk": _prefixed_partition(table, str(item["pk"]))})
                for table, item in items
            ]
        )

    async def get(self, keys: Sequence[TableKey]) -> TableBatch:
        inside = {
            Key(_prefixed_partition(table, key.pk), key.sk): TableKey(table, key)
            for table, key in keys
        }
        batch = await self.shared.get(list(inside))
        found = {}
        for key, item in batch.items.items():
            wanted = inside[key]
            found[wanted] = {**item, "pk": wanted.key.pk}
        return TableBatch(found, batch.units)

    async def delete(self, table: str, keys: Sequence[Key]) -> None:
        await self.shared.write(
            [Delete(Key(_prefixed_partition(table, key.pk), key.sk)) for key in keys]
        )

    def table(self, name: str) -> EmbeddedSamples:
        return EmbeddedSamples(self.shared, name)

    def failure_kind(self, error: Exception) -> FailureKind:
        return FailureKind.TRANSIENT

    async def close(self) -> None:
        await self.shared.close()


def _prefixed_partition(name: str, partition: str) -> str:
    return f"{escape(name)}{SEPARATOR}{partition}"
