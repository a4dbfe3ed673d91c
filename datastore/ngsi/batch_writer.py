"""The batch writer: stores committed events in their tables, in few requests.

Each destination is retried by itself until every event is stored or dead-lettered.
"""

import asyncio
import logging
from asyncio import Event as Signal
from asyncio import Semaphore, gather
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn, TypeAlias, TypeVar

from penstock.datastore.errors import IllegalState, LimitExceeded, PenstockError
from penstock.datastore.manifest.records import Run
from penstock.datastore.ngsi.commit import BatchCommitter
from penstock.datastore.ngsi.counts import IngestCounts, Tally
from penstock.datastore.ngsi.dead_letters import DeadEvent
from penstock.datastore.ngsi.destinations import Destinations, FailureKind, TableItem
from penstock.datastore.ngsi.inbox import EventAmount, InFlightLimit
from penstock.datastore.ngsi.options import BatchingOptions, ItemLayout
from penstock.datastore.ngsi.rows import Event, item_count, items_of
from penstock.datastore.ngsi.run_log import DEAD, PERSISTED
from penstock.datastore.ngsi.table_names import is_table_name
from penstock.datastore.table import limits
from penstock.datastore.table.port import key_of

T = TypeVar("T")

CONCURRENT_REQUESTS: Final = 4
"""The number of concurrent requests of one batch."""

MAX_CREATED: Final = 100_000


@dataclass(slots=True)
class WriteResult:
    """The result of a write: the number of items, and the events that no table accepts."""

    items: int = 0
    refused: list[tuple[Event, str]] = field(default_factory=list)


@dataclass(slots=True)
class SampleWriter:
    """Writes events to tables, and creates each table before its first items.

    An error may leave some of the items stored; storing them again changes nothing.
    """

    destinations: Destinations
    layout: ItemLayout
    _created: set[str] = field(default_factory=set)

    async def store_events(self, events: Sequence[Event]) -> WriteResult:
        """Store events at their destinations; ValueError for a name that no table can have.

        Raises Unavailable, and the store's own error if the configuration is wrong.
        """
        placed = {
            (event.table, key_of(item)): TableItem(event.table, item)
            for event in events
            for item in items_of(event, self.layout)
        }
        try:
            await self._write_items(list(placed.values()))
        except Exception as error:
            if not self._is_invalid(error):
                raise
            return await self._store_halves(events, error)
        return WriteResult(len(placed))

    def is_configuration_error(self, error: Exception) -> bool:
        """Whether a failure comes from the configuration and needs a person to repair it."""
        return self.destinations.failure_kind(error) is FailureKind.CONFIGURATION

    async def _store_halves(self, events: Sequence[Event], error: Exception) -> WriteResult:
        """Store each half separately, down to the single events that no table accepts."""
        if len(events) == 1:
            return WriteResult(refused=[(events[0], str(error))])
        middle = len(events) // 2
        one = await self.store_events(events[:middle])
        other = await self.store_events(events[middle:])
        return WriteResult(one.items + other.items, [*one.refused, *other.refused])

    def _is_invalid(self, error: Exception) -> bool:
        if isinstance(error, LimitExceeded):
            return True
        return self.destinations.failure_kind(error) is FailureKind.INVALID

    async def _write_items(self, placed: Sequence[TableItem]) -> None:
        tables = dict.fromkeys(each.table for each in placed)
        try:
            await self._write_to_created(tables, placed)
        except Exception as error:
            if self.destinations.failure_kind(error) is not FailureKind.MISSING:
                raise
            self._created.difference_update(tables)
            await self._write_to_created(tables, placed)

    async def _write_to_created(self, tables: Iterable[str], placed: Sequence[TableItem]) -> None:
        missing = [name for name in tables if name not in self._created]
        if missing:
            await _run_concurrently(self._create_table, missing)
        await write_items(self.destinations, placed)

    async def _create_table(self, name: str) -> None:
        if not is_table_name(name):
            raise ValueError(f"{name[:300]!r} is no name of a table")
        await self.destinations.create(name)
        if len(self._created) >= MAX_CREATED:
            self._created.clear()
        self._created.add(name)


