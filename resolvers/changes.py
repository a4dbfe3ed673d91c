"""What subscriptions to changes yield."""

from collections.abc import AsyncIterator
from typing import TypeVar

from datastore.changes import Changes, followed
from datastore.layout import Kind
from datastore.records import Resource
from resolvers.context import Context

R = TypeVar("R", bound=Resource)


def resource(context: Context, kind: Kind[R], changes: Changes, id: str) -> AsyncIterator[R]:
    """Yield the resource now and after each write, until it is gone from the caller's sight."""
    return followed(context.view.of(kind).reading, changes, id)
