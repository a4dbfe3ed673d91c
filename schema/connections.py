"""Relay connections over slices: full pages both ways, with sealed cursors."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Generic, TypeVar, cast

import msgspec
import strawberry

from penstock.datastore.errors import BadInput
from penstock.datastore.slices import Slice, Window
from penstock.schema.common import After, Before, First, Info, Last, given
from penstock.schema.cursors import PageArguments, page_arguments

T = TypeVar("T")

_SHORT = 10


@strawberry.type(description="Where a page lies in its list.")
class PageInfo:
    has_next_page: bool = strawberry.field(description="Whether more may follow this page.")
    has_previous_page: bool = strawberry.field(description="Whether more may precede this page.")
    start_cursor: str | None = strawberry.field(description="Continue backwards from here.")
    end_cursor: str | None = strawberry.field(
        description="Continue forwards from here; also when a search ended early with few edges."
    )


@strawberry.type(description="An entry of a list and its cursor.")
class Edge(Generic[T]):
    node: T = strawberry.field(description="The entry.")
    cursor: str = strawberry.field(description="Where it lies, for `after` and `before`.")


@strawberry.type(description="A page of a list.")
class Connection(Generic[T]):
    edges: list[Edge[T]] = strawberry.field(description="The entries, in order.")
    nodes: list[T] = strawberry.field(description="The nodes of the edges.")
    page_info: PageInfo = strawberry.field(description="Whether and where the list goes on.")


class _Entry(msgspec.Struct, Generic[T], frozen=True):
    """What an edge shows; most pages are asked for without the cursors of their edges."""

    node: T
    at: str
    seal: Callable[[str], str]

    @property
    def cursor(self) -> str:
        return self.seal(self.at)


def page_of(first: First, after: After, last: Last, before: Before) -> PageArguments:
    """The page that a connection's arguments ask for; raises BadInput for odd ones."""
    return page_arguments(given(first), given(after), given(last), given(before))


async def connect(
    info: Info,
    scope: tuple[object, ...],
    page: PageArguments,
    read: Callable[[Window], Awaitable[Slice[T]]],
) -> Connection[T]:
    """Read a page of the list that `scope` names and dress it as a connection.

    `scope` holds all that decides what the list holds besides the caller, who is added here.
    """
    cursors, bound = info.context.cursors, _bound(info, scope)
    after = None if page.cursor is None else cursors.open(bound, page.cursor)
    found = await read(Window(size=page.size, after=after, backward=page.backward))
    if len(found.entries) > _SHORT:
        await info.context.turns.take()
    seal = partial(cursors.seal, bound)
    edges = [_Entry(node, at, seal) for at, node in found.entries]
    return Connection(
        edges=cast("list[Edge[T]]", edges),
        nodes=[node for _, node in found.entries],
        page_info=_page_info(page, found, edges, seal),
    )


def positions(info: Info, scope: tuple[object, ...], cursors: Sequence[str]) -> tuple[str, ...]:
    """Where the cursors of a list lie; those of other lists lie nowhere."""
    bound, found = _bound(info, scope), []
    for cursor in cursors:
        with suppress(BadInput):
            found.append(info.context.cursors.open(bound, cursor))
    return tuple(found)


def _bound(info: Info, scope: tuple[object, ...]) -> str:
    return sha256(repr((info.context.caller.user_id, *scope)).encode()).hexdigest()


def _page_info(
    page: PageArguments, found: Slice[T], edges: "list[_Entry[T]]", seal: Callable[[str], str]
) -> PageInfo:
    start, end = (edges[0].cursor, edges[-1].cursor) if edges else (None, None)
    reached = None if found.reached is None else seal(found.reached)
    beyond = page.cursor is not None
    if page.backward:
        return PageInfo(
            has_next_page=beyond, has_previous_page=found.more, start_cursor=reached, end_cursor=end
        )
    return PageInfo(
        has_next_page=found.more, has_previous_page=beyond, start_cursor=start, end_cursor=reached
    )
