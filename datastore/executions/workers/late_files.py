"""Files that were written for a claim which was lost meanwhile."""

from penstock.datastore.executions.files import (
    delete_lost_rows,
    errors_key,
    has_results,
    written_keys,
)
from penstock.datastore.executions.reading import find_execution
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.objects.port import Files
from penstock.datastore.table.port import Table


async def delete_late_files(table: Table, files: Files, placed: Execution) -> None:
    """Delete what was written for a claim that is lost.

    `placed` is the execution as it was claimed, with the place of what the claim's worker made.
    """
    found, kept = await find_execution(table, placed.id), set[str]()
    if found is not None and found.fence == placed.fence:
        if found.state in (ExecutionState.IN_PROGRESS, ExecutionState.SUCCESS):
            return
        if has_results(found):
            # Another call of the worker ended the claim in failure, with these rejected rows.
            kept = {errors_key(placed)}
    for key in written_keys(placed):
        if key not in kept:
            await files.delete(key)
    await delete_lost_rows(files, placed)
