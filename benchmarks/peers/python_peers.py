"""The Python applications, each over records in memory or in a store."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import aioboto3
from aiodataloader import DataLoader
from ariadne import ObjectType, QueryType, load_schema_from_path, make_executable_schema
from ariadne.asgi import GraphQL as AriadneApp
from graphql import parse, validate
from starlette.types import ASGIApp
from strawberry import Schema
from strawberry.asgi import GraphQL as StrawberryApp
from strawberry.extensions import ParserCache, ValidationCache

from benchmarks.peers import strawberry_types
from benchmarks.peers.record_sources import MemorySource, ResourceSource, Source
from benchmarks.peers.records import make_data
from benchmarks.peers.server_options import PeerOptions

SDL = Path(__file__).parent / "schema.graphql"


@asynccontextmanager
async def source_of(served: PeerOptions) -> AsyncIterator[Source]:
    """Records in memory, or through aioboto3 if there is a store."""
    if served.endpoint is None:
        yield MemorySource(make_data())
        return
    async with aioboto3.Session().resource("dynamodb", endpoint_url=served.endpoint) as resource:
        yield ResourceSource(resource, await resource.Table(served.table))


class Owners(DataLoader[str, Any]):
    """The owners' loader of one request."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source = source

    async def batch_load_fn(self, keys: list[str]) -> list[Any]:
        found = self._source.owners(keys)
        return found if isinstance(found, list) else await found


class StrawberryView(StrawberryApp[Any, None]):
    """Strawberry's own application, with a loader for each request."""

    def __init__(self, schema: Schema, source: Source) -> None:
        super().__init__(schema, graphql_ide=None)
        self._source = source

    async def get_context(self, request: Any, response: Any) -> Any:
        return {"owners": Owners(self._source)}


@asynccontextmanager
async def strawberry_default(served: PeerOptions) -> AsyncIterator[ASGIApp]:
    async with source_of(served) as source:
        yield _strawberry(source, Schema(strawberry_types.Query))


@asynccontextmanager
async def strawberry_cached(served: PeerOptions) -> AsyncIterator[ASGIApp]:
    async with source_of(served) as source:
        yield _strawberry(
            source, Schema(strawberry_types.Query, extensions=[ParserCache, ValidationCache])
        )


def _strawberry(source: Source, schema: Schema) -> ASGIApp:
    strawberry_types.access.source = lambda _: source
    strawberry_types.access.owner = lambda context, owner: context["owners"].load(owner)
    return StrawberryView(schema, source)


@asynccontextmanager
async def ariadne_cached(served: PeerOptions) -> AsyncIterator[ASGIApp]:
    """Ariadne with the caches of its documentation: documents are parsed and checked once."""
    query, item = QueryType(), ObjectType("Item")
    async with source_of(served) as source:
        query.set_field("item", lambda _, _info, **given: source.item(given["id"], None))
        query.set_field("items", lambda _, _info, first: source.items(first, None))
        query.set_field("page", lambda _, _info, first, after=None: source.page(first, after))
        item.set_field("owner", lambda item, info: info.context["owners"].load(item.owner_id))
        item.set_field(
            "parts", lambda item, _info, first, after=None: source.parts(item.id, first, after)
        )
        sdl = load_schema_from_path(str(SDL))
        schema = make_executable_schema(sdl, query, item, convert_names_case=True)
        checked = lru_cache(128)(lambda document: validate(schema, document))
        parsed = lru_cache(128)(parse)
        yield AriadneApp(
            schema,
            context_value=lambda request, _data: {"request": request, "owners": Owners(source)},
            execute_get_queries=True,
            query_parser=lambda _context, data: parsed(data["query"]),
            query_validator=lambda _schema, document, *_rest, **_options: checked(document),
        )
