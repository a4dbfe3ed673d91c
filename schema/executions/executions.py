"""The type of executions, the types of its fields, and the field that queries an execution."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.executions import records
from penstock.datastore.executions.attempts import ExecutionAttempt as AttemptRecord
from penstock.datastore.executions.file_access import FILE_ACCESS_FIELDS
from penstock.datastore.executions.files import FileDownload as DownloadRecord
from penstock.datastore.executions.files import FileKind
from penstock.datastore.executions.rows import MAX_CODE_LENGTH
from penstock.datastore.records import Pipeline, ReferenceDataset, ReferenceDatasetVersion
from penstock.datastore.roles import MAX_USER_ID
from penstock.datastore.table.layout import PIPELINE, REFERENCE_DATASET
from penstock.graphql_jit import projected_attributes, reads_attributes
from penstock.resolvers import executions, resources
from penstock.schema.core.context import After, Before, First, Info, Last, Tag, unset_to_none
from penstock.schema.core.files import FileDownload, UploadForm
from penstock.schema.core.relay import (
    Connection,
    Node,
    page_from_arguments,
    parse_key,
    read_connection,
    record_type_check,
)
from penstock.schema.core.scalars import DateTime, Long
from penstock.schema.core.text_bounds import text_metadata
from penstock.schema.engine.cost import price_metadata
from penstock.schema.executions.attempts import ExecutionAttempt, ExecutionInput
from penstock.schema.executions.events import ExecutionEvent
from penstock.schema.executions.inline_results import InlineResults, inline_results
from penstock.schema.executions.progress import (
    ExecutionProgress,
    RejectionCount,
    current_progress,
    rejection_counts,
)
from penstock.schema.executions.row_explanations import RowExplanation, show_row
from penstock.schema.executions.states import ExecutionMode, ExecutionState, OutputFormat


def file_download(found: DownloadRecord) -> FileDownload:
    if found.download is None or found.size is None:
        return FileDownload(status=found.status, url=None, expires_at=None, size_bytes=None)
    return FileDownload(
        status=found.status,
        url=found.download.url,
        expires_at=DateTime(iso_timestamp(found.download.expires_at)),
        size_bytes=Long(found.size),
    )


@strawberry.type(
    description="A calculation or reference dataset that an execution uses, with the version "
    "fixed when the execution was created."
)
class ExecutionPin:
    kind: str = strawberry.field(
        description="The kind of the resource: `C` for a calculation, `D` for a reference dataset."
    )
    id: str = strawberry.field(
        description="The id of the resource, without its type; this is not a global id."
    )
    version: int = strawberry.field(
        description="The version of the resource that the execution uses."
    )
    name: str = strawberry.field(
        description="The name by which the formulas refer to the resource."
    )


_LazyPipeline = Annotated["Pipeline", strawberry.lazy("penstock.schema.pipelines.pipelines")]
_LazyDatasetVersion = Annotated[
    "ReferenceDatasetVersion", strawberry.lazy("penstock.schema.datasets.datasets")
]
ExpiresIn = Annotated[
    int | None,
    strawberry.argument(
        description="The time for which the URL is valid, in seconds: 1 to 604800; the server's "
        "setting if left out."
    ),
]


async def _read_download(
    info: Info, execution: records.Execution, kind: FileKind, expires_in: int | None
) -> FileDownload:
    downloads = info.context.session.executions.downloads
    return file_download(await downloads.one(execution, kind, unset_to_none(expires_in)))


@strawberry.type(description="An execution of one version of a pipeline over one input.")
class Execution(Node):
    pipeline_version: int = strawberry.field(
        description="The version of the pipeline that is executed, fixed when the execution was "
        "created."
    )
    mode: ExecutionMode = strawberry.field(
        description="The way in which the execution receives its input."
    )
    state: ExecutionState = strawberry.field(description="The current state of the execution.")
    code: str | None = strawberry.field(
        metadata=text_metadata(MAX_CODE_LENGTH),
        description="The code of the failure, for programs; null if the execution has not failed.",
    )
    tags: list[Tag] = strawberry.field(description="The tags by which the execution can be found.")
    max_failed_rows: int | None = strawberry.field(
        description="The largest number of failed rows with which the execution can still "
        "succeed; null if there is no limit."
    )
    output_format: OutputFormat = strawberry.field(description="The format of the output file.")
    created_at: DateTime = strawberry.field(
        description="The time when the execution was created, in UTC."
    )
    created_by: str = strawberry.field(
        metadata=text_metadata(MAX_USER_ID),
        description="The id of the user who created the execution.",
    )
    started_by: str | None = strawberry.field(
        metadata=text_metadata(MAX_USER_ID),
        description="The id of the user who reported the input as complete, or started the "
        "execution again; `penstock` if the system found the input. Null until then.",
    )
    cancelled_by: str | None = strawberry.field(
        metadata=text_metadata(MAX_USER_ID),
        description="The id of the user who cancelled the execution; null if nobody did.",
    )
    ready_at: DateTime | None = strawberry.field(
        description="The time when the input was complete, in UTC; null until then."
    )
    started_at: DateTime | None = strawberry.field(
        description="The time when a worker first claimed the execution, in UTC; null until then."
    )
    finished_at: DateTime | None = strawberry.field(
        description="The time when the execution ended, in UTC; null until then."
    )

    is_type_of = record_type_check(records.Execution)

    @strawberry.field(
        graphql_type=_LazyPipeline,
        description="The pipeline of the execution in its present version.",
    )
    @staticmethod
    async def pipeline(execution: strawberry.Parent[records.Execution], info: Info) -> Pipeline:
        projection = projected_attributes(info, "Pipeline")
        return await info.context.loaders.of(PIPELINE).latest(execution.pipeline_id, projection)

    @strawberry.field(
        graphql_type=list[ExecutionPin],
        description="The calculations and reference datasets that the formulas use, in the "
        "versions that were current when the execution was created. Those that the caller does "
        "not see are left out.",
    )
    @staticmethod
    async def pins(
        execution: strawberry.Parent[records.Execution], info: Info
    ) -> list[records.Pin]:
        return await executions.visible_pins(info.context, execution)

    @strawberry.field(
        graphql_type=_LazyDatasetVersion | None,
        description="The version of the reference dataset that the execution wrote; null if it "
        "wrote none, or if it is gone or the caller does not see it.",
    )
    @reads_attributes({"Execution": ("dataset_id", "dataset_version")})
    @staticmethod
    async def written_dataset(
        execution: strawberry.Parent[records.Execution], info: Info
    ) -> ReferenceDataset | None:
        id, number = execution.dataset_id, execution.dataset_version
        if id is None or number is None:
            return None
        return await resources.find_visible_version(info.context, REFERENCE_DATASET, id, number)

    @strawberry.field(
        description="An explanation of the state, for people; null if there is none, and for a "
        "caller who may not read the files of the execution, which it may quote."
    )
    @reads_attributes({"Execution": ("message", *FILE_ACCESS_FIELDS)})
    @staticmethod
    def state_message(execution: strawberry.Parent[records.Execution], info: Info) -> str | None:
        return executions.visible_message(info.context, execution)

    @strawberry.field(
        metadata=price_metadata(0),
        description="The progress of the execution; null until the input is complete.",
    )
    @staticmethod
    def progress(execution: strawberry.Parent[records.Execution]) -> ExecutionProgress | None:
        return None if execution.ready_at is None else current_progress(execution)

    @strawberry.field(
        description="The reasons for which most rows were rejected, at most ten and the commonest "
        "first, with their numbers of rows. Null before the end, for a caller who may not read the "
        "rejected rows, and for executions of earlier releases and of workers elsewhere."
    )
    @reads_attributes({"Execution": ("rejections", *FILE_ACCESS_FIELDS)})
    @staticmethod
    def rejections(
        execution: strawberry.Parent[records.Execution], info: Info
    ) -> list[RejectionCount] | None:
        return rejection_counts(executions.visible_rejections(info.context, execution))

    @strawberry.field(graphql_type=ExecutionInput, description="The input of the execution.")
    @reads_attributes({"Execution": ("input_name", "ready_at", "bytes_total", "read_as")})
    @staticmethod
    def input(execution: strawberry.Parent[records.Execution]) -> ExecutionInput:
        size = execution.bytes_total if execution.ready_at is not None else None
        return ExecutionInput(
            name=execution.input_name,
            size_bytes=None if size is None else Long(size),
            read_as=execution.read_as,
        )

    @strawberry.field(
        description="The time from the start to the end, or to the last heartbeat, in seconds; "
        "null until a worker has started."
    )
    @reads_attributes({"Execution": ("started_at", "finished_at", "heartbeat_at")})
    @staticmethod
    def duration_seconds(execution: strawberry.Parent[records.Execution]) -> float | None:
        return execution.duration_seconds

    @strawberry.field(
        description="The estimated time of the end at the present rate, in UTC; null if no worker "
        "is running the execution or there is no estimate."
    )
    @staticmethod
    def estimated_end(execution: strawberry.Parent[records.Execution]) -> DateTime | None:
        found = execution.end_estimate
        return None if found is None else DateTime(iso_timestamp(found))

    @strawberry.field(
        metadata=price_metadata(8),
        description="The number of executions, of all callers, that became ready before this one "
        "and wait for a worker; null if it does not wait for one, or if they are more than 1,000. "
        "Callers take turns, so this one may begin before others.",
    )
    @staticmethod
    async def queue_position(
        execution: strawberry.Parent[records.Execution], info: Info
    ) -> int | None:
        return await info.context.session.executions.queue_position(execution)

    @strawberry.field(
        graphql_type=list[ExecutionAttempt],
        metadata=price_metadata(2),
        description="The attempts of workers among the latest 200 events of the history, newest "
        "first.",
    )
    @staticmethod
    async def attempts(
        execution: strawberry.Parent[records.Execution], info: Info
    ) -> list[AttemptRecord]:
        return await info.context.session.executions.attempts(execution)

    @strawberry.field(
        graphql_type=Annotated["Execution", strawberry.lazy(__name__)] | None,
        description="The earlier execution whose result was taken, because everything that the "
        "output depends on is the same; null if there is none that the caller sees.",
    )
    @staticmethod
    async def reused_from(
        execution: strawberry.Parent[records.Execution], info: Info
    ) -> records.Execution | None:
        return await executions.reused_execution(info.context, execution)

    @strawberry.field(
        description="The form that uploads the input while the execution waits for it; null for a "
        "caller who neither created the execution nor contributes to the owner group."
    )
    @staticmethod
    async def upload(
        execution: strawberry.Parent[records.Execution], info: Info
    ) -> UploadForm | None:
        form = await executions.upload_form(info.context, execution)
        return None if form is None else UploadForm.from_port(form)

    @strawberry.field(
        description="The download of the input, which exists once it is complete: the file as it "
        "was uploaded, or the rows of the request as JSON."
    )
    @staticmethod
    async def input_download(
        execution: strawberry.Parent[records.Execution], info: Info, expires_in: ExpiresIn = UNSET
    ) -> FileDownload | None:
        return await _read_download(info, execution, FileKind.INPUT, expires_in)

    @strawberry.field(
        description="The download of the output, which exists once the execution has succeeded."
    )
    @staticmethod
    async def output_download(
        execution: strawberry.Parent[records.Execution], info: Info, expires_in: ExpiresIn = UNSET
    ) -> FileDownload | None:
        return await _read_download(info, execution, FileKind.OUTPUT, expires_in)

    @strawberry.field(
        description="The download of the rejected rows, which exists once the execution has "
        "succeeded or failed."
    )
    @staticmethod
    async def errors_download(
        execution: strawberry.Parent[records.Execution], info: Info, expires_in: ExpiresIn = UNSET
    ) -> FileDownload | None:
        return await _read_download(info, execution, FileKind.ERRORS, expires_in)

    @strawberry.field(
        metadata=price_metadata(10),
        description="The results of an execution with the mode INLINE; null with the mode JOB.",
    )
    @staticmethod
    async def results(
        execution: strawberry.Parent[records.Execution], info: Info
    ) -> InlineResults | None:
        found = await info.context.session.executions.inline_output.one(execution)
        return None if found is None else inline_results(found)

    @strawberry.field(
        metadata=price_metadata(100),
        description="The steps by which a row of the output comes to its values, from its input "
        "row on. The caller must see the calculations and reference datasets that they use.",
    )
    @staticmethod
    async def explanation(
        execution: strawberry.Parent[records.Execution],
        info: Info,
        row: Annotated[
            int,
            strawberry.argument(
                description="The number of the row in the output, counted from 1; rejected rows "
                "are in no output."
            ),
        ],
    ) -> RowExplanation:
        explaining = info.context.session.executions.explaining
        return show_row(await explaining.of_output(execution, row))

    @strawberry.field(
        graphql_type=Connection[ExecutionEvent],
        description="The history of the execution: its events, oldest first.",
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
        return await read_connection(
            info,
            ("timeline", execution.id),
            page_from_arguments(first, after, last, before),
            lambda window: info.context.session.executions.reading.events(execution, window),
        )


@strawberry.type
class ExecutionQuery:
    @strawberry.field(
        graphql_type=Execution | None, description="The execution with the given global id."
    )
    @staticmethod
    async def execution(
        info: Info,
        id: Annotated[
            strawberry.ID, strawberry.argument(description="The global id of the execution.")
        ],
    ) -> records.Execution | None:
        return await info.context.loaders.executions.load(parse_key("Execution", id))
