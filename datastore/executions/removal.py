"""Removal of executions and their files: expired ones, and those of deleted pipelines."""

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from penstock.datastore.change_log.rows import moment_of
from penstock.datastore.clock import Clock, iso_timestamp
from penstock.datastore.datasets.staged_files import abandoned_folder_row
from penstock.datastore.executions.claims.queue import due_executions
from penstock.datastore.executions.create import tag_writes
from penstock.datastore.executions.files import (
    STAGED_FORM_TIME,
    delete_files,
    ingest_key,
    pipeline_folder,
    refuse_staged_uploads,
)
from penstock.datastore.executions.listed_rows import change_writes, list_changes, still_listed
from penstock.datastore.executions.reading import find_execution
from penstock.datastore.executions.records import Execution
from penstock.datastore.executions.rows import (
    DueStage,
    due_key,
    execution_of,
    kept_counter,
    key_of_execution,
)
from penstock.datastore.kept_rows.merged_files import read_merged_files
from penstock.datastore.kept_rows.part_keys import delete_all_parts, delete_parts_of
from penstock.datastore.kept_rows.records import RowsPart
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.objects.port import Files
from penstock.datastore.periodic import finish_all
from penstock.datastore.quotas.usage import change_kept
from penstock.datastore.table.commit import StaleRead, Write, commit
from penstock.datastore.table.items import load, read_rows, resource_id
from penstock.datastore.table.layout import (
    EXECUTION,
    EXECUTION_COUNT,
    EXECUTION_EVENT,
    EXECUTION_PLAN,
    EXECUTION_RESULT,
    PIPELINE,
    ROWS_HEAD,
    ROWS_MERGED,
    ROWS_PART,
    TOMBSTONE,
)
from penstock.datastore.table.pages import query_items, query_pages
from penstock.datastore.table.port import (
    AllOf,
    Compare,
    ConditionFailed,
    Delete,
    Exists,
    Missing,
    Put,
    Query,
    Range,
    Table,
    Update,
    key_of,
)
from penstock.datastore.table.tombstones import DELETED_AT

BATCH = 25


async def delete_all_files(files: Files, execution: Execution) -> None:
    """Delete the files of an execution, and those of the rows that it made."""
    await delete_files(files, execution)
    await delete_parts_of(files, execution.pipeline_id, execution.id)


async def delete_orphaned_files(table: Table, files: Files, execution: Execution) -> None:
    """Delete the files of an execution if it was removed.

    The removal may have deleted them before somebody wrote more of them.
    """
    if await find_execution(table, execution.id) is None:
        await delete_all_files(files, execution)


async def find_deleted_pipelines(table: Table) -> frozenset[str]:
    """The pipelines of a page that are being deleted, and may have executions still."""
    marked = Query(partition=TOMBSTONE.fill({"kind": PIPELINE.letter}), index=True)
    return frozenset(resource_id(each) for each in (await table.query(marked)).items)


