"""What all types share: the request's info, page arguments and tags."""

from asyncio import Lock, sleep
from enum import Enum
from functools import cached_property
from typing import Annotated, TypeAlias, TypeVar

import msgspec
import strawberry

from penstock.datastore import records
from penstock.datastore.access import Caller, Role
from penstock.datastore.manifest.records import Action, RunState, Stage
from penstock.datastore.paths import GroupPath
from penstock.datastore.store import Store
from penstock.datastore.tags import MAX_DEPTH, MAX_LENGTH
from penstock.resolvers.context import Context
from penstock.resolvers.loaders import Loaders
from penstock.schema.cursors import Cursors

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
