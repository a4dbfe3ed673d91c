"""Executions: type and query field."""

from typing import TYPE_CHECKING, Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.executions import records
from penstock.datastore.executions.downloads import FileKind
from penstock.datastore.executions.records import ExecutionMode, ExecutionState
from penstock.datastore.layout import PIPELINE
from penstock.datastore.records import Pipeline as PipelineRecord
from penstock.execution import attributes_asked, reads
from penstock.resolvers import executions
from penstock.schema.common import After, Before, First, Info, Last, Tag, given
from penstock.schema.connections import Connection, connect, page_of
from penstock.schema.execution_types import (
    ExecutionEvent,
    ExecutionPin,
    ExecutionProgress,
    InlineResults,
    download_of,
    progress_of,
    results_of,
)
from penstock.schema.files import FileDownload, UploadForm
from penstock.schema.nodes import Node, key_of, shows
from penstock.schema.prices import costs
from penstock.schema.scalars import DateTime

if TYPE_CHECKING:
    from penstock.schema.pipelines import Pipeline

_PIPELINE = Annotated["Pipeline", strawberry.lazy("penstock.schema.pipelines")]
ExpiresIn = Annotated[
    int | None,
    strawberry.argument(description="For how many seconds the URL is valid, 1 to 604800."),
]


@strawberry.type(description="One run of one version of a pipeline over one input.")
class Execution(Node):
    pipeline_version: int = strawberry.field(description="The version that runs, as pinned.")
    mode: ExecutionMode = strawberry.field(description="How its input comes.")
    state: ExecutionState = strawberry.field(description="How far it is.")
    code: str | None = strawberry.field(description="Why it failed, for a program.")
    tags: list[Tag] = strawberry.field(description="What it is found by.")
    pins: list[ExecutionPin] = strawberry.field(
        description="The calculations and the reference datasets that its formulas reach, as they "
        "were when it was created."
    )
    max_failed_rows: int | None = strawberry.field(
        description="With more failed rows than these it fails; absent if any number may."
    )
    created_at: DateTime = strawberry.field(description="When it was created.")
    created_by: str = strawberry.field(description="The id of the user who created it.")
    ready_at: DateTime | None = strawberry.field(description="When its input was there.")
    started_at: DateTime | None = strawberry.field(description="When a worker first took it.")
    finished_at: DateTime | None = strawberry.field(description="When it was over.")

    is_type_of = shows(records.Execution)

    @strawberry.field(graphql_type=_PIPELINE, description="The pipeline as it is now.")
    @staticmethod
    async def pipeline(
        execution: strawberry.Parent[records.Execution], info: Info
    ) -> PipelineRecord:
        asked = attributes_asked(info, "Pipeline")
        return await info.context.desk(PIPELINE).latest(execution.pipeline_id, asked)

    @strawberry.field(description="What there is to say about its state, in words.")
    @reads({"Execution": ("message",)})
    @staticmethod
    def state_message(execution: strawberry.Parent[records.Execution]) -> str | None:
        return execution.message

    @strawberry.field(
        metadata=costs(0), description="How much is done; absent until its input is there."
    )
    @staticmethod
    def progress(execution: strawberry.Parent[records.Execution]) -> ExecutionProgress | None:
        return None if execution.ready_at is None else progress_of(execution)

    @strawberry.field(
        description="The form that uploads its input, while it waits for one; null for those "
        "who may not run the pipeline."
    )
    @staticmethod
    async def upload(
        execution: strawberry.Parent[records.Execution], info: Info
    ) -> UploadForm | None:
        form = await executions.upload(info.context, execution)
        return None if form is None else UploadForm.of(form)

    @strawberry.field(description="The output, which is there after success.")
    @staticmethod
    async def output_download(
        execution: strawberry.Parent[records.Execution], info: Info, expires_in: ExpiresIn = UNSET
    ) -> FileDownload | None:
        downloads = info.context.view.executions.downloads
        return download_of(await downloads.one(execution, FileKind.OUTPUT, given(expires_in)))

    @strawberry.field(description="The rejected rows, which are there after success and failure.")
    @staticmethod
    async def errors_download(
        execution: strawberry.Parent[records.Execution], info: Info, expires_in: ExpiresIn = UNSET
    ) -> FileDownload | None:
        downloads = info.context.view.executions.downloads
        return download_of(await downloads.one(execution, FileKind.ERRORS, given(expires_in)))

    @strawberry.field(
        metadata=costs(10),
        description="What came out of the rows of a request; absent for an execution of a file.",
    )
    @staticmethod
    async def results(
        execution: strawberry.Parent[records.Execution], info: Info
    ) -> InlineResults | None:
        found = await info.context.view.executions.answers.one(execution)
        return None if found is None else results_of(found)

    @strawberry.field(
        graphql_type=Connection[ExecutionEvent], description="What happened to it, in order."
    )
    @staticmethod
    async def timeline(
        execution: strawberry.Parent[records.Execution],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.ExecutionEvent]:
        return await connect(
            info,
            ("timeline", execution.id),
            page_of(first, after, last, before),
            lambda window: info.context.view.executions.reading.events(execution, window),
        )


@strawberry.type
class ExecutionQuery:
    @strawberry.field(graphql_type=Execution | None, description="An execution by its global id.")
    @staticmethod
    async def execution(
        info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="The global id.")]
    ) -> records.Execution | None:
        return await info.context.loaders.executions.load(key_of("Execution", id))
