"""The calls that every table in front of another passes on as they are."""

from collections.abc import Sequence

from penstock.datastore.table.port import Batch, Key, Page, Query, Scan, Table


class ForwardingTable:
    """Passes the calls of a process on to the table behind, which a subclass sets as `_table`.

    The calls of a request are the subclass's own.
    """

    __slots__ = ("_table",)

    _table: Table

    async def ping(self) -> None:
        await self._table.ping()

    async def create(self) -> None:
        await self._table.create()

    async def verify(self) -> list[str]:
        return await self._table.verify()

    async def close(self) -> None:
        await self._table.close()


class ReadForwardingTable(ForwardingTable):
    """Passes reads on, too; the writes are the subclass's own."""

    __slots__ = ()

    async def get(self, keys: Sequence[Key], *, consistent: bool = False) -> Batch:
        return await self._table.get(keys, consistent=consistent)

    async def query(self, query: Query) -> Page:
        return await self._table.query(query)

    async def scan(self, scan: Scan) -> Page:
        return await self._table.scan(scan)
