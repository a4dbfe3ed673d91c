"""Runs and manifests: types and query fields."""

from datetime import datetime, timedelta
from typing import Annotated, TypeAlias

import strawberry
from strawberry import UNSET

from penstock.datastore.errors import BadInput
from penstock.datastore.manifest import records
from penstock.datastore.manifest.lists import Listed
from penstock.datastore.roles import GroupPath
from penstock.resolvers import manifest as runs
from penstock.schema.core.context import After, Before, First, Info, InGroup, Last, Order, given
from penstock.schema.core.relay import Connection, Node, connect, page_of, shows
from penstock.schema.core.scalars import DateTime, Long

MAX_AGE = 366 * 24 * 3600

OfManifest: TypeAlias = Annotated[
    str, strawberry.argument(description="The name of the manifest in its group, in any case.")
]
Moment: TypeAlias = "DateTime | None"


@strawberry.type(description="How many of something there are in a run, as a worker says.")
class RunCount:
    name: str = strawberry.field(description="What was counted.")
    count: Long = strawberry.field(description="How many there are.")


@strawberry.type(description="One change of a run; heartbeats are none.")
class RunEvent:
    seq: int = strawberry.field(
        description="The version that the change made; heartbeats leave gaps."
    )
    action: records.Action = strawberry.field(description="What was done.")
    before: records.RunState | None = strawberry.field(
        description="The state it was done in; absent where the run came in."
    )
    after: records.RunState = strawberry.field(description="The state it led to.")
    at: DateTime = strawberry.field(description="When.")
    by: str = strawberry.field(description="The id of the user who asked for it.")
    fence: int = strawberry.field(description="The fence of the claim it belongs to.")
    worker: str | None = strawberry.field(description="The owner of the lease, if there was one.")
    reason: str | None = strawberry.field(description="Why, as far as somebody said so.")
    error: str | None = strawberry.field(description="What went wrong, if it failed.")


@strawberry.type(description="A run: a folder of a pipeline, on its way to be loaded.")
class Run(Node):
    group: GroupPath = strawberry.field(description="The group of the manifest.")
    manifest: str = strawberry.field(description="The manifest it is in.")
    run_id: str = strawberry.field(
        description="The path of the folder inside of its bucket, without `s3://`."
    )
    added_time: DateTime = strawberry.field(
        name="addedAt", description="When it was discovered, to the second, as all times of a run."
    )
    added_by: str = strawberry.field(description="The version of the Transformer that found it.")
    to_skip: bool = strawberry.field(description="Whether nobody is to work on it.")
    processed_time: DateTime | None = strawberry.field(
        name="processedAt", description="When the Transformer was done."
    )
    shred_types: list[str] | None = strawberry.field(
        description="The shredded types in the folder, once it is processed."
    )
    saved_to: str | None = strawberry.field(description="The folder of the output.")
    loaded_time: DateTime | None = strawberry.field(
        name="loadedAt", description="When the Loader was done."
    )
    loaded_by: str | None = strawberry.field(description="The version of the Loader.")
    state: records.RunState = strawberry.field(description="How far it is.")
    version: int = strawberry.field(description="How often it was written.")
    fence: int = strawberry.field(
        description="The number of the latest claim; results and heartbeats name it."
    )
    attempt: int = strawberry.field(description="How often the stage at hand was claimed.")
    lease_owner: str | None = strawberry.field(description="The worker who has it in hand.")
    lease_time: DateTime | None = strawberry.field(
        name="leaseUntil", description="When another may claim it, if no heartbeat comes."
    )
    last_error: str | None = strawberry.field(description="Why the stage at hand failed.")
    counted: list[RunCount] | None = strawberry.field(
        name="counts", description="What workers counted, in the order of the names."
    )
    skip_reason: str | None = strawberry.field(description="Why it is to be skipped.")
    pipeline: str | None = strawberry.field(description="The pipeline it comes from.")
    idempotency_key: str = strawberry.field(
        description="What names the latest claim outside: no other claim has it, now or later."
    )

    is_type_of = shows(records.Run)

    @strawberry.field(
        graphql_type=Connection[RunEvent], description="What happened to it, newest first."
    )
    @staticmethod
    async def history(
        run: strawberry.Parent[records.Run],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.RunEvent]:
        return await connect(
            info,
            ("history", run.id),
            page_of(first, after, last, before),
            lambda window: info.context.session.run_lists.history(run, window),
        )


