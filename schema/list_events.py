"""The events of lists that a client follows, and the subscriptions that send them."""

from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.change_log.follow import ListChange, ListEvent
from penstock.datastore.executions.records import Execution as ExecutionRecord
from penstock.datastore.executions.records import ExecutionState
from penstock.datastore.jobs.jobs import Job as JobRecord
from penstock.datastore.resources.follow_list import ResourceEvents
from penstock.datastore.roles import GroupPath
from penstock.resolvers.cursors import digest_of_list
from penstock.schema.core.context import Info, unset_to_none
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.jobs import Job
from penstock.schema.core.relay import GlobalId, parse_key
from penstock.schema.executions.executions import Execution
from penstock.schema.metrics.metrics import Metric
from penstock.schema.pipelines.pipelines import Pipeline

strawberry.enum(ListChange, description="The kind of an event of a list.")
describe_values(
    ListChange,
    {
        ListChange.CHANGED: "The object is new in the list, or it changed.",
        ListChange.REMOVED: "The object is gone, or no longer in the list.",
        ListChange.RESET: (
            "Read the list now, because the events tell of later changes only. It is the first "
            "event, and comes again where the client read too slowly or resumed too late."
        ),
    },
)
Event = TypeVar("Event")

GroupToFollow: TypeAlias = Annotated[
    GroupPath | None,
    strawberry.argument(description="The path of the group. The default is the caller's own."),
]
ChildGroupsToFollow: TypeAlias = Annotated[
    bool | None,
    strawberry.argument(
        description="Whether the list has what the groups below the group have, too."
    ),
]
AfterEvent: TypeAlias = Annotated[
    str | None,
    strawberry.argument(
        description="The `position` of the last event of an earlier subscription to the same "
        "list; it can be resumed within an hour."
    ),
]
CHANGE = "The kind of the event."
POSITION = "The place of the event, from which the subscription can be resumed."


class _FollowedPlace(NamedTuple):
    """The group whose list is followed, and the event after which the list is resumed."""

    group: GroupPath | None
    below: bool
    after: str | None

    @classmethod
    def of(cls, group: GroupPath | None, below: bool | None, after: str | None) -> "_FollowedPlace":
        return cls(unset_to_none(group), bool(below), unset_to_none(after))


@strawberry.type(description="An event of the list of a group's pipelines.")
class PipelineEvent:
    change: ListChange = strawberry.field(description=CHANGE)
    pipeline_id: strawberry.ID | None = strawberry.field(
        description="The global id of the pipeline; null for RESET."
    )
    pipeline: records.Pipeline | None = strawberry.field(
        graphql_type=Pipeline | None,
        description="The pipeline as it is now; null unless it CHANGED.",
    )
    position: str = strawberry.field(description=POSITION)


@strawberry.type(description="An event of the list of a group's metrics.")
class MetricEvent:
    change: ListChange = strawberry.field(description=CHANGE)
    metric_id: strawberry.ID | None = strawberry.field(
        description="The global id of the metric; null for RESET."
    )
    metric: records.Metric | None = strawberry.field(
        graphql_type=Metric | None, description="The metric as it is now; null unless it CHANGED."
    )
    position: str = strawberry.field(description=POSITION)


@strawberry.type(description="An event of the list of a group's executions.")
class ExecutionListEvent:
    change: ListChange = strawberry.field(description=CHANGE)
    execution_id: strawberry.ID | None = strawberry.field(
        description="The global id of the execution; null for RESET."
    )
    execution: ExecutionRecord | None = strawberry.field(
        graphql_type=Execution | None,
        description="The execution as it is now; null unless it CHANGED.",
    )
    position: str = strawberry.field(description=POSITION)


