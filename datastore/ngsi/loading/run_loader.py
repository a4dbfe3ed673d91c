"""The loader of runs: stores committed events until each is stored or dead-lettered.

Events of several destinations that arrive together are stored together, at the first attempt only.
A destination that fails then goes on in a lane of its own.
"""

import asyncio
import logging
from asyncio import Event as Signal
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from penstock.datastore.background_tasks import start_task
from penstock.datastore.errors import (
    ErrorCode,
    IllegalState,
    LimitExceeded,
    PenstockError,
    RequestRefused,
    Unavailable,
)
from penstock.datastore.logged_errors import describe_error
from penstock.datastore.ngsi.commit import BatchCommitter
from penstock.datastore.ngsi.counts import SegmentSettled, Settlement
from penstock.datastore.ngsi.dead_letters import Refusal
from penstock.datastore.ngsi.destinations import FailureKind
from penstock.datastore.ngsi.hours.busy_hours import BusyHours
from penstock.datastore.ngsi.hours.generations import EntityHour, hours_of, late_hours, renew_hours
from penstock.datastore.ngsi.intake.in_flight import InFlightLimit
from penstock.datastore.ngsi.latest_rows import wanted_entries
from penstock.datastore.ngsi.loading.lanes import DestinationLane, DestinationLanes
from penstock.datastore.ngsi.loading.open_runs import OpenRun, PendingEvent, PendingEvents
from penstock.datastore.ngsi.loading.portions import divide_events
from penstock.datastore.ngsi.loading.run_leases import RunLeases
from penstock.datastore.ngsi.loading.sample_writer import SampleWriter, WriteResult
from penstock.datastore.ngsi.options import BatchingOptions
from penstock.datastore.ngsi.reading.series import milliseconds_of
from penstock.datastore.ngsi.rows import Event
from penstock.datastore.ngsi.run_counts import count_segment, show_counts
from penstock.datastore.ngsi.segments.shared_runs import Segment, SharedRun, was_loaded
from penstock.datastore.table.commit import commit

CONCURRENT_RECORDS: Final = 8
"""The number of batches whose entities are written to the directory at the same time."""

SETTLE_SECONDS: Final = 1.0

_FINAL = (FailureKind.FOREIGN, FailureKind.INVALID)
"""The failures of opening a table that no later attempt can mend."""

logger = logging.getLogger("penstock.ngsi")


