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
from penstock.datastore.ngsi.commit import Keeping
from penstock.datastore.ngsi.counts import Counts, Tally
from penstock.datastore.ngsi.dead_letters import Dead
from penstock.datastore.ngsi.destinations import Destinations, Placed, Trouble
from penstock.datastore.ngsi.inbox import Load, Room
from penstock.datastore.ngsi.options import Batching, Layout
from penstock.datastore.ngsi.rows import Event, item_count, items_of
from penstock.datastore.ngsi.run_log import DEAD, PERSISTED
from penstock.datastore.ngsi.table_names import is_table_name
from penstock.datastore.table import limits
from penstock.datastore.table.port import key_of

T = TypeVar("T")

AT_ONCE: Final = 4
"""The number of concurrent requests of one batch."""

MAX_MADE: Final = 100_000


@dataclass(slots=True)
class Stored:
    """The result of a write: the number of items, and the events that no table accepts."""

    items: int = 0
    refused: list[tuple[Event, str]] = field(default_factory=list)


@dataclass(slots=True)
class Persisting:
    """Writes events to tables, and creates each table before its first items.

    An error may leave some of the items stored; storing them again changes nothing.
    """

    destinations: Destinations
    layout: Layout
    _made: set[str] = field(default_factory=set)

    async def store(self, events: Sequence[Event]) -> Stored:
        """Store events at their destinations; ValueError for a name that no table can have.

        Raises Unavailable, and the store's own error if the configuration is wrong.
        """
        placed = {
            (event.table, key_of(item)): Placed(event.table, item)
            for event in events
            for item in items_of(event, self.layout)
        }
        try:
            await self._write(list(placed.values()))
        except Exception as error:
            if not self._is_invalid(error):
                raise
            return await self._isolate(events, error)
        return Stored(len(placed))

    def is_set_up_wrong(self, error: Exception) -> bool:
        """Whether a failure comes from the configuration and needs a person to repair it."""
        return self.destinations.trouble(error) is Trouble.SET_UP

    async def _isolate(self, events: Sequence[Event], error: Exception) -> Stored:
        """Store each half separately, down to the single events that no table accepts."""
        if len(events) == 1:
            return Stored(refused=[(events[0], str(error))])
        middle = len(events) // 2
        one = await self.store(events[:middle])
        other = await self.store(events[middle:])
        return Stored(one.items + other.items, [*one.refused, *other.refused])

    def _is_invalid(self, error: Exception) -> bool:
        if isinstance(error, LimitExceeded):
            return True
        return self.destinations.trouble(error) is Trouble.INVALID

    async def _write(self, placed: Sequence[Placed]) -> None:
        tables = dict.fromkeys(each.table for each in placed)
        try:
            await self._write_made(tables, placed)
        except Exception as error:
            if self.destinations.trouble(error) is not Trouble.MISSING:
                raise
            self._made.difference_update(tables)
            await self._write_made(tables, placed)

    async def _write_made(self, tables: Iterable[str], placed: Sequence[Placed]) -> None:
        missing = [name for name in tables if name not in self._made]
        if missing:
            await _each(self._make, missing)
        await write(self.destinations, placed)

    async def _make(self, name: str) -> None:
        if not is_table_name(name):
            raise ValueError(f"{name[:300]!r} is no name of a table")
        await self.destinations.create(name)
        if len(self._made) >= MAX_MADE:
            self._made.clear()
        self._made.add(name)


async def write(destinations: Destinations, placed: Sequence[Placed]) -> None:
    """Write items with distinct keys, 25 to a request, with a few concurrent requests.

    25 items of at most 400 KB stay below the 16 MB of a request. Raises the first failure after
    all requests have ended.
    """
    starts = range(0, len(placed), limits.WRITE_OPERATIONS)
    await _each(
        destinations.write, [placed[start : start + limits.WRITE_OPERATIONS] for start in starts]
    )


async def _each(work: Callable[[T], Awaitable[None]], things: Sequence[T]) -> None:
    room = Semaphore(AT_ONCE)

    async def one(thing: T) -> None:
        async with room:
            await work(thing)

    for outcome in await gather(*map(one, things), return_exceptions=True):
        if outcome is not None:
            raise outcome


DESTINATIONS_AT_ONCE: Final = 8
SETTLE_SECONDS: Final = 1.0

logger = logging.getLogger("penstock.ngsi")


@dataclass(slots=True, eq=False)
class OpenRun:
    """A run that this process is storing, with the number of its unsettled events.

    `lost` is set if another worker holds the run; then this process does not change it any
    more.
    """

    run: Run
    load: Load
    left: int
    tally: Tally = field(default_factory=Tally)
    dead: list[Dead] = field(default_factory=list)
    attempts: int = 0
    lost: bool = False

    @property
    def counted(self) -> bool:
        """Whether its events were settled before: the run is being loaded again."""
        return PERSISTED in (self.run.counts or {})

    def settle(self, event: Event, reason: str | None, attempts: int) -> None:
        """Count an event as stored, or as dead-lettered if there is a reason."""
        at = (event.service, event.path)
        if reason is None:
            stored = Counts(pending=-1, persisted=1, items=item_count(event))
            self.tally.add(at, stored)
        else:
            self.tally.add(at, Counts(pending=-1, dead_lettered=1))
            self.dead.append(Dead.of(event, reason))
        self.attempts = max(self.attempts, attempts)
        self.left -= 1


Entries: TypeAlias = list[tuple[OpenRun, Event]]


