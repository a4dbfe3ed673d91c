"""The handwritten baseline: one endpoint for each document, over Penstock's own client."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol
from urllib.parse import parse_qsl

import orjson
from starlette.types import ASGIApp, Receive, Scope, Send

from benchmarks.peers.documents import DOCUMENTS, Document
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
    """Answers `/DOCUMENT` with the same data as GraphQL servers; it checks nothing."""

    def __init__(self, table: ReadableTable) -> None:
        self._table = table

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "GET":
            variables = orjson.loads(dict(parse_qsl(scope["query_string"].decode()))["variables"])
        else:
            variables = orjson.loads(await _read_body(receive))["variables"]
        document = _DOCUMENTS[scope["path"]]
        data = await getattr(self, document.shape)(document, **variables)
        answer = orjson.dumps({"data": data})
        length = (b"content-length", b"%d" % len(answer))
        head = {"type": "http.response.start", "status": 200, "headers": [*_HEADERS, length]}
        await send(head)
        await send({"type": "http.response.body", "body": answer})

    async def one(self, document: Document, id: str) -> Json:
        key = Key(f"ITEM#{id}", "ITEM")
        row = (await self._table.get([key])).items[key]
        return {"item": {**_scalars(document, row), **_typename(document, "Item")}}

    async def list(self, document: Document, first: int) -> Json:
        rows = (await self._table.query(Query(partition=LIST, limit=first))).items
        item, tag = _typename(document, "Item"), _typename(document, "Tag")
        return {
            "items": [{**_scalars(document, row), "tags": _tags(row, tag), **item} for row in rows]
        }

    async def owners(self, document: Document, first: int) -> Json:
        rows = (await self._table.query(Query(partition=LIST, limit=first))).items
        keys = [Key(f"OWNER#{row['ownerId']}", "OWNER") for row in rows]
        found = (await self._table.get(keys)).items
        item, owner = _typename(document, "Item"), _typename(document, "Owner")
        return {
            "items": [
                {
                    **_scalars(document, row),
                    "owner": {"id": found[key]["id"], "name": found[key]["name"], **owner},
                    **item,
                }
                for row, key in zip(rows, keys, strict=True)
            ]
        }

    async def page(self, document: Document, first: int, after: str, parts: int) -> Json:
        rows = await self._rows(LIST, first, after)
        below = await asyncio.gather(
            *[self._rows(f"PARTS#{row['id']}", parts, None) for row in rows[:first]]
        )
        item, part = _typename(document, "Item"), _typename(document, "Part")
        nodes = [
            {
                **_scalars(document, row),
                "parts": _connection(
                    document,
                    "Part",
                    [{"id": one["id"], "name": one["name"], **part} for one in found],
                    parts,
                    None,
                ),
                **item,
            }
            for row, found in zip(rows[:first], below, strict=True)
        ]
        return {"page": _connection(document, "Item", [*nodes, *rows[first:]], first, after)}

    async def _rows(self, partition: str, first: int, after: str | None) -> Sequence[Any]:
        start = None if after is None else Key(partition, after)
        query = Query(partition=partition, limit=first + 1, after=start)
        return (await self._table.query(query)).items


_DOCUMENTS: Final = {f"/{document.name}": document for document in DOCUMENTS}


async def _read_body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    return bytes(body)


def _typename(document: Document, name: str) -> Json:
    return {"__typename": name} if document.has_typenames else {}


def _tags(row: Mapping[str, Any], typename: Json) -> list[Json]:
    return [{"key": tag["key"], "value": tag["value"], **typename} for tag in row["tags"]]


def _scalars(document: Document, row: Mapping[str, Any]) -> Json:
    found = {name: row[name] for name in document.fields}
    if "price" in found:
        found["price"] = float(found["price"])
    return found


def _connection(
    document: Document, name: str, nodes: Sequence[Any], first: int, after: str | None
) -> Json:
    edge = _typename(document, f"{name}Edge")
    edges = [{"cursor": node["id"], "node": node, **edge} for node in nodes[:first]]
    start, end = (edges[0]["cursor"], edges[-1]["cursor"]) if edges else (None, None)
    info = {
        "hasNextPage": len(nodes) > first,
        "hasPreviousPage": after is not None,
        "startCursor": start,
        "endCursor": end,
        **_typename(document, "PageInfo"),
    }
    return {"edges": edges, "pageInfo": info, **_typename(document, f"{name}Connection")}


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
