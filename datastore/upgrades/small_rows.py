"""The small rows that list resources, in place of the latest rows that releases before listed."""

from collections.abc import AsyncIterator
from typing import Any

from penstock.datastore.access.access import Access
from penstock.datastore.table.items import resource_id
from penstock.datastore.table.layout import KINDS, LISTED, KindDefinition
from penstock.datastore.table.port import (
    INDEX_HASH,
    Compare,
    ConditionFailed,
    Put,
    Query,
    Table,
    Update,
    key_of,
)

PAGE_SIZE = 100


async def list_by_small_rows(
    access: Access, after: str | None
) -> AsyncIterator[tuple[str, int, int]]:
    """Take every latest row out of the index, and put a small row there; yield each page.

    A page is its last resource (letter and id), and the numbers of rows examined and changed.
    """
    letter, _, id = (after or "").partition(":")
    for kind in KINDS:
        if letter in ("", kind.letter):
            async for page in _replace_rows_of_kind(access.table, kind, id or None):
                yield page
            letter, id = "", ""


async def _replace_rows_of_kind(
    table: Table, kind: KindDefinition[Any], after: str | None
) -> AsyncIterator[tuple[str, int, int]]:
    last = None if after is None else LISTED.key(kind=kind.letter, id=after)
    partition = LISTED.index_partition(kind=kind.letter)
    while True:
        page = await table.query(
            Query(partition=partition, index=True, after=last, limit=PAGE_SIZE)
        )
        found = [resource_id(item) for item in page.items if kind.latest.holds(key_of(item))]
        changed = [await _replace_row(table, kind, id) for id in found]
        if page.items:
            reached = resource_id(page.items[-1])
            yield f"{kind.letter}:{reached}", len(page.items), sum(changed)
        if (last := page.last) is None:
            return


async def _replace_row(table: Table, kind: KindDefinition[Any], id: str) -> bool:
    """Replace one row in the index; return whether it still was there."""
    taken_out = Update(
        key=kind.latest.key(id=id),
        remove=(INDEX_HASH,),
        add={"revision": 1},
        condition=Compare(INDEX_HASH, "=", LISTED.index_partition(kind=kind.letter)),
    )
    try:
        await table.transact([taken_out, Put(LISTED.item(kind=kind.letter, id=id))])
    except ConditionFailed:
        # A write did the same meanwhile, or a delete lists the row as one that goes.
        return False
    return True
