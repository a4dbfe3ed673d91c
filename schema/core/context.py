"""The info of a request, page arguments, and types that several areas share."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import strawberry

from penstock.datastore import records
from penstock.datastore.errors import BadArgument
from penstock.datastore.manifest.consumers import ConsumerStart
from penstock.datastore.manifest.records import Action, RunState, Stage
from penstock.datastore.roles import GroupPath, Role
from penstock.datastore.tag_search.tags import MAX_DEPTH, MAX_LENGTH, MAX_VALUE
from penstock.resolvers.context import Context
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.text_bounds import text_metadata

DEFAULT_PAGE_SIZE: Final = 20
MAX_PAGE_SIZE: Final = 100


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
    """Check a connection's arguments; BadArgument names the argument that is wrong.

    `first` goes with `after` and `last` with `before`. Without a size, the page has 20 edges.
    """
    if first is not None and last is not None:
        raise BadArgument("Give `first` or `last`, not both.")
    if last is None:
        if before is not None:
            raise BadArgument("`before` goes with `last`.", ("before",))
        return PageArguments(_check_size("first", first), after)
    if after is not None:
        raise BadArgument("`after` goes with `first`.", ("after",))
    return PageArguments(_check_size("last", last), before, backward=True)


def _check_size(argument: str, size: int | None) -> int:
    if size is None:
        return DEFAULT_PAGE_SIZE
    if not 1 <= size <= MAX_PAGE_SIZE:
        raise BadArgument(f"`{argument}` is 1 to {MAX_PAGE_SIZE}, not {size}.", (argument,))
    return size


T = TypeVar("T")


Info: TypeAlias = strawberry.Info[Context, None]

GroupArgument = Annotated[
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
        "The progress of a manifest run. In the manifest table itself, tools that read "
        "only the documented attributes see `PROCESSING` as `NEW`, `LOADING` as "
        "`PROCESSED`, and `FAILED` and `GIVEN_UP` as the state before them."
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
        RunState.FAILED: "A Transformer or a Loader failed to process the run.",
        RunState.GIVEN_UP: (
            "The run failed as often as its manifest allows: no worker tries it again until "
            "`retryRun` lets them."
        ),
    },
)
describe_values(
    Stage,
    {
        Stage.TRANSFORM: "The stage in which a Transformer reads the run and writes an output.",
        Stage.LOAD: "The stage in which a Loader loads the output.",
    },
)
strawberry.enum(
    ConsumerStart, description="The first of the runs of a manifest that a new consumer gets."
)
describe_values(
    ConsumerStart,
    {
        ConsumerStart.BEGINNING: "All runs that are processed, and those that will be.",
        ConsumerStart.NOW: "The runs that are processed from now on.",
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
        Action.TAG: "A user set the tags and the batch of the run.",
        Action.COPY: "The run was copied from the manifest that this one consumes.",
        Action.FAIL: "The worker reported that it failed.",
        Action.GIVE_UP: "The last attempt ended with its lease, and nobody may try again.",
        Action.RETRY: "A user let workers try the run again at once.",
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
        metadata=text_metadata(MAX_LENGTH),
        description="The key as its author wrote it. A resource has each key at most once.",
    )
    value: str = strawberry.field(
        metadata=text_metadata(MAX_VALUE), description="The value as its author wrote it."
    )


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


def input_records(values: list[Any] | None) -> tuple[Any, ...]:
    """Return the records of a list of inputs; none if there is no list."""
    return tuple(value.record() for value in values or ())


def unset_to_none(value: T | None) -> T | None:
    """Return the value of an optional argument; None if it was left out."""
    return None if value is strawberry.UNSET else value