@strawberry.type
class ListSubscription:
    @strawberry.subscription(
        graphql_type=PipelineEvent,
        description="The changes of the list of a group's pipelines, by any caller and server, "
        "within about two seconds, at least once each. The first event is RESET unless the "
        "subscription resumes an earlier one. Of changes that wait for a slow client, one event "
        "tells the latest state.",
    )
    @staticmethod
    def pipelines_changed(
        info: Info,
        group: GroupToFollow = UNSET,
        include_child_groups: ChildGroupsToFollow = False,
        after: AfterEvent = UNSET,
    ) -> AsyncIterator[PipelineEvent]:
        def show(event: ListEvent, id: strawberry.ID | None, position: str) -> PipelineEvent:
            return PipelineEvent(
                change=event.change, pipeline_id=id, pipeline=event.record, position=position
            )

        place = _FollowedPlace.of(group, include_child_groups, after)
        events = info.context.session.pipeline_events
        return _follow_resources(info, "Pipeline", events, place, show)

    @strawberry.subscription(
        graphql_type=MetricEvent,
        description="The changes of the list of a group's metrics, as `pipelinesChanged`. A change "
        "of their values is none: follow `metricValuesChanged` for that.",
    )
    @staticmethod
    def metrics_changed(
        info: Info,
        group: GroupToFollow = UNSET,
        include_child_groups: ChildGroupsToFollow = False,
        after: AfterEvent = UNSET,
    ) -> AsyncIterator[MetricEvent]:
        def show(event: ListEvent, id: strawberry.ID | None, position: str) -> MetricEvent:
            return MetricEvent(
                change=event.change, metric_id=id, metric=event.record, position=position
            )

        place = _FollowedPlace.of(group, include_child_groups, after)
        events = info.context.session.metric_events
        return _follow_resources(info, "Metric", events, place, show)

    @strawberry.subscription(
        graphql_type=ExecutionListEvent,
        description="The changes of the list of a group's executions, as `pipelinesChanged`. With "
        "`states` an execution that is in none of them any more is REMOVED. Progress within a "
        "state is no event: follow `executionProgress` for that.",
    )
    @staticmethod
    def executions_changed(
        info: Info,
        group: GroupToFollow = UNSET,
        include_child_groups: ChildGroupsToFollow = False,
        states: Annotated[
            list[ExecutionState] | None,
            strawberry.argument(
                description="The states of the executions in the list. The default is any state."
            ),
        ] = UNSET,
        after: AfterEvent = UNSET,
    ) -> AsyncIterator[ExecutionListEvent]:
        context = info.context
        wanted = frozenset(unset_to_none(states) or ())
        below = bool(include_child_groups)
        list_identity = ("executionsChanged", unset_to_none(group), below, sorted(wanted))

        def show(event: ListEvent, id: strawberry.ID | None, position: str) -> ExecutionListEvent:
            return ExecutionListEvent(
                change=event.change, execution_id=id, execution=event.record, position=position
            )

        start = _open_position(info, list_identity, unset_to_none(after))
        events = context.session.execution_events.follow(
            context.changes.feed, unset_to_none(group), wanted, start, below=below
        )
        return _show_events(info, list_identity, "Execution", events, show)

    @strawberry.subscription(
        graphql_type=Job,
        description="The job in its present state, and again whenever it gets further. A client "
        "that reads slowly may miss steps but always gets the last. The stream completes when the "
        "job is over, or when the caller can no longer see it.",
    )
    @staticmethod
    def job_progress(
        info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="The global id.")]
    ) -> AsyncIterator[JobRecord]:
        return info.context.session.jobs.follow(info.context.changes, parse_key("Job", id))


def _follow_resources(
    info: Info,
    type_name: str,
    listed: ResourceEvents,
    place: _FollowedPlace,
    show: Callable[[ListEvent, strawberry.ID | None, str], Event],
) -> AsyncIterator[Event]:
    """Follow the list of a kind of resource."""
    list_identity = (f"{type_name.lower()}sChanged", place.group, place.below)
    start = _open_position(info, list_identity, place.after)
    events = listed.follow(info.context.changes.feed, place.group, start, below=place.below)
    return _show_events(info, list_identity, type_name, events, show)


def _open_position(info: Info, list_identity: tuple[Any, ...], after: str | None) -> int | None:
    """Read the position of an earlier event of this list; raises InvalidCursor for another one."""
    if after is None:
        return None
    return int(info.context.cursors.open(_digest(info, list_identity), after))


def _digest(info: Info, list_identity: tuple[Any, ...]) -> str:
    return digest_of_list(info.context.caller.user_id, list_identity)


async def _show_events(
    info: Info,
    list_identity: tuple[Any, ...],
    type_name: str,
    events: AsyncIterator[ListEvent],
    show: Callable[[ListEvent, strawberry.ID | None, str], Event],
) -> AsyncIterator[Event]:
    digest = _digest(info, list_identity)
    async for event in events:
        id = None if event.id is None else strawberry.ID(GlobalId(type_name, event.id).encode())
        yield show(event, id, info.context.cursors.seal(digest, str(event.position)))
