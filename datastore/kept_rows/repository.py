"""The kept rows of pipelines for one caller: pages, histories, totals and withdrawals."""

from asyncio import Lock, gather
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeAlias

from penstock.datastore.access.access import Access
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.errors import InvalidCursor, LimitExceeded
from penstock.datastore.kept_rows.conditions import RowFilter, filter_conditions, scope_condition
from penstock.datastore.kept_rows.open_rows import open_rows
from penstock.datastore.kept_rows.part_files import PartFiles
from penstock.datastore.kept_rows.part_list import read_parts
from penstock.datastore.kept_rows.read_rows import select_page, select_standing, select_versions
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

SelectByDigest: TypeAlias = Callable[..., list[KeptRow]]
"""Selects rows by their hashes, of a connection, a `selection` and `digests`."""


class RowPosition(NamedTuple):
    """The place of a cursor: the commit of its snapshot, and a hash or a number."""

    commit: int
    rest: str

    @classmethod
    def parse(cls, text: str | None) -> "RowPosition | None":
        if text is None:
            return None
        commit, separator, rest = text.partition(":")
        if not separator or not commit.isdecimal() or not rest.isalnum() or not rest.isascii():
            raise InvalidCursor
        return cls(int(commit), rest)

    def __str__(self) -> str:
        return f"{self.commit}:{self.rest}"


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

        All pages of a list show the same commit. Raises Invalid and RateLimited.
        """
        position = RowPosition.parse(window.after)
        parts = await self._parts(pipeline.id, wanted.as_at, position)
        if not parts:
            return Slice((), more=False, reached=window.after)
        async with open_rows(self.access, self.part_files, parts) as opened:
            selection = self._select(pipeline.id, opened.snapshot, wanted)
            after = None if position is None else position.rest
            rows = await opened.run(
                partial(select_page, selection=selection, after=after, window=window)
            )
        commit = parts[-1].commit
        placed = [(str(RowPosition(commit, row.digest)), row) for row in rows[: window.size]]
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
        parts = await self._parts(pipeline, None, None)
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

        All pages of a list show the same commit. Raises Invalid, IllegalState and RateLimited.
        """
        position = RowPosition.parse(window.after)
        parts = await self._parts(pipeline.id, wanted.as_at, position)
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
        commit = parts[-1].commit
        placed = tuple(
            (str(RowPosition(commit, str(start + n + 1))), total)
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
        totals, IllegalState and RateLimited.
        """
        parts = await self._parts(pipeline, wanted.as_at, None)
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
        self, pipeline: str, as_at: datetime | None, position: RowPosition | None
    ) -> Sequence[RowsPart]:
        """The parts of the snapshot: as of a time, and as of the commit of a cursor."""
        async with self._turns:
            found = self._snapshots.get(pipeline)
            if found is None:
                found = self._snapshots[pipeline] = await read_parts(self.access.table, pipeline)
        if as_at is not None:
            found = [one for one in found if one.at <= iso_timestamp(as_at)]
        return found if position is None else found[: position.commit]


def _total_place(position: RowPosition | None) -> int:
    if position is None:
        return 0
    if not position.rest.isdecimal():
        raise InvalidCursor
    return int(position.rest)
