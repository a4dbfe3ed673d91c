"""The handwritten baseline: one endpoint for each shape, over Penstock's own client."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

import orjson
from starlette.types import ASGIApp, Receive, Scope, Send

from benchmarks.peers.records import LIST, Data, make_data, rows_of
from benchmarks.peers.server_options import REGION, PeerOptions
from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.table.port import Batch, Item, Key, Page, Query, key_of

_HEADERS = [(b"content-type", b"application/json")]
Json = dict[str, Any]


class ReadableTable(Protocol):
    """The read methods of a table that the endpoints use."""

    async def get(self, keys: Sequence[Key]) -> Batch: ...
    async def query(self, query: Query) -> Page: ...


class Rows:
    """The rows of the table in memory."""

    def __init__(self, data: Data) -> None:
        self._items = {key_of(row): row for row in rows_of(data)}
        self._partitions: dict[str, list[Item]] = {}
        for key, row in self._items.items():
            self._partitions.setdefault(key.pk, []).append(row)

    async def get(self, keys: Sequence[Key]) -> Batch:
        return Batch({key: self._items[key] for key in keys}, 0.0)

    async def query(self, query: Query) -> Page:
        rows = self._partitions[query.partition]
        start = 0 if query.after is None else rows.index(self._items[query.after]) + 1
        end = len(rows) if query.limit is None else start + query.limit
        return Page(tuple(rows[start:end]), None, 0.0)


class Handwritten:
    """Answers `POST /SHAPE` with the same data as GraphQL servers; it checks nothing."""

    def __init__(self, table: ReadableTable) -> None:
        self._table = table

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        variables = orjson.loads(body)["variables"]
        data = await getattr(self, scope["path"][1:])(**variables)
        answer = orjson.dumps({"data": data})
        length = (b"content-length", b"%d" % len(answer))
        head = {"type": "http.response.start", "status": 200, "headers": [*_HEADERS, length]}
        await send(head)
        await send({"type": "http.response.body", "body": answer})

    async def one(self, id: str) -> Json:
        key = Key(f"ITEM#{id}", "ITEM")
        return {"item": _fields((await self._table.get([key])).items[key])}

    async def list(self, first: int) -> Json:
        rows = (await self._table.query(Query(partition=LIST, limit=first))).items
        return {"items": [_item_with_tags(row) for row in rows]}

    async def owners(self, first: int) -> Json:
        rows = (await self._table.query(Query(partition=LIST, limit=first))).items
        keys = [Key(f"OWNER#{row['ownerId']}", "OWNER") for row in rows]
        found = (await self._table.get(keys)).items
        pairs = zip(rows, keys, strict=True)
        return {
            "items": [
                {**_id_and_name(row), "owner": _id_and_name(found[key])} for row, key in pairs
            ]
        }

    async def page(self, first: int, after: str, parts: int) -> Json:
        rows = await self._rows(LIST, first, after)
        below = await asyncio.gather(
            *[self._rows(f"PARTS#{row['id']}", parts, None) for row in rows[:first]]
        )
        nodes = [
            {
                **_id_and_name(row),
                "parts": _connection([_id_and_name(part) for part in found], parts, None),
            }
            for row, found in zip(rows[:first], below, strict=True)
        ]
        return {"page": _connection([*nodes, *rows[first:]], first, after)}

    async def _rows(self, partition: str, first: int, after: str | None) -> Sequence[Any]:
        start = None if after is None else Key(partition, after)
        query = Query(partition=partition, limit=first + 1, after=start)
        return (await self._table.query(query)).items


def _id_and_name(row: Mapping[str, Any]) -> Json:
    return {"id": row["id"], "name": row["name"]}


def _fields(row: Mapping[str, Any]) -> Json:
    return {
        "id": row["id"],
        "name": row["name"],
        "description": row["description"],
        "position": row["position"],
        "price": float(row["price"]),
        "active": row["active"],
        "createdAt": row["createdAt"],
        "updatedAt": row["updatedAt"],
    }


def _item_with_tags(row: Mapping[str, Any]) -> Json:
    tags = [{"key": tag["key"], "value": tag["value"]} for tag in row["tags"]]
    return {**_fields(row), "tags": tags}


def _connection(nodes: Sequence[Any], first: int, after: str | None) -> Json:
    edges = [{"cursor": node["id"], "node": node} for node in nodes[:first]]
    start, end = (edges[0]["cursor"], edges[-1]["cursor"]) if edges else (None, None)
    info = {
        "hasNextPage": len(nodes) > first,
        "hasPreviousPage": after is not None,
        "startCursor": start,
        "endCursor": end,
    }
    return {"edges": edges, "pageInfo": info}


@asynccontextmanager
async def handwritten(served: PeerOptions) -> AsyncIterator[ASGIApp]:
    if served.endpoint is None:
        yield Handwritten(Rows(make_data()))
        return
    table = await DynamoDBTable.open(served.table, region=REGION, endpoint_url=served.endpoint)
    try:
        yield Handwritten(table)
    finally:
        await table.close()
