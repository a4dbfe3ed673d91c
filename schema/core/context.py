"""Page arguments and the sealed cursors that connections hand out.

What all types share: the request's info, page arguments and tags.
"""

import binascii
import hmac
from asyncio import Lock, sleep
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Annotated, Final, TypeAlias, TypeVar

import msgspec
import strawberry

from penstock.datastore import records
from penstock.datastore.errors import BadInput
from penstock.datastore.manifest.records import Action, RunState, Stage
from penstock.datastore.roles import Caller, GroupPath, Role
from penstock.datastore.store import Store
from penstock.datastore.tag_search.tags import MAX_DEPTH, MAX_LENGTH
from penstock.resolvers.context import Context
from penstock.resolvers.loaders import Loaders

DEFAULT_PAGE_SIZE: Final = 20
MAX_PAGE_SIZE: Final = 100
MAX_CURSOR_LENGTH: Final = 4_096
_SEAL_BYTES: Final = 12
_MIN_KEY_BYTES: Final = 16


class Cursors:
    """Seals positions in lists, so that a cursor opens only in the list that gave it.

    A scope names all that decides what the list holds: list, partition, digest of the filter, and
    what the caller may see. Positions can be read by whoever holds the cursor; they cannot be made.
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        if len(key) < _MIN_KEY_BYTES:
            raise ValueError(f"The cursor key needs at least {_MIN_KEY_BYTES} bytes.")
        self._key = key

    def seal(self, scope: str, position: str) -> str:
        """Make the cursor of a position: 12 bytes of HMAC and the position, base64url."""
        payload = position.encode()
        return urlsafe_b64encode(self._seal(scope, payload) + payload).rstrip(b"=").decode()

    def open(self, scope: str, cursor: str) -> str:
        """Read the position back; BadInput unless this key sealed it for this very scope."""
        raw = _decoded(cursor)
        seal, payload = raw[:_SEAL_BYTES], raw[_SEAL_BYTES:]
        if not hmac.compare_digest(seal, self._seal(scope, payload)):
            raise _invalid()
        return payload.decode()

    def _seal(self, scope: str, payload: bytes) -> bytes:
        bound = scope.encode()
        message = b"%d:%b%b" % (len(bound), bound, payload)
        return hmac.digest(self._key, message, "sha256")[:_SEAL_BYTES]


def _decoded(cursor: str) -> bytes:
    """Decode base64url that re-encodes to itself: one position has one cursor."""
    if len(cursor) > MAX_CURSOR_LENGTH or not cursor.isascii():
        raise _invalid()
    try:
        raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except binascii.Error:
        raise _invalid() from None
    if urlsafe_b64encode(raw).rstrip(b"=").decode() != cursor:
        raise _invalid()
    return raw


def _invalid() -> BadInput:
    return BadInput("Invalid cursor.")


@dataclass(frozen=True, slots=True)
class PageArguments:
    """A page to read: `size` edges behind `cursor`, walking from the end when `backward`."""

    size: int = DEFAULT_PAGE_SIZE
    cursor: str | None = None
    backward: bool = False


def page_arguments(
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> PageArguments:
    """Settle a connection's arguments; BadInput names the one that cannot stand.

    `first` goes with `after` and `last` with `before`; with neither size, the first 20 are meant.
    """
    if first is not None and last is not None:
        raise BadInput("Give `first` or `last`, not both.")
    if last is None:
        if before is not None:
            raise BadInput("`before` goes with `last`.", ("before",))
        return PageArguments(_size("first", first), after)
    if after is not None:
        raise BadInput("`after` goes with `first`.", ("after",))
    return PageArguments(_size("last", last), before, backward=True)


def _size(argument: str, size: int | None) -> int:
    if size is None:
        return DEFAULT_PAGE_SIZE
    if not 1 <= size <= MAX_PAGE_SIZE:
        raise BadInput(f"`{argument}` is 1 to {MAX_PAGE_SIZE}, not {size}.", (argument,))
    return size


T = TypeVar("T")


class Turns:
    """Lets the long lists of an answer be put together one by one, and other work in between."""

    @cached_property
    def _taken(self) -> Lock:
        return Lock()

    async def take(self) -> None:
        """Wait for a turn; it lasts until the next time the caller awaits anything."""
        async with self._taken:
            await sleep(0)


class RequestContext(Context, frozen=True, kw_only=True):
    """The resolvers' context and what only the schema needs."""

    cursors: Cursors
    turns: Turns = msgspec.field(default_factory=Turns)

    @classmethod
    def open(cls, store: Store, caller: Caller, cursors: Cursors) -> "RequestContext":
        """Make the context of one request; loaders need the request's event loop."""
        view = store.seen_by(caller)
        return cls(view, Loaders(view), cursors=cursors)


Info: TypeAlias = strawberry.Info[RequestContext, None]

InGroup = Annotated[
    GroupPath | None,
    strawberry.argument(description="The caller's default group if absent."),
]
First = Annotated[
    int | None, strawberry.argument(description="How many from the start, 1 to 100; 20 if absent.")
]
After = Annotated[
    str | None, strawberry.argument(description="The cursor to start behind; goes with `first`.")
]
Last = Annotated[int | None, strawberry.argument(description="How many from the end, 1 to 100.")]
Before = Annotated[
    str | None, strawberry.argument(description="The cursor to end before; goes with `last`.")
]

strawberry.enum(
    records.State,
    description="Whether a resource may be used. Where not, only its state can change.",
)
strawberry.enum(records.ValueType, description="The type of a value in a row.")
strawberry.enum(Role, description="What a caller may do; each includes the one before.")
strawberry.enum(
    RunState,
    description="How far a run is. Readers who know the documented attributes alone take "
    "PROCESSING for NEW, LOADING for PROCESSED, and FAILED for what it was before.",
)
strawberry.enum(Stage, name="RunStage", description="The two pieces of work on a run.")
strawberry.enum(Action, name="RunAction", description="What can be done to a run.")


@strawberry.enum(description="The order of a list by time of creation.")
class Order(Enum):
    NEWEST_FIRST = "NEWEST_FIRST"
    OLDEST_FIRST = "OLDEST_FIRST"


@strawberry.type(description="A role at a group and below it.")
class GroupRole:
    group: GroupPath = strawberry.field(description="The topmost group where it holds.")
    role: Role = strawberry.field(description="What it allows.")


@strawberry.type(description="A tag; the levels of a hierarchical value are joined by `/`.")
class Tag:
    key: str = strawberry.field(description="As written; a resource has each key once.")
    value: str = strawberry.field(description="As written.")


@strawberry.input(description="A tag; the levels of a hierarchical value are joined by `/`.")
class TagInput:
    key: str = strawberry.field(description=f"1 to {MAX_LENGTH} characters.")
    value: str = strawberry.field(
        description=f"1 to {MAX_DEPTH} levels of 1 to {MAX_LENGTH} characters each."
    )

    def record(self) -> records.Tag:
        return records.Tag(key=self.key, value=self.value)


def given(value: T | None) -> T | None:
    """An optional argument's value: None also where it was left out."""
    return None if value is strawberry.UNSET else value
