"""The executions that somebody has to look at, found without looking at any other.

Their rows lie in the base table, spread over a few partitions, and are written in the transactions
of what they stand for: who reads them consistently misses none, and meets none that is over.
"""

from collections.abc import AsyncIterator, Sequence
from random import sample

from penstock.datastore.executions.records import Execution
from penstock.datastore.executions.rows import (
    SHARDS,
    Stage,
    due_key,
    execution_of,
    key_of_execution,
)
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.layout import EXECUTION_DUE
from penstock.datastore.table.pages import pages
from penstock.datastore.table.port import Attributes, Delete, Key, Query, Range, Table, key_of


async def due(table: Table, stage: Stage, until: int | None = None) -> AsyncIterator[Execution]:
    """Those of a stage that are due by `until` (epoch milliseconds), the partitions in any order.

    Within one, the longest due come first.
    """
    row = EXECUTION_DUE
    last = None if until is None else row.sk.prefix({"due": until + 1})
    for shard in sample(range(SHARDS), SHARDS):
        query = Query(
            partition=row.pk.fill({"stage": stage, "shard": shard}),
            range=Range(row.sk.prefix({}), None, last),
            consistent=True,
        )
        async for page in pages(table, query):
            for execution in await _executions(table, page):
                yield execution


async def _executions(table: Table, due_rows: Sequence[Attributes]) -> list[Execution]:
    """What the rows stand for as it is now; a row that stands for nothing any more is removed."""
    keys = {key_of(item): _execution_key(item) for item in due_rows}
    rows = await read_rows(table, keys.values(), consistent=True)
    found = []
    for key, place in keys.items():
        execution = execution_of(rows[place]) if place in rows else None
        if execution is None:
            await table.write([Delete(key)])
        elif due_key(execution) == key:
            found.append(execution)
    return found


def _execution_key(due_row: Attributes) -> Key:
    return key_of_execution(EXECUTION_DUE.sk.read(str(due_row["sk"]))["id"])
