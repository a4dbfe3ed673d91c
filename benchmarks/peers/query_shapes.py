"""The queries of the benchmark with their variables and expected answers."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from benchmarks.peers.records import Data, Item

_FIELDS = "id name description position price active createdAt updatedAt"
_PAGE = "pageInfo { hasNextPage hasPreviousPage startCursor endCursor }"
FIRST = 100
PAGE = 20
PARTS = 5


class Shape(NamedTuple):
    """A query with variables; `title` is its name in tables."""

    name: str
    title: str
    query: str
    variables: Mapping[str, Any]

    @property
    def body(self) -> dict[str, Any]:
        return {"query": self.query, "variables": dict(self.variables)}


SHAPES = (
    Shape(
        "one",
        "one object",
        f"query One($id: ID!) {{ item(id: $id) {{ {_FIELDS} }} }}",
        {"id": "item-0007"},
    ),
    Shape(
        "list",
        "100 objects with tags",
        f"query List($first: Int!) {{ items(first: $first) {{ {_FIELDS} tags {{ key value }} }} }}",
        {"first": FIRST},
    ),
    Shape(
        "owners",
        "100 with a loaded child",
        "query Owners($first: Int!) { items(first: $first) { id name owner { id name } } }",
        {"first": FIRST},
    ),
    Shape(
        "page",
        "a nested page",
        "query Page($first: Int!, $after: String, $parts: Int!) {"
        " page(first: $first, after: $after) { edges { cursor node { id name"
        " parts(first: $parts) { edges { cursor node { id name } }"
        f" {_PAGE} }} }} }} {_PAGE} }} }}",
        {"first": PAGE, "after": "item-0039", "parts": PARTS},
    ),
)


def expected_data(data: Data, shape: str) -> dict[str, Any]:
    """The only correct data, with keys in the order of the query."""
    match shape:
        case "one":
            return {"item": fields_of(data.items[7])}
        case "list":
            return {"items": [item_with_tags(item) for item in data.items[:FIRST]]}
        case "owners":
            pairs = zip(data.items[:FIRST], data.owners, strict=False)
            return {
                "items": [
                    {"id": i.id, "name": i.name, "owner": {"id": o.id, "name": o.name}}
                    for i, o in pairs
                ]
            }
        case "page":
            return {"page": _page(data)}
    raise ValueError(f"there is no shape {shape}")


def fields_of(item: Item) -> dict[str, Any]:
    return {
        "id": item.id,
        "name": item.name,
        "description": item.description,
        "position": item.position,
        "price": item.price,
        "active": item.active,
        "createdAt": item.created_at,
        "updatedAt": item.updated_at,
    }


def item_with_tags(item: Item) -> dict[str, Any]:
    tags = [{"key": tag.key, "value": tag.value} for tag in item.tags]
    return {**fields_of(item), "tags": tags}


def _page(data: Data) -> dict[str, Any]:
    items = data.items[40 : 40 + PAGE]
    nodes = [{"id": item.id, "name": item.name, "parts": _parts(data, item)} for item in items]
    edges = [{"cursor": node["id"], "node": node} for node in nodes]
    return {"edges": edges, "pageInfo": _info(True, True, items[0].id, items[-1].id)}


def _parts(data: Data, item: Item) -> dict[str, Any]:
    parts = data.parts[item.id][:PARTS]
    edges = [{"cursor": p.id, "node": {"id": p.id, "name": p.name}} for p in parts]
    return {"edges": edges, "pageInfo": _info(True, False, parts[0].id, parts[-1].id)}


def _info(more: bool, before: bool, start: str, end: str) -> dict[str, Any]:
    return {
        "hasNextPage": more,
        "hasPreviousPage": before,
        "startCursor": start,
        "endCursor": end,
    }
