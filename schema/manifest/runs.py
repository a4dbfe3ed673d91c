"""The types of manifests and of their runs."""

import strawberry
from strawberry import UNSET

from penstock.datastore.manifest import records
from penstock.datastore.roles import GroupPath
from penstock.schema.core.context import After, Before, First, Info, Last, Tag
from penstock.schema.core.relay import (
    Connection,
    Node,
    page_from_arguments,
    read_connection,
    record_type_check,
)
from penstock.schema.core.scalars import DateTime, Long


@strawberry.type(
    description="A named count of a manifest run, reported by its workers, such as the number of "
    "rows."
)
class RunCount:
    name: str = strawberry.field(description="The name of the count.")
    count: Long = strawberry.field(description="The number that was counted.")


@strawberry.type(
    description="One change in the history of a manifest run. Heartbeats are not part of the "
    "history."
)
class RunEvent:
    seq: int = strawberry.field(
        description="The version of the manifest run that the change created; versions created by "
        "heartbeats are missing here."
    )
    action: records.Action = strawberry.field(
        description="The action that changed the manifest run."
    )
    before: records.RunState | None = strawberry.field(
        description="The state before the action; null for the action that added the manifest run."
    )
    after: records.RunState = strawberry.field(description="The state after the action.")
    at: DateTime = strawberry.field(description="The time of the action, in UTC.")
    by: str = strawberry.field(description="The id of the user who requested the action.")
    fence: int = strawberry.field(description="The fence of the claim at the time of the action.")
    worker: str | None = strawberry.field(
        description="The name of the worker that held the lease; null if there was no lease."
    )
    reason: str | None = strawberry.field(
        description="The reason for the action; null if none was given."
    )
    error: str | None = strawberry.field(
        description="The description of the failure; null if the action was not a failure."
    )


@strawberry.type(
    description="A manifest run: a folder that a pipeline produced, which is first transformed "
    "and then loaded."
)
class Run(Node):
    group: GroupPath = strawberry.field(description="The path of the manifest's group.")
    manifest: str = strawberry.field(
        description="The name of the manifest that contains this manifest run."
    )
    run_id: str = strawberry.field(
        description="The path of the folder inside its bucket, without `s3://`."
    )
    added_time: DateTime = strawberry.field(
        name="addedAt",
        description="The time when the manifest run was added, in UTC. All times of a manifest "
        "run are in whole seconds.",
    )
    added_by: str = strawberry.field(
        description="The version of the Transformer that found the manifest run."
    )
    to_skip: bool = strawberry.field(description="Whether workers skip the manifest run.")
    processed_time: DateTime | None = strawberry.field(
        name="processedAt",
        description="The time when the Transformer finished, in UTC; null until then.",
    )
    shred_types: list[str] | None = strawberry.field(
        description="The shredded types in the output folder; null until the manifest run is "
        "processed."
    )
    saved_to: str | None = strawberry.field(
        description="The folder of the output; null until the manifest run is processed."
    )
    loaded_time: DateTime | None = strawberry.field(
        name="loadedAt", description="The time when the Loader finished, in UTC; null until then."
    )
    loaded_by: str | None = strawberry.field(
        description="The version of the Loader; null until the manifest run is loaded."
    )
    state: records.RunState = strawberry.field(description="The current state of the manifest run.")
    version: int = strawberry.field(
        description="The version of the manifest run: the number of times that it was written."
    )
    fence: int = strawberry.field(
        description="The fence: the number of the latest claim, to be sent with heartbeats and "
        "results."
    )
    attempt: int = strawberry.field(
        description="The number of times that the current stage was claimed."
    )
    lease_owner: str | None = strawberry.field(
        description="The name of the worker that holds the lease; null if there is no lease."
    )
    lease_time: DateTime | None = strawberry.field(
        name="leaseUntil",
        description="The time when the lease ends unless a heartbeat extends it, in UTC; "
        "afterwards another worker can claim the manifest run.",
    )
    last_error: str | None = strawberry.field(
        description="The description of the latest failure of the current stage; null if it has "
        "not failed."
    )
    retry_time: DateTime | None = strawberry.field(
        name="retryAt",
        description="The time from which workers can claim the failed manifest run again, in UTC; "
        "null if they need not wait.",
    )
    counted: list[RunCount] | None = strawberry.field(
        name="counts", description="The counts that the workers reported, sorted by name."
    )
    skip_reason: str | None = strawberry.field(
        description="The reason why the manifest run is skipped; null if none was given."
    )
    pipeline: str | None = strawberry.field(
        description="The name of the pipeline that produced the folder; null if none was given."
    )
    tags: list[Tag] = strawberry.field(description="The tags by which lists find the manifest run.")
    batch: str | None = strawberry.field(
        description="The name of the batch, which is what runs that belong together have in "
        "common, such as a day; null if the manifest run belongs to none."
    )
    idempotency_key: str = strawberry.field(
        description="A key that identifies the latest claim in other systems; no other claim ever "
        "has the same key."
    )

    is_type_of = record_type_check(records.Run)

    @strawberry.field(
        graphql_type=Connection[RunEvent],
        description="The changes of the manifest run, newest first.",
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
        return await read_connection(
            info,
            ("history", run.id),
            page_from_arguments(first, after, last, before),
            lambda window: info.context.session.run_lists.history(run, window),
        )


@strawberry.type(
    description="The rules by which workers try failed manifest runs again. The delay after a "
    "failure doubles with each attempt; up to half of it is left out, so that runs that failed "
    "together are not claimed together."
)
class RetryRules:
    max_attempts: int = strawberry.field(
        description="The most attempts at one stage of a manifest run; then it is GIVEN_UP."
    )
    first_delay: int = strawberry.field(
        name="firstDelaySeconds", description="The delay in seconds after the first failure."
    )
    longest_delay: int = strawberry.field(
        name="longestDelaySeconds", description="The longest delay in seconds."
    )


@strawberry.type(
    description="A manifest: a list of folders (its runs) in a group with the state of each. It "
    "is created with its first run."
)
class Manifest(Node):
    group: GroupPath = strawberry.field(description="The path of the manifest's group.")
    name: str = strawberry.field(description="The name of the manifest, as it was first written.")
    created_at: DateTime = strawberry.field(
        description="The time when the first run was added, in UTC."
    )
    created_by: str = strawberry.field(description="The id of the user who added the first run.")
    runs: int = strawberry.field(
        name="runCount", description="The exact number of manifest runs in the manifest."
    )
    retries: RetryRules | None = strawberry.field(
        description="The rules by which failed runs are tried again; null if workers can claim "
        "them at once, and as often as they like."
    )
    consumers: list[str] = strawberry.field(
        description="The names of the consumers: manifests that get the runs of this one when "
        "they are processed."
    )
    consumes: str | None = strawberry.field(
        description="The name of the manifest whose processed runs this one gets; null if it is "
        "no consumer."
    )
    is_filled: bool = strawberry.field(
        description="Whether no earlier run of the consumed manifest is still to be copied."
    )

    is_type_of = record_type_check(records.Manifest)