@strawberry.type(description="A list of runs in a group; its first run makes it.")
class Manifest(Node):
    group: GroupPath = strawberry.field(description="Where it lies.")
    name: str = strawberry.field(description="As first written.")
    created_at: DateTime = strawberry.field(description="When the first run came in.")
    created_by: str = strawberry.field(description="The id of the user who brought it.")
    runs: int = strawberry.field(name="runCount", description="How many runs are in it; exact.")

    is_type_of = shows(records.Manifest)


@strawberry.type
class RunQuery:
    @strawberry.field(graphql_type=Run | None, description="A run by its name.")
    @staticmethod
    async def run(
        info: Info,
        manifest: OfManifest,
        run_id: Annotated[str, strawberry.argument(description="The path, letter by letter.")],
        group: InGroup = UNSET,
    ) -> records.Run | None:
        named = runs.manifest_named(info.context, given(group), manifest)
        return await info.context.loaders.runs.load(records.RunName(named, run_id))

    @strawberry.field(
        graphql_type=Connection[Run],
        description="The runs of a manifest by the time they were added; those of one second in "
        "the order they came in.",
    )
    @staticmethod
    async def runs(
        info: Info,
        manifest: OfManifest,
        group: InGroup = UNSET,
        state: Annotated[
            records.RunState | None, strawberry.argument(description="Any state if absent.")
        ] = UNSET,
        to_skip: Annotated[
            bool | None, strawberry.argument(description="Only those that are, or are not.")
        ] = UNSET,
        start: Annotated[
            Moment, strawberry.argument(name="from", description="Added then or later.")
        ] = UNSET,
        end: Annotated[Moment, strawberry.argument(name="to", description="Added before.")] = UNSET,
        order: Annotated[
            Order | None, strawberry.argument(description="By the time they were added.")
        ] = Order.OLDEST_FIRST,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Run]:
        named = runs.manifest_named(info.context, given(group), manifest)
        asked = Listed(
            state=given(state),
            to_skip=given(to_skip),
            start=_moment(given(start)),
            end=_moment(given(end)),
            newest_first=order is Order.NEWEST_FIRST,
        )
        return await connect(
            info,
            ("runs", named, asked),
            page_of(first, after, last, before),
            lambda window: runs.page(info.context, named, asked, window),
        )

    @strawberry.field(
        graphql_type=Connection[Run],
        description="The runs of a manifest that got stuck, oldest first: new ones that nobody "
        "claims, and those whose lease ran out.",
    )
    @staticmethod
    async def stale_runs(
        info: Info,
        manifest: OfManifest,
        group: InGroup = UNSET,
        older_than_seconds: Annotated[
            int | None,
            strawberry.argument(description="How long a new run may wait; an hour if absent."),
        ] = 3600,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Run]:
        named = runs.manifest_named(info.context, given(group), manifest)
        age = _age(3600 if older_than_seconds is None else older_than_seconds)
        return await connect(
            info,
            ("staleRuns", named, age),
            page_of(first, after, last, before),
            lambda window: runs.stale(info.context, named, age, window),
        )

    @strawberry.field(
        graphql_type=Connection[Manifest],
        description="The manifests of a group, in the order of their names.",
    )
    @staticmethod
    async def manifests(
        info: Info,
        group: InGroup = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Manifest]:
        named = given(group) or info.context.caller.default_group
        return await connect(
            info,
            ("manifests", named),
            page_of(first, after, last, before),
            lambda window: info.context.session.manifests.page(named, window),
        )


def _moment(text: Moment) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _age(seconds: int) -> timedelta:
    if not 0 <= seconds <= MAX_AGE:
        raise BadInput(f"`olderThanSeconds` is 0 to {MAX_AGE}.", ("olderThanSeconds",))
    return timedelta(seconds=seconds)
