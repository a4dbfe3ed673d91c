"""The writer of segments: it opens the runs that they share, and closes them.

The row of counts of each service path names the segments that are committed and not settled, each
with its run. So a commit needs no row of its own, and a server that takes a run over knows what is
left to store.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from msgspec.structs import replace

from penstock.datastore.errors import IllegalState, NotFound
from penstock.datastore.manifest.records import Run
from penstock.datastore.ngsi.counts import (
    SegmentSettled,
    ServicePathKey,
    count_key,
    moving_writes,
)
from penstock.datastore.ngsi.event_times import HOUR_MS
from penstock.datastore.ngsi.events import DamagedLines
from penstock.datastore.ngsi.rows import Event, sample_times
from penstock.datastore.ngsi.run_counts import show_counts
from penstock.datastore.ngsi.run_log import RunLog, run_mark
from penstock.datastore.ngsi.segment_notes import LAST_HOUR, MOST_REMOVED, OpenSegment
from penstock.datastore.ngsi.segments.segment_files import SegmentContent, SegmentFiles, stems_of
from penstock.datastore.ngsi.segments.settlements import SettlementQueue
from penstock.datastore.ngsi.segments.shared_runs import (
    Segment,
    SharedRun,
    segment_in,
    was_loaded,
)
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.port import Attributes

logger = logging.getLogger("penstock.ngsi")

RUN_SEGMENTS: Final = 500
RUN_SECONDS: Final = 300
RUN_EVENTS: Final = 2_000
"""The events behind which a run is full: who takes it over holds all of them at once."""

IDLE_ROUNDS: Final = 3
"""The renewals without a segment after which a run ends: one more costs a seventh of a run."""

MAX_OPEN: Final = 32
"""The unsettled segments of a process that share runs, so that rows of counts stay small."""

MOST_WITH_DEAD: Final = 16
"""The segments with dead events behind which a run is full, so that rows of counts stay small."""

_ID_BYTES = 6

SegmentHandler: TypeAlias = Callable[[Segment], None]
"""Receives a segment that is to be stored."""


@dataclass(slots=True)
class SegmentWriter:
    """Writes the segments of one process; `shard` is its own row of every count.

    `ended` is what these rows note of runs that have ended, to be taken away by the next commit.
    What it leaves, the sweep takes away.
    """

    log: RunLog
    shard: int
    settlements: SettlementQueue
    runs: dict[str, SharedRun] = field(default_factory=dict)
    ended: dict[ServicePathKey, set[str]] = field(default_factory=dict)
    _current: SharedRun | None = None
    _latest: int = -RUN_SECONDS
    _has_failed: bool = False
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def files(self) -> SegmentFiles:
        return SegmentFiles(self.log.lines)

    async def write(self, content: SegmentContent) -> Segment:
        """Write a segment; its run is in the manifest, unless it is one of its own.

        A segment has a run of its own if it comes more than a lease's time after the one before:
        a shared run would cost more. So has each behind a commit that failed: a shared run would be
        left behind by each.
        """
        alone = self._has_failed or self._now - self._latest > self.log.lease_seconds
        self._latest = self._now
        if alone or self._count_unstored() >= MAX_OPEN:
            return await self._write_alone(content)
        async with self._opening:
            shared = self._usable_run()
            if shared is None:
                return await self._open_run(content)
            segment = self._add_segment(shared, content)
        try:
            await self.files.write(segment.stem, content)
        except BaseException:
            self.abandon(segment, committed=False)
            raise
        return segment

    async def _write_alone(self, content: SegmentContent) -> Segment:
        if content.events:
            run = await self.log.write_segment(content.events, content.intake)
        else:
            run = self.log.new_empty_run(content.intake)
        return Segment(run.id, run, self.shard, content)

    async def confirm(self, segment: Segment) -> Segment | None:
        """Make sure that a committed segment is in a run that will be taken over; return it.

        A server that found the lease over may have taken the run over before the commit, and marked
        it as loaded. Then the segment enters a run again. Returns None if it is in other hands.
        The clock of that server may be ahead of ours by less than half of the lease.
        """
        shared = segment.shared
        if shared is None or not (shared.lost or self._is_late(shared)):
            return segment
        if await self._renew(shared):
            return segment
        again = await self.enter_again(segment.named, segment.content)
        shared.open -= 1
        return again

    async def enter_again(
        self, named: OpenSegment, content: SegmentContent, *, held: bool = True
    ) -> Segment | None:
        """Enter a segment of a lost run as a run of this process, or of nobody if not `held`.

        Returns None if another worker has settled it, or entered it, in the meantime.
        """
        run = self.log.new_shared_run()
        if not held:
            run = replace(run, lease_until=run.added_at)
        shared = SharedRun(run, open=1, written=1, sealed=True)
        segment = Segment(named.id, run, named.shard, content, shared)
        await self.files.write(segment.stem, content)
        moves = moving_writes(content.places, named, run_mark(run))
        try:
            await self.log.insert_run(run, moves)
        except SegmentSettled:
            return None
        if held:
            self.runs[run.id] = shared
        return segment

    def abandon(self, segment: Segment, *, committed: bool) -> None:
        """Let go of a segment whose commit failed; `committed` if it may have happened after all.

        Its run is then left to its lease: who takes it over finds out what is left to store.
        """
        if segment.shared is not None:
            segment.shared.open -= 1
            if committed:
                segment.shared.lost = segment.shared.sealed = True
                self._has_failed = True

    def note_commit(self) -> None:
        """Note that a commit succeeded, so that segments may share runs again."""
        self._has_failed = False

    def holds(self, run: Run) -> bool:
        """Whether this process has the run already, under the same fence."""
        shared = self.runs.get(run.id)
        return shared is not None and shared.run.fence == run.fence

    async def is_committed(self, segment: Segment) -> bool:
        """Whether a segment of this process is committed, as long as its run has not ended."""
        if segment.shared is not None:
            row = await self._read_row(segment.named, segment.content.places)
            is_open, settled = segment.named.is_named_by(row), segment.named.dead_if_settled(row)
            return is_open or settled is not None
        (run,) = await self.log.runs.many([segment.run.name])
        return not isinstance(run, NotFound)

    async def find_settled(self, segment: Segment) -> int | None:
        """The places of dead events as bits, if a segment is settled in its run."""
        row = await self._read_row(segment.named, segment.content.places)
        return segment.named.dead_if_settled(row)

    def take_ended(self, places: Iterable[ServicePathKey]) -> dict[ServicePathKey, list[str]]:
        """Take some notes of ended runs, for one commit to these places, which may fail."""
        taken: dict[ServicePathKey, list[str]] = {}
        for at in places:
            notes = sorted(self.ended.get(at, ()))
            if notes:
                taken[at] = notes[:MOST_REMOVED]
                self.ended[at].difference_update(taken[at])
            if len(notes) <= MOST_REMOVED:
                self.ended.pop(at, None)
        return taken

    def seal(self) -> list[SharedRun]:
        """Seal the present run; return the runs that are done."""
        if self._current is not None:
            self._current.sealed = True
            self._current = None
        return [shared for shared in self.runs.values() if shared.is_done]

    async def renew_leases(self) -> list[SharedRun]:
        """Renew the leases of all runs, and return those that are done."""
        present = self._current
        if present is not None and (present.idle_rounds >= IDLE_ROUNDS or self._is_full(present)):
            self.seal()
        for shared in list(self.runs.values()):
            if not shared.is_done and not shared.lost:
                await self._renew(shared)
        return [shared for shared in self.runs.values() if shared.is_done]

    async def close(self, shared: SharedRun) -> None:
        """Mark a run that is done as loaded, or as failed; raises Unavailable."""
        if self.runs.get(shared.run.id) is not shared:
            return
        try:
            if not shared.lost:
                await self._mark(shared)
                self._forget_notes(shared)
        except (IllegalState, NotFound):
            shared.lost = True
        # While it was being marked, this process may have taken it over itself.
        if self.runs.get(shared.run.id) is shared:
            del self.runs[shared.run.id]

    def _forget_notes(self, shared: SharedRun) -> None:
        """Let later commits take away what rows of counts note of a run that has ended."""
        if shared.failure is None:
            for (at, shard), notes in shared.notes.items():
                if shard == self.shard:
                    self.ended.setdefault(at, set()).update(notes)

    async def take_over(
        self, run: Run, files: Sequence[str], hand_over: SegmentHandler
    ) -> SharedRun:
        """Hand over the segments of a claimed run that are committed and not settled.

        Those that are settled are counted. If the run was loaded before, it is loaded again: all
        its segments are handed over, and its counts stay.
        """
        shared = SharedRun.taken_over(run)
        # While the files are being read, the run is not done, and its lease is renewed.
        shared.open = 1
        self.runs[run.id] = shared
        try:
            # What is handed over before a file cannot be read would be handed over again later.
            stems = stems_of(files).items()
            found = [
                each
                for stem, has_intake in stems
                if (each := await self._read_segment(shared, stem, has_intake=has_intake))
            ]
            for segment in found:
                shared.open += 1
                hand_over(segment)
        except BaseException:
            shared.lost = True
            raise
        finally:
            shared.open -= 1
        return shared

    async def _read_segment(
        self, shared: SharedRun, stem: str, *, has_intake: bool
    ) -> Segment | None:
        """Read a segment that is to be stored, and count one that is settled already.

        None for the latter, and for one that was never committed, is gone or damaged. Nor is one
        handed over that is open behind the end of its run: it enters a run again, as nobody's.
        """
        named = segment_in(stem, shared.run)
        try:
            content = await self.files.read(stem, has_intake=has_intake)
        except (NotFound, DamagedLines) as error:
            logger.error("a segment is lost, and its events stay pending: %s", error.message)
            shared.failure = error.message
            return None
        row = await self._read_row(named, content.places)
        is_open, dead = named.is_named_by(row), named.dead_if_settled(row)
        again = was_loaded(shared.run)
        segment = Segment(named.id, shared.run, named.shard, content, shared, settled=again)
        if is_open and again:
            await self.enter_again(named, content, held=False)
        elif is_open or again:
            return segment
        elif dead is not None:
            shared.note_settled(segment, dead)
        return None

    async def _mark(self, shared: SharedRun) -> None:
        if shared.failure is not None:
            await self.log.mark_failed(shared.run, shared.failure)
        else:
            counts = show_counts(shared.counts)
            await self.log.mark_segments_loaded(shared.run, tuple(shared.tables), counts)

    async def _read_row(self, segment: OpenSegment, places: Sequence[ServicePathKey]) -> Attributes:
        """Read a row of counts that names a segment, if it is open: its rows are written together.

        Empty if there is none.
        """
        key = count_key(places[0], segment.shard)
        return (await read_rows(self.log.access.table, [key], consistent=True)).get(key, {})

    def _count_unstored(self) -> int:
        """Count the segments of this process that are being stored."""
        return sum(shared.open for shared in self.runs.values()) - len(self.settlements)

    def _usable_run(self) -> SharedRun | None:
        present = self._current
        if present is None or self._is_full(present) or self._is_late(present):
            return None
        return present

    async def _open_run(self, content: SegmentContent) -> Segment:
        """Enter a run with its first segment, whose file is there before the run."""
        self.seal()
        shared = SharedRun(self.log.new_shared_run())
        segment = self._add_segment(shared, content)
        await self.files.write(segment.stem, content)
        await self.log.insert_run(shared.run, [])
        self._current = self.runs[shared.run.id] = shared
        return segment

    def _add_segment(self, shared: SharedRun, content: SegmentContent) -> Segment:
        id = segment_id(shared.written, content.events, secrets.token_urlsafe(_ID_BYTES))
        shared.open += 1
        shared.written += 1
        shared.held_events += len(content.events)
        return Segment(id, shared.run, self.shard, content, shared)

    def _is_full(self, shared: SharedRun) -> bool:
        old = self._now - shared.run.added_at >= RUN_SECONDS
        many = shared.written >= RUN_SEGMENTS or shared.held_events >= RUN_EVENTS
        return shared.lost or old or many or shared.with_dead >= MOST_WITH_DEAD

    def _is_late(self, shared: SharedRun) -> bool:
        """Whether so much of the lease is over that another worker might soon claim the run."""
        left = (shared.run.lease_until or 0) - self._now
        return 2 * left < self.log.lease_seconds

    async def _renew(self, shared: SharedRun) -> bool:
        """Renew the lease of a run; False if another worker has it."""
        try:
            shared.note_renewal(await self.log.renew_lease(shared.run))
        except (IllegalState, NotFound):
            shared.lost = shared.sealed = True
            return False
        return True

    @property
    def _now(self) -> int:
        return int(self.log.access.clock.now().timestamp())


def segment_id(number: int, events: Sequence[Event], random: str) -> str:
    """The id of a segment, which tells the hour of its earliest sample to `first_hour`.

    Files are listed in the order of their ids.
    """
    hours = (at // HOUR_MS for event in events for at in sample_times(event))
    return f"{number:03}{min((*hours, LAST_HOUR)):05x}{random}"
