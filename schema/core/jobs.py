"""Jobs: type and query field."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.audio.records import ImportFailure as ImportFailureRecord
from penstock.datastore.jobs import jobs as records
from penstock.schema.core.context import After, Before, First, Info, Last
from penstock.schema.core.relay import Connection, Node, connect, key_of, page_of, shows
from penstock.schema.core.scalars import DateTime

strawberry.enum(records.JobKind, description="What a job does.")
strawberry.enum(
    records.JobState,
    description="How far a job is: waiting, being worked on, at its end, or given up.",
)


@strawberry.type(description="An object that an import did not take in.")
class ImportFailure:
    object_key: str = strawberry.field(description="Its key.")
    code: str = strawberry.field(description="Why, for a program.")
    message: str = strawberry.field(description="Why, in words.")


@strawberry.type(
    description="Work that goes on when the request that began it is answered, also if a server "
    "stops meanwhile. It is shown to who began it and to who may know the group that it is about, "
    "until a week after its end."
)
class Job(Node):
    kind: records.JobKind = strawberry.field(description="What it does.")
    state: records.JobState = strawberry.field(description="How far it is.")
    created_at: DateTime = strawberry.field(description="When it was asked for.")
    created_by: str = strawberry.field(description="The id of the user who asked for it.")
    started_at: DateTime | None = strawberry.field(description="When a server first took it.")
    finished_at: DateTime | None = strawberry.field(
        description="When it came to its end or was given up."
    )
    done: int = strawberry.field(
        description="How many steps are behind it, as noted about once a second."
    )
    total: int | None = strawberry.field(
        description="How many steps there are; absent until that is known. A step is a group, or a "
        "resource in one group; of an import, an object."
    )
    message: str | None = strawberry.field(description="Why it was given up.")

    @strawberry.field(
        graphql_type=Connection[ImportFailure],
        description="Of an import of the caller's: the objects it did not take in, in no order of "
        "theirs.",
    )
    @staticmethod
    async def failures(
        job: strawberry.Parent[records.Job],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[ImportFailureRecord]:
        return await connect(
            info,
            ("failures", job.id),
            page_of(first, after, last, before),
            lambda window: info.context.session.audio.importing.failures(job.id, window),
        )

    is_type_of = shows(records.Job)


@strawberry.type
class JobQuery:
    @strawberry.field(graphql_type=Job | None, description="A job by its global id.")
    @staticmethod
    async def job(
        info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="The global id.")]
    ) -> records.Job | None:
        return await info.context.loaders.jobs.load(key_of("Job", id))
