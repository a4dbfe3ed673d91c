"""Files that were written for a claim which was lost meanwhile."""

from penstock.datastore.executions.files import written_keys
from penstock.datastore.executions.reading import find_execution
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.objects.port import Files
from penstock.datastore.table.port import Table


async def delete_late_files(table: Table, files: Files, placed: Execution) -> None:
    """Delete what was written for a claim that was lost to another one or a cancellation.

    `placed` is the execution as it was claimed, with the place of what the claim's worker made.
    """
    found = await find_execution(table, placed.id)
    is_lost = found is None or found.fence > placed.fence
    if is_lost or (found is not None and found.state is ExecutionState.CANCELLED):
        for key in written_keys(placed):
            await files.delete(key)
