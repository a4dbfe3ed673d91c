"""The place of the upload that an execution awaits, which comes with its row or not at all."""

from collections.abc import Sequence
from datetime import datetime

from penstock.datastore.access.access import Access
from penstock.datastore.access.open_uploads import OpenedUpload
from penstock.datastore.executions.records import Execution, ExecutionMode, ExecutionState
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.commit import Write, commit
from penstock.datastore.table.layout import EXECUTION


def awaits_upload(execution: Execution) -> bool:
    return (
        execution.state is ExecutionState.WAITING
        and execution.ready_at is None
        and execution.mode is ExecutionMode.JOB
    )


async def commit_with_place(
    access: Access, owner: GroupPath, execution: Execution, writes: Sequence[Write]
) -> None:
    """Do the writes that lead to this state of an execution of a pipeline of the owner group.

    Where it awaits an upload, the same transaction takes the upload's places: nobody sees a place
    without its execution, and takes it for one that is over. Raises QuotaExceeded if there is none.
    """
    if execution.upload_until is None or not awaits_upload(execution):
        await commit(access.table, writes)
        return
    upload = OpenedUpload(
        "execution",
        # Other than its id, it is not the same after a retry.
        execution.ingest,
        datetime.fromisoformat(execution.upload_until),
        EXECUTION.key(id=execution.id, pipeline=execution.pipeline_id),
        execution.pipeline_id,
    )
    await access.open_uploads.open(upload, owner, writes)
