"""The progress of an execution: counts, speed, the time that is left, and reasons of rejections."""

from collections.abc import Iterable

import strawberry

from penstock.datastore.executions import records
from penstock.datastore.executions.rows import MAX_CODE_LENGTH
from penstock.datastore.formulas.transformers import MAX_LABEL
from penstock.schema.core.scalars import Long
from penstock.schema.core.text_bounds import text_metadata
from penstock.transform import outcome


@strawberry.type(
    description="The progress of an execution, as the worker reports it every two seconds."
)
class ExecutionProgress:
    rows_read: Long = strawberry.field(
        description="The number of input rows that were read so far."
    )
    rows_succeeded: Long = strawberry.field(
        description="The number of rows that were written to the output."
    )
    rows_failed: Long = strawberry.field(
        description="The number of rows that were rejected and left out of the output."
    )
    bytes_read: Long = strawberry.field(
        description="The number of bytes of the input that were read."
    )
    bytes_written: Long = strawberry.field(
        description="The number of bytes that were written to the output and to the file of "
        "rejected rows."
    )
    bytes_total: Long | None = strawberry.field(
        description="The size of the input in bytes, as CSV; null until it is known."
    )
    rows_per_second: float | None = strawberry.field(
        description="The average number of rows read per second since the worker started; null "
        "until a worker has started, and for a result that was copied from an earlier execution."
    )
    eta_seconds: int | None = strawberry.field(
        description="The estimated time until the end at the present rate, in seconds; null if "
        "there is no estimate."
    )


@strawberry.type(description="The number of rows that were rejected for one reason.")
class RejectionCount:
    code: str = strawberry.field(
        metadata=text_metadata(MAX_CODE_LENGTH),
        description="The code of the first problem of each row, for programs.",
    )
    column: str | None = strawberry.field(
        metadata=text_metadata(MAX_LABEL),
        description="The parameter or output that has the problem; null if it concerns the whole "
        "row.",
    )
    rows: Long = strawberry.field(description="The number of rows.")


def current_progress(execution: records.Execution) -> ExecutionProgress:
    counts, seconds = execution.counts, execution.seconds_at_work
    left = execution.seconds_left
    eta = None if left is None else 0 if execution.state.is_over else round(left)
    return ExecutionProgress(
        rows_read=Long(counts.rows),
        rows_succeeded=Long(counts.succeeded),
        rows_failed=Long(counts.failed),
        bytes_read=Long(counts.bytes_read),
        bytes_written=Long(counts.bytes_written),
        bytes_total=None if execution.bytes_to_read is None else Long(execution.bytes_to_read),
        # Rows of a copied result were read by another execution, in another time.
        rows_per_second=counts.rows / seconds if seconds and not execution.copied_from else None,
        eta_seconds=eta,
    )


def rejection_counts(
    found: Iterable[outcome.RejectionCount] | None,
) -> list[RejectionCount] | None:
    if found is None:
        return None
    return [
        RejectionCount(code=each.code, column=each.column or None, rows=Long(each.rows))
        for each in found
    ]
