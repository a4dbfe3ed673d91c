"""Sources of records for the Python servers: memory, or a table through one client."""

from collections.abc import Awaitable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from benchmarks.peers.records import (
    LIST,
    Connection,
    Data,
    Item,
    Owner,
    Part,
    connection,
    item_of,
    owner_of,
    part_of,
)
from penstock.datastore.table.items import Projection, load
from penstock.datastore.table.port import Attributes, Key, Query, Table

T = TypeVar("T")
Soon: TypeAlias = T | Awaitable[T]


class Source(Protocol):
    """The five ways of reading records; a client of a store returns awaitables.

    `asked` are the attributes of items that the operation reads.
    """

    def item(self, id: str, asked: Projection) -> Soon[Item | None]: ...
    def items(self, first: int, asked: Projection) -> Soon[Sequence[Item]]: ...
    def owners(self, ids: Sequence[str]) -> Soon[list[Owner]]: ...
    def page(self, first: int, after: str | None) -> Soon[Connection]: ...
    def parts(self, item: str, first: int, after: str | None) -> Soon[Connection]: ...


class MemorySource:
    def __init__(self, data: Data) -> None:
        self._items = data.items
        self._by_id = {item.id: item for item in data.items}
        self._owners = {owner.id: owner for owner in data.owners}
        self._parts = data.parts
        self._places = {item.id: place for place, item in enumerate(data.items, 1)}

    def item(self, id: str, _: Projection) -> Item | None:
        return self._by_id.get(id)

    def items(self, first: int, _: Projection) -> Sequence[Item]:
        return self._items[:first]

    def owners(self, ids: Sequence[str]) -> list[Owner]:
        return [self._owners[id] for id in ids]

    def page(self, first: int, after: str | None) -> Connection:
        start = 0 if after is None else self._places[after]
        return connection(self._items[start : start + first + 1], first, after)

    def parts(self, item: str, first: int, after: str | None) -> Connection:
        found = [part for part in self._parts[item] if after is None or part.id > after]
        return connection(found[: first + 1], first, after)


class TableSource:
    """Reads the table in the same way as Penstock's resolvers."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def item(self, id: str, asked: Projection) -> Item | None:
        key = Key(f"ITEM#{id}", "ITEM")
        row = (await self._table.get([key])).items.get(key)
        return None if row is None else load(Item, row, asked)

    async def items(self, first: int, asked: Projection) -> Sequence[Item]:
        page = await self._table.query(Query(partition=LIST, limit=first))
        return [load(Item, row, asked) for row in page.items]

    async def owners(self, ids: Sequence[str]) -> list[Owner]:
        keys = [Key(f"OWNER#{id}", "OWNER") for id in ids]
        found = (await self._table.get(keys)).items
        return [load(Owner, found[key]) for key in keys]

    async def page(self, first: int, after: str | None) -> Connection:
        rows = await self._rows(LIST, first, after)
        return connection([load(Item, row) for row in rows], first, after)

    async def parts(self, item: str, first: int, after: str | None) -> Connection:
        rows = await self._rows(f"PARTS#{item}", first, after)
        return connection([load(Part, row) for row in rows], first, after)

    async def _rows(self, partition: str, first: int, after: str | None) -> Sequence[Attributes]:
        start = None if after is None else Key(partition, after)
        query = Query(partition=partition, limit=first + 1, after=start)
        return (await self._table.query(query)).items


class ResourceSource:
    """Reads through aioboto3's resource, like most Python servers."""

    def __init__(self, resource: Any, table: Any) -> None:
        self._resource = resource
        self._table = table

    async def item(self, id: str, _: Projection) -> Item | None:
        found = await self._table.get_item(Key={"pk": f"ITEM#{id}", "sk": "ITEM"})
        return item_of(found["Item"]) if "Item" in found else None

    async def items(self, first: int, _: Projection) -> Sequence[Item]:
        return [item_of(row) for row in await self._rows(LIST, first, None)]

    async def owners(self, ids: Sequence[str]) -> list[Owner]:
        keys = [{"pk": f"OWNER#{id}", "sk": "OWNER"} for id in ids]
        name = self._table.name
        answer = await self._resource.batch_get_item(RequestItems={name: {"Keys": keys}})
        found = {row["id"]: owner_of(row) for row in answer["Responses"][name]}
        return [found[id] for id in ids]

    async def page(self, first: int, after: str | None) -> Connection:
        rows = await self._rows(LIST, first + 1, after)
        return connection([item_of(row) for row in rows], first, after)

    async def parts(self, item: str, first: int, after: str | None) -> Connection:
        rows = await self._rows(f"PARTS#{item}", first + 1, after)
        return connection([part_of(row) for row in rows], first, after)

    async def _rows(self, partition: str, limit: int, after: str | None) -> Sequence[Any]:
        start = {} if after is None else {"ExclusiveStartKey": {"pk": partition, "sk": after}}
        found = await self._table.query(
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": partition},
            Limit=limit,
            **start,
        )
        rows: Sequence[Any] = found["Items"]
        return rows
