"""The list of the parts of a pipeline's rows, to which every commit adds one."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.kept_rows.records import RowsHead, RowsPart
from penstock.datastore.table.commit import Write
from penstock.datastore.table.items import attributes_of, load
from penstock.datastore.table.layout import ROWS_HEAD, ROWS_PART
from penstock.datastore.table.pages import query_items
from penstock.datastore.table.port import Compare, Item, Missing, Put, Query, Range, Table, Update


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
    counted = Update(
        key=ROWS_HEAD.key(id=pipeline),
        set={"commits": part.commit, "at": part.at},
        condition=is_next,
    )
    row = ROWS_PART.item(id=pipeline, commit=part.commit)
    added = Put({**row, **attributes_of(part)}, Missing())
    return part, [Write(counted, _rows_moved), Write(added, _rows_moved)]