@dataclass(slots=True)
class Loading:
    """Collects the events of runs into batches, and stores the batches.

    `troubles` holds the destinations that cannot be written at the moment, with the latest
    reason.
    """

    keeping: Keeping
    persisting: Persisting
    batching: Batching
    room: Room
    open: dict[str, OpenRun] = field(default_factory=dict)
    troubles: dict[str, str] = field(default_factory=dict)
    _buffer: Entries = field(default_factory=list)
    _since: float = 0.0
    _arrived: Signal = field(default_factory=Signal)
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)
    _draining: bool = False
    _places: asyncio.Semaphore = field(
        default_factory=lambda: asyncio.Semaphore(DESTINATIONS_AT_ONCE)
    )

    def take(self, run: Run, events: Sequence[Event], size: int) -> None:
        """Store the events of a run that this process holds; capacity was checked before."""
        opened = OpenRun(run, Load(len(events), size), len(events))
        self.open[run.id] = opened
        if not self._buffer:
            self._since = asyncio.get_running_loop().time()
        self._buffer += [(opened, event) for event in events]
        self._arrived.set()

    async def work(self) -> NoReturn:
        """Store a batch whenever it is full or old enough, for ever."""
        while True:
            await self._full()
            batch, self._buffer = self._buffer, []
            self._arrived.clear()
            self._start(batch, 0)

    async def drained(self) -> None:
        """Store the buffered events at once, and wait until all of them are settled."""
        self._draining = True
        self._arrived.set()
        while self._buffer or self._tasks:
            if self._tasks:
                await asyncio.wait(self._tasks)
            else:
                await asyncio.sleep(0)

    def stop(self) -> None:
        """Cancel all writes; another worker claims the unsettled runs later."""
        for task in self._tasks:
            task.cancel()

    async def _full(self) -> None:
        """Wait until there is a batch: enough events, or an event that has waited long enough."""
        loop = asyncio.get_running_loop()
        await self._arrived.wait()
        while len(self._buffer) < self.batching.size and not self._draining:
            left = self._since + self.batching.timeout - loop.time()
            if left <= 0:
                return
            self._arrived.clear()
            try:
                async with asyncio.timeout(left):
                    await self._arrived.wait()
            except TimeoutError:
                return

    def _start(self, entries: Entries, attempts: int) -> None:
        task = asyncio.create_task(self._store(entries, attempts))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _store(self, entries: Entries, attempts: int) -> None:
        """Store events with the configured retries; `attempts` have failed before.

        If several destinations fail together, each is retried separately, so that none
        waits for another.
        """
        events = [event for _, event in entries]
        while True:
            try:
                async with self._places:
                    await self.keeping.catalog.note_events(events)
                    stored = await self.persisting.store(events)
                for event in events:
                    self.troubles.pop(event.table, None)
                break
            except Exception as error:
                parts = _by_table(entries)
                if len(parts) > 1:
                    for part in parts:
                        self._start(part, attempts)
                    return
                attempts, pause = self._verdict(events[0].table, error, attempts)
                if pause is None:
                    self.troubles.pop(events[0].table, None)
                    stored = Stored(refused=[(event, words_of(error)) for event in events])
                    break
                await asyncio.sleep(pause)
        await self._settle(entries, stored, attempts)

    def _verdict(self, table: str, error: Exception, attempts: int) -> tuple[int, float | None]:
        """The number of failed attempts, and the seconds until the next; None to give up.

        A wrong configuration costs no attempt: the events wait until a person repairs it.
        """
        self.troubles[table] = words_of(error)
        logger.warning("%s cannot be written yet: %s", table, words_of(error))
        if self.persisting.is_set_up_wrong(error):
            return attempts, self.batching.retry_intervals[-1]
        return attempts + 1, self.batching.retry_after(attempts + 1)

    async def _settle(self, entries: Entries, stored: Stored, attempts: int) -> None:
        reasons = {event.identity: reason for event, reason in stored.refused}
        for opened, event in entries:
            opened.settle(event, reasons.get(event.identity), attempts)
        for opened in {id(opened): opened for opened, _ in entries}.values():
            if opened.left == 0:
                await self._finish(opened)

    async def _finish(self, opened: OpenRun) -> None:
        """Write the result of a run to the manifest, until it is written or the run is lost."""
        while not opened.lost:
            try:
                await self._record(opened)
                break
            except IllegalState:
                opened.lost = True
            except PenstockError as error:
                logger.warning("a run cannot be settled yet: %s", error.message)
                await asyncio.sleep(SETTLE_SECONDS)
        self.open.pop(opened.run.id, None)
        self.room.leave(opened.load)

    async def _record(self, opened: OpenRun) -> None:
        ledger, run = self.keeping.ledger, opened.run
        if opened.counted and opened.dead:
            await ledger.failed(run, opened.dead[0].reason)
        elif opened.counted:
            await ledger.loaded(run, {}, [])
        else:
            letters = await self.keeping.bury(opened.dead, attempts=opened.attempts)
            counts = {PERSISTED: opened.load.events - len(opened.dead), DEAD: len(opened.dead)}
            writes = [*letters, *opened.tally.writes(self.keeping.shard)]
            await ledger.loaded(run, counts, writes)


def words_of(error: Exception) -> str:
    return error.message if isinstance(error, PenstockError) else str(error) or type(error).__name__


def _by_table(entries: Entries) -> list[Entries]:
    tables: dict[str, Entries] = defaultdict(list)
    for opened, event in entries:
        tables[event.table].append((opened, event))
    return list(tables.values())
