"""Files that were written for a claim which was lost meanwhile."""

from collections.abc import Iterable

from penstock.datastore.executions.files import errors_key, has_results, written_keys
from penstock.datastore.executions.reading import find_execution
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.objects.port import Files
from penstock.datastore.table.port import Table


async def delete_late_files(table: Table, files: Files, placed: Execution) -> None:
    """Delete what was written for a claim that is lost.

    `placed` is the execution as it was claimed, with the place of what the claim's worker made.
    """
    for key in _late_keys(placed, await find_execution(table, placed.id)):
        await files.delete(key)


def _late_keys(placed: Execution, found: Execution | None) -> Iterable[str]:
    """The keys in the place of a claim that the present execution does not have."""
    keys = written_keys(placed)
    if found is None or found.fence > placed.fence:
        return keys
    if found.state in (ExecutionState.IN_PROGRESS, ExecutionState.SUCCESS):
        return ()
    # Another call of the worker may have ended the claim in failure, which has rejected rows alone.
    return (key for key in keys if key != errors_key(placed) or not has_results(found))
