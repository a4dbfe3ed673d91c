"""What one request may touch: a view bound to its caller, and loaders that batch over it."""

from typing import TypeVar

import msgspec

from penstock.datastore.records import Resource
from penstock.datastore.roles import Caller
from penstock.datastore.store import View
from penstock.datastore.table.instrumentation import Units
from penstock.datastore.table.layout import Kind
from penstock.resolvers.loaders import Desk, Loaders

R = TypeVar("R", bound=Resource)


class Context(msgspec.Struct, frozen=True):
    """Made inside the request, gone with it; nothing in it is shared between callers."""

    view: View
    loaders: Loaders

    @property
    def caller(self) -> Caller:
        return self.view.caller

    @property
    def units(self) -> Units:
        return self.view.units

    def desk(self, kind: Kind[R]) -> Desk[R]:
        """Where one kind of resource is asked for."""
        return self.loaders.desk(kind)
