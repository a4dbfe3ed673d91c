"""The smaller types of executions: progress, downloads, history, pins and answers."""

import strawberry

from penstock.datastore.clock import canonical
from penstock.datastore.executions import answers as answer_records
from penstock.datastore.executions import records
from penstock.datastore.executions.downloads import FileDownload as DownloadRecord
from penstock.schema.files import FileDownload
from penstock.schema.scalars import JSON, DateTime, Long

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
