"""The calls that every table in front of another passes on as they are."""

from penstock.datastore.table.port import Table


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
