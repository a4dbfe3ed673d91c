"""The list of the parts of a pipeline's rows, to which every commit adds one."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.kept_rows.records import RowsHead, RowsPart
from penstock.datastore.table.commit import Write
from penstock.datastore.table.items import attributes_of, load, resource_id
from penstock.datastore.table.layout import ROWS_HEAD, ROWS_PART
from penstock.datastore.table.pages import query_items
from penstock.datastore.table.port import (
    INDEX_HASH,
    Compare,
    ConditionFailed,
    Item,
    Missing,
    Put,
    Query,
    Range,
    Table,
    Update,
)

MERGED_AFTER: Final = 12
"""The commits after which it is tried to merge their files."""


class RowsMoved(Exception):
    """Another commit of the pipeline's rows came first: number the part anew."""


def _rows_moved(_standing: Item | None) -> Exception:
    return RowsMoved()


async def read_head(table: Table, pipeline: str) -> RowsHead:
    """Read the head of a pipeline's rows: `pk = P:<id>, sk = PKR`."""
    key = ROWS_HEAD.key(id=pipeline)
    row = (await table.get([key], consistent=True)).items.get(key)
    return RowsHead() if row is None else load(RowsHead, row)


async def read_parts(table: Table, pipeline: str, after: int = 0) -> Sequence[RowsPart]:
    """List the parts of a pipeline's rows by commit: `pk = KR:<id>, sk begins with KR:`.

    They are those of one moment: commits that come while they are read are left out. With `after`
    they are those behind so many commits.
    """
    listed = Query(
        partition=ROWS_PART.pk.fill({"id": pipeline}),
        range=Range(ROWS_PART.sk.prefix({})),
        after=ROWS_PART.key(id=pipeline, commit=after) if after else None,
        consistent=True,
    )
    found: list[RowsPart] = []
    async for item in query_items(table, listed):
        part = load(RowsPart, item)
        if part.commit != after + len(found) + 1:
            break
        found.append(part)
    return found


async def pipelines_to_merge(table: Table) -> list[str]:
    """List the pipelines whose files may be merged: `siKey1 = PKR`, at most one page of them."""
    listed = Query(partition=ROWS_HEAD.index_partition(), index=True)
    return [resource_id(item) for item in (await table.query(listed)).items]


async def note_merged(table: Table, pipeline: str, commits: int) -> None:
    """Take a pipeline out of the list of those to merge, unless there are commits since."""
    noted = Update(
        key=ROWS_HEAD.key(id=pipeline),
        remove=(INDEX_HASH,),
        condition=Compare("commits", "=", commits),
    )
    with suppress(ConditionFailed):
        await table.transact([noted])


def merge_writes(pipeline: str, parts: Sequence[RowsPart], file: str, size: int) -> list[Write]:
    """The writes by which parts lie in one merged file; they raise RowsMoved for other parts.

    Each part takes a share of the size.
    """
    shares = [size // len(parts) + (n < size % len(parts)) for n in range(len(parts))]
    return [
        Write(
            Update(
                key=ROWS_PART.key(id=pipeline, commit=part.commit),
                set={"file": file, "size": share, "merged": True},
                condition=Compare("file", "=", part.file),
            ),
            _rows_moved,
        )
        for part, share in zip(parts, shares, strict=True)
    ]


def _time_after(earlier: str, now: str) -> str:
    """The time of now, or the first that is later than an earlier one."""
    if now > earlier:
        return now
    return iso_timestamp(datetime.fromisoformat(earlier) + timedelta(milliseconds=1))


def add_part(pipeline: str, head: RowsHead, part: RowsPart) -> tuple[RowsPart, list[Write]]:
    """Number a part as the next commit; return it and the writes that add it.

    The writes raise RowsMoved if another commit came first. No two commits have the same time, so
    that a time names one snapshot.
    """
    part = replace(part, commit=head.commits + 1, at=_time_after(head.at, part.at))
    is_next = Compare("commits", "=", head.commits) if head.commits else Missing("commits")
    due = {INDEX_HASH: ROWS_HEAD.index_partition()} if part.commit % MERGED_AFTER == 0 else {}
    counted = Update(
        key=ROWS_HEAD.key(id=pipeline),
        set={"commits": part.commit, "at": part.at, **due},
        condition=is_next,
    )
    row = ROWS_PART.item(id=pipeline, commit=part.commit)
    added = Put({**row, **attributes_of(part)}, Missing())
    return part, [Write(counted, _rows_moved), Write(added, _rows_moved)]
