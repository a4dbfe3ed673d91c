"""Relay connections, and Relay nodes with their global ids.

Cursors are sealed by `resolvers/cursors.py`, so that clients cannot make them up.
A global id is the base64 of `Type:key`.
"""

import binascii
from base64 import urlsafe_b64decode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, cast

import msgspec
import strawberry

from penstock.datastore.audio.names import album_place_of, artist_place
from penstock.datastore.audio.records import Album, Artist, Audio
from penstock.datastore.audio.records import BucketConnection as StorageConnection
from penstock.datastore.errors import BadArgument, NotFound
from penstock.datastore.executions.records import Execution
from penstock.datastore.jobs.jobs import Job
from penstock.datastore.kept_rows.records import KeptRow
from penstock.datastore.manifest.records import Manifest, Run
from penstock.datastore.playlists.records import Playlist
from penstock.datastore.records import Group, Resource
from penstock.datastore.table.items import record_type
from penstock.datastore.table.layout import KINDS
from penstock.datastore.table.pages import Slice, Window
from penstock.datastore.text import encode_global_id
from penstock.graphql_jit import reads_attributes
from penstock.graphql_jit.projection import ReadableAttributes
from penstock.resolvers.cursors import MAX_CURSOR_LENGTH, digest_of_list
from penstock.schema.core.context import (
    After,
    Before,
    First,
    Info,
    Last,
    PageArguments,
    page_arguments,
    unset_to_none,
)
from penstock.schema.core.text_bounds import text_metadata

T = TypeVar("T")

_SHORT_PAGE = 10


@strawberry.type(description="The position of a page in its list.")
class PageInfo:
    has_next_page: bool = strawberry.field(description="True if more entries may follow this page.")
    has_previous_page: bool = strawberry.field(
        description="True if more entries may come before this page."
    )
    start_cursor: str | None = strawberry.field(
        metadata=text_metadata(MAX_CURSOR_LENGTH),
        description="The cursor to give as `before` to read the page before this one.",
    )
    end_cursor: str | None = strawberry.field(
        metadata=text_metadata(MAX_CURSOR_LENGTH),
        description=(
            "The cursor to give as `after` to read the page after this one. A page can have "
            "a next page though it has few entries or none, if the search for them ended "
            "early."
        ),
    )


@strawberry.type(description="An entry of a list together with its cursor.")
class Edge(Generic[T]):
    node: T = strawberry.field(description="The entry of the list.")
    cursor: str = strawberry.field(
        metadata=text_metadata(MAX_CURSOR_LENGTH),
        description="The position of the entry in the list, as `after` and `before` take it.",
    )


@strawberry.type(description="A page of a list.")
class Connection(Generic[T]):
    edges: list[Edge[T]] = strawberry.field(
        description="The entries of the page with their cursors, in the order of the list."
    )
    nodes: list[T] = strawberry.field(
        description="The entries of the page without cursors, in the same order as `edges`."
    )
    page_info: PageInfo = strawberry.field(
        description="Whether more pages exist, and the cursors at both ends of the page."
    )


class _LazyEdge(msgspec.Struct, Generic[T], frozen=True):
    """An edge that computes its cursor when it is read; most requests read no cursors of edges."""

    node: T
    position: str
    seal_cursor: Callable[[str], str]

    @property
    def cursor(self) -> str:
        return self.seal_cursor(self.position)


def page_from_arguments(first: First, after: After, last: Last, before: Before) -> PageArguments:
    """Read the page that a connection's arguments request; BadArgument if they are inconsistent."""
    return page_arguments(
        unset_to_none(first), unset_to_none(after), unset_to_none(last), unset_to_none(before)
    )


async def read_connection(
    info: Info,
    list_identity: tuple[object, ...],
    page: PageArguments,
    read_page: Callable[[Window], Awaitable[Slice[T]]],
) -> Connection[T]:
    """Read a page of a list and return it as a connection.

    `list_identity` holds everything that decides the content of the list, except the caller, who is
    added here. Cursors of a list with another identity are refused.
    """
    cursors, digest = info.context.cursors, _list_digest(info, list_identity)
    after = None if page.cursor is None else cursors.open(digest, page.cursor)
    result = await read_page(Window(size=page.size, after=after, backward=page.backward))
    if len(result.entries) > _SHORT_PAGE:
        await info.context.turns.wait_for_turn()
    seal_cursor = partial(cursors.seal, digest)
    edges = [_LazyEdge(node, position, seal_cursor) for position, node in result.entries]
    return Connection(
        edges=cast("list[Edge[T]]", edges),
        nodes=[node for _, node in result.entries],
        page_info=_page_info(page, result, edges, seal_cursor),
    )


def read_positions(
    info: Info, list_identity: tuple[object, ...], cursors: Sequence[str]
) -> tuple[str, ...]:
    """Return the positions of the cursors of a list; cursors of other lists are ignored."""
    digest = _list_digest(info, list_identity)
    positions = []
    for cursor in cursors:
        with suppress(BadArgument):
            positions.append(info.context.cursors.open(digest, cursor))
    return tuple(positions)


