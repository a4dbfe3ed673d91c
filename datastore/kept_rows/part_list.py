"""The list of the parts of a pipeline's rows, to which every commit adds one."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from msgspec.structs import replace

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.errors import LimitExceeded, Unavailable
from penstock.datastore.kept_rows.merged_files import listing_writes, place_parts, unlisting_write
from penstock.datastore.kept_rows.records import MergedFile, RowsHead, RowsPart
from penstock.datastore.table.commit import Attempts, Write
from penstock.datastore.table.items import attributes_of, load, read_rows, resource_id
from penstock.datastore.table.layout import ROWS_HEAD, ROWS_MERGED, ROWS_PART
from penstock.datastore.table.pages import query_items
from penstock.datastore.table.port import (
    INDEX_HASH,
    AllOf,
    Compare,
    Condition,
    ConditionFailed,
    Delete,
    Exists,
    Item,
    Missing,
    Operation,
    Put,
    Query,
    Range,
    Table,
    Update,
    key_of,
)

MERGED_AFTER: Final = 12
"""The commits after which it is tried to merge their files."""


MAX_COMMITS: Final = 100_000
"""Commits of a pipeline's rows that have not left: whoever reads rows reads the list of them."""


MANY_PARTS: Final = 2_000
"""Parts whose files are found in a thread: it takes a microsecond for each."""


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


class RowsList(NamedTuple):
    """The parts of a pipeline's rows with the files in which they lie, and the merged files."""

    parts: Sequence[RowsPart]
    merged: Sequence[MergedFile]


async def read_parts(table: Table, pipeline: str, after: int = 0) -> Sequence[RowsPart]:
    """List the parts of a pipeline's rows by commit, as `read_list` does."""
    return (await read_list(table, pipeline, after)).parts


async def read_list(table: Table, pipeline: str, after: int = 0) -> RowsList:
    """List the parts of a pipeline's rows by commit: `pk = KR:<id>, sk begins with KR:`.

    They are those of one moment: commits that come while they are read are left out. With `after`
    they are those behind so many commits. Where the first ones have left, the head is read too.
    Raises Unavailable if ever more of them leave meanwhile.
    """
    async for _ in Attempts():
        found, merged, is_whole = await _read_run(table, pipeline, after)
        first = found[0].commit if found else after + 1
        if is_whole and first == after + 1:
            return await _place_in_thread(found, merged)
        gone = (await read_head(table, pipeline)).gone
        if first > gone:
            parts = found if first == max(after, gone) + 1 else []
            return await _place_in_thread(parts, merged)
    raise Unavailable("The rows of the pipeline are leaving.")


async def _place_in_thread(parts: list[RowsPart], merged: list[MergedFile]) -> RowsList:
    """Find the files of parts; of very many, without holding up the event loop."""
    if len(parts) < MANY_PARTS:
        return RowsList(place_parts(parts, merged), merged)
    return RowsList(await asyncio.to_thread(place_parts, parts, merged), merged)


async def _read_run(
    table: Table, pipeline: str, after: int
) -> tuple[list[RowsPart], list[MergedFile], bool]:
    """Read parts in a row from the first one that there is, and all merged files.

    Tells whether these are all parts.
    """
    found: list[RowsPart] = []
    merged: list[MergedFile] = []
    is_whole = True
    # Merged files come last: whatever is merged meanwhile, they have the parts that were read.
    async for item in query_items(table, _list_query(pipeline, after)):
        if ROWS_MERGED.holds(key_of(item)):
            merged.append(load(MergedFile, item))
            continue
        part = load(RowsPart, item)
        is_whole = is_whole and (not found or part.commit == found[-1].commit + 1)
        if is_whole:
            found.append(part)
    return _without_torn_end(found), merged, is_whole


def _without_torn_end(parts: list[RowsPart]) -> list[RowsPart]:
    """Leave out the last execution's parts where not all were there yet: a list is no snapshot."""
    last = parts[-1].until if parts else None
    if last is None or parts[-1].commit == last:
        return parts
    return [part for part in parts if part.until != last]


async def read_first_parts(table: Table, pipeline: str, most: int) -> Sequence[RowsPart]:
    """Read the first parts that there are, up to so many, with their own files."""
    page = await table.query(_list_query(pipeline, 0, most))
    return [load(RowsPart, item) for item in page.items if ROWS_PART.holds(key_of(item))]


