"""What all types share: the request's info, page arguments and tags."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Final, TypeAlias, TypeVar

import strawberry

from penstock.datastore import records
from penstock.datastore.errors import BadInput
from penstock.datastore.manifest.records import Action, RunState, Stage
from penstock.datastore.roles import GroupPath, Role
from penstock.datastore.tag_search.tags import MAX_DEPTH, MAX_LENGTH
from penstock.resolvers.context import Context

DEFAULT_PAGE_SIZE: Final = 20
MAX_PAGE_SIZE: Final = 100


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


Info: TypeAlias = strawberry.Info[Context, None]

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
