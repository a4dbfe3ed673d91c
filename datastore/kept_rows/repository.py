"""The kept rows of pipelines for one caller: pages, histories, totals and withdrawals."""

from asyncio import Lock, gather
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from penstock.datastore.access.access import Access
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.errors import InvalidCursor, LimitExceeded, SnapshotGone
from penstock.datastore.kept_rows.conditions import RowFilter, filter_conditions, scope_condition
from penstock.datastore.kept_rows.open_rows import open_rows
from penstock.datastore.kept_rows.part_files import PartFiles
from penstock.datastore.kept_rows.part_list import read_head, read_parts
from penstock.datastore.kept_rows.read_page import PagePlace, select_page
from penstock.datastore.kept_rows.read_rows import select_standing, select_versions
from penstock.datastore.kept_rows.read_totals import (
    Total,
    TotalsRequest,
    check_request,
    count_totals,
    readable_measures,
    select_totals,
)
from penstock.datastore.kept_rows.records import KeptRow, RowsPart
from penstock.datastore.kept_rows.snapshot import RowSelection, Snapshot
from penstock.datastore.records import Pipeline
from penstock.datastore.table.pages import Slice, Window

EVERYTHING: Final = RowFilter()

SelectByDigest: TypeAlias = Callable[..., list[KeptRow]]
"""Selects rows by their hashes, of a connection, a `selection` and `digests`."""


OLD_PARTS: Final = 2
"""The parts of a cursor of an earlier release, under which no commit has left."""


class RowPosition(NamedTuple):
    """The place of a cursor: the last commit of its snapshot, a hash or a number, the first one."""

    commit: int
    rest: str
    first: int = 1

    @classmethod
    def parse(cls, text: str | None) -> "RowPosition | None":
        if text is None:
            return None
        parts = text.split(":")
        if len(parts) == OLD_PARTS:
            parts.append("1")
        if len(parts) != OLD_PARTS + 1:
            raise InvalidCursor
        commit, rest, first = parts
        if not (commit.isdecimal() and first.isdecimal() and rest.isalnum() and rest.isascii()):
            raise InvalidCursor
        return cls(int(commit), rest, int(first))

    @classmethod
    def within(cls, parts: Sequence[RowsPart], rest: str) -> "RowPosition":
        """The place in a list of the rows of these parts."""
        return cls(parts[-1].commit, rest, parts[0].commit)

    def __str__(self) -> str:
        return f"{self.commit}:{self.rest}:{self.first}"


class SnapshotTotals(NamedTuple):
    """All totals of a snapshot, and the time of its latest commit; None if there is none."""

    as_at: str | None
    totals: Sequence[Total]


