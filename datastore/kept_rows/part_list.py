"""The list of the parts of a pipeline's rows, to which every commit adds one."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.errors import LimitExceeded, Unavailable
from penstock.datastore.kept_rows.records import RowsHead, RowsPart
from penstock.datastore.table.commit import Attempts, Write
from penstock.datastore.table.items import attributes_of, load, read_rows, resource_id
from penstock.datastore.table.layout import ROWS_HEAD, ROWS_PART
from penstock.datastore.table.pages import query_items
from penstock.datastore.table.port import (
    INDEX_HASH,
    AllOf,
    Compare,
    ConditionFailed,
    Delete,
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


MAX_COMMITS: Final = 100_000
"""Commits of a pipeline's rows that have not left: whoever reads rows reads the list of them."""


class RowsMoved(Exception):
    """Another commit of the pipeline's rows came first: number the part anew."""


def _rows_moved(_standing: Item | None) -> Exception:
    return RowsMoved()


async def read_head(table: Table, pipeline: str) -> RowsHead:
    """Read the head of a pipeline's rows: `pk = P:<id>, sk = PKR`."""
    return (await read_heads(table, [pipeline]))[pipeline]


async def read_heads(table: Table, pipelines: Sequence[str]) -> dict[str, RowsHead]:
    """Read the heads of the rows of pipelines: `pk = P:<id>, sk = PKR`, batched."""
    keys = {id: ROWS_HEAD.key(id=id) for id in pipelines}
    rows = await read_rows(table, keys.values(), consistent=True)
    return {
        id: load(RowsHead, rows[key]) if key in rows else RowsHead() for id, key in keys.items()
    }


async def read_parts(table: Table, pipeline: str, after: int = 0) -> Sequence[RowsPart]:
    """List the parts of a pipeline's rows by commit: `pk = KR:<id>, sk begins with KR:`.

    They are those of one moment: commits that come while they are read are left out. With `after`
    they are those behind so many commits. Where the first ones have left, the head is read too.
    Raises Unavailable if ever more of them leave meanwhile.
    """
    async for _ in Attempts():
        found, is_whole = await _read_run(table, pipeline, after)
        first = found[0].commit if found else after + 1
        if is_whole and first == after + 1:
            return found
        gone = (await read_head(table, pipeline)).gone
        if first > gone:
            return found if first == max(after, gone) + 1 else []
    raise Unavailable("The rows of the pipeline are leaving.")


async def _read_run(table: Table, pipeline: str, after: int) -> tuple[list[RowsPart], bool]:
    """Read parts in a row from the first one that there is; tell whether these are all."""
    found: list[RowsPart] = []
    async for item in query_items(table, _list_query(pipeline, after)):
        part = load(RowsPart, item)
        if found and part.commit != found[-1].commit + 1:
            return found, False
        found.append(part)
    return found, True


async def read_first_parts(table: Table, pipeline: str, most: int) -> Sequence[RowsPart]:
    """Read the first parts that there are, up to so many."""
    page = await table.query(_list_query(pipeline, 0, most))
    return [load(RowsPart, item) for item in page.items]


def _list_query(pipeline: str, after: int, limit: int | None = None) -> Query:
    return Query(
        partition=ROWS_PART.pk.fill({"id": pipeline}),
        range=Range(ROWS_PART.sk.prefix({})),
        after=ROWS_PART.key(id=pipeline, commit=after) if after else None,
        limit=limit,
        consistent=True,
    )


def departure_writes(
    pipeline: str, head: RowsHead, parts: Sequence[RowsPart], now: str
) -> list[Write]:
    """The writes by which the first parts leave; they raise RowsMoved for other parts."""
    last = parts[-1].commit
    left: Item = {"gone": last, "goneAt": max(now, head.gone_at)}
    if (until := _latest_time(head, parts)) is not None:
        left["goneUntil"] = until
    unset = () if until is not None else ("goneUntil",)
    nothing_to_merge = (INDEX_HASH,) if last == head.commits else ()
    same = Compare("gone", "=", head.gone) if head.gone else Missing("gone")
    noted = Update(
        key=ROWS_HEAD.key(id=pipeline),
        set=left,
        remove=(*unset, *nothing_to_merge),
        condition=AllOf((Compare("commits", ">=", last), same)),
    )
    deletes = [
        Delete(ROWS_PART.key(id=pipeline, commit=part.commit), Compare("file", "=", part.file))
        for part in parts
    ]
    return [Write(noted, _rows_moved), *(Write(one, _rows_moved) for one in deletes)]


def _latest_time(head: RowsHead, parts: Sequence[RowsPart]) -> str | None:
    """The latest time of all rows that left with these parts; None if some have no time."""
    times = [part.most for part in parts] + ([head.gone_until] if head.gone else [])
    known = [time for time in times if time is not None]
    return max(known) if len(known) == len(times) else None


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


def move_parts(parts: Sequence[RowsPart], file: str, size: int) -> list[RowsPart]:
    """The parts as they lie in one merged file; each takes a share of the size."""
    shares = [size // len(parts) + (n < size % len(parts)) for n in range(len(parts))]
    return [
        replace(part, file=file, size=share, merged=True)
        for part, share in zip(parts, shares, strict=True)
    ]


def merge_writes(
    pipeline: str, parts: Sequence[RowsPart], moved: Sequence[RowsPart]
) -> list[Write]:
    """The writes by which parts lie in other files; they raise RowsMoved for other parts."""
    return [
        Write(
            Update(
                key=ROWS_PART.key(id=pipeline, commit=part.commit),
                set={"file": new.file, "size": new.size, "merged": True},
                condition=Compare("file", "=", part.file),
            ),
            _rows_moved,
        )
        for part, new in zip(parts, moved, strict=True)
    ]


def _time_after(earlier: str, now: str) -> str:
    """The time of now, or the first that is later than an earlier one."""
    if now > earlier:
        return now
    return iso_timestamp(datetime.fromisoformat(earlier) + timedelta(milliseconds=1))


def add_part(pipeline: str, head: RowsHead, part: RowsPart) -> tuple[RowsPart, list[Write]]:
    """Number a part as the next commit; return it and the writes that add it.

    The writes raise RowsMoved if another commit came first. No two commits have the same time, so
    that a time names one snapshot. Raises LimitExceeded where there are too many commits already.
    """
    standing = head.commits - head.gone
    if standing >= MAX_COMMITS:
        raise LimitExceeded("commits of rows that a pipeline keeps", MAX_COMMITS, standing + 1)
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
