"""Lists of runs: by state and time, those that are stuck, and the history of one run."""

import re
from asyncio import gather
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple, TypeAlias

from penstock.datastore.access.access import Access
from penstock.datastore.errors import InvalidCursor, NotFound
from penstock.datastore.manifest.labels import (
    ALL_RUNS,
    Label,
    ListName,
    batch_label,
    label_problems,
    labels_of,
    list_name,
    tag_label,
)
from penstock.datastore.manifest.manifests import Manifests, manifest_name_of
from penstock.datastore.manifest.records import ManifestName, Run, RunEvent, RunName, RunState
from penstock.datastore.manifest.rows import event_of, key_of_run, list_key, position_of
from penstock.datastore.manifest.rules import LAST_SECOND, require_valid
from penstock.datastore.manifest.runs import Runs
from penstock.datastore.records import Tag
from penstock.datastore.table.items import read_all
from penstock.datastore.table.layout import MANIFEST, RUN_EVENT, RUN_LISTED
from penstock.datastore.table.pages import Slice, Window, make_slice, query_items, read_records
from penstock.datastore.table.port import TTL, Attributes, Key, Query, Range

SPARSE_BATCH = 100
STALE_AFTER = timedelta(hours=1)
MAX_SEQ = 9_999_999_999
AFTER_ALL_IDS = "~"
_POSITION = re.compile("[0-9]{10}:")
"""Sorts behind every id, which has hexadecimal digits and dashes."""

