"""Destinations on the embedded store: all of them in one table of its own, keyed alike."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.datastore.keys import SEPARATOR, escape
from penstock.datastore.ngsi.samples import Placed, Trouble
from penstock.datastore.table import Attributes, Key, Page, Put, Query, Table


@dataclass(frozen=True, slots=True)
class EmbeddedSamples:
    """One destination: the items whose partition begins with its name."""

    shared: Table
    name: str

    async def query(self, query: Query) -> Page:
        inside = _inside(self.name, query.partition)
        after = query.after and Key(_inside(self.name, query.after.pk), query.after.sk)
        page = await self.shared.query(replace(query, partition=inside, after=after))
        last = page.last and Key(query.partition, page.last.sk)
        return Page(tuple(map(self._taken, page.items)), last, page.units)

    def _taken(self, item: Attributes) -> Attributes:
        return {**item, "pk": str(item["pk"])[len(_inside(self.name, "")) :]}


@dataclass(frozen=True, slots=True)
class EmbeddedDestinations:
    """Every destination there may be, in a table that exists."""

    shared: Table

    async def create(self, name: str) -> None:
        """Do nothing: there is room for every name."""

    async def write(self, items: Sequence[Placed]) -> None:
        await self.shared.write(
            [Put({**item, "pk": _inside(table, str(item["pk"]))}) for table, item in items]
        )

    def table(self, name: str) -> EmbeddedSamples:
        return EmbeddedSamples(self.shared, name)

    def trouble(self, error: Exception) -> Trouble:
        return Trouble.PASSING

    async def close(self) -> None:
        await self.shared.close()


def _inside(name: str, partition: str) -> str:
    return f"{escape(name)}{SEPARATOR}{partition}"
