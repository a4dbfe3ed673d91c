"""Retention of kept rows: the oldest commits leave, with their files and their executions.

One transaction takes some commits off the list. It also leaves their files to the sweep of staged
files and lets their executions expire, both after an hour, so that whoever read the list before can
still read them. A process that dies leaves nothing half done.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.datasets.staged_files import STAGING_TIME, StagedFile
from penstock.datastore.executions.records import Execution
from penstock.datastore.executions.rows import due_item, due_key, execution_of, key_of_execution
from penstock.datastore.kept_rows.merged_files import place_parts, read_merged_files
from penstock.datastore.kept_rows.part_list import (
    RowsMoved,
    departure_writes,
    read_first_parts,
    read_head,
)
from penstock.datastore.kept_rows.records import RowsPart
from penstock.datastore.periodic import finish_all
from penstock.datastore.table.commit import StaleRead, Write, commit
from penstock.datastore.table.items import read_rows, resource_id
from penstock.datastore.table.layout import ROWS_LIMIT
from penstock.datastore.table.pages import query_items
from penstock.datastore.table.port import Check, Compare, Delete, Put, Query, Update

AT_ONCE: Final = 18
"""The commits that one transaction takes off the list: each is up to five operations of it."""

MOST_STEPS: Final = 100
"""The transactions for one pipeline before it is the turn of the next."""


@dataclass(frozen=True, slots=True)
class RowRetention:
    """Lets rows leave that are older than their pipeline keeps them."""

    access: Access

    async def drop_all(self) -> int:
        """Let the rows of each pipeline leave that are too old; return the number of commits.

        Reads `siKey1 = PKD`, and the first parts of each of these pipelines.
        """
        listed = Query(partition=ROWS_LIMIT.index_partition(), index=True)
        limits = [
            (resource_id(item), int(str(item["keepDays"])))
            async for item in query_items(self.access.table, listed)
        ]
        return await finish_all(partial(self.drop, *limit) for limit in limits)

    async def drop(self, pipeline: str, days: int) -> int:
        """Let the rows of a pipeline leave that are older than so many days."""
        dropped = 0
        # What a conflict leaves, the next sweep finds again.
        with suppress(RowsMoved, StaleRead):
            for _ in range(MOST_STEPS):
                step = await self._drop_some(pipeline, days)
                dropped += step
                if step < AT_ONCE:
                    break
        return dropped

    async def _drop_some(self, pipeline: str, days: int) -> int:
        access, now = self.access, self.access.clock.now()
        listed = await read_first_parts(access.table, pipeline, AT_ONCE + 1)
        until = iso_timestamp(now - timedelta(days=days))
        parts = [part for part in listed[:AT_ONCE] if part.at <= until]
        if not parts:
            return 0
        head = await read_head(access.table, pipeline)
        # Read behind the head: a merge that comes meanwhile fails the transaction.
        merged = await read_merged_files(access.table, pipeline)
        still_limited = Compare("keepDays", "=", days)
        writes = [
            Write(Check(ROWS_LIMIT.key(id=pipeline), still_limited)),
            *departure_writes(pipeline, head, parts, merged, iso_timestamp(now)),
            *self._file_writes(len(parts), place_parts(listed, merged)),
            *await self._expiry_writes(parts),
        ]
        await commit(access.table, writes)
        return len(parts)

    def _file_writes(self, leaving: int, placed: Sequence[RowsPart]) -> list[Write]:
        """The writes that leave to the sweep the files of parts in which no other commit lies."""
        needed = {part.file for part in placed[leaving:]}
        left = dict.fromkeys(part.file for part in placed[:leaving])
        files = [file for file in left if file not in needed]
        staged = [StagedFile(self.access, self.access.clock.new_id(), file) for file in files]
        return [Write(Put(one.row())) for one in staged]

    async def _expiry_writes(self, parts: Sequence[RowsPart]) -> list[Write]:
        keys = [key_of_execution(part.execution) for part in parts if part.execution is not None]
        rows = await read_rows(self.access.table, keys, consistent=True)
        due = self.access.clock.now() + STAGING_TIME
        writes = [_expire(execution_of(row), int(due.timestamp() * 1000)) for row in rows.values()]
        return [write for each in writes for write in each]


def _expire(execution: Execution, due: int) -> list[Write]:
    """The writes that let an execution expire whose rows have left."""
    after = replace(execution, due=due, rows_first=None, rows_commit=None)
    changed = Update(
        key=key_of_execution(execution.id),
        set={"due": due},
        remove=("rowsCommit", "rowsFirst"),
        add={"revision": 1},
        condition=Compare("events", "=", execution.events),
    )
    return [Write(changed), Write(Delete(due_key(execution))), Write(Put(due_item(after)))]
