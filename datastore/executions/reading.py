"""Reads of executions, which every caller sees who sees the pipeline."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import msgspec

from penstock.datastore.access.access import Access, not_found_error
from penstock.datastore.errors import NotFound, Unreadable
from penstock.datastore.executions.file_access import sees_whole_files
from penstock.datastore.executions.records import Execution, ExecutionEvent
from penstock.datastore.executions.rows import execution_of, key_of_execution
from penstock.datastore.records import Pipeline
from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.resources.reading import ACCESS_FIELDS, ResourceReader
from penstock.datastore.table.items import Projection, load, read_or_report, read_rows
from penstock.datastore.table.layout import EXECUTION_EVENT, EXECUTION_PLAN, PIPELINE
from penstock.datastore.table.pages import Slice, Window, make_slice, read_records
from penstock.datastore.table.port import Query, Range, Table
from penstock.datastore.table.tombstones import is_alive
from penstock.datastore.text import is_id
from penstock.transform.plan import TransformPlan

NOUN = "execution"


class VisibleExecution(NamedTuple):
    """An execution and its pipeline, both of which the caller may see."""

    execution: Execution
    pipeline: Pipeline


@dataclass(frozen=True, slots=True)
class ReadExecutions:
    """The reads of executions for the caller."""

    access: Access

    async def many(self, ids: Sequence[str]) -> list[Execution | NotFound]:
        """Get execution: `pk = PE:<id>, sk = PE:P`, batched, then their pipelines; aligned."""
        found = await self.many_with_pipelines(ids, projection=ACCESS_FIELDS)
        return [one if isinstance(one, NotFound) else one.execution for one in found]

    async def one(self, id: str) -> VisibleExecution:
        """Get an execution with its pipeline; raises NotFound."""
        (found,) = await self.many_with_pipelines([id])
        if isinstance(found, NotFound):
            raise found
        return found

    async def many_with_pipelines(
        self, ids: Sequence[str], *, projection: Projection = None
    ) -> list[VisibleExecution | NotFound]:
        """Get executions with their pipelines; one answer for each id, aligned.

        `projection` are the fields that each pipeline must have.
        """
        keys = {id: key_of_execution(id) for id in ids if is_id(id)}
        rows = await read_rows(self.access.table, keys.values(), consistent=True)
        read = {
            id: read_or_report(execution_of, rows[key]) for id, key in keys.items() if key in rows
        }
        found = {
            id: one
            for id, one in read.items()
            if not isinstance(one, Unreadable) and one.deleted_at is None
        }
        # An id without an execution costs as much as one that the caller does not see.
        owners = list(dict.fromkeys(found[id].pipeline_id if id in found else id for id in keys))
        reading = ResourceReader(PIPELINE, self.access)
        pipelines = await reading.many(owners, projection=projection)
        visible = {one.id: one for one in pipelines if not isinstance(one, NotFound)}
        return [
            VisibleExecution(found[id], visible[found[id].pipeline_id])
            if id in found and found[id].pipeline_id in visible
            else not_found_error(NOUN)
            for id in ids
        ]

    async def events(self, execution: Execution, window: Window) -> Slice[ExecutionEvent]:
        """List the history of an execution in hand: `pk = PE:<id>`, `sk` begins with `PEH:`.

        Notes may quote the input, and are for those who may read it.
        """
        row, placed = EXECUTION_EVENT, {"id": execution.id}
        seq = window.after_number
        query = Query(
            partition=row.pk.fill(placed),
            range=Range(row.sk.prefix({})),
            after=None if seq is None else row.key(**placed, seq=seq),
            descending=window.backward,
            limit=window.size + 1,
        )
        read = partial(load, ExecutionEvent)
        found = await read_records(self.access.table, query, read)
        events = found.records
        if not sees_whole_files(self.access.caller, execution):
            events = [msgspec.structs.replace(event, note=None) for event in events]
        return make_slice(events, window, lambda event: str(event.seq), more=found.more)


async def find_execution(table: Table, id: str) -> Execution | None:
    """The current state of an execution, without a permission check; None if it is gone."""
    key = key_of_execution(id)
    item = (await table.get([key], consistent=True)).items.get(key)
    return execution_of(item) if is_alive(item) else None


async def find_plan(table: Table, id: str) -> TransformPlan | None:
    """The plan of an execution, pinned when the execution was created."""
    key = EXECUTION_PLAN.key(id=id)
    item = (await table.get([key], consistent=True)).items.get(key)
    return None if item is None else msgspec.json.decode(str(item["plan"]), type=TransformPlan)


async def follow_execution(
    reading: ReadExecutions, changes: RowChanges, id: str
) -> AsyncIterator[Execution]:
    """Yield an execution as it is now, then after each write of it, until it is over.

    A slow reader misses states, but never the last. The iterator also ends if the execution is
    removed or the caller no longer sees it: the row of its pipeline, which says who does, is
    followed too. Raises NotFound if they do not see it at the start.
    """
    execution, pipeline = await reading.one(id)
    yield execution
    place, arrived = PIPELINE.latest.key(id=pipeline.id), asyncio.Event()
    work = reading.access.work
    with (
        changes.watch(key_of_execution(id), execution.revision, arrived, work=work),
        changes.watch(place, pipeline.revision, arrived, work=work),
    ):
        while not execution.state.is_over:
            await arrived.wait()
            arrived.clear()
            (found,) = await reading.many([id])
            if isinstance(found, NotFound):
                return
            if found.revision > execution.revision:
                execution = found
                yield execution