def _list_digest(info: Info, list_identity: tuple[object, ...]) -> str:
    given = tuple(unset_to_none(part) for part in list_identity)
    return digest_of_list(info.context.caller.user_id, given)


def _page_info(
    page: PageArguments,
    result: Slice[T],
    edges: "list[_LazyEdge[T]]",
    seal_cursor: Callable[[str], str],
) -> PageInfo:
    first_cursor, last_cursor = (edges[0].cursor, edges[-1].cursor) if edges else (None, None)
    # The search may have gone further than the last entry that it found.
    search_end = None if result.reached is None else seal_cursor(result.reached)
    is_continued = page.cursor is not None
    if page.backward:
        return PageInfo(
            has_next_page=is_continued,
            has_previous_page=result.more,
            start_cursor=search_end,
            end_cursor=last_cursor,
        )
    return PageInfo(
        has_next_page=result.more,
        has_previous_page=is_continued,
        start_cursor=first_cursor,
        end_cursor=search_end,
    )


MAX_ID_LENGTH = 1536

NodeRecord: TypeAlias = (
    Resource
    | Group
    | Job
    | Execution
    | Audio
    | Artist
    | Album
    | StorageConnection
    | Playlist
    | Run
    | Manifest
    | KeptRow
)

_TYPES_AND_KEYS: Mapping[type, tuple[str, Callable[[Any], str]]] = {
    Album: ("Album", album_place_of),
    Artist: ("Artist", lambda artist: artist_place(artist.name)),
    Audio: ("Audio", lambda audio: audio.id),
    StorageConnection: ("Storage", lambda connection: connection.id),
    Execution: ("Execution", lambda execution: execution.id),
    Group: ("Group", lambda group: group.path),
    Job: ("Job", lambda job: job.id),
    KeptRow: ("KeptRow", lambda row: f"{row.pipeline_id}:{row.digest}"),
    Manifest: ("Manifest", lambda manifest: manifest.full_name.text),
    Run: ("Run", lambda run: run.name.text),
    **{kind.record: (kind.title, lambda resource: resource.id) for kind in KINDS},
    **{
        kind.version_record: (kind.version_title, lambda one: f"{one.id}:{one.version}")
        for kind in KINDS
    },
    Playlist: ("Playlist", lambda playlist: playlist.id),
}
"""The GraphQL type of a record, and the function that reads its key, by the record's type."""


_TYPES_WITH_ID_KEY = (
    "Audio",
    "Execution",
    "Job",
    "Playlist",
    "Storage",
    *(kind.title for kind in KINDS),
)
_KEY_ATTRIBUTES: ReadableAttributes = {
    **dict.fromkeys(_TYPES_WITH_ID_KEY, ("id",)),
    **{kind.version_title: ("id", "version") for kind in KINDS},
}
"""The attributes of a record from which its key is made, by GraphQL type."""


class GlobalId(NamedTuple):
    """The two parts of a global id: the type, and the key of the object in that type."""

    type: str
    key: str

    def encode(self) -> strawberry.ID:
        return strawberry.ID(encode_global_id(self.type, self.key))


@strawberry.interface(description="An object with a global id.")
class Node:
    @strawberry.field(
        description=(
            "The global id of the object. No other object of any type has the same id. "
            "Clients must not interpret it."
        )
    )
    @reads_attributes(_KEY_ATTRIBUTES)
    @staticmethod
    def id(node: strawberry.Parent[NodeRecord]) -> strawberry.ID:
        return _global_id_of(node).encode()


def record_type_check(record: type[NodeRecord]) -> Any:
    """Make the `is_type_of` of a type; records of versions derive from those of the latest."""
    return staticmethod(lambda value, _info: record_type(value) is record)


def _global_id_of(node: NodeRecord) -> GlobalId:
    title, key = _TYPES_AND_KEYS[record_type(node)]
    return GlobalId(title, key(node))


def parse_global_id(text: str) -> GlobalId | None:
    """Split a global id into its parts; None for a text that the server never returned."""
    if len(text) > MAX_ID_LENGTH:
        return None
    try:
        type, separator, key = urlsafe_b64decode(text.encode()).decode().partition(":")
    except (binascii.Error, UnicodeError):
        return None
    id = GlobalId(type, key)
    return id if separator and id.encode() == text else None


def parse_keys(type: str, texts: Sequence[str], field: str) -> list[str]:
    """Read the keys of a list of global ids; NotFound with the positions of all other texts."""
    ids = [parse_global_id(text) for text in texts]
    keys = [id.key for id in ids if id is not None and id.type == type]
    if len(keys) < len(texts):
        missing = [n for n, id in enumerate(ids) if id is None or id.type != type]
        raise NotFound.in_list(type, field, missing)
    return keys


def parse_key(type: str, text: str) -> str:
    """Read the key from a global id of the type; NotFound for any other text."""
    id = parse_global_id(text)
    if id is None or id.type != type:
        raise NotFound(f"There is no {type} with this id.", ("id",))
    return id.key
