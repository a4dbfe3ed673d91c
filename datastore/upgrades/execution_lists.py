"""The small rows that list executions, for those that releases before wrote without them."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.executions.listed_rows import LISTED, list_changes, still_listed
from penstock.datastore.executions.records import Execution
from penstock.datastore.executions.rows import execution_of, key_of_execution
from penstock.datastore.records import Pipeline
from penstock.datastore.resources.derived_rows import derive_rows, item_writes
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.commit import Attempts, StaleRead, Write, commit
from penstock.datastore.table.items import load, read_or_report, read_rows, resource_id
from penstock.datastore.table.layout import EXECUTION, PIPELINE
from penstock.datastore.table.port import AllOf, Compare, Query, Range, Table, Update
from penstock.datastore.table.tombstones import NOT_DELETED, is_alive
from penstock.datastore.tag_search.postings import ListedResources

PAGE_SIZE: Final = 100


async def list_executions(access: Access, after: str | None) -> AsyncIterator[tuple[str, int, int]]:
    """Put every execution into the lists of the group that owns its pipeline; yield each page.

    A page is its last execution (the ids of pipeline and execution, or of the pipeline alone where
    it is done), and the numbers of executions examined and changed.
    """
    pipeline, _, execution = (after or "").partition(":")
    listed, last = ListedResources.oldest_first(access.table, PIPELINE), pipeline or None
    if last is not None and execution:
        async for page in _list_those_of(access, [last], execution):
            yield page
    while True:
        found = await listed.read(last, PAGE_SIZE)
        async for page in _list_those_of(access, [one.id for one in found.rows]):
            yield page
        if (last := found.last) is None:
            return


async def _list_those_of(
    access: Access, pipelines: Sequence[str], after: str | None = None
) -> AsyncIterator[tuple[str, int, int]]:
    for id in pipelines:
        owner = await _share_pipeline(access.table, id)
        if owner is not None:
            async for page in _list_those_of_one(access.table, id, owner, after):
                yield page
    if pipelines:
        yield f"{pipelines[-1]}:", 0, 0


async def _share_pipeline(table: Table, id: str) -> GroupPath | None:
    """Tell other groups with a grant of the pipeline; return its owner.

    None if it is being deleted or cannot be read.
    """
    key = PIPELINE.latest.key(id=id)
    async for _ in Attempts():
        row = (await read_rows(table, [key], consistent=True)).get(key)
        if not is_alive(row):
            return None
        found = read_or_report(partial(load, Pipeline, id=id), row)
        if not isinstance(found, Pipeline):
            return None
        rows = derive_rows(PIPELINE.letter, found).shared
        standing = await read_rows(table, rows, consistent=True)
        if len(standing) == len(rows):
            return found.owner
        unchanged = Compare("revision", "=", found.revision)
        noted = Write(Update(key=key, add={"revision": 1}, condition=unchanged))
        with suppress(StaleRead):
            await commit(table, [noted, *item_writes({}, rows)])
            return found.owner
    return None


async def _list_those_of_one(
    table: Table, pipeline: str, owner: GroupPath, after: str | None
) -> AsyncIterator[tuple[str, int, int]]:
    last = None if after is None else key_of_execution(after)
    partition, prefix = EXECUTION.index_partition(pipeline=pipeline), EXECUTION.pk.prefix({})
    while True:
        page = await table.query(
            Query(partition=partition, index=True, range=Range(prefix), after=last, limit=PAGE_SIZE)
        )
        ids = [resource_id(item) for item in page.items]
        changed = [await _list_one(table, id, owner) for id in ids]
        if ids:
            yield f"{pipeline}:{ids[-1]}", len(ids), sum(changed)
        if (last := page.last) is None:
            return


async def _list_one(table: Table, id: str, owner: GroupPath) -> bool:
    """Put one execution into its lists; return whether it was not there."""
    key = key_of_execution(id)
    async for _ in Attempts():
        row = (await read_rows(table, [key], consistent=True)).get(key)
        found = None if row is None else read_or_report(execution_of, row)
        if not isinstance(found, Execution) or found.listed or found.deleted_at is not None:
            return False
        with suppress(StaleRead):
            await commit(table, _writes(found, owner))
            return True
    return False


def _writes(before: Execution, owner: GroupPath) -> list[Write]:
    unmoved = Compare("events", "=", before.events)
    marked = Update(
        key=key_of_execution(before.id),
        set={LISTED: True, "owner": owner},
        add={"revision": 1},
        condition=AllOf((unmoved, NOT_DELETED, *still_listed(before))),
    )
    return [Write(marked), *list_changes(before, replace(before, listed=True, owner=owner))]