@dataclass(slots=True)
class RunLoader:
    """Collects the events of runs into batches, and stores the batches."""

    committer: BatchCommitter
    writer: SampleWriter
    batching: BatchingOptions
    in_flight: InFlightLimit
    lanes: DestinationLanes
    forget_table: Callable[[str], None]
    busy: BusyHours = field(default_factory=BusyHours)
    open_runs: set[OpenRun] = field(default_factory=set)
    leases: RunLeases = field(init=False)
    _buffer: PendingEvents = field(default_factory=list)
    _buffered_since: float = 0.0
    _arrived: Signal = field(default_factory=Signal)
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)
    _draining: bool = False
    _record_slots: asyncio.Semaphore = field(
        default_factory=lambda: asyncio.Semaphore(CONCURRENT_RECORDS)
    )

    def __post_init__(self) -> None:
        self.leases = RunLeases(self.committer, self.open_runs)

    @property
    def failing_destinations(self) -> dict[str, str]:
        """The destinations that cannot be written at the moment, with the latest reason."""
        return self.lanes.failures

    def load_segment(self, segment: Segment, sizes: Mapping[str, int]) -> None:
        """Hold the events of a segment, and store them; there was room for them before.

        Those of each service arrived in so many bytes.
        """
        opened, events = OpenRun.of(segment, sizes), segment.content.events
        for service, load in opened.loads:
            self.in_flight.add(service, load)
        self.open_runs.add(opened)
        if not events:
            self._start(self._finish_run(opened))
            return
        if not self._buffer:
            self._buffered_since = asyncio.get_running_loop().time()
        self._buffer += [PendingEvent(opened, event) for event in events]
        self._arrived.set()

    async def run_batches(self) -> NoReturn:
        """Store a batch whenever it is full or old enough, for ever."""
        while True:
            await self._wait_for_batch()
            batch, self._buffer = self._buffer, []
            self._arrived.clear()
            self._start_batch(batch)

    async def drain(self) -> None:
        """Store the buffered events at once, and wait until all of them are settled."""
        self._draining = True
        self.committer.segments.settlements.release_all()
        self._arrived.set()
        while self._buffer or self._tasks:
            if self._tasks:
                await asyncio.wait(self._tasks)
            else:
                await asyncio.sleep(0)
        for shared in self.committer.segments.seal():
            await self.close_run(shared)

    def cancel_writes(self) -> None:
        """Cancel all writes; another worker claims the unsettled runs later."""
        for task in self._tasks:
            task.cancel()

    async def _wait_for_batch(self) -> None:
        """Wait until there is a batch: enough events, or an event that has waited long enough."""
        loop = asyncio.get_running_loop()
        await self._arrived.wait()
        while len(self._buffer) < self.batching.size and not self._draining:
            left = self._buffered_since + self.batching.timeout - loop.time()
            if left <= 0:
                return
            self._arrived.clear()
            try:
                async with asyncio.timeout(left):
                    await self._arrived.wait()
            except TimeoutError:
                return

    def _start_batch(self, batch: PendingEvents) -> None:
        """Store what can be stored together; the rest goes into the lanes of its destinations."""
        together: dict[str, PendingEvents] = {}
        for table, entries in _group_by_table(batch).items():
            if table in self.lanes.by_table or self.writer.must_open(table):
                self._put_into_lane(table, entries)
            else:
                together[table] = entries
        if len(together) > 1:
            self._start(self._store_together(together))
        else:
            for table, entries in together.items():
                self._put_into_lane(table, entries)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = start_task(work, logger, "events are left to the next sink")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _store_together(self, parts: dict[str, PendingEvents]) -> None:
        """Store events of several destinations, each request once; failing parts go into lanes."""
        entries = [entry for part in parts.values() for entry in part]
        try:
            stored = await self._attempt(entries, patient=False)
        except Exception as error:
            logger.info("several tables are written one by one: %s", describe_error(error))
            for table, part in parts.items():
                self._put_into_lane(table, part)
            return
        await self._settle_events(entries, stored)

    def _put_into_lane(self, table: str, entries: PendingEvents) -> None:
        lane = self.lanes.by_table.get(table)
        if lane is None:
            lane = self.lanes.by_table[table] = DestinationLane(table)
            self._start(self._run_lane(lane))
        self._give_up(lane, self.lanes.put(lane, entries))

    def _give_up(self, lane: DestinationLane, entries: PendingEvents) -> None:
        """Let events become dead letters because the lane of a failing destination is full."""
        if not entries:
            return
        reason = f"Too much waits for {lane.table}, which cannot be written: {lane.failure}"
        refusal = Refusal(ErrorCode.SERVICE_UNAVAILABLE, reason)
        self._start(self._settle_events(entries, _refuse(entries, refusal)))

    async def _run_lane(self, lane: DestinationLane) -> None:
        """Store the events of one destination, one attempt after the other, until none waits."""
        try:
            while lane.waiting:
                await self._store_in_lane(lane)
        finally:
            self.lanes.recover(lane)
            del self.lanes.by_table[lane.table]

    async def _store_in_lane(self, lane: DestinationLane) -> None:
        """Attempt to store the oldest events of a lane, and wait after a failure."""
        entries, pause = lane.take(), None
        try:
            stored = await self._open_and_attempt(lane, entries)
            self.lanes.recover(lane)
        except Exception as error:
            entries, stored, pause = self._next_attempt(lane, entries, error)
        self.lanes.release(lane, entries)
        self._start(self._settle_events(entries, stored))
        if pause is not None:
            await asyncio.sleep(pause)

    async def _open_and_attempt(self, lane: DestinationLane, entries: PendingEvents) -> WriteResult:
        """Store events of one destination, or refuse all of them if its table can never be used.

        The table is opened first, so that the directory names no table that cannot be read.
        """
        try:
            await self.writer.open_table(lane.table)
        except Exception as error:
            if self.writer.destinations.failure_kind(error) not in _FINAL:
                raise
            logger.warning("%s cannot be used: %s", lane.table, describe_error(error))
            # Its name may have been replaced in the meantime.
            self.forget_table(lane.table)
            return _refuse(entries, Refusal.from_error(error))
        return await self._attempt(entries, patient=True)

    async def _attempt(self, entries: PendingEvents, *, patient: bool) -> WriteResult:
        """Store events, portion by portion, so that the event loop waits for none of them long."""
        stored = WriteResult()
        for portion in divide_events([entry.event for entry in entries]):
            await asyncio.sleep(0)
            stored = stored.join(await self._store_portion(portion, patient=patient))
        return stored

    async def _store_portion(self, events: Sequence[Event], *, patient: bool) -> WriteResult:
        """Store events without those whose names the directory cannot list."""
        now, hours = milliseconds_of(self.committer.clock.now()), hours_of(events)
        try:
            await self._write_rows(events, late_hours(hours, now))
        except LimitExceeded as error:
            if len(events) == 1:
                return WriteResult(refused=[(events[0], Refusal.from_error(error))])
            middle = len(events) // 2
            one = await self._store_portion(events[:middle], patient=patient)
            return one.join(await self._store_portion(events[middle:], patient=patient))
        kept = self.leases.without_lost(events)
        stored = await self.writer.store_events(kept, patient=patient)
        self.busy.note(hours, now)
        return stored

    async def _write_rows(self, events: Sequence[Event], late: Iterable[EntityHour]) -> None:
        """Write what the table says of events before they are stored, until it is written.

        No destination is to blame for a table that fails, so this costs the events no attempt.
        """
        while True:
            try:
                async with self._record_slots:
                    raises = await self.committer.latest.plan(wanted_entries(events))
                    await self.committer.catalog.record_entities(events)
                    await self.committer.latest.raise_rows(raises)
                await renew_hours(self.committer.table, late)
                await self.leases.keep()
            except Unavailable as error:
                logger.warning("events cannot be listed yet: %s", error.message)
                await asyncio.sleep(self.batching.retry_intervals[-1])
            else:
                return

    def _next_attempt(
        self, lane: DestinationLane, entries: PendingEvents, error: Exception
    ) -> tuple[PendingEvents, WriteResult, float | None]:
        """The events to give up, their refusals, and the seconds until the next attempt, if any.

        The other events go back into the lane. A wrong configuration costs no attempt: the events
        wait until a person repairs it.
        """
        logger.warning("%s cannot be written yet: %s", lane.table, describe_error(error))
        pause: float | None = self.batching.retry_intervals[-1]
        over, left = PendingEvents(), entries
        kind = self.writer.destinations.failure_kind(error)
        if kind is not FailureKind.CONFIGURATION:
            tried = [entry.failed_again for entry in entries]
            over = [each for each in tried if self.batching.retry_delay(each.attempts) is None]
            left = [each for each in tried if self.batching.retry_delay(each.attempts) is not None]
            pause = self.batching.retry_delay(left[0].attempts) if left else None
        lane.put_back(left)
        refusal = Refusal.from_error(error)
        self._give_up(lane, self.lanes.fail(lane, refusal.reason))
        return over, _refuse(over, refusal), pause

    async def _settle_events(self, entries: PendingEvents, stored: WriteResult) -> None:
        refusals = {event.identity: refusal for event, refusal in stored.refused}
        for opened, event, attempts in entries:
            refusal = refusals.get(event.identity)
            self.in_flight.release(event.service, opened.settle(event, refusal, attempts))
        done = {entry.opened for entry in entries if entry.opened.unsettled == 0}
        await asyncio.gather(*map(self._finish_run, done))

    async def _finish_run(self, opened: OpenRun) -> None:
        """Write the result of a run to the manifest, until it is written or the run is lost."""
        while not opened.lost:
            try:
                await self._write_outcome(opened)
                break
            except (IllegalState, SegmentSettled):
                opened.lost = True
            except PenstockError as error:
                logger.warning("a run cannot be settled yet: %s", error.message)
                await asyncio.sleep(SETTLE_SECONDS)
            except RequestRefused as error:
                # A person has to repair what refuses it, as with a destination.
                logger.error("a run cannot be settled yet: %s", error)
                await asyncio.sleep(self.batching.retry_intervals[-1])
        self.open_runs.discard(opened)
        for service, load in opened.loads:
            self.in_flight.release(service, load)
        if (shared := opened.segment.shared) is not None:
            shared.open -= 1
            if shared.is_done:
                await self.close_run(shared)

    async def close_run(self, shared: SharedRun) -> None:
        """Mark a shared run that is done as loaded; the next renewal of leases tries again."""
        try:
            await self.committer.segments.close(shared)
        except PenstockError as error:
            logger.warning("a run cannot be closed yet: %s", error.message)

    async def _settle_segment(self, opened: OpenRun, shared: SharedRun) -> None:
        """Count the events of a segment as settled, once, whoever else does so."""
        segment = opened.segment
        if segment.settled:
            shared.failure = opened.dead[0].reason if opened.dead else shared.failure
            return
        dead = opened.dead_places
        settlement = Settlement(segment.named, opened.tally, dead)
        try:
            if not await self._join_commit(opened, settlement):
                letters = await self.committer.write_dead_letters(
                    opened.dead, attempts=opened.attempts
                )
                await commit(self.committer.table, [*settlement.writes, *letters])
            self.committer.totals.count(opened.tally)
        except SegmentSettled:
            # It may be settled in this run all the same: an answer was lost, or another worker did.
            found = await self.committer.segments.find_settled(segment)
            if found is None:
                raise
            dead = found
        shared.note_settled(segment, dead)

    async def _join_commit(self, opened: OpenRun, settlement: Settlement) -> bool:
        """Wait for a commit to the same rows of counts; False if none makes the settlement."""
        segments = self.committer.segments
        if opened.dead or settlement.segment.shard != segments.shard:
            return False
        return await segments.settlements.join_commit(settlement)

    async def _write_outcome(self, opened: OpenRun) -> None:
        ledger, run = self.committer.run_log, opened.run
        if opened.segment.shared is not None:
            await self._settle_segment(opened, opened.segment.shared)
        elif was_loaded(run) and opened.dead:
            await ledger.mark_failed(run, opened.dead[0].reason)
        elif was_loaded(run):
            await ledger.mark_loaded(run, {}, [])
        else:
            letters = await self.committer.write_dead_letters(opened.dead, attempts=opened.attempts)
            content = opened.segment.content
            counts = count_segment(content.events, content.intake, opened.dead_places)
            writes = [*letters, *opened.tally.writes(self.committer.segments.shard)]
            await ledger.mark_loaded(run, show_counts(counts), writes)
            self.committer.totals.count(opened.tally)


def _refuse(entries: PendingEvents, refusal: Refusal) -> WriteResult:
    return WriteResult(refused=[(entry.event, refusal) for entry in entries])


def _group_by_table(entries: PendingEvents) -> dict[str, PendingEvents]:
    tables: dict[str, PendingEvents] = defaultdict(list)
    for entry in entries:
        tables[entry.event.table].append(entry)
    return tables