@dataclass(frozen=True, slots=True)
class KeptRows:
    """The rows that pipelines keep, as far as the caller may see them.

    Whoever sees a pipeline sees those of its rows whose group is one at which the caller has a
    role, or below it.
    """

    access: Access
    part_files: PartFiles
    _snapshots: dict[str, Sequence[RowsPart]] = field(default_factory=dict)
    _turns: Lock = field(default_factory=Lock)

    async def page(self, pipeline: Pipeline, wanted: RowFilter, window: Window) -> Slice[KeptRow]:
        """List the rows that stand, in the order of their keys.

        All pages of a list show the same commit. Raises Invalid, SnapshotGone and RateLimited.
        """
        position = RowPosition.parse(window.after)
        parts = await self._parts(pipeline.id, wanted, position)
        if not parts:
            return Slice((), more=False, reached=window.after)
        async with open_rows(self.access, self.part_files, parts) as opened:
            selection = self._select(pipeline.id, opened.snapshot, wanted)
            after = None if position is None else position.rest
            rows = await opened.run(
                partial(select_page, selection=selection, after=after, window=window)
            )
        placed = [
            (str(RowPosition.within(parts, str(PagePlace.of(row)))), row)
            for row in rows[: window.size]
        ]
        reached = placed[-1][0] if placed else window.after
        entries = tuple(reversed(placed) if window.backward else placed)
        return Slice(entries, more=len(rows) > window.size, reached=reached)

    async def many_versions(self, keys: Sequence[tuple[str, str]]) -> list[list[KeptRow]]:
        """The versions of rows by pipeline and hash, newest first; at most 200 of each.

        The caller must see the pipelines. One query for each pipeline.
        """
        return await self._many(keys, select_versions)

    async def many_standing(self, keys: Sequence[tuple[str, str]]) -> list[KeptRow | None]:
        """The rows that stand, by pipeline and hash; None where the caller sees none.

        The caller must see the pipelines. One query for each pipeline.
        """
        return [next(iter(rows), None) for rows in await self._many(keys, select_standing)]

    async def _many(
        self, keys: Sequence[tuple[str, str]], select: SelectByDigest
    ) -> list[list[KeptRow]]:
        digests: dict[str, list[str]] = {}
        for pipeline, digest in dict.fromkeys(keys):
            digests.setdefault(pipeline, []).append(digest)
        found = await gather(*(self._by_digest(*each, select) for each in digests.items()))
        by_pipeline = dict(zip(digests, found, strict=True))
        return [by_pipeline[pipeline].get(digest, []) for pipeline, digest in keys]

    async def _by_digest(
        self, pipeline: str, digests: Sequence[str], select: SelectByDigest
    ) -> dict[str, list[KeptRow]]:
        found: dict[str, list[KeptRow]] = {}
        parts = await self._parts(pipeline)
        if not parts:
            return found
        async with open_rows(self.access, self.part_files, parts) as opened:
            seen = [scope_condition(self.access.caller)]
            selection = RowSelection(pipeline, opened.snapshot, seen)
            for row in await opened.run(partial(select, selection=selection, digests=digests)):
                found.setdefault(row.digest, []).append(row)
        return found

    async def totals(
        self, pipeline: Pipeline, wanted: RowFilter, totals: TotalsRequest, window: Window
    ) -> Slice[Total]:
        """List totals by time, then by outputs, over the rows that stand.

        All pages of a list show the same commit. Raises Invalid, SnapshotGone, IllegalState and
        RateLimited.
        """
        position = RowPosition.parse(window.after)
        parts = await self._parts(pipeline.id, wanted, position)
        if not parts:
            return Slice((), more=False, reached=window.after)
        async with open_rows(self.access, self.part_files, parts) as opened:
            check_request(totals, opened.snapshot)
            selection = self._select(pipeline.id, opened.snapshot, wanted)
            place = _total_place(position)
            if window.backward and position is None:
                count = partial(count_totals, selection=selection, wanted=totals)
                place = 1 + await opened.run(count)
            start = max(0, place - 1 - window.size) if window.backward else place
            limit = place - 1 - start if window.backward else window.size + 1
            select = partial(select_totals, selection=selection, wanted=totals)
            found = await opened.run(partial(select, offset=start, limit=limit))
        placed = tuple(
            (str(RowPosition.within(parts, str(start + n + 1))), total)
            for n, total in enumerate(found[: window.size])
        )
        if window.backward:
            return Slice(placed, more=start > 0, reached=placed[0][0] if placed else window.after)
        reached = placed[-1][0] if placed else window.after
        return Slice(placed, more=len(found) > window.size, reached=reached)

    async def all_totals(
        self, pipeline: str, wanted: RowFilter, totals: TotalsRequest, most: int
    ) -> SnapshotTotals:
        """Read all totals of one snapshot, of a pipeline that the caller sees.

        Measures of outputs that no row has are left out. Raises LimitExceeded for more than `most`
        totals, SnapshotGone, IllegalState and RateLimited.
        """
        parts = await self._parts(pipeline, wanted)
        if not any(one.least is not None for one in parts):
            return SnapshotTotals(None, ())
        async with open_rows(self.access, self.part_files, parts) as opened:
            measures = readable_measures(totals.measures, opened.snapshot)
            selection = self._select(pipeline, opened.snapshot, wanted)
            select = partial(
                select_totals,
                selection=selection,
                wanted=replace(totals, measures=measures),
                offset=0,
                limit=most + 1,
            )
            found = await opened.run(select)
        if len(found) > most:
            raise LimitExceeded("totals of a pipeline in a series", most, len(found))
        return SnapshotTotals(parts[-1].at, found)

    def _select(self, pipeline: str, snapshot: Snapshot, wanted: RowFilter) -> RowSelection:
        """The rows of a filter in the caller's sight; raises Invalid."""
        chosen = filter_conditions(wanted, snapshot.types, has_time=snapshot.has_time)
        conditions = [scope_condition(self.access.caller), *chosen]
        return RowSelection(pipeline, snapshot, conditions)

    def forget(self, pipeline: str) -> None:
        """Read the parts of a pipeline's rows anew, because one was added."""
        self._snapshots.pop(pipeline, None)

    async def _parts(
        self, pipeline: str, wanted: RowFilter = EVERYTHING, position: RowPosition | None = None
    ) -> Sequence[RowsPart]:
        """The parts of the snapshot: as of a time, and as of the commit of a cursor.

        Raises SnapshotGone if rows of it may have left that are wanted.
        """
        async with self._turns:
            found = self._snapshots.get(pipeline)
            if found is None:
                found = self._snapshots[pipeline] = await read_parts(self.access.table, pipeline)
        first = found[0].commit if found else None
        if position is not None and first != position.first:
            raise SnapshotGone
        if wanted.as_at is not None:
            if first != 1:
                await self._require_whole(pipeline, wanted.as_at, wanted.start)
            found = [one for one in found if one.at <= iso_timestamp(wanted.as_at)]
        return [one for one in found if position is None or one.commit <= position.commit]

    async def _require_whole(self, pipeline: str, as_at: datetime, start: datetime | None) -> None:
        """Raise SnapshotGone if rows with a time from `start` on have left since `as_at`."""
        head = await read_head(self.access.table, pipeline)
        if not head.gone or iso_timestamp(as_at) >= head.gone_at:
            return
        if start is None or head.gone_until is None or iso_timestamp(start) <= head.gone_until:
            raise SnapshotGone


def _total_place(position: RowPosition | None) -> int:
    if position is None:
        return 0
    if not position.rest.isdecimal():
        raise InvalidCursor
    return int(position.rest)
