"""The data of the benchmark, the same for every server: items with tags, their owners and parts."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from penstock.datastore.table.port import Item as Row

ITEMS = 1_000
PARTS = 8
LIST = "LIST"
Fields = dict[str, Any]


class Tag(msgspec.Struct, frozen=True):
    key: str
    value: str


class Owner(msgspec.Struct, frozen=True):
    id: str
    name: str


class Part(msgspec.Struct, frozen=True):
    id: str
    name: str


class Item(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    name: str
    description: str
    position: int
    price: float
    active: bool
    created_at: str
    updated_at: str
    tags: tuple[Tag, ...]
    owner_id: str


class Data(msgspec.Struct, frozen=True):
    """All records; the parts are stored by the id of their item."""

    items: tuple[Item, ...]
    owners: tuple[Owner, ...]
    parts: dict[str, tuple[Part, ...]]


class PageInfo(msgspec.Struct, frozen=True):
    has_next_page: bool
    has_previous_page: bool
    start_cursor: str | None
    end_cursor: str | None


class Edge(msgspec.Struct, frozen=True):
    cursor: str
    node: Any


class Connection(msgspec.Struct, frozen=True):
    """A page of a list; cursors are ids, so no server spends time on encoding them."""

    edges: list[Edge]
    page_info: PageInfo


def connection(nodes: Sequence[Any], first: int, after: str | None) -> Connection:
    """Return a page of up to `first` nodes; one node more shows that there is a next page."""
    edges = [Edge(node.id, node) for node in nodes[:first]]
    start, end = (edges[0].cursor, edges[-1].cursor) if edges else (None, None)
    return Connection(edges, PageInfo(len(nodes) > first, after is not None, start, end))


def make_data(items: int = ITEMS) -> Data:
    """The same data for each call, in the order of its ids."""
    ids = [f"item-{n:04}" for n in range(items)]
    return Data(
        tuple(_item(n, id) for n, id in enumerate(ids)),
        tuple(Owner(f"owner-{n:04}", f"Owner number {n}") for n in range(items)),
        {id: tuple(Part(f"{id}-{p}", f"Part {p} of {id}") for p in range(PARTS)) for id in ids},
    )


def _item(n: int, id: str) -> Item:
    return Item(
        id=id,
        name=f"Item number {n}",
        description=f"What there is to say about item {n}, in a sentence of usual length.",
        position=n,
        price=n + 0.25,
        active=n % 3 == 0,
        created_at=f"2026-01-{n % 28 + 1:02}T08:00:00.000Z",
        updated_at=f"2026-02-{n % 28 + 1:02}T09:30:00.000Z",
        tags=tuple(Tag(f"key-{t}", f"value {t} of {n}") for t in range(3)),
        owner_id=f"owner-{n:04}",
    )


def rows_of(data: Data) -> list[Row]:
    """The rows of the table: items one by one and in a list, owners, and parts by item."""
    rows: list[Row] = []
    for item in data.items:
        fields: Row = msgspec.to_builtins(item)
        fields |= {"price": Decimal(str(item.price)), "tags": list(msgspec.to_builtins(item.tags))}
        rows.append({"pk": f"ITEM#{item.id}", "sk": "ITEM", **fields})
        rows.append({"pk": LIST, "sk": item.id, **fields})
    rows += [
        {"pk": f"OWNER#{owner.id}", "sk": "OWNER", **msgspec.to_builtins(owner)}
        for owner in data.owners
    ]
    for id, parts in data.parts.items():
        rows += [{"pk": f"PARTS#{id}", "sk": p.id, **msgspec.to_builtins(p)} for p in parts]
    return rows


def item_of(row: Mapping[str, Any]) -> Item:
    return Item(
        row["id"],
        row["name"],
        row["description"],
        int(row["position"]),
        float(row["price"]),
        row["active"],
        row["createdAt"],
        row["updatedAt"],
        tuple([Tag(tag["key"], tag["value"]) for tag in row["tags"]]),
        row["ownerId"],
    )


def owner_of(row: Mapping[str, Any]) -> Owner:
    return Owner(row["id"], row["name"])


def part_of(row: Mapping[str, Any]) -> Part:
    return Part(row["id"], row["name"])
