"""The only correct answers, computed by graphql-core over the records."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
from graphql import GraphQLResolveInfo, build_schema, graphql_sync

from benchmarks.peers.documents import Document
from benchmarks.peers.records import Data

Info: TypeAlias = GraphQLResolveInfo[Any]
_SDL: Final = (Path(__file__).parent / "schema.graphql").read_text()


class ReferenceAnswers:
    """Answers each request over one set of records."""

    def __init__(self, data: Data) -> None:
        self._schema = build_schema(_SDL)
        self._records = _Records(data)

    def answer(self, document: Document, variables: dict[str, Any]) -> dict[str, Any]:
        found = graphql_sync(self._schema, document.text, self._records, variable_values=variables)
        if found.errors:
            raise ValueError(found.errors)
        return {"data": found.data}


class _Records:
    """The root value: the fields of `Query` as methods, over dictionaries."""

    def __init__(self, data: Data) -> None:
        self._parts = data.parts
        self._owners = {owner.id: msgspec.to_builtins(owner) for owner in data.owners}
        self._items = [self._item(msgspec.to_builtins(item)) for item in data.items]
        self._places = {item["id"]: place for place, item in enumerate(self._items)}

    def _item(self, fields: dict[str, Any]) -> dict[str, Any]:
        parts = msgspec.to_builtins(self._parts[fields["id"]])

        def read_parts(_: Info, first: int, after: str | None = None) -> Any:
            return _page(parts, first, after)

        return {**fields, "owner": self._owners[fields["ownerId"]], "parts": read_parts}

    def item(self, _: Info, id: str) -> Any:
        place = self._places.get(id)
        return None if place is None else self._items[place]

    def items(self, _: Info, first: int) -> Any:
        return self._items[:first]

    def page(self, _: Info, first: int, after: str | None = None) -> Any:
        return _page(self._items, first, after)


def _page(nodes: Sequence[dict[str, Any]], first: int, after: str | None) -> dict[str, Any]:
    """A page of up to `first` nodes behind the one with the id `after`."""
    ids = [node["id"] for node in nodes]
    start = 0 if after is None else ids.index(after) + 1
    edges = [{"cursor": node["id"], "node": node} for node in nodes[start : start + first]]
    return {
        "edges": edges,
        "pageInfo": {
            "hasNextPage": len(nodes) > start + first,
            "hasPreviousPage": after is not None,
            "startCursor": edges[0]["cursor"],
            "endCursor": edges[-1]["cursor"],
        },
    }