RunPredicate: TypeAlias = Callable[[Run], bool]
LinePredicate: TypeAlias = Callable[[Attributes], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunListFilter:
    """The filter and order of a list of runs; `start` is inclusive and `end` exclusive.

    One that is `due` need not wait until it may be tried again. With a batch and a tag, the list of
    the batch is read.
    """

    state: RunState | None = None
    to_skip: bool | None = None
    due: bool | None = None
    batch: str | None = None
    tag: Tag | None = None
    start: datetime | None = None
    end: datetime | None = None
    newest_first: bool = False

    def require_valid(self) -> None:
        """Raise Invalid about a label that no run can have."""
        tags = [] if self.tag is None else [self.tag]
        named = (
            (name.replace("tags.0", "tag"), problem)
            for name, problem in label_problems(tags, self.batch)
        )
        require_valid(named)

    @property
    def labels(self) -> list[Label]:
        """The labels that a run must have; the first decides which list is read."""
        batch = [] if self.batch is None else [batch_label(self.batch)]
        return [*batch, *([] if self.tag is None else [tag_label(self.tag)])]


@dataclass(frozen=True, slots=True)
class _RunList:
    """One stored list in the direction of the scan, with a filter of its runs."""

    manifest: ManifestName
    name: ListName
    first: int
    last: int
    descending: bool
    matches: RunPredicate
    line_matches: LinePredicate
    sparse: bool = False

    def next_query(self, after: str | None, limit: int) -> Query | None:
        """The query for the lines after a position; None if there can be none."""
        if not 0 <= self.first <= self.last:
            return None
        low, high = self._key(f"{self.first:010}:"), self._key(f"{self.last:010}:{AFTER_ALL_IDS}")
        start = None if after is None else self._key(after)
        if start is not None and not low <= start <= high:
            if (start < low) is self.descending:
                return None
            start = None
        return Query(
            partition=low.pk,
            range=Range(RUN_LISTED.sk.prefix({}), low.sk, high.sk),
            after=start,
            descending=self.descending,
            limit=SPARSE_BATCH if self.sparse else limit,
            consistent=True,
        )

    def run_names(self, items: Sequence[Attributes]) -> list[RunName]:
        """The names of the runs of the lines that match."""
        lines = [item for item in items if self.line_matches(item)]
        return read_all(lambda line: RunName(self.manifest, str(line["RunId"])), lines)

    def _key(self, position: str) -> Key:
        return list_key(self.manifest, self.name, position)


@dataclass(frozen=True, slots=True)
class _RunBatch:
    """Matching runs of one list; `reached` is the position read up to, None at its end."""

    runs: Sequence[Run]
    reached: str | None


@dataclass(frozen=True, slots=True)
class RunLists:
    """The lists of runs of manifests that the caller may read."""

    runs: Runs

    async def page(
        self, manifest: ManifestName, listed: RunListFilter, window: Window
    ) -> Slice[Run]:
        """List runs by time: `pk = RL:<manifest>:<state>`, sk between two seconds; then BatchGet.

        The lists of a label are `RL:<manifest>:BATCH#<state>#<batch>` and
        `RL:<manifest>:TAG#<state>#<key>#<value>`. Runs of the same second are in the order in which
        they were discovered.
        """
        listed.require_valid()
        labels = listed.labels
        now = self._now()

        def matches_filter(run: Run) -> bool:
            skipped = listed.to_skip in (None, run.to_skip)
            due = listed.due in (None, run.is_due(now))
            labelled = not labels or set(labels) <= set(labels_of(run))
            return listed.state in (None, run.state) and skipped and due and labelled

        def line_matches(line: Attributes) -> bool:
            # Without a state the lines do not tell whether their runs are due.
            due = listed.state is None or listed.due in (None, _is_line_due(line, now))
            return due and listed.to_skip in (None, line.get("ToSkip"))

        lane = _RunList(
            manifest,
            list_name(listed.state or ALL_RUNS, labels[0] if labels else None),
            _whole_second(listed.start, 0),
            _whole_second(listed.end, LAST_SECOND + 1) - 1,
            listed.newest_first is not window.backward,
            matches_filter,
            line_matches,
            sparse=(listed.to_skip, listed.due) != (None, None) or len(labels) > 1,
        )
        return await self._merged_page(manifest, [lane], window)

    async def stale(
        self, manifest: ManifestName, window: Window, older_than: timedelta = STALE_AFTER
    ) -> Slice[Run]:
        """List stuck runs, oldest first: new ones that nobody claimed, and expired leases.

        A new run counts as stuck when it is older than `older_than`.
        """
        now = self._now()
        lanes = [
            _RunList(
                manifest,
                state,
                0,
                last,
                window.backward,
                _stuck_filter(state, now),
                lambda line: line.get("ToSkip") is False,
                sparse=True,
            )
            for state, last in (
                (RunState.NEW, now - int(older_than.total_seconds())),
                (RunState.PROCESSING, LAST_SECOND),
                (RunState.LOADING, LAST_SECOND),
            )
        ]
        return await self._merged_page(manifest, lanes, window)

    async def history(self, of: Run, window: Window) -> Slice[RunEvent]:
        """List what happened to a run, newest first: `pk = R:<manifest>:<runId>`, sk from `RH:`.

        No permission is checked: the caller could read the run.
        """
        row, pk = RUN_EVENT, key_of_run(of.name).pk
        low, high = (row.sk.fill({"seq": seq}) for seq in (1, MAX_SEQ))
        seq = window.after_number
        after = None if seq is None else Key(pk, row.sk.fill({"seq": seq}))
        query = Query(
            partition=pk,
            range=Range(row.sk.prefix({}), low, high),
            after=after,
            descending=not window.backward,
            limit=window.size + 1,
        )
        found = await read_records(self.runs.access.table, query, _event_or_tombstone)
        events = [event for event in found.records if event is not None]
        return make_slice(events, window, lambda event: str(event.seq), more=False)

    def _now(self) -> int:
        return int(self.runs.access.clock.now().timestamp())

    async def _merged_page(
        self, manifest: ManifestName, lanes: Sequence[_RunList], window: Window
    ) -> Slice[Run]:
        """One page of several lists, merged; all are read in the same direction."""
        if window.after is not None and _POSITION.match(window.after) is None:
            raise InvalidCursor
        manifests = Manifests(self.runs.access)
        manifests.require(manifest)
        found, _ = await gather(
            gather(*(self._read_list(lane, window) for lane in lanes)),
            manifests.require_there(manifest),
        )
        back = lanes[0].descending
        runs = sorted((run for part in found for run in part.runs), key=position_of, reverse=back)
        ends = [part.reached for part in found if part.reached is not None]
        if ends:
            # Beyond this position not every list was read.
            end = max(ends) if back else min(ends)
            runs = [run for run in runs if _is_within(position_of(run), end, back=back)]
        more = len(runs) > window.size or bool(ends)
        kept = [(position_of(run), run) for run in runs[: window.size]]
        whole = len(runs) <= window.size and bool(ends)
        reached = end if whole else (kept[-1][0] if kept else window.after)
        return Slice(tuple(reversed(kept)) if window.backward else tuple(kept), more, reached)

    async def _read_list(self, lane: _RunList, window: Window) -> _RunBatch:
        """Read one more run than the page needs, or less at the end or if the budget is used up."""
        runs: list[Run] = []
        after = window.after
        for _ in range(self.runs.access.budget.rounds):
            query = lane.next_query(after, window.size + 1 - len(runs))
            if query is None:
                return _RunBatch(runs, None)
            page = await self.runs.access.table.query(query)
            runs += await self._read_runs(lane, page.items)
            if page.last is None:
                return _RunBatch(runs, None)
            after = page.last.sk.partition(":")[2]
            if len(runs) > window.size:
                break
        return _RunBatch(runs, after)

    async def _read_runs(self, lane: _RunList, items: Sequence[Attributes]) -> list[Run]:
        """The current runs of some lines; runs that no longer match are left out."""
        runs = await self.runs.many(lane.run_names(items))
        return [run for run in runs if not isinstance(run, NotFound) and lane.matches(run)]


def _event_or_tombstone(item: Attributes) -> RunEvent | None:
    """The event in a row; None for the tombstone of a deleted run."""
    return None if TTL in item else event_of(item)


def _is_line_due(line: Attributes, now: int) -> bool:
    return "RetryAt" not in line or int(str(line["RetryAt"])) <= now


def _stuck_filter(state: RunState, now: int) -> RunPredicate:
    """A filter for runs in the state that are not leased and not to be skipped."""
    return lambda run: run.state is state and not run.to_skip and not run.is_leased(now)


def _whole_second(moment: datetime | None, otherwise: int) -> int:
    """The first whole second at or after the moment, since runs have whole seconds."""
    return otherwise if moment is None else min(max(ceil(moment.timestamp()), 0), LAST_SECOND + 1)


def _is_within(position: str, end: str, *, back: bool) -> bool:
    return position >= end if back else position <= end


MAX_COUNTED = 100


class TroubledManifest(NamedTuple):
    """A manifest and the number of its runs in trouble; `more` means that there are even more."""

    manifest: ManifestName
    runs: int
    more: bool


class TroubledManifests(NamedTuple):
    """The manifests with stuck runs, and those with runs that were given up."""

    stuck: list[TroubledManifest]
    given_up: list[TroubledManifest]


async def find_troubled_manifests(access: Access) -> TroubledManifests:
    """Search all manifests, `siKey1 = RM`; the caller must see all of them."""
    lists, window = RunLists(Runs(access)), Window(size=MAX_COUNTED)
    given_up = RunListFilter(state=RunState.GIVEN_UP, to_skip=False)
    found = TroubledManifests([], [])
    async for item in query_items(
        access.table, Query(partition=MANIFEST.index_partition(), index=True)
    ):
        name = manifest_name_of(item)
        pages = (await lists.stale(name, window), await lists.page(name, given_up, window))
        for kind, page in zip(found, pages, strict=True):
            if page.entries:
                kind.append(TroubledManifest(name, len(page.entries), page.more))
    return found
