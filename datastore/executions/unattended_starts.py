"""Starts that no caller asks for: by the search for uploads, and by events about others' uploads.

The roles of the creator are in their token. What the table tells of them is checked: the grants of
the pipeline, and the API key with which the execution was created.
"""

from penstock.datastore.access.access import Access
from penstock.datastore.api_keys import find_credential
from penstock.datastore.executions.access import may_run
from penstock.datastore.executions.reading import find_plan
from penstock.datastore.executions.records import Execution
from penstock.datastore.records import Pipeline, State
from penstock.datastore.roles import Caller, covers
from penstock.datastore.table.items import Projection, load, read_rows
from penstock.datastore.table.layout import PIPELINE
from penstock.datastore.table.tombstones import is_alive

_FIELDS: Projection = frozenset(("id", "owner", "groups", "state"))


async def needs_starter(access: Access, execution: Execution) -> bool:
    """Whether only a caller may start an execution, or nobody.

    It writes more than files, which only the token of whoever uploaded its input would allow; or
    its creator may run the pipeline no more, or nobody while it is closed.
    """
    plan = await find_plan(access.table, execution.id)
    writes_more = plan is not None and not plan.only_writes_files
    return writes_more or not await _may_still_run(access, execution)


async def _may_still_run(access: Access, execution: Execution) -> bool:
    """Whether the creator may run the pipeline, and it is enabled, as far as the table tells."""
    pipeline = await _find_pipeline(access, execution)
    if pipeline is None or pipeline.state is not State.ENABLED:
        return False
    if execution.api_key is not None:
        holder = await _find_holder(access, execution.api_key)
        return holder is not None and may_run(holder, pipeline)
    through = execution.granted_through
    return not through or any(covers(one, group) for one in pipeline.groups for group in through)


async def _find_holder(access: Access, key: str) -> Caller | None:
    """The user of an API key with the roles that it has now; None if it is accepted no more."""
    found = await find_credential(access.table, key)
    if found is None or found.has_expired(access.clock.now()):
        return None
    return Caller(found.user, found.roles)


async def _find_pipeline(access: Access, execution: Execution) -> Pipeline | None:
    """Get latest: `pk = P:<id>, sk = PV:latest`, consistently; None if it was deleted."""
    key = PIPELINE.latest.key(id=execution.pipeline_id)
    row = (await read_rows(access.table, [key], consistent=True)).get(key)
    if not is_alive(row):
        return None
    return load(PIPELINE.record, row, _FIELDS, id=execution.pipeline_id)
