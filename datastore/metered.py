"""A table that counts what is consumed through it, for one request."""

from collections.abc import Sequence

import msgspec

from penstock.datastore.lanes import Readable
from penstock.datastore.table import (
    Batch,
    ConditionFailed,
    Delete,
    Key,
    Operation,
    Page,
    Put,
    Query,
    Table,
)


class Units(msgspec.Struct):
    """Read and write units and calls so far."""

    rcu: float = 0.0
    wcu: float = 0.0
    calls: int = 0


class Metered:
    """The table port again, adding to `units` what calls consume, also by failed conditions."""

    __slots__ = ("_table", "units")

    def __init__(self, table: Table, units: Units | None = None) -> None:
        self._table = table
        self.units = units or Units()

    async def get(self, keys: Sequence[Key], *, consistent: bool = False) -> Batch:
        self.units.calls += 1
        batch = await self._table.get(keys, consistent=consistent)
        self.units.rcu += batch.units
        return batch

    async def query(self, query: Query) -> Page:
        self.units.calls += 1
        page = await self._table.query(query)
        self.units.rcu += page.units
        return page

    async def transact(self, operations: Sequence[Operation]) -> float:
        self.units.calls += 1
        try:
            units = await self._table.transact(operations)
        except ConditionFailed as failed:
            self.units.wcu += failed.units
            raise
        self.units.wcu += units
        return units

    async def write(self, operations: Sequence[Put | Delete]) -> float:
        self.units.calls += 1
        units = await self._table.write(operations)
        self.units.wcu += units
        return units

    async def create(self) -> None:
        await self._table.create()

    async def verify(self) -> list[str]:
        return await self._table.verify()

    async def close(self) -> None:
        await self._table.close()


class MeteredQueries:
    """Whatever can be queried like a table, likewise."""

    __slots__ = ("_table", "_units")

    def __init__(self, table: Readable, units: Units) -> None:
        self._table = table
        self._units = units

    async def query(self, query: Query) -> Page:
        self._units.calls += 1
        page = await self._table.query(query)
        self._units.rcu += page.units
        return page
