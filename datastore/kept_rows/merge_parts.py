"""Merging of small files of kept rows: many commits in one file, with all versions of all rows.

The rows of the commits stay as they are: a merged file is listed beside them, in one transaction
that fails if another merge came first. So merged files are merged again, however many commits they
have, and the number of files grows with the logarithm of the number of commits. Commits that come
meanwhile are not touched. Files that no list names any more stay for an hour, so that whoever read
the list before can read them; a sweep removes them, and also a merged file whose writer died before
the transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Final, NamedTuple

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.datasets.staged_files import StagedFile
from penstock.datastore.kept_rows.engine import is_installed
from penstock.datastore.kept_rows.merged_files import place_parts
from penstock.datastore.kept_rows.part_files import PartFiles
from penstock.datastore.kept_rows.part_keys import part_key
from penstock.datastore.kept_rows.part_list import (
    MERGED_AFTER,
    RowsList,
    RowsMoved,
    merge_writes,
    note_merged,
    pipelines_to_merge,
    read_head,
    read_list,
)
from penstock.datastore.kept_rows.records import MergedFile, RowsHead, RowsPart
from penstock.datastore.kept_rows.snapshot import Snapshot
from penstock.datastore.kept_rows.write_part import PartWriter
from penstock.datastore.periodic import finish_all
from penstock.datastore.table.commit import Write, commit
from penstock.datastore.table.port import Put

MERGED_BYTES: Final = 64_000_000
"""Bytes of files that are merged into one."""

MOST_MERGES: Final = 100
"""The merges for one pipeline before it is the turn of the next."""

MERGED: Final = "merged"
"""The beginning of the names of merged files."""


class CommitsFile(NamedTuple):
    """A file with the parts that lie in it, and its place on the list if it is a merged one."""

    parts: Sequence[RowsPart]
    merged: MergedFile | None = None

    @property
    def file(self) -> str:
        return self.parts[0].file

    @property
    def first(self) -> int:
        """The first of its commits, which may have left."""
        return self.parts[0].commit if self.merged is None else self.merged.first

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def level(self, least: int) -> int:
        """How many times the files of single commits were merged, `least` at a time."""
        level, commits = 0, len(self.parts)
        while commits >= least:
            level, commits = level + 1, commits // least
        return level


@dataclass(frozen=True, slots=True)
class PartMerger:
    """Merges the files of pipelines that have many small ones, `least` of a level at a time."""

    access: Access
    part_files: PartFiles
    least: int = MERGED_AFTER

    async def merge_all(self) -> int:
        """Merge the files of each pipeline that is due; return the number of merged files.

        Raises the first failure of a pipeline, whose files may be damaged, behind all others.
        """
        if not is_installed():
            return 0
        pipelines = await pipelines_to_merge(self.access.table)
        return await finish_all(partial(self.merge, pipeline) for pipeline in pipelines)

    async def merge(self, pipeline: str) -> int:
        """Merge the small files of a pipeline; return the number of merged files.

        What is left after MOST_MERGES is merged at the next call.
        """
        head = await read_head(self.access.table, pipeline)
        files = files_of(await read_list(self.access.table, pipeline))
        for merged in range(MOST_MERGES):
            chosen = choose_files(files, self.least)
            if chosen is None:
                await note_merged(self.access.table, pipeline, head.commits)
                return merged
            try:
                made = await self._merge(pipeline, head, files[chosen])
            except RowsMoved:
                return merged
            # The list is long, and whoever changes what was read fails the next transaction.
            files[chosen] = [made]
            head = replace(head, merges=head.merges + 1)
        return MOST_MERGES

    async def _merge(
        self, pipeline: str, head: RowsHead, chosen: Sequence[CommitsFile]
    ) -> CommitsFile:
        """Merge some files into one; raises RowsMoved."""
        access = self.access
        parts = [part for file in chosen for part in file.parts]
        id = access.clock.new_id()
        staged = StagedFile(access, id, part_key(pipeline, f"{MERGED}-{id}"))
        await access.table.transact([Put(staged.row())])
        writer = PartWriter(self.part_files.engine, access.files, access.clock)
        async with self.part_files.open(access.files, parts) as paths:
            size, digest = await writer.write_merged(staged.key, Snapshot(parts, paths))
        first, last = chosen[0].first, parts[-1].commit
        made = MergedFile(first=first, last=last, file=staged.key, size=size, digest=digest)
        left = [StagedFile(access, access.clock.new_id(), one.file) for one in chosen]
        writes = [
            staged.adoption_write(),
            *merge_writes(pipeline, head, made, [one.merged for one in chosen if one.merged]),
            *(Write(Put(one.row())) for one in left),
        ]
        try:
            await commit(access.table, writes)
        except RowsMoved:
            await staged.try_drop()
            raise
        return CommitsFile(place_parts(parts, [made]), made)


def files_of(listed: RowsList) -> list[CommitsFile]:
    """The files of a pipeline's rows in the order of their commits."""
    merged = {one.file: one for one in listed.merged}
    return [
        CommitsFile(list(parts), merged.get(file))
        for file, parts in groupby(listed.parts, key=lambda part: part.file)
    ]


def choose_files(files: Sequence[CommitsFile], least: int) -> slice | None:
    """Choose the first `least` files of one level in a row that are small; None if there are none.

    Files of a higher level are merged only with each other, so that no row is copied more often
    than there are levels.
    """
    start, size = 0, 0
    level = -1
    for place, file in enumerate(files):
        if file.level(least) != level:
            start, size, level = place, 0, file.level(least)
        size += file.size
        while size > MERGED_BYTES:
            size -= files[start].size
            start += 1
        if place - start + 1 == least:
            return slice(start, place + 1)
    return None