async def write_items(destinations: Destinations, placed: Sequence[TableItem]) -> None:
    """Write items with distinct keys, 25 to a request, with a few concurrent requests.

    25 items of at most 400 KB stay below the 16 MB of a request. Raises the first failure after
    all requests have ended.
    """
    starts = range(0, len(placed), limits.WRITE_OPERATIONS)
    await _run_concurrently(
        destinations.write, [placed[start : start + limits.WRITE_OPERATIONS] for start in starts]
    )


async def _run_concurrently(work: Callable[[T], Awaitable[None]], things: Sequence[T]) -> None:
    room = Semaphore(CONCURRENT_REQUESTS)

    async def run_one(thing: T) -> None:
        async with room:
            await work(thing)

    for outcome in await gather(*map(run_one, things), return_exceptions=True):
        if outcome is not None:
            raise outcome


CONCURRENT_DESTINATIONS: Final = 8
SETTLE_SECONDS: Final = 1.0

logger = logging.getLogger("penstock.ngsi")


@dataclass(slots=True, eq=False)
class OpenRun:
    """A run that this process is storing, with the number of its unsettled events.

    `lost` is set if another worker holds the run; then this process does not change it any
    more.
    """

    run: Run
    load: EventAmount
    unsettled: int
    tally: Tally = field(default_factory=Tally)
    dead: list[DeadEvent] = field(default_factory=list)
    attempts: int = 0
    lost: bool = False

    @property
    def was_settled(self) -> bool:
        """Whether its events were settled before: the run is being loaded again."""
        return PERSISTED in (self.run.counts or {})

    def settle(self, event: Event, reason: str | None, attempts: int) -> None:
        """Count an event as stored, or as dead-lettered if there is a reason."""
        at = (event.service, event.path)
        if reason is None:
            stored = IngestCounts(pending=-1, persisted=1, items=item_count(event))
            self.tally.add(at, stored)
        else:
            self.tally.add(at, IngestCounts(pending=-1, dead_lettered=1))
            self.dead.append(DeadEvent.from_event(event, reason))
        self.attempts = max(self.attempts, attempts)
        self.unsettled -= 1


RunEvents: TypeAlias = list[tuple[OpenRun, Event]]


