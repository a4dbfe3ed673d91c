"""The smaller types of executions: progress, downloads, history, pins and answers.

Executions: type and query field.
"""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.clock import canonical
from penstock.datastore.executions import inline as answer_records
from penstock.datastore.executions import records
from penstock.datastore.executions.files import FileDownload as DownloadRecord
from penstock.datastore.executions.files import FileKind
from penstock.datastore.executions.records import ExecutionMode, ExecutionState
from penstock.datastore.records import Pipeline
from penstock.datastore.table.layout import PIPELINE
from penstock.graphql_jit import attributes_asked, reads
from penstock.resolvers import executions
from penstock.schema.core.context import After, Before, First, Info, Last, Tag, given
from penstock.schema.core.files import FileDownload, UploadForm
from penstock.schema.core.relay import Connection, Node, connect, key_of, page_of, shows
from penstock.schema.core.scalars import JSON, DateTime, Long
from penstock.schema.engine.cost import costs

strawberry.enum(records.ExecutionState, description="How far an execution is.")
strawberry.enum(
    records.ExecutionMode,
    description="Whether the input is uploaded as a file, or came with the request.",
)
strawberry.enum(
    records.Happening, name="ExecutionHappening", description="What can happen to an execution."
)


@strawberry.type(description="How much of an execution is done, as told every two seconds.")
class ExecutionProgress:
    rows_read: Long = strawberry.field(description="Rows that were looked at.")
    rows_succeeded: Long = strawberry.field(description="Rows with a line in the output.")
    rows_failed: Long = strawberry.field(description="Rows that were left out.")
    bytes_read: Long = strawberry.field(description="Bytes of the input that were read.")
    bytes_written: Long = strawberry.field(description="Bytes of output and rejected rows.")
    bytes_total: Long | None = strawberry.field(description="Bytes of the input, once known.")
    rows_per_second: float | None = strawberry.field(
        description="Since its worker began; absent until one has."
    )
    eta_seconds: int | None = strawberry.field(
        description="How long it will take at this rate; absent where nothing can be said."
    )


def progress_of(execution: records.Execution) -> ExecutionProgress:
    counts, seconds = execution.counts, execution.seconds_at_work
    eta = None
    if seconds and counts.bytes_read and execution.bytes_total is not None:
        left = max(0, execution.bytes_total - counts.bytes_read)
        eta = 0 if execution.state.is_over else round(left * seconds / counts.bytes_read)
    return ExecutionProgress(
        rows_read=Long(counts.rows),
        rows_succeeded=Long(counts.succeeded),
        rows_failed=Long(counts.failed),
        bytes_read=Long(counts.bytes_read),
        bytes_written=Long(counts.bytes_written),
        bytes_total=None if execution.bytes_total is None else Long(execution.bytes_total),
        rows_per_second=counts.rows / seconds if seconds else None,
        eta_seconds=eta,
    )


def download_of(found: DownloadRecord) -> FileDownload:
    if found.download is None or found.size is None:
        return FileDownload(status=found.status, url=None, expires_at=None, size_bytes=None)
    return FileDownload(
        status=found.status,
        url=found.download.url,
        expires_at=DateTime(canonical(found.download.expires_at)),
        size_bytes=Long(found.size),
    )


@strawberry.type(description="One line of an execution's history.")
class ExecutionEvent:
    seq: int = strawberry.field(description="Its number, from 1.")
    happening: records.Happening = strawberry.field(description="What happened.")
    state: records.ExecutionState = strawberry.field(description="The state it led to.")
    at: DateTime = strawberry.field(description="When it happened.")
    by: str = strawberry.field(
        description="The id of the user or worker who did it; `penstock` for the system itself."
    )
    note: str | None = strawberry.field(description="What there is to say about it.")


@strawberry.type(description="What else an execution uses, at which version.")
class ExecutionPin:
    kind: str = strawberry.field(
        description="The letter of its kind: `C`, a calculation; `D`, a reference dataset."
    )
    id: str = strawberry.field(description="Its id, without the type.")
    version: int = strawberry.field(description="The version that is used.")
    name: str = strawberry.field(description="The name it is called by.")


@strawberry.type(description="Why a row was left out.")
class RowProblem:
    row: int = strawberry.field(description="Its number, from 1; 0 stands for all rows.")
    column: str | None = strawberry.field(description="The parameter or output at fault.")
    code: str = strawberry.field(description="What is wrong, for a program.")
    message: str = strawberry.field(description="What is wrong, in words.")


@strawberry.type(description="What came out of the rows of a request.")
class InlineResults:
    rows: list[JSON] = strawberry.field(
        description="An object for each row that succeeded, in order, by the outputs' headings."
    )
    problems: list[RowProblem] = strawberry.field(description="What is wrong with the others.")


def results_of(found: answer_records.Answers) -> InlineResults:
    problems = [
        RowProblem(row=one.row, column=one.column, code=one.code, message=one.message)
        for one in found.problems
    ]
    return InlineResults(rows=[JSON(row) for row in found.rows], problems=problems)


_PIPELINE = Annotated["Pipeline", strawberry.lazy("penstock.schema.pipelines.pipelines")]
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
    async def pipeline(execution: strawberry.Parent[records.Execution], info: Info) -> Pipeline:
        asked = attributes_asked(info, "Pipeline")
        return await info.context.loaders.of(PIPELINE).latest(execution.pipeline_id, asked)

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
        downloads = info.context.session.executions.downloads
        return download_of(await downloads.one(execution, FileKind.OUTPUT, given(expires_in)))

    @strawberry.field(description="The rejected rows, which are there after success and failure.")
    @staticmethod
    async def errors_download(
        execution: strawberry.Parent[records.Execution], info: Info, expires_in: ExpiresIn = UNSET
    ) -> FileDownload | None:
        downloads = info.context.session.executions.downloads
        return download_of(await downloads.one(execution, FileKind.ERRORS, given(expires_in)))

    @strawberry.field(
        metadata=costs(10),
        description="What came out of the rows of a request; absent for an execution of a file.",
    )
    @staticmethod
    async def results(
        execution: strawberry.Parent[records.Execution], info: Info
    ) -> InlineResults | None:
        found = await info.context.session.executions.answers.one(execution)
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
            lambda window: info.context.session.executions.reading.events(execution, window),
        )


@strawberry.type
class ExecutionQuery:
    @strawberry.field(graphql_type=Execution | None, description="An execution by its global id.")
    @staticmethod
    async def execution(
        info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="The global id.")]
    ) -> records.Execution | None:
        return await info.context.loaders.executions.load(key_of("Execution", id))
