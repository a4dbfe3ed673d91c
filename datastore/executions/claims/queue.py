"""The queue of executions that need work, read without scanning any other execution.

Its rows lie in the base table, spread over a few partitions, and change in the same transactions as
the executions. A consistent read therefore misses no execution and lists none that is over.
"""

from asyncio import gather
from collections.abc import AsyncIterator, Collection, Sequence
from random import sample
from typing import Final, NamedTuple

from penstock.datastore.errors import Unreadable
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.executions.rows import (
    SHARD_COUNT,
    DueStage,
    due_key,
    execution_of,
    key_of_execution,
)
from penstock.datastore.table.items import read_or_report, read_rows
from penstock.datastore.table.layout import EXECUTION_DUE
from penstock.datastore.table.pages import PAGE, query_pages
from penstock.datastore.table.port import Attributes, Delete, Key, Query, Range, Table, key_of

MAX_POSITION: Final = 1000
"""The largest position in the queue that is counted."""

COUNTED: Final = 1000
SAMPLED: Final = 96
"""The rows of the queue that a sample counts, and the executions that it reads."""


async def due_executions(
    table: Table, stage: DueStage, until: int | None = None, pages: int | None = None
) -> AsyncIterator[Execution]:
    """The executions of a stage that are due by `until` (epoch milliseconds).

    Partitions come in random order; within one, the longest due come first, and at most so many
    `pages` of them.
    """
    row = EXECUTION_DUE
    last = None if until is None else row.sk.prefix({"due": until + 1})
    for shard in sample(range(SHARD_COUNT), SHARD_COUNT):
        query = Query(
            partition=row.pk.fill({"stage": stage, "shard": shard}),
            range=Range(row.sk.prefix({}), None, last),
            consistent=True,
        )
        left = pages
        async for page in query_pages(table, query):
            for execution in await _current_executions(table, page):
                yield execution
            left = None if left is None else left - 1
            if left == 0:
                break


async def first_of_other_callers(
    table: Table, known: Collection[str], pages: int
) -> list[Execution]:
    """A ready execution of each caller who is not known, the longest due one of a partition.

    Only the queue's own rows are read to find them, at most so many `pages` of each partition.
    Those of earlier releases do not name the caller.
    """
    row, chosen = EXECUTION_DUE, dict[str, Attributes]()
    for shard in sample(range(SHARD_COUNT), SHARD_COUNT):
        partition = row.pk.fill({"stage": DueStage.READY, "shard": shard})
        query = Query(partition=partition, range=Range(row.sk.prefix({})), consistent=True)
        left = pages
        async for page in query_pages(table, query):
            for item in page:
                caller = str(item.get("by", ""))
                if caller and caller not in known:
                    chosen.setdefault(caller, item)
            left -= 1
            if left == 0:
                break
    return await _current_executions(table, list(chosen.values())[:PAGE])


class QueueSample(NamedTuple):
    """The rows of the queue, as far as they were read, and the executions that are oldest in it.

    `rows` counts those that wait for a worker and those that have one. `sampled` are the first ones
    of each partition; all others became ready after `sampled_until` (epoch milliseconds).
    """

    rows: int
    sampled: list[Execution]
    sampled_until: int


async def sample_queue(table: Table) -> QueueSample:
    """Sample the queue: one query of `pk = PED:ready:<shard>` for each partition, one batch get.

    At most COUNTED rows are counted and SAMPLED executions read, whatever the queue holds. Neither
    read is consistent, and nothing is changed.
    """
    row = EXECUTION_DUE
    queries = [
        Query(
            partition=row.pk.fill({"stage": DueStage.READY, "shard": shard}),
            range=Range(row.sk.prefix({})),
            limit=COUNTED // SHARD_COUNT,
        )
        for shard in range(SHARD_COUNT)
    ]
    pages = await gather(*map(table.query, queries))
    first = [item for page in pages for item in page.items[: SAMPLED // SHARD_COUNT]]
    rows = await read_rows(table, map(_execution_key, first))
    found = (read_or_report(execution_of, each) for each in rows.values())
    sampled = [each for each in found if not isinstance(each, Unreadable)]
    until = max((each.due for each in sampled), default=0)
    return QueueSample(sum(len(page.items) for page in pages), sampled, until)


async def queue_position(table: Table, execution: Execution) -> int | None:
    """Count the executions of all callers that became ready before one that waits for a worker.

    Reads `pk = PED:ready:<shard>` up to the execution's own time, in each partition. None if it
    does not wait for a worker, or if more than MAX_POSITION are before it.
    """
    if execution.state is not ExecutionState.WAITING or execution.ready_at is None:
        return None
    until = EXECUTION_DUE.sk.prefix({"due": execution.due})
    found = await gather(*(_count_due(table, shard, until) for shard in range(SHARD_COUNT)))
    position = sum(found)
    return position if position <= MAX_POSITION else None


async def _count_due(table: Table, shard: int, until: str) -> int:
    """Count the ready executions of one partition before a sort key, up to more than the most."""
    row = EXECUTION_DUE
    query = Query(
        partition=row.pk.fill({"stage": DueStage.READY, "shard": shard}),
        range=Range(row.sk.prefix({}), None, until),
        limit=MAX_POSITION + 1,
    )
    return len((await table.query(query)).items)


async def _current_executions(table: Table, due_rows: Sequence[Attributes]) -> list[Execution]:
    """The current executions of some queue rows; a row without an execution is deleted."""
    keys = {key_of(item): _execution_key(item) for item in due_rows}
    rows = await read_rows(table, keys.values(), consistent=True)
    found = []
    for key, place in keys.items():
        execution = read_or_report(execution_of, rows[place]) if place in rows else None
        if execution is None:
            await table.write([Delete(key)])
        elif not isinstance(execution, Unreadable) and due_key(execution) == key:
            found.append(execution)
    return found


def _execution_key(due_row: Attributes) -> Key:
    return key_of_execution(EXECUTION_DUE.sk.parse(str(due_row["sk"]))["id"])
