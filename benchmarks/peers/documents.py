"""The documents of the benchmark: four shapes, of which clients send five documents each.

A document is made of the fields that it selects, so that the endpoint by hand selects the same.
"""

from enum import StrEnum
from hashlib import sha256
from typing import Final, NamedTuple

from graphql import (
    FieldNode,
    NameNode,
    OperationDefinitionNode,
    SelectionSetNode,
    Visitor,
    parse,
    print_ast,
    visit,
)


class Style(StrEnum):
    """The form in which a client prints a document."""

    ONE_LINE = "one line"
    FRAGMENT = "fragment"
    TYPENAMES = "typenames"
    """Over several lines, with `__typename` in each selection, as Apollo's client sends it."""


class Document(NamedTuple):
    """A document of a shape; `weight` is its share of the requests for the shape.

    `fields` are the scalars of an item. Documents with `is_persisted` are sent by GET, with the
    digest of the text in its place where the server knows automatic persisted queries.
    """

    name: str
    shape: str
    weight: int
    fields: tuple[str, ...]
    style: Style = Style.ONE_LINE
    is_persisted: bool = False

    @property
    def operation(self) -> str:
        """The name of the operation, such as `OneCard`."""
        return "".join(part.title() for part in self.name.split("-"))

    @property
    def has_typenames(self) -> bool:
        return self.style is Style.TYPENAMES

    @property
    def text(self) -> str:
        """The document as a client sends it."""
        scalars, below = " ".join(self.fields), _BELOW[self.shape]
        write = _OPERATIONS[self.shape]
        if self.style is Style.FRAGMENT:
            fragment = f"fragment ItemFields on Item {{ {scalars} }}"
            return f"{write(self.operation, f'...ItemFields {below}')} {fragment}"
        line = write(self.operation, f"{scalars} {below}")
        return _with_typenames(line) if self.has_typenames else line

    @property
    def digest(self) -> str:
        return sha256(self.text.encode()).hexdigest()


_PAGE: Final = "pageInfo { hasNextPage hasPreviousPage startCursor endCursor }"
_BELOW: Final = {
    "one": "",
    "list": "tags { key value }",
    "owners": "owner { id name }",
    "page": f"parts(first: $parts) {{ edges {{ cursor node {{ id name }} }} {_PAGE} }}",
}


def _one(name: str, item: str) -> str:
    return f"query {name}($id: ID!) {{ item(id: $id) {{ {item} }} }}"


def _items(name: str, item: str) -> str:
    return f"query {name}($first: Int!) {{ items(first: $first) {{ {item} }} }}"


def _page(name: str, item: str) -> str:
    return (
        f"query {name}($first: Int!, $after: String, $parts: Int!) {{"
        f" page(first: $first, after: $after) {{ edges {{ cursor node {{ {item} }} }}"
        f" {_PAGE} }} }}"
    )


_OPERATIONS: Final = {"one": _one, "list": _items, "owners": _items, "page": _page}


def _with_typenames(text: str) -> str:
    """The document as graphql-core prints it, with `__typename` in each inner selection."""
    return print_ast(visit(parse(text), _TypenameAdder()))


class _TypenameAdder(Visitor):
    """Adds `__typename` to the end of each selection but that of the operation."""

    def leave_selection_set(
        self, node: SelectionSetNode, _key: object, parent: object, *_: object
    ) -> SelectionSetNode | None:
        if isinstance(parent, OperationDefinitionNode):
            return None
        typename = FieldNode(name=NameNode(value="__typename"))
        return SelectionSetNode(selections=(*node.selections, typename))


_ALL: Final = (
    "id", "name", "description", "position", "price", "active", "createdAt", "updatedAt",
)  # fmt: skip
_CARD: Final = ("id", "name", "price")
_STATE: Final = ("id", "name", "active", "updatedAt")
_TEXT: Final = ("id", "name", "description", "createdAt")

DOCUMENTS: Final = (
    Document("one", "one", 6, _ALL),
    Document("one-card", "one", 5, _CARD, is_persisted=True),
    Document("one-apollo", "one", 4, _ALL, Style.TYPENAMES),
    Document("one-fragment", "one", 3, _TEXT, Style.FRAGMENT),
    Document("one-state", "one", 2, _STATE),
    Document("list", "list", 6, _ALL),
    Document("list-card", "list", 5, _CARD, is_persisted=True),
    Document("list-apollo", "list", 4, _ALL, Style.TYPENAMES),
    Document("list-fragment", "list", 3, _ALL, Style.FRAGMENT),
    Document("list-state", "list", 2, _STATE),
    Document("owners", "owners", 6, ("id", "name")),
    Document("owners-card", "owners", 5, _CARD, is_persisted=True),
    Document("owners-apollo", "owners", 4, ("id", "name"), Style.TYPENAMES),
    Document("owners-fragment", "owners", 3, _STATE, Style.FRAGMENT),
    Document("owners-state", "owners", 2, _STATE),
    Document("page", "page", 6, ("id", "name")),
    Document("page-card", "page", 5, _CARD),
    Document("page-apollo", "page", 4, ("id", "name"), Style.TYPENAMES),
    Document("page-fragment", "page", 3, _STATE, Style.FRAGMENT),
    Document("page-state", "page", 2, _STATE),
)
"""The first document of each shape has the name of the shape."""


def documents_of(shape: str) -> list[Document]:
    return [document for document in DOCUMENTS if document.shape == shape]
