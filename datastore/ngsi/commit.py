"""The commit of received events: segment, run, dead letters, receipts and counts, or nothing.

A receipt is a row that remembers a notification for some minutes, as long as its sender may try
again. It detects a notification that is sent twice: it is stored once and counted as a duplicate.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby
from typing import Final

from penstock.datastore.clock import Clock
from penstock.datastore.errors import ErrorCode, Unavailable
from penstock.datastore.ngsi.catalog import Catalog
from penstock.datastore.ngsi.counts import EventTotals, IngestCounts, KnownRemovals, Tally
from penstock.datastore.ngsi.dead_letters import (
    DeadEvent,
    DeadLetter,
    LetterFiles,
    LetterGone,
    dead_letter_insert,
)
from penstock.datastore.ngsi.latest_rows import LatestRows
from penstock.datastore.ngsi.notification import Notification
from penstock.datastore.ngsi.rows import Event, recv_time
from penstock.datastore.ngsi.run_counts import REFUSED
from penstock.datastore.ngsi.run_log import RunLog
from penstock.datastore.ngsi.segments.segment_files import SegmentContent
from penstock.datastore.ngsi.segments.shared_runs import Segment
from penstock.datastore.ngsi.segments.writer import SegmentWriter
from penstock.datastore.table.commit import Write, commit
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.layout import NOTIFIED
from penstock.datastore.table.port import TTL, AnyOf, Compare, Item, Missing, Put, Table

GROUP_ROWS: Final = 90
"""The rows of a group in a transaction, beside those of a run."""


@dataclass(frozen=True, slots=True)
class RetryWindow:
    """The time for which a notification with the same correlator and body counts as a retry."""

    clock: Clock
    length: timedelta

    @property
    def now(self) -> int:
        return int(self.clock.now().timestamp())

    @property
    def end(self) -> int:
        """The last second of a window that begins now."""
        return self.now + int(self.length.total_seconds())

    @property
    def latest_end(self) -> int:
        """The latest end that a receipt of this window has, also by a clock that is ahead.

        A receipt that ends later belongs to a longer window, of older settings.
        """
        return self.now + 2 * int(self.length.total_seconds())


class RepeatedNotification(Exception):
    """Another server stored the same notification in the meantime."""


def receipt_write(notification: Notification, window: RetryWindow) -> Write:
    """The write of a notification's receipt; it belongs to its commit."""
    item: Item = {**NOTIFIED.item(id=notification.identity), TTL: window.end}
    free = AnyOf((Missing(), Compare(TTL, "<", window.now), Compare(TTL, ">", window.latest_end)))
    return Write(Put(item, free), lambda _: RepeatedNotification())


async def find_repeated(
    table: Table, window: RetryWindow, notifications: Sequence[Notification]
) -> list[bool]:
    """Find out which notifications were received before, also earlier in this sequence."""
    keys = {
        each.identity: NOTIFIED.key(id=each.identity) for each in notifications if each.repeatable
    }
    rows = await read_rows(table, keys.values(), consistent=True)
    now, latest = window.now, window.latest_end
    seen = {
        identity
        for identity, key in keys.items()
        if key in rows and now <= int(str(rows[key][TTL])) <= latest
    }
    found = []
    for each in notifications:
        found.append(each.identity in seen)
        if each.repeatable:
            seen.add(each.identity)
    return found


class UncertainCommit(Unavailable):
    """The commit of a segment failed, or its answer was lost; it may have taken effect."""

    def __init__(self, cause: Unavailable, segment: Segment) -> None:
        super().__init__(cause.message, cause.retry_after)
        self.segment = segment