@dataclass(slots=True)
class RunLoader:
    """Collects the events of runs into batches, and stores the batches.

    `failing_destinations` holds the destinations that cannot be written at the moment, with the
    latest reason.
    """

    committer: BatchCommitter
    writer: SampleWriter
    batching: BatchingOptions
    in_flight: InFlightLimit
    open_runs: dict[str, OpenRun] = field(default_factory=dict)
    failing_destinations: dict[str, str] = field(default_factory=dict)
    _buffer: RunEvents = field(default_factory=list)
    _buffered_since: float = 0.0
    _arrived: Signal = field(default_factory=Signal)
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)
    _draining: bool = False
    _destination_slots: asyncio.Semaphore = field(
        default_factory=lambda: asyncio.Semaphore(CONCURRENT_DESTINATIONS)
    )

    def load_run(self, run: Run, events: Sequence[Event], size: int) -> None:
        """Store the events of a run that this process holds; capacity was checked before."""
        opened = OpenRun(run, EventAmount(len(events), size), len(events))
        self.open_runs[run.id] = opened
        if not self._buffer:
            self._buffered_since = asyncio.get_running_loop().time()
        self._buffer += [(opened, event) for event in events]
        self._arrived.set()

    async def run_batches(self) -> NoReturn:
        """Store a batch whenever it is full or old enough, for ever."""
        while True:
            await self._wait_for_batch()
            batch, self._buffer = self._buffer, []
            self._arrived.clear()
            self._start_storing(batch, 0)

    async def drain(self) -> None:
        """Store the buffered events at once, and wait until all of them are settled."""
        self._draining = True
        self._arrived.set()
        while self._buffer or self._tasks:
            if self._tasks:
                await asyncio.wait(self._tasks)
            else:
                await asyncio.sleep(0)

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

    def _start_storing(self, entries: RunEvents, attempts: int) -> None:
        task = asyncio.create_task(self._store_batch(entries, attempts))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _store_batch(self, entries: RunEvents, attempts: int) -> None:
        """Store events with the configured retries; `attempts` have failed before.

        If several destinations fail together, each is retried separately, so that none
        waits for another.
        """
        events = [event for _, event in entries]
        while True:
            try:
                async with self._destination_slots:
                    await self.committer.catalog.record_entities(events)
                    stored = await self.writer.store_events(events)
                for event in events:
                    self.failing_destinations.pop(event.table, None)
                break
            except Exception as error:
                parts = _group_by_table(entries)
                if len(parts) > 1:
                    for part in parts:
                        self._start_storing(part, attempts)
                    return
                attempts, pause = self._next_attempt(events[0].table, error, attempts)
                if pause is None:
                    self.failing_destinations.pop(events[0].table, None)
                    stored = WriteResult(refused=[(event, error_text(error)) for event in events])
                    break
                await asyncio.sleep(pause)
        await self._settle_events(entries, stored, attempts)

    def _next_attempt(
        self, table: str, error: Exception, attempts: int
    ) -> tuple[int, float | None]:
        """The number of failed attempts, and the seconds until the next; None to give up.

        A wrong configuration costs no attempt: the events wait until a person repairs it.
        """
        self.failing_destinations[table] = error_text(error)
        logger.warning("%s cannot be written yet: %s", table, error_text(error))
        if self.writer.is_configuration_error(error):
            return attempts, self.batching.retry_intervals[-1]
        return attempts + 1, self.batching.retry_delay(attempts + 1)

    async def _settle_events(self, entries: RunEvents, stored: WriteResult, attempts: int) -> None:
        reasons = {event.identity: reason for event, reason in stored.refused}
        for opened, event in entries:
            opened.settle(event, reasons.get(event.identity), attempts)
        for opened in {id(opened): opened for opened, _ in entries}.values():
            if opened.unsettled == 0:
                await self._finish_run(opened)

    async def _finish_run(self, opened: OpenRun) -> None:
        """Write the result of a run to the manifest, until it is written or the run is lost."""
        while not opened.lost:
            try:
                await self._write_outcome(opened)
                break
            except IllegalState:
                opened.lost = True
            except PenstockError as error:
                logger.warning("a run cannot be settled yet: %s", error.message)
                await asyncio.sleep(SETTLE_SECONDS)
        self.open_runs.pop(opened.run.id, None)
        self.in_flight.release(opened.load)

    async def _write_outcome(self, opened: OpenRun) -> None:
        ledger, run = self.committer.run_log, opened.run
        if opened.was_settled and opened.dead:
            await ledger.mark_failed(run, opened.dead[0].reason)
        elif opened.was_settled:
            await ledger.mark_loaded(run, {}, [])
        else:
            letters = await self.committer.write_dead_letters(opened.dead, attempts=opened.attempts)
            counts = {PERSISTED: opened.load.events - len(opened.dead), DEAD: len(opened.dead)}
            writes = [*letters, *opened.tally.writes(self.committer.shard)]
            await ledger.mark_loaded(run, counts, writes)


def error_text(error: Exception) -> str:
    return error.message if isinstance(error, PenstockError) else str(error) or type(error).__name__


def _group_by_table(entries: RunEvents) -> list[RunEvents]:
    tables: dict[str, RunEvents] = defaultdict(list)
    for opened, event in entries:
        tables[event.table].append((opened, event))
    return list(tables.values())
