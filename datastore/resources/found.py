"""Resources that were found for a caller, and are decoded as far as they are asked for."""

from typing import Generic, TypeVar

from penstock.datastore.items import load, resource_id
from penstock.datastore.layout import Kind
from penstock.datastore.parts import Asked, both
from penstock.datastore.records import Resource
from penstock.datastore.table import Attributes

R = TypeVar("R", bound=Resource)

DECISIVE: Asked = frozenset(("id", "groups"))
"""The fields by which a resource is found and admitted."""


class Found(Generic[R]):
    """The latest row of a resource, which its caller may see."""

    __slots__ = ("_kind", "_parts", "_row")

    def __init__(self, kind: Kind[R], row: Attributes) -> None:
        self._kind = kind
        self._row = row
        self._parts: dict[Asked, R] = {}

    @classmethod
    def whole(cls, kind: Kind[R], resource: R) -> "Found[R]":
        """Hold a resource that is in hand."""
        found = cls(kind, {})
        found._parts[None] = resource
        return found

    def record(self, asked: Asked = None) -> R:
        """Give the resource; at least what is asked for of it is there."""
        known = self._parts.get(None) or self._parts.get(asked)
        if known is None:
            id, part = resource_id(self._row), both(asked, DECISIVE)
            known = self._parts[asked] = load(self._kind.record, self._row, part, id=id)
        return known
