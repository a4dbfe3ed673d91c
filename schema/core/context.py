"""The context of a request, page arguments, sealed cursors, and types that several areas share."""

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
from penstock.schema.core.descriptions import describe_values

DEFAULT_PAGE_SIZE: Final = 20
MAX_PAGE_SIZE: Final = 100
MAX_CURSOR_LENGTH: Final = 4_096
_SEAL_BYTES: Final = 12
_MIN_KEY_BYTES: Final = 16


class Cursors:
    """Seals positions in lists, so that a cursor opens only in the list that gave it.

    A scope names everything that decides the content of the list: the list, its partition, a digest
    of the filter, and the rights of the caller. Clients can read the position in a cursor but
    cannot make a cursor themselves.
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        if len(key) < _MIN_KEY_BYTES:
            raise ValueError(f"The cursor key needs at least {_MIN_KEY_BYTES} bytes.")
        self._key = key

    def seal(self, scope: str, position: str) -> str:
        """Make the cursor of a position: 12 bytes of HMAC and the position, in base64url."""
        payload = position.encode()
        return urlsafe_b64encode(self._seal(scope, payload) + payload).rstrip(b"=").decode()

    def open(self, scope: str, cursor: str) -> str:
        """Read the position of a cursor; BadInput unless this key sealed it for the same scope."""
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
    """Decode base64url that encodes to the same text again, so that a position has one cursor."""
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
    """A page to read: `size` edges after `cursor`, or before it when `backward`."""

    size: int = DEFAULT_PAGE_SIZE
    cursor: str | None = None
    backward: bool = False


def page_arguments(
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> PageArguments:
    """Check a connection's arguments; BadInput names the argument that is wrong.

    `first` goes with `after` and `last` with `before`. Without a size, the page has 20 edges.
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
    """Lets only one long list of an answer be assembled at a time, with other work in between."""

    @cached_property
    def _taken(self) -> Lock:
        return Lock()

    async def take(self) -> None:
        """Wait for a turn, which lasts until the caller awaits something else."""
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
    strawberry.argument(
        description="The path of the group to look in. The default is the caller's default group."
    ),
]
First = Annotated[
    int | None,
    strawberry.argument(
        description=(
            "The number of entries to read from the start of the list, 1 to 100. The default is 20."
        )
    ),
]
After = Annotated[
    str | None,
    strawberry.argument(
        description="The cursor after which the page starts. It cannot be given with `last`."
    ),
]
Last = Annotated[
    int | None,
    strawberry.argument(
        description=(
            "The number of entries to read from the end of the list, 1 to 100. It cannot be "
            "given with `first`."
        )
    ),
]
Before = Annotated[
    str | None,
    strawberry.argument(
        description="The cursor before which the page ends. It can be given with `last` only."
    ),
]

strawberry.enum(
    records.State,
    description=(
        "The state of a resource. It decides whether the resource can be used and changed."
    ),
)
strawberry.enum(records.ValueType, description="The type of the values of a column.")
strawberry.enum(
    Role,
    description=(
        "The role of a caller at a group and at all groups below it. Each role includes "
        "the roles before it."
    ),
)
strawberry.enum(
    RunState,
    description=(
        "The progress of a manifest run. In the manifest table itself, tools that know "
        "the documented attributes alone see `PROCESSING` as `NEW`, `LOADING` as "
        "`PROCESSED`, and `FAILED` as the state before it."
    ),
)
strawberry.enum(Stage, name="RunStage", description="The two stages of the work on a manifest run.")
strawberry.enum(
    Action,
    name="RunAction",
    description="An action on a manifest run, as the history of the run records it.",
)

