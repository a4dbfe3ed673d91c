"""The same work is not done twice: what an output depends on, and who has made it already."""

from hashlib import sha256

import msgspec

from penstock.datastore.executions.keys import errors_key, output_key
from penstock.datastore.executions.reading import find_execution
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.files import Files, Stat
from penstock.datastore.layout import EXECUTION_RESULT
from penstock.datastore.table import Table
from penstock.transform.plan import Plan


def digest_of(execution: Execution, plan: Plan, content: Stat) -> str:
    """Equal only where the output is bound to be: same plan and pins, bounds and input."""
    facts = [
        plan,
        execution.pipeline_version,
        execution.mode,
        execution.pins,
        execution.max_failed_rows,
        content.etag,
        content.size,
    ]
    return sha256(msgspec.json.encode(facts)).hexdigest()


async def earlier(table: Table, files: Files, execution: Execution) -> Execution | None:
    """An execution of the same digest that succeeded and whose files are there."""
    key = EXECUTION_RESULT.key(id=execution.pipeline_id, digest=execution.digest or "")
    row = (await table.get([key], consistent=True)).items.get(key)
    if row is None or row["execution"] == execution.id:
        return None
    found = await find_execution(table, str(row["execution"]))
    if found is None or found.state is not ExecutionState.SUCCESS:
        return None
    for kept in (output_key(found), errors_key(found)):
        if await files.stat(kept) is None:
            return None
    return found
