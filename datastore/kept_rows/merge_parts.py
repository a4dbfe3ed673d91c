"""Merging of small files of kept rows: many commits in one file, with all versions of all rows.

The list of commits stays: only the file of each changes, in one transaction that fails if another
merge came first. Commits that come meanwhile are not touched. Files that no list names any more
stay for an hour, so that whoever read the list before can read them; a sweep removes them, and
also a merged file whose writer died before the transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.datasets.staged_files import StagedFile
from penstock.datastore.kept_rows.engine import is_installed
from penstock.datastore.kept_rows.part_files import PartFiles
from penstock.datastore.kept_rows.part_list import (
    MERGED_AFTER,
    RowsMoved,
    merge_writes,
    move_parts,
    note_merged,
    pipelines_to_merge,
    read_parts,
)
from penstock.datastore.kept_rows.records import RowsPart
from penstock.datastore.kept_rows.snapshot import Snapshot
from penstock.datastore.kept_rows.write_part import PartWriter, part_key
from penstock.datastore.table.commit import Write, commit
from penstock.datastore.table.port import Put

MERGED_BYTES: Final = 64_000_000
MOST_COMMITS: Final = 45
"""The commits of a merged file: each is an operation of the transaction, and so is its old file."""

MERGED: Final = "merged"
"""The beginning of the names of merged files."""


@dataclass(frozen=True, slots=True)
class PartMerger:
    """Merges the files of pipelines that have many small ones, at `least` so many at a time."""

    access: Access
    part_files: PartFiles
    least: int = MERGED_AFTER

    async def merge_all(self) -> int:
        """Merge the files of each pipeline that is due; return the number of merged files."""
        if not is_installed():
            return 0
        pipelines = await pipelines_to_merge(self.access.table)
        return sum([await self.merge(pipeline) for pipeline in pipelines])

    async def merge(self, pipeline: str) -> int:
        """Merge the small files of a pipeline; return the number of merged files."""
        parts = await read_parts(self.access.table, pipeline)
        merged = 0
        while chosen := choose_parts(parts, self.least):
            try:
                moved = await self._merge(pipeline, chosen)
            except RowsMoved:
                return merged
            # The list is long, and whoever changes what was read fails the next transaction.
            parts = [moved.get(part.commit, part) for part in parts]
            merged += 1
        await note_merged(self.access.table, pipeline, parts[-1].commit if parts else 0)
        return merged

    async def _merge(self, pipeline: str, parts: Sequence[RowsPart]) -> dict[int, RowsPart]:
        """Merge the files of some parts; return the parts as they are now, by commit."""
        access = self.access
        id = access.clock.new_id()
        staged = StagedFile(access, id, part_key(pipeline, f"{MERGED}-{id}"))
        await access.table.transact([Put(staged.row())])
        writer = PartWriter(self.part_files.engine, access.files, access.clock)
        async with self.part_files.open(access.files, parts) as paths:
            size = await writer.write_merged(staged.key, Snapshot(parts, paths))
        left = [StagedFile(access, access.clock.new_id(), file) for file in _files_of(parts)]
        moved = move_parts(parts, staged.key, size)
        writes = [
            staged.adoption_write(),
            *merge_writes(pipeline, parts, moved),
            *(Write(Put(one.row())) for one in left),
        ]
        try:
            await commit(access.table, writes)
        except RowsMoved:
            await staged.try_drop()
            raise
        return {part.commit: part for part in moved}


def choose_parts(parts: Sequence[RowsPart], least: int) -> Sequence[RowsPart]:
    """Choose the earliest commits in a row whose files are small and many; none if there are none.

    Commits of one merged file are chosen together or not at all.
    """
    chosen: list[RowsPart] = []
    for file in _files_of(parts):
        added = [part for part in parts if part.file == file]
        if len(_files_of(chosen)) >= least and not _fits([*chosen, *added]):
            break
        chosen += added
        while not _fits(chosen):
            chosen = [part for part in chosen if part.file != chosen[0].file]
    return chosen if len(_files_of(chosen)) >= least else ()


def _fits(parts: Sequence[RowsPart]) -> bool:
    return len(parts) <= MOST_COMMITS and sum(part.size for part in parts) <= MERGED_BYTES


def _files_of(parts: Sequence[RowsPart]) -> list[str]:
    return list(dict.fromkeys(part.file for part in parts))
