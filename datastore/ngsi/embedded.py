"""Destinations on the embedded store: all of them in one table of its own, keyed alike."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from datastore.keys import SEPARATOR, escape
from datastore.table import Delete, Item, Key, Page, Put, Query, Table


@dataclass(frozen=True, slots=True)
class EmbeddedSamples:
    """One destination: the items whose partition begins with its name."""

    shared: Table
    name: str

    async def write(self, operations: Sequence[Put | Delete]) -> float:
        return await self.shared.write([self._placed(each) for each in operations])

    async def query(self, query: Query) -> Page:
        after = query.after and self._key(query.after)
        placed = replace(query, partition=self._inside(query.partition), after=after)
        page = await self.shared.query(placed)
        last = page.last and Key(query.partition, page.last.sk)
        return Page(tuple(map(self._taken, page.items)), last, page.units)

    def _placed(self, operation: Put | Delete) -> Put | Delete:
        if isinstance(operation, Put):
            return Put({**operation.item, "pk": self._inside(operation.key.pk)})
        return Delete(self._key(operation.key))

    def _taken(self, item: Item) -> Item:
        return {**item, "pk": str(item["pk"])[len(self._inside("")) :]}

    def _key(self, key: Key) -> Key:
        return Key(self._inside(key.pk), key.sk)

    def _inside(self, partition: str) -> str:
        return f"{escape(self.name)}{SEPARATOR}{partition}"


@dataclass(frozen=True, slots=True)
class EmbeddedDestinations:
    """Every destination there may be, in a table that exists."""

    shared: Table

    async def create(self, name: str) -> None:
        """Do nothing: there is room for every name."""

    def table(self, name: str) -> EmbeddedSamples:
        return EmbeddedSamples(self.shared, name)

    def is_missing(self, error: Exception) -> bool:
        return False

    async def close(self) -> None:
        await self.shared.close()