@dataclass(frozen=True, slots=True)
class IntakeBatch:
    """Events and writes that are committed together, or not at all.

    `intake` is what their run counts beside the events.
    """

    events: list[Event] = field(default_factory=list)
    dead_events: list[DeadEvent] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    writes: list[Write] = field(default_factory=list)
    intake: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class BatchCommitter:
    """Commits batches for one process of the sink, and counts their events in `totals`.

    So many events as `batch_size` are stored at once when they are committed: then the rows that
    name latest samples are raised by the commit. Those of others are raised when they are stored.
    """

    table: Table
    run_log: RunLog
    catalog: Catalog
    letter_files: LetterFiles
    clock: Clock
    segments: SegmentWriter
    latest: LatestRows
    batch_size: int = 1
    removals: KnownRemovals = field(default_factory=KnownRemovals)
    totals: EventTotals = field(default_factory=EventTotals)

    async def commit_batch(self, batch: IntakeBatch) -> Segment | None:
        """Commit a batch; return its segment, or None if nothing of it is left to do here.

        If a write of the batch fails, its error is raised and nothing is committed; UncertainCommit
        if that is not known.
        """
        segment = await self._commit_events(batch)
        self.totals.count(batch.tally)
        return segment

    async def _commit_events(self, batch: IntakeBatch) -> Segment | None:
        await self.catalog.record_paths(batch.tally.places)
        letters = await self.write_dead_letters(batch.dead_events, attempts=0)
        writes = [*batch.writes, *letters]
        if not batch.events and not +batch.intake:
            if writes := [*writes, *batch.tally.writes(self.segments.shard)]:
                await commit(self.table, writes)
            return None
        content = SegmentContent(batch.events, +batch.intake, batch.tally.places)
        segment = await self.segments.write(content)
        room = GROUP_ROWS - len(writes) - len(batch.tally.places)
        at_once = len(batch.events) >= self.batch_size
        raises = self.latest.join_commit(batch.events, room if at_once else 0)
        try:
            committed = await self._commit_segment(segment, batch.tally, [*writes, *raises.writes])
        except Unavailable as error:
            raise UncertainCommit(error, segment) from error
        self.latest.note_commit(raises)
        return committed

    async def _commit_segment(
        self, segment: Segment, tally: Tally, writes: Sequence[Write]
    ) -> Segment | None:
        segments = self.segments
        ended = segments.take_ended(tally.places)
        if segment.shared is None:
            counts = tally.writes(segments.shard, removals=self.removals, ended=ended)
            await self.run_log.insert_run(segment.run, [*writes, *counts])
            segments.note_commit()
            return segment if segment.content.events else None
        try:
            with segments.settlements.joining(tally.named_places) as settlements:
                counts = tally.writes(
                    segments.shard, segment.named, settlements, self.removals, ended
                )
                await commit(self.table, [*writes, *counts])
            return await segments.confirm(segment)
        except BaseException as error:
            refused = isinstance(error, RepeatedNotification | LetterGone)
            segments.abandon(segment, committed=not refused)
            raise

    async def write_dead_letters(self, dead: Iterable[DeadEvent], *, attempts: int) -> list[Write]:
        """Write dead events to files; return the letters' rows, one for each service path."""
        rows = []
        for _, group in groupby(sorted(dead, key=_service_path), key=_service_path):
            rows.append(dead_letter_insert(await self._write_letter(list(group), attempts)))
        return rows

    async def _write_letter(self, together: Sequence[DeadEvent], attempts: int) -> DeadLetter:
        first, id = together[0], self.clock.new_id()
        return DeadLetter(
            id=id,
            service=first.service,
            path=first.path,
            reason=first.reason,
            events=len(together),
            attempts=attempts,
            first_seen=recv_time(min(each.at for each in together)),
            created_at=self.clock.timestamp(),
            file=await self.letter_files.write(self.clock, id, together),
            line=0,
            code=first.code,
        )


def _service_path(dead: DeadEvent) -> tuple[str, str]:
    return dead.service, dead.path


def count_received(batch: IntakeBatch) -> None:
    """Count the events and the dead events of a batch, which were received for the first time."""
    places = Counter([(event.service, event.path) for event in batch.events])
    for place, events in places.items():
        batch.tally.add(place, IngestCounts(received=events, pending=events))
    for each in batch.dead_events:
        batch.tally.add((each.service, each.path), IngestCounts(received=1, dead_lettered=1))
        code = each.code or ErrorCode.BAD_USER_INPUT
        batch.intake.update((REFUSED, f"{REFUSED}:{code.value}"))
