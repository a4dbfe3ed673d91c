"""The query fields that find and list manifests and their runs."""

from datetime import datetime, timedelta
from typing import Annotated, TypeAlias

import strawberry
from strawberry import UNSET

from penstock.datastore.errors import BadArgument
from penstock.datastore.manifest import records
from penstock.datastore.manifest.lists import RunListFilter
from penstock.resolvers import manifest as run_resolvers
from penstock.schema.core.context import (
    After,
    Before,
    First,
    GroupArgument,
    Info,
    Last,
    Order,
    TagInput,
    unset_to_none,
)
from penstock.schema.core.relay import Connection, page_from_arguments, read_connection
from penstock.schema.core.scalars import DateTime
from penstock.schema.manifest.runs import Manifest, Run

MAX_AGE = 366 * 24 * 3600

ManifestArgument: TypeAlias = Annotated[
    str,
    strawberry.argument(
        description="The name of the manifest in its group; upper and lower case are the same."
    ),
]
OptionalTime: TypeAlias = "DateTime | None"
RunIdArgument = Annotated[
    str,
    strawberry.argument(
        description="The path of the folder inside its bucket, without `s3://`; upper and "
        "lower case differ."
    ),
]
StateArgument = Annotated[
    records.RunState | None,
    strawberry.argument(
        description="Only manifest runs in this state; those in any state if left out."
    ),
]
ToSkipArgument = Annotated[
    bool | None,
    strawberry.argument(
        description="Only skipped manifest runs if true, only the others if false; all if left out."
    ),
]
TagArgument = Annotated[
    TagInput | None,
    strawberry.argument(
        description="Only manifest runs with exactly this tag; upper and lower case are the same."
    ),
]
BatchArgument = Annotated[
    str | None, strawberry.argument(description="Only the manifest runs of the batch of this name.")
]
IsDueArgument = Annotated[
    bool | None,
    strawberry.argument(
        description="Only manifest runs that need not wait to be tried again if true, "
        "only those that do if false; all if left out."
    ),
]
FromArgument = Annotated[
    OptionalTime,
    strawberry.argument(name="from", description="Only manifest runs added at this time or later."),
]
ToArgument = Annotated[
    OptionalTime,
    strawberry.argument(name="to", description="Only manifest runs added before this time."),
]
OrderArgument = Annotated[
    Order | None,
    strawberry.argument(description="The order by the time of addition; OLDEST_FIRST by default."),
]
OlderThanArgument = Annotated[
    int | None,
    strawberry.argument(
        description="The age in seconds from which an unclaimed new run counts as stuck; "
        "3600 by default."
    ),
]


@strawberry.type
class RunQuery:
    @strawberry.field(
        graphql_type=Run | None, description="The manifest run with the given manifest and path."
    )
    @staticmethod
    async def run(
        info: Info, manifest: ManifestArgument, run_id: RunIdArgument, group: GroupArgument = UNSET
    ) -> records.Run | None:
        named = run_resolvers.manifest_name(info.context, unset_to_none(group), manifest)
        return await info.context.loaders.runs.load(records.RunName(named, run_id))

    @strawberry.field(
        graphql_type=Connection[Run],
        description="The runs of a manifest, sorted by the time when they were added; those added "
        "in the same second are in the order of their addition.",
    )
    @staticmethod
    async def runs(
        info: Info,
        manifest: ManifestArgument,
        group: GroupArgument = UNSET,
        state: StateArgument = UNSET,
        to_skip: ToSkipArgument = UNSET,
        tag: TagArgument = UNSET,
        batch: BatchArgument = UNSET,
        is_due: IsDueArgument = UNSET,
        start: FromArgument = UNSET,
        end: ToArgument = UNSET,
        order: OrderArgument = Order.OLDEST_FIRST,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Run]:
        named = run_resolvers.manifest_name(info.context, unset_to_none(group), manifest)
        list_filter = RunListFilter(
            state=unset_to_none(state),
            to_skip=unset_to_none(to_skip),
            due=unset_to_none(is_due),
            tag=None if not tag else tag.record(),
            batch=unset_to_none(batch),
            start=_to_datetime(unset_to_none(start)),
            end=_to_datetime(unset_to_none(end)),
            newest_first=order is Order.NEWEST_FIRST,
        )
        return await read_connection(
            info,
            ("runs", named, list_filter),
            page_from_arguments(first, after, last, before),
            lambda window: run_resolvers.list_runs(info.context, named, list_filter, window),
        )

    @strawberry.field(
        graphql_type=Connection[Run],
        description="The stuck runs of a manifest, oldest first: new runs that no worker has "
        "claimed for some time, and runs with an expired lease.",
    )
    @staticmethod
    async def stale_runs(
        info: Info,
        manifest: ManifestArgument,
        group: GroupArgument = UNSET,
        older_than_seconds: OlderThanArgument = 3600,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Run]:
        named = run_resolvers.manifest_name(info.context, unset_to_none(group), manifest)
        age = _to_age(3600 if older_than_seconds is None else older_than_seconds)
        return await read_connection(
            info,
            ("staleRuns", named, age),
            page_from_arguments(first, after, last, before),
            lambda window: run_resolvers.list_stale_runs(info.context, named, age, window),
        )

    @strawberry.field(
        graphql_type=Connection[Manifest], description="The manifests of a group, sorted by name."
    )
    @staticmethod
    async def manifests(
        info: Info,
        group: GroupArgument = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Manifest]:
        named = unset_to_none(group) or info.context.caller.default_group
        return await read_connection(
            info,
            ("manifests", named),
            page_from_arguments(first, after, last, before),
            lambda window: info.context.session.manifests.page(named, window),
        )


def _to_datetime(text: OptionalTime) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _to_age(seconds: int) -> timedelta:
    if not 0 <= seconds <= MAX_AGE:
        raise BadArgument(f"`olderThanSeconds` is 0 to {MAX_AGE}.", ("olderThanSeconds",))
    return timedelta(seconds=seconds)
