"""The merged files of a pipeline's rows: each takes the place of the files of commits in a row.

A merged file is listed beside the commits, whose own rows never change. One that is merged again is
replaced in the same transaction by a wider one, which has all that it has.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from penstock.datastore.kept_rows.records import MergedFile, RowsPart
from penstock.datastore.table.items import attributes_of, load
from penstock.datastore.table.layout import ROWS_MERGED
from penstock.datastore.table.pages import query_items
from penstock.datastore.table.port import Compare, Delete, Put, Query, Range, Table


async def read_merged_files(table: Table, pipeline: str) -> list[MergedFile]:
    """List the merged files of a pipeline: `pk = KR:<id>, sk begins with KR:M:`."""
    row = ROWS_MERGED
    listed = Query(
        partition=row.pk.fill({"id": pipeline}), range=Range(row.sk.prefix({})), consistent=True
    )
    return [load(MergedFile, item) async for item in query_items(table, listed)]


def place_parts(parts: Sequence[RowsPart], merged: Sequence[MergedFile]) -> list[RowsPart]:
    """Return parts with the files in which they lie, of those that were listed with them.

    A list that is read while files are merged may have a file and those that it replaced. Then the
    widest has the parts, so that none lies in two files.
    """
    if not merged:
        return list(parts)
    wide = iter(_widest(merged))
    file = next(wide, None)
    placed: list[RowsPart] = []
    for part in parts:
        while file is not None and file.last < part.commit:
            file = next(wide, None)
        is_inside = file is not None and file.first <= part.commit
        placed.append(_place_part(part, file) if file is not None and is_inside else part)
    return placed


def _widest(merged: Sequence[MergedFile]) -> Iterator[MergedFile]:
    """Yield the files that lie within no other, in their order."""
    last = 0
    for file in sorted(merged, key=lambda one: (one.first, -one.last)):
        if file.last > last:
            last = file.last
            yield file


def _place_part(part: RowsPart, file: MergedFile) -> RowsPart:
    """The part in a merged file, with a share of its size."""
    share, rest = divmod(file.size, file.last - file.first + 1)
    size = share + (part.commit - file.first < rest)
    return replace(
        part,
        file=file.file,
        size=size,
        digest=file.digest,
        merged=True,
        merged_size=file.size,
    )


def listing_writes(
    pipeline: str, made: MergedFile, replaced: Sequence[MergedFile]
) -> list[Put | Delete]:
    """The writes that list a merged file in place of others, which it contains."""
    row = ROWS_MERGED.item(id=pipeline, commit=made.last)
    # The last of those that are replaced has the same key.
    others = [file for file in replaced if file.last != made.last]
    return [
        Put({**row, **attributes_of(made)}),
        *(unlisting_write(pipeline, file) for file in others),
    ]


def unlisting_write(pipeline: str, file: MergedFile) -> Delete:
    """The write that takes a merged file off the list."""
    return Delete(ROWS_MERGED.key(id=pipeline, commit=file.last), Compare("file", "=", file.file))