def _list_query(pipeline: str, after: int, limit: int | None = None) -> Query:
    return Query(
        partition=ROWS_PART.pk.fill({"id": pipeline}),
        range=Range(ROWS_PART.sk.prefix({})),
        after=ROWS_PART.key(id=pipeline, commit=after) if after else None,
        limit=limit,
        consistent=True,
    )


def departure_writes(
    pipeline: str, head: RowsHead, parts: Sequence[RowsPart], merged: Sequence[MergedFile], now: str
) -> list[Write]:
    """The writes by which the first parts leave, with the merged files that end among them.

    They raise RowsMoved for other parts, and if a merge came since the head was read.
    """
    last = parts[-1].commit
    left: Item = {"gone": last, "goneAt": max(now, head.gone_at)}
    if (until := _latest_time(head, parts)) is not None:
        left["goneUntil"] = until
    unset = () if until is not None else ("goneUntil",)
    nothing_to_merge = (INDEX_HASH,) if last == head.commits else ()
    noted = Update(
        key=ROWS_HEAD.key(id=pipeline),
        set=left,
        remove=(*unset, *nothing_to_merge),
        condition=AllOf((Compare("commits", ">=", last), *_same_files(head))),
    )
    deletes = [
        Delete(ROWS_PART.key(id=pipeline, commit=part.commit), Compare("file", "=", part.file))
        for part in parts
    ]
    deletes += [unlisting_write(pipeline, file) for file in merged if file.last <= last]
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


def merge_writes(
    pipeline: str, head: RowsHead, made: MergedFile, replaced: Sequence[MergedFile]
) -> list[Write]:
    """The writes that list a merged file in place of others.

    They raise RowsMoved if another merge came, or if commits left, since the head was read.
    """
    counted = Update(
        key=ROWS_HEAD.key(id=pipeline),
        set={"merges": head.merges + 1},
        condition=AllOf((Exists(), *_same_files(head))),
    )
    listed = listing_writes(pipeline, made, replaced)
    return [Write(counted, _rows_moved), *(Write(one, _rows_moved) for one in listed)]


def _same_files(head: RowsHead) -> list[Condition]:
    """The conditions that no commit left and no file was merged since the head was read."""
    known = {"gone": head.gone, "merges": head.merges}
    return [Compare(name, "=", value) if value else Missing(name) for name, value in known.items()]


def _time_after(earlier: str, now: str) -> str:
    """The time of now, or the first that is later than an earlier one."""
    if now > earlier:
        return now
    return iso_timestamp(datetime.fromisoformat(earlier) + timedelta(milliseconds=1))


def add_parts(
    pipeline: str, head: RowsHead, parts: Sequence[RowsPart]
) -> tuple[list[RowsPart], list[Write]]:
    """Number parts as the next commits; return them and the writes that add them, all at once.

    The writes raise RowsMoved if another commit came first. No two commits have the same time but
    those that come together, so that a time names one snapshot. Raises LimitExceeded where there
    are too many commits already.
    """
    standing, last = head.commits - head.gone, head.commits + len(parts)
    if standing + len(parts) > MAX_COMMITS:
        most = MAX_COMMITS, standing + len(parts)
        raise LimitExceeded("commits of rows that a pipeline keeps", *most)
    at = _time_after(head.at, max(part.at for part in parts))
    until = last if len(parts) > 1 else None
    numbered = [
        replace(part, commit=head.commits + n, at=at, until=until)
        for n, part in enumerate(parts, 1)
    ]
    is_next = Compare("commits", "=", head.commits) if head.commits else Missing("commits")
    many = last // MERGED_AFTER > head.commits // MERGED_AFTER
    due = {INDEX_HASH: ROWS_HEAD.index_partition()} if many else {}
    counted = Update(
        key=ROWS_HEAD.key(id=pipeline), set={"commits": last, "at": at, **due}, condition=is_next
    )
    added: list[Operation] = [
        Put({**ROWS_PART.item(id=pipeline, commit=one.commit), **attributes_of(one)}, Missing())
        for one in numbered
    ]
    return numbered, [Write(one, _rows_moved) for one in (counted, *added)]