describe_values(
    records.State,
    {
        records.State.ENABLED: "The resource can be used and changed.",
        records.State.FROZEN: (
            "Other resources can use the resource, but it can be neither run by itself nor changed."
        ),
        records.State.DISABLED: "The resource can be read, but it can be neither used nor changed.",
    },
)
describe_values(
    records.ValueType,
    {
        records.ValueType.STRING: "A string of characters.",
        records.ValueType.NUMBER: "An exact decimal number.",
        records.ValueType.BOOLEAN: "Either true or false.",
        records.ValueType.TIMESTAMP: "A point in time, as text.",
    },
)
describe_values(
    Role,
    {
        Role.READER: "The caller can read the resources of the group.",
        Role.CONTRIBUTOR: "The caller can also create and update resources of the group.",
        Role.ADMIN: (
            "The caller can also grant, revoke and delete resources of the group, and create "
            "and delete groups."
        ),
    },
)
describe_values(
    RunState,
    {
        RunState.NEW: "The run waits for a Transformer.",
        RunState.PROCESSING: "A Transformer works on the run.",
        RunState.PROCESSED: "The Transformer finished its output, and the run waits for a Loader.",
        RunState.LOADING: "A Loader works on the run.",
        RunState.LOADED: "The Loader finished the run.",
        RunState.FAILED: "A Transformer or a Loader gave the run up with an error.",
    },
)
describe_values(
    Stage,
    {
        Stage.TRANSFORM: "The stage in which a Transformer reads the run and writes an output.",
        Stage.LOAD: "The stage in which a Loader loads the output.",
    },
)
describe_values(
    Action,
    {
        Action.DISCOVER: "The run was entered in the manifest.",
        Action.IMPORT: "The run was imported into the manifest.",
        Action.CLAIM: "A worker claimed the run for one stage.",
        Action.HEARTBEAT: "The worker renewed its lease of the run.",
        Action.PROCESSED: "The Transformer reported that its output is complete.",
        Action.LOADED: "The Loader reported that the output is loaded.",
        Action.FAIL: "The worker reported that it failed.",
        Action.SKIP: "A user marked the run, so that no worker claims it.",
        Action.UNSKIP: "A user removed the mark that kept workers from the run.",
        Action.RECOVER: "A user marked the run as processed, because its output is complete.",
        Action.RESET: "A user set the run back to new, so that it is transformed again.",
        Action.RELOAD: "A user set a loaded run back to processed, so that it is loaded again.",
    },
)


@strawberry.enum(description="The order of a list by the time of creation.")
class Order(Enum):
    NEWEST_FIRST = "NEWEST_FIRST"
    OLDEST_FIRST = "OLDEST_FIRST"


describe_values(
    Order,
    {
        Order.NEWEST_FIRST: "The entries that were created last come first.",
        Order.OLDEST_FIRST: "The entries that were created first come first.",
    },
)


@strawberry.type(description="A role that a caller has at a group and at all groups below it.")
class GroupRole:
    group: GroupPath = strawberry.field(
        description="The path of the topmost group at which the role applies."
    )
    role: Role = strawberry.field(description="The role that the caller has there.")


@strawberry.type(
    description=(
        "A key and a value that mark a resource, so that it can be found. A value can "
        "have levels, separated by `/`."
    )
)
class Tag:
    key: str = strawberry.field(
        description="The key as its author wrote it. A resource has each key at most once."
    )
    value: str = strawberry.field(description="The value as its author wrote it.")


@strawberry.input(
    description=(
        "A key and a value that mark a resource, so that it can be found. A value can "
        "have levels, separated by `/`."
    )
)
class TagInput:
    key: str = strawberry.field(description=f"The key, of 1 to {MAX_LENGTH} characters.")
    value: str = strawberry.field(
        description=f"The value, of 1 to {MAX_DEPTH} levels with 1 to {MAX_LENGTH} characters each."
    )

    def record(self) -> records.Tag:
        return records.Tag(key=self.key, value=self.value)


def given(value: T | None) -> T | None:
    """Return the value of an optional argument; None if it was left out."""
    return None if value is strawberry.UNSET else value