@dataclass(frozen=True, slots=True)
class ExecutionRemoval:
    """The removal of executions; every step may be repeated."""

    table: Table
    files: Files
    clock: Clock

    async def remove_expired(self) -> int:
        """Remove the executions whose retention time is over; return their number."""
        until = int(self.clock.now().timestamp() * 1000)
        expired = [one async for one in due_executions(self.table, DueStage.EXPIRE, until)]
        return await finish_all(partial(self.remove, execution) for execution in expired)

    async def remove_orphans(self) -> int:
        """Remove the executions of pipelines that are being deleted; return their number.

        Executions that the index does not list yet are removed by the next call.
        """
        pipelines = await find_deleted_pipelines(self.table)
        return await finish_all(partial(self._remove_all, each) for each in sorted(pipelines))

    async def _remove_all(self, pipeline: str) -> int:
        await self._note_late_uploads(pipeline)
        await self._remove_withdrawals(pipeline)
        executions = self._pipeline_executions(pipeline)
        removed = sum([await self.remove(execution) async for execution in executions])
        # An execution that ended meanwhile has written the head anew; none is left to do so.
        await self._remove_head(pipeline)
        await self._remove_merged_files(pipeline)
        # A server without a place for files has none of rows.
        if self.files is not NO_FILES:
            await delete_all_parts(self.files, pipeline)
        return removed

    async def _note_late_uploads(self, pipeline: str) -> None:
        """Let the sweep remove what forms send after the deletion: those of S3 stay valid."""
        if self.files.ends_forms:
            return
        until = self.clock.now() + STAGED_FORM_TIME
        row = abandoned_folder_row(pipeline, pipeline_folder(pipeline), until)
        with suppress(ConditionFailed):  # an earlier pass has noted it
            await self.table.transact([Put(row, Missing())])

    async def _remove_head(self, pipeline: str) -> None:
        """Remove the head of rows, if there is one."""
        head = ROWS_HEAD.key(id=pipeline)
        if (await self.table.get([head], consistent=True)).items:
            await self.table.write([Delete(head)])

    async def _remove_merged_files(self, pipeline: str) -> None:
        """Take the merged files off the list; no merge comes without the head."""
        merged = await read_merged_files(self.table, pipeline)
        for start in range(0, len(merged), BATCH):
            keys = [
                ROWS_MERGED.key(id=pipeline, commit=one.last)
                for one in merged[start : start + BATCH]
            ]
            await self.table.write([Delete(key) for key in keys])

    async def _remove_withdrawals(self, pipeline: str) -> None:
        """Remove the withdrawals of rows; the parts of executions go with these."""
        row = ROWS_PART
        listed = Query(partition=row.pk.fill({"id": pipeline}), range=Range(row.sk.prefix({})))
        async for item in query_items(self.table, listed):
            if not row.holds(key_of(item)):
                continue
            part = load(RowsPart, item)
            if part.execution is None:
                await self.files.delete(part.file)
                await self.table.write([Delete(key_of(item))])

    async def remove(self, execution: Execution) -> bool:
        """Remove an execution in the state in which it was read; False if it has changed since.

        Readers stop seeing it immediately. Its row is deleted last, so that this or another process
        can finish a removal that was interrupted.
        """
        if execution.deleted_at is None and not await self._mark_deleted(execution):
            return False
        if execution.upload_until is not None and execution.upload_until > self.clock.timestamp():
            await self.files.refuse_uploads(ingest_key(execution))
        if self._may_have_staged_forms(execution):
            await refuse_staged_uploads(self.files, execution)
        await delete_all_files(self.files, execution)
        await self._delete_result(execution)
        await self._delete_events(execution)
        # The count stays at zero: it is the guard of later executions.
        uncounted = Update(
            key=EXECUTION_COUNT.key(id=execution.pipeline_id),
            add={"count": -1},
            condition=Compare("count", ">", 0),
        )
        writes = [
            Write(Delete(key_of_execution(execution.id), Exists())),
            Write(Delete(EXECUTION_PLAN.key(id=execution.id))),
            Write(Delete(due_key(execution))),
            *list_changes(execution, None),
            *change_writes(execution, None, moment_of(self.clock.now())),
            Write(uncounted),
            *tag_writes(execution, gone=True),
            *change_kept(kept_counter(execution), None),
            *_part_deletes(execution),
        ]
        with suppress(StaleRead):  # Another process removed it.
            await commit(self.table, writes)
        return True

    def _may_have_staged_forms(self, execution: Execution) -> bool:
        """Whether forms of its claims may be valid still."""
        oldest = iso_timestamp(self.clock.now() - STAGED_FORM_TIME)
        return execution.finished_at is None or execution.finished_at > oldest

    async def _mark_deleted(self, execution: Execution) -> bool:
        mark = Update(
            key=key_of_execution(execution.id),
            set={DELETED_AT: self.clock.timestamp()},
            add={"events": 1, "revision": 1},
            condition=AllOf((Compare("events", "=", execution.events), *still_listed(execution))),
        )
        try:
            await self.table.transact([mark])
        except ConditionFailed:
            return False
        return True

    async def _pipeline_executions(self, pipeline: str) -> AsyncIterator[Execution]:
        listed = Query(
            partition=EXECUTION.index_partition(pipeline=pipeline), index=True, range=Range("PE:")
        )
        async for page in query_pages(self.table, listed):
            keys = [key_of(item) for item in page]
            rows = await read_rows(self.table, keys, consistent=True)
            for item in rows.values():
                yield execution_of(item)

    async def _delete_result(self, execution: Execution) -> None:
        if execution.digest is None:
            return
        key = EXECUTION_RESULT.key(id=execution.pipeline_id, digest=execution.digest)
        is_of_this_execution = Compare("execution", "=", execution.id)
        with suppress(ConditionFailed):
            await self.table.transact([Delete(key, is_of_this_execution)])

    async def _delete_events(self, execution: Execution) -> None:
        row = EXECUTION_EVENT
        history = Query(
            partition=row.pk.fill({"id": execution.id}),
            range=Range(row.sk.prefix({})),
            consistent=True,
        )
        async for page in query_pages(self.table, history):
            keys = [key_of(item) for item in page]
            for start in range(0, len(keys), BATCH):
                await self.table.write([Delete(key) for key in keys[start : start + BATCH]])


def _part_deletes(execution: Execution) -> list[Write]:
    """The writes that delete the execution's parts of kept rows, if it has any, and their head.

    An execution with a part is only removed after its pipeline.
    """
    if execution.rows_commit is None:
        return []
    id = execution.pipeline_id
    first = execution.rows_first or execution.rows_commit
    parts = [ROWS_PART.key(id=id, commit=n) for n in range(first, execution.rows_commit + 1)]
    return [Write(Delete(key)) for key in (*parts, ROWS_HEAD.key(id=id))]
