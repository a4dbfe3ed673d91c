"""The query field that lists the executions of groups."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.errors import BadArgument, blame_field
from penstock.datastore.executions import records
from penstock.datastore.executions.lists.group_listing import (
    ANY_DURATION,
    DurationRange,
    ExecutionOrder,
    GroupExecutions,
    TimeSpan,
)
from penstock.datastore.executions.lists.state_counts import MOST_COUNTED, StateCount
from penstock.datastore.roles import GroupPath
from penstock.resolvers import executions
from penstock.schema.core.context import After, Before, First, Info, Last, unset_to_none
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.relay import Connection, page_from_arguments, parse_key, read_connection
from penstock.schema.core.scalars import DateTime
from penstock.schema.engine.cost import price_metadata
from penstock.schema.executions.executions import Execution
from penstock.schema.executions.states import ExecutionState
from penstock.schema.resources.kind_queries import LIST_RULES
from penstock.schema.resources.queries import TagFilter

strawberry.enum(ExecutionOrder, description="The order of a list of executions.")
describe_values(
    ExecutionOrder,
    {
        ExecutionOrder.NEWEST_FIRST: "The executions that were created last come first.",
        ExecutionOrder.OLDEST_FIRST: "The executions that were created first come first.",
        ExecutionOrder.ENDED_LAST: (
            "The executions that ended last come first; those that have not ended are left out."
        ),
    },
)

_Group = Annotated[
    GroupPath | None,
    strawberry.argument(
        description="The path of the group whose pipelines' executions are listed. The default is "
        "the caller's default group, but with `pipeline` any group."
    ),
]
_ChildGroups = Annotated[
    bool | None,
    strawberry.argument(
        description="Whether to include the executions of pipelines of the groups below. The "
        "default is not to include them."
    ),
]
StatesArgument = Annotated[
    list[ExecutionState] | None,
    strawberry.argument(
        description="The states of which the executions must have one. The default is any state."
    ),
]
_Pipeline = Annotated[
    strawberry.ID | None,
    strawberry.argument(
        description="The global id of the pipeline of the executions. The default is any pipeline."
    ),
]
ExecutionTagsArgument = Annotated[
    TagFilter | None,
    strawberry.argument(
        description="The tags that the executions must have. The default is no restriction."
    ),
]
_Creator = Annotated[
    strawberry.ID | None,
    strawberry.argument(
        description="The id of the user who created the executions. The default is any user."
    ),
]
_CreatedFrom = Annotated[
    DateTime | None,
    strawberry.argument(
        description="The time from which on the executions were created, inclusive."
    ),
]
_CreatedTo = Annotated[
    DateTime | None,
    strawberry.argument(
        description="The time before which the executions were created, exclusive."
    ),
]
_EndedFrom = Annotated[
    DateTime | None,
    strawberry.argument(description="The time from which on the executions ended, inclusive."),
]
_EndedTo = Annotated[
    DateTime | None,
    strawberry.argument(description="The time before which the executions ended, exclusive."),
]


@strawberry.input(
    description="A range of the durations of executions, in seconds, as `durationSeconds` has "
    "them. Only executions that have ended have a place in it, and of them those that a worker "
    "started."
)
class DurationFilter:
    at_least: float | None = strawberry.field(
        default=UNSET, description="The shortest duration, inclusive. The default is any."
    )
    at_most: float | None = strawberry.field(
        default=UNSET, description="The longest duration, inclusive. The default is any."
    )

    def range(self) -> DurationRange:
        """The range; raises BadArgument for a negative duration."""
        given = unset_to_none(self.at_least), unset_to_none(self.at_most)
        for name, seconds in zip(("atLeast", "atMost"), given, strict=True):
            if seconds is not None and seconds < 0:
                raise BadArgument(f"`{name}` of a duration cannot be negative.")
        return DurationRange(*given)


_Duration = Annotated[
    DurationFilter | None,
    strawberry.argument(
        description="The durations of the executions. The default is no restriction. An end of "
        "the range restricts the list to executions that have ended."
    ),
]
_Order = Annotated[
    ExecutionOrder | None,
    strawberry.argument(description="The order of the executions. The default is newest first."),
]


COUNTS_COST = 20


@strawberry.type(description="The number of a group's executions in one state.")
class ExecutionCount:
    state: ExecutionState = strawberry.field(description="The state of the executions.")
    count: int = strawberry.field(description="The number of executions in the state.")
    is_complete: bool = strawberry.field(
        description=f"Whether all are counted; false above {MOST_COUNTED:,} in a state, and where "
        "counting would cost more than a page of a list may."
    )


@strawberry.type
class GroupExecutionQuery:
    @strawberry.field(
        graphql_type=Connection[Execution],
        description=f"List the executions of a group's pipelines. {LIST_RULES}",
    )
    @staticmethod
    async def executions(
        info: Info,
        group: _Group = UNSET,
        include_child_groups: _ChildGroups = False,
        states: StatesArgument = UNSET,
        pipeline: _Pipeline = UNSET,
        tags: ExecutionTagsArgument = UNSET,
        created_by: _Creator = UNSET,
        created_from: _CreatedFrom = UNSET,
        created_to: _CreatedTo = UNSET,
        ended_from: _EndedFrom = UNSET,
        ended_to: _EndedTo = UNSET,
        duration: _Duration = UNSET,
        order: _Order = ExecutionOrder.NEWEST_FIRST,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Execution]:
        of_pipeline = _parse_pipeline(unset_to_none(pipeline))
        named, lasting = unset_to_none(group), unset_to_none(duration)
        listed = GroupExecutions(
            group=named if of_pipeline else named or info.context.caller.default_group,
            include_child_groups=bool(include_child_groups),
            states=frozenset(unset_to_none(states) or ()),
            pipeline=of_pipeline,
            tags=(unset_to_none(tags) or TagFilter()).filter(),
            created_by=unset_to_none(created_by),
            created=TimeSpan(*map(parse_time, (created_from, created_to))),
            ended=TimeSpan(*map(parse_time, (ended_from, ended_to))),
            duration=ANY_DURATION if lasting is None else lasting.range(),
            order=unset_to_none(order) or ExecutionOrder.NEWEST_FIRST,
        )
        return await read_connection(
            info,
            ("executions of groups", replace(listed, states=frozenset()), sorted(listed.states)),
            page_from_arguments(first, after, last, before),
            lambda window: executions.list_of_groups(info.context, listed, window),
        )

    @strawberry.field(
        graphql_type=list[ExecutionCount],
        description="Count the executions of a group's pipelines in each state; states without "
        "any have the count 0.",
        metadata=price_metadata(COUNTS_COST),
    )
    @staticmethod
    async def execution_counts(
        info: Info,
        group: _Group = UNSET,
        include_child_groups: _ChildGroups = False,
        states: StatesArgument = UNSET,
        pipeline: _Pipeline = UNSET,
        created_from: _CreatedFrom = UNSET,
        created_to: _CreatedTo = UNSET,
    ) -> list[StateCount]:
        of_pipeline = _parse_pipeline(unset_to_none(pipeline))
        named = unset_to_none(group)
        listed = GroupExecutions(
            group=named if of_pipeline else named or info.context.caller.default_group,
            include_child_groups=bool(include_child_groups),
            states=frozenset(unset_to_none(states) or ()),
            pipeline=of_pipeline,
            created=TimeSpan(*map(parse_time, (created_from, created_to))),
        )
        return await info.context.session.executions.counting.by_state(listed)


def _parse_pipeline(id: str | None) -> str | None:
    with blame_field("pipeline"):
        return None if id is None else parse_key("Pipeline", id)


def parse_time(text: str | None) -> datetime | None:
    """Parse a time of an argument; None where it is left out."""
    given = unset_to_none(text)
    return None if given is None else datetime.fromisoformat(given)
