"""The fields of a pipeline that list its executions, and the tags in use on them."""

from datetime import datetime
from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.executions.listing import ListedExecutions
from penstock.datastore.executions.records import Execution as ExecutionRecord
from penstock.datastore.executions.records import ExecutionState
from penstock.datastore.filters import TagFilter as Filter
from penstock.execution import attributes_asked
from penstock.resolvers import executions
from penstock.schema.common import After, Before, First, Info, Last, Order, given
from penstock.schema.connections import Connection, connect, page_of
from penstock.schema.executions import Execution
from penstock.schema.scalars import DateTime
from penstock.schema.tags import TagFilter, TagKey, TagValue

WithTags = Annotated[TagFilter | None, strawberry.argument(description="Which tags to have.")]
InStates = Annotated[
    list[ExecutionState] | None, strawberry.argument(description="In one of these; any if absent.")
]
Since = Annotated[
    DateTime | None, strawberry.argument(description="Created then or later.", name="from")
]
Until = Annotated[DateTime | None, strawberry.argument(description="Created before.", name="to")]
InOrder = Annotated[Order | None, strawberry.argument(description="By time of creation.")]


@strawberry.type
class HasExecutions:
    """The fields; itself no type of the schema."""

    @strawberry.field(
        graphql_type=Connection[Execution],
        description="Its executions. One just created may be missing for a moment.",
    )
    @staticmethod
    async def executions(
        pipeline: strawberry.Parent[records.Pipeline],
        info: Info,
        tags: WithTags = UNSET,
        states: InStates = UNSET,
        since: Since = UNSET,
        until: Until = UNSET,
        order: InOrder = Order.NEWEST_FIRST,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[ExecutionRecord]:
        wanted, limited = given(tags), given(states)
        listed = ListedExecutions(
            tags=wanted.filter() if wanted else Filter(),
            states=frozenset(limited or ()),
            since=_moment(given(since)),
            until=_moment(given(until)),
            newest_first=order is not Order.OLDEST_FIRST,
        )
        asked = attributes_asked(info, "Execution")
        return await connect(
            info,
            ("executions", pipeline.id, listed.tags, sorted(listed.states), since, until, order),
            page_of(first, after, last, before),
            lambda window: executions.page(info.context, pipeline, listed, window, asked),
        )

    @strawberry.field(
        graphql_type=Connection[TagKey], description="The tag keys in use on its executions."
    )
    @staticmethod
    async def execution_tag_keys(
        pipeline: strawberry.Parent[records.Pipeline],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.TagKey]:
        tags_in_use = info.context.view.executions.tags
        return await connect(
            info,
            ("executionTagKeys", pipeline.id),
            page_of(first, after, last, before),
            lambda window: tags_in_use.keys_of([pipeline.id], window),
        )

    @strawberry.field(
        graphql_type=Connection[TagValue],
        description="The values of a key on its executions: the top level, or that below `parent`.",
    )
    @staticmethod
    async def execution_tag_values(
        pipeline: strawberry.Parent[records.Pipeline],
        info: Info,
        key: Annotated[str, strawberry.argument(description="The key of the tags.")],
        parent: Annotated[
            str | None, strawberry.argument(description="The value to go below; the top if absent.")
        ] = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.TagValue]:
        tags_in_use, above = info.context.view.executions.tags, given(parent)
        return await connect(
            info,
            ("executionTagValues", pipeline.id, key, above),
            page_of(first, after, last, before),
            lambda window: tags_in_use.values_of([pipeline.id], key, above, window),
        )


def _moment(time: str | None) -> datetime | None:
    return None if time is None else datetime.fromisoformat(time)
