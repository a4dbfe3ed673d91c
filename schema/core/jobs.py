"""The type of jobs and the query field that finds one."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.audio.records import ImportFailure as ImportFailureRecord
from penstock.datastore.audio.records import ImportFailureCode
from penstock.datastore.jobs import jobs as records
from penstock.datastore.roles import GroupPath
from penstock.schema.core.context import After, Before, First, Info, Last, unset_to_none
from penstock.schema.core.descriptions import InputOf, describe_values
from penstock.schema.core.failures import FieldProblem, IllegalState, NotFound, NotPermitted
from penstock.schema.core.relay import (
    Connection,
    Node,
    page_from_arguments,
    parse_key,
    read_connection,
    record_type_check,
)
from penstock.schema.core.scalars import DateTime

strawberry.enum(records.JobKind, description="The kind of work that a job does.")
strawberry.enum(records.JobState, description="The progress of a job.")
describe_values(
    records.JobKind,
    {
        records.JobKind.DELETE_GROUP: "The job deletes a group with everything in it.",
        records.JobKind.IMPORT_AUDIO: (
            "The job adds the audio files of a bucket to the caller's library."
        ),
        records.JobKind.DELETE_SAMPLES: "The job deletes samples of an entity.",
        records.JobKind.RENAME_AUDIO: (
            "The job gives an artist, an album or a genre of the caller's library another name."
        ),
        records.JobKind.LOAD_DATASET: (
            "The job makes an uploaded file the next version of a reference dataset."
        ),
    },
)
describe_values(
    records.JobState,
    {
        records.JobState.PENDING: "The job waits for a server to start it.",
        records.JobState.RUNNING: "A server works on the job.",
        records.JobState.DONE: "The job finished all its steps.",
        records.JobState.FAILED: "The job failed; its `message` says why.",
        records.JobState.CANCELLED: (
            "The user who requested the job cancelled it. What it had done stays done."
        ),
    },
)
strawberry.enum(
    ImportFailureCode,
    description="The reason why an import reports an object. New reasons may be added.",
)
describe_values(
    ImportFailureCode,
    {
        ImportFailureCode.EMPTY: "The object has no bytes.",
        ImportFailureCode.UNKNOWN_FORMAT: "The object is no audio file of a known format.",
        ImportFailureCode.UNREADABLE: (
            "The object begins like an audio file, but its tags or its sound cannot be read."
        ),
        ImportFailureCode.INVALID_KEY: "The key of the object is not one that the server can use.",
        ImportFailureCode.INVALID_TAGS: "The tags of the object break a rule of the library.",
        ImportFailureCode.LIMIT_EXCEEDED: "The object would exceed a documented limit.",
        ImportFailureCode.QUOTA_EXCEEDED: (
            "The library would keep more files, or more bytes, than the user may."
        ),
        ImportFailureCode.MISSING: (
            "The library has a track of the object, but the object is no longer in its bucket. "
            "The track stays, with the time in `missingSince`."
        ),
        ImportFailureCode.VANISHED: "The object was listed, but was gone when it was read.",
        ImportFailureCode.REFUSED: (
            "The bucket does not give out the object: it may be archived, or encrypted with a key "
            "that the server may not use."
        ),
        ImportFailureCode.OTHER: "The object could not be added for another reason.",
    },
)


@strawberry.type(
    description="An object of a bucket that an import did not add to the library, or that it no "
    "longer found."
)
class ImportFailure:
    object_key: str = strawberry.field(description="The key of the object in its bucket.")
    code: ImportFailureCode = strawberry.field(description="The reason as a code, for programs.")
    message: str = strawberry.field(description="The reason as text, for people.")


@strawberry.type(
    description=(
        "Work that continues after the response of the request that started it, also if "
        "a server stops. The user who started it and the users who may know its group "
        "see the job. It is deleted a week after its end."
    )
)
class Job(Node):
    kind: records.JobKind = strawberry.field(description="The kind of work that the job does.")
    state: records.JobState = strawberry.field(description="The progress of the job.")
    created_at: DateTime = strawberry.field(
        description="The time when a user requested the job, in UTC."
    )
    created_by: str = strawberry.field(description="The id of the user who requested the job.")
    started_at: DateTime | None = strawberry.field(
        description=(
            "The time when a server first started to work on the job, in UTC; null before that."
        )
    )
    finished_at: DateTime | None = strawberry.field(
        description="The time when the job finished or failed, in UTC; null before that."
    )
    done: int = strawberry.field(
        description=(
            "The number of steps that are finished. It is updated about once a second. Of a "
            "deletion of samples it is at least so many: those of the last second before a server "
            "was killed, and of a request that failed half way, are not counted."
        )
    )
    total: int | None = strawberry.field(
        description=(
            "The number of all steps; null until it is known, and in a deletion of samples. A step "
            "is one group, one resource in one group, one object of an import, one sample, one "
            "track of a renaming, or one megabyte of a file that is loaded."
        )
    )
    message: str | None = strawberry.field(
        description="The reason why the job failed; null otherwise."
    )
    problems: list[FieldProblem] = strawberry.field(
        description="The first 50 problems of a file that could not be loaded; otherwise none."
    )

    @strawberry.field(
        graphql_type=Connection[ImportFailure],
        description=(
            "The objects that an import did not add to the caller's library, and those of the "
            "caller's tracks that it no longer found, in no particular order. The list is empty "
            "for other kinds of job."
        ),
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
        return await read_connection(
            info,
            ("failures", job.id),
            page_from_arguments(first, after, last, before),
            lambda window: info.context.session.audio.import_reports.page(job.id, window),
        )

    is_type_of = record_type_check(records.Job)


@strawberry.type
class JobQuery:
    @strawberry.field(
        graphql_type=Job | None,
        description=(
            "Find a job by its global id. The result is null if the job does not exist or the "
            "caller cannot see it."
        ),
    )
    @staticmethod
    async def job(
        info: Info,
        id: Annotated[strawberry.ID, strawberry.argument(description="The global id of the job.")],
    ) -> records.Job | None:
        return await info.context.loaders.jobs.load(parse_key("Job", id))

    @strawberry.field(
        graphql_type=Connection[Job],
        description=(
            "The jobs that the caller requested or, with `group`, those about the group and the "
            "groups below it; the newest first, without jobs about groups that the caller may not "
            "know of."
        ),
    )
    @staticmethod
    async def jobs(
        info: Info,
        group: Annotated[
            GroupPath | None,
            strawberry.argument(
                description="The path of a group. The default is the caller's own jobs."
            ),
        ] = UNSET,
        states: Annotated[
            list[records.JobState] | None,
            strawberry.argument(
                description="The states of which the jobs must have one. The default is any state."
            ),
        ] = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Job]:
        about, wanted = unset_to_none(group), frozenset(unset_to_none(states) or ())
        return await read_connection(
            info,
            ("jobs", about, sorted(wanted)),
            page_from_arguments(first, after, last, before),
            lambda window: info.context.session.jobs.page(about, wanted, window),
        )


@strawberry.type(description="The result of cancelling a job.")
class CancelJobPayload:
    job: records.Job = strawberry.field(
        graphql_type=Job, description="The job, which is cancelled now or was so before."
    )


CancelJobResult = Annotated[
    CancelJobPayload | NotFound | NotPermitted | IllegalState,
    strawberry.union(
        "CancelJobResult", description="The cancelled job, or the reason why it goes on."
    ),
]


@strawberry.input(description="The job to cancel.")
class CancelJobInput:
    id: strawberry.ID = strawberry.field(description="The global id of the job.")


@strawberry.type
class JobMutation:
    @strawberry.mutation(
        graphql_type=CancelJobResult,
        description=(
            "Cancel a job of the caller that is not over. It ends within seconds, and what it has "
            "done stays. A job about a group needs the role CONTRIBUTOR there. The deletion of a "
            "group cannot be cancelled."
        ),
    )
    @staticmethod
    async def cancel_job(info: Info, input: InputOf[CancelJobInput]) -> CancelJobPayload:
        jobs = info.context.session.jobs
        return CancelJobPayload(job=await jobs.cancel(parse_key("Job", input.id)))
