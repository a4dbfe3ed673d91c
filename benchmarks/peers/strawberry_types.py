"""The schema in Strawberry types, for plain Strawberry and for Penstock."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import strawberry

from benchmarks.peers import records
from benchmarks.peers.record_sources import Source
from penstock.graphql_jit import batch_resolver, projected_attributes, reads_attributes
from penstock.schema.core.text_bounds import text_metadata

Info = strawberry.Info[Any, None]


class Access:
    """The functions by which resolvers read records, given the context of their request.

    The server of this process sets them before its first request.
    """

    source: Callable[[Any], Source]
    owner: Callable[[Any, str], Awaitable[records.Owner]]


access = Access()


@strawberry.type
class Tag:
    key: str = strawberry.field(metadata=text_metadata(256))
    value: str = strawberry.field(metadata=text_metadata(256))


@strawberry.type
class Owner:
    id: strawberry.ID
    name: str = strawberry.field(metadata=text_metadata(256))


@strawberry.type
class PageInfo:
    has_next_page: bool
    has_previous_page: bool
    start_cursor: str | None = strawberry.field(metadata=text_metadata(256))
    end_cursor: str | None = strawberry.field(metadata=text_metadata(256))


@strawberry.type
class Part:
    id: strawberry.ID
    name: str = strawberry.field(metadata=text_metadata(256))


@strawberry.type
class PartEdge:
    cursor: str = strawberry.field(metadata=text_metadata(256))
    node: Part


@strawberry.type
class PartConnection:
    edges: list[PartEdge]
    page_info: PageInfo


def _owners(items: Sequence[records.Item], info: Info) -> Any:
    return access.source(info.context).owners([item.owner_id for item in items])


@strawberry.type
class Item:
    id: strawberry.ID
    name: str = strawberry.field(metadata=text_metadata(256))
    description: str = strawberry.field(metadata=text_metadata(256))
    position: int
    price: float
    active: bool
    created_at: str = strawberry.field(metadata=text_metadata(256))
    updated_at: str = strawberry.field(metadata=text_metadata(256))
    tags: list[Tag]

    @strawberry.field(graphql_type=Owner)
    @batch_resolver(_owners)
    @reads_attributes({"Item": ("owner_id",)})
    @staticmethod
    def owner(item: strawberry.Parent[records.Item], info: Info) -> Any:
        return access.owner(info.context, item.owner_id)

    @strawberry.field(graphql_type=PartConnection)
    @staticmethod
    def parts(
        item: strawberry.Parent[records.Item], info: Info, first: int, after: str | None = None
    ) -> Any:
        return access.source(info.context).parts(item.id, first, after)


@strawberry.type
class ItemEdge:
    cursor: str = strawberry.field(metadata=text_metadata(256))
    node: Item


@strawberry.type
class ItemConnection:
    edges: list[ItemEdge]
    page_info: PageInfo


@strawberry.type
class Query:
    @strawberry.field(graphql_type=Item | None)
    @staticmethod
    def item(info: Info, id: strawberry.ID) -> Any:
        return access.source(info.context).item(id, projected_attributes(info, "Item"))

    @strawberry.field(graphql_type=list[Item])
    @staticmethod
    def items(info: Info, first: int) -> Any:
        return access.source(info.context).items(first, projected_attributes(info, "Item"))

    @strawberry.field(graphql_type=ItemConnection)
    @staticmethod
    def page(info: Info, first: int, after: str | None = None) -> Any:
        return access.source(info.context).page(first, after)
