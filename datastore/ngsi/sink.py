"""The sink: accepts notifications, stores them, and takes over runs that other sinks abandoned."""

import asyncio
import logging
import secrets
from asyncio import create_task
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.clock import Clock
from penstock.datastore.errors import IllegalState, NotFound
from penstock.datastore.ngsi.batch_writer import Loading, Persisting
from penstock.datastore.ngsi.commit import Keeping
from penstock.datastore.ngsi.counts import SHARDS
from penstock.datastore.ngsi.dead_letters import Contents
from penstock.datastore.ngsi.destinations import Destinations
from penstock.datastore.ngsi.directory import Catalog
from penstock.datastore.ngsi.events import Lines
from penstock.datastore.ngsi.inbox import WORKERS, Accepted, Intake, Load, Room
from penstock.datastore.ngsi.naming_rules import renaming_of
from penstock.datastore.ngsi.notification import Notification
from penstock.datastore.ngsi.options import Ack, SinkOptions
from penstock.datastore.ngsi.replay import Replaying
from penstock.datastore.ngsi.router import Sorter
from penstock.datastore.ngsi.rows import Event
from penstock.datastore.ngsi.run_log import LEASE_SECONDS, SINK, Ledger
from penstock.datastore.ngsi.table_names import Registry
from penstock.datastore.objects.port import Files
from penstock.datastore.periodic import Chore, repeating, stopped
from penstock.datastore.table.port import Table

RULES_SECONDS: Final = 30.0
DRAIN_SECONDS: Final = 5.0
SWEEP_SECONDS: Final = 3600.0

_EVENT_BYTES = 1000
"""The size in bytes that an event of an abandoned run is assumed to have."""

logger = logging.getLogger("penstock.ngsi")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The stores and settings that a sink needs.

    `place` names the storage of the files, `made_by` the program that writes runs. Segments are
    deleted `keep_days` after they were stored.
    """

    table: Table
    files: Files
    destinations: Destinations
    clock: Clock
    place: str = "files"
    made_by: str = "penstock"
    lease_seconds: int = LEASE_SECONDS
    keep_days: int = 7


@dataclass(frozen=True, slots=True)
class Sink:
    """The open sink of one process."""

    options: SinkOptions
    room: Room
    intake: Intake
    loading: Loading
    keeping: Keeping
    sorter: Sorter
    replaying: Replaying

    async def accept(self, notification: Notification, size: int) -> Accepted | None:
        """Accept a notification of `size` bytes, durably unless the options only queue it.

        Returns None for a queued notification, because its result is not known yet. Raises
        Unavailable.
        """
        if self.options.ack is Ack.QUEUED:
            self.intake.queued(notification, size)
            return None
        return await self.intake.durable(notification, size)

    async def take_over(self) -> int:
        """Take over some runs that no worker holds, if there is capacity; return their number."""
        if self.room.is_full:
            return 0
        ledger = self.keeping.ledger
        runs = await ledger.left_behind()
        for run in runs:
            try:
                events = await ledger.read(run)
            except NotFound:
                with suppress(IllegalState):
                    await ledger.failed(run, "The segment is gone.")
                continue
            size = _EVENT_BYTES * len(events)
            self.room.add(Load(len(events), size))
            self.loading.take(run, events, size)
        return len(runs)

    async def hold_on(self) -> None:
        """Renew the leases of the runs that this process is storing."""
        for opened in list(self.loading.open.values()):
            try:
                await self.keeping.ledger.keep(opened.run)
            except IllegalState:
                opened.lost = True

    async def read_rules(self) -> None:
        """Load the naming rules again, so that changed rules take effect."""
        self.sorter.renaming = await renaming_of(self.keeping.table, self.options)


@asynccontextmanager
async def open_sink(
    ground: Ground, options: SinkOptions, *, drain_seconds: float = DRAIN_SECONDS
) -> AsyncIterator[Sink]:
    """Open a sink; on exit, wait up to `drain_seconds` until its events are stored.

    Events that are not stored by then are durable all the same; the next sink takes them over.
    """
    sink = _sink(ground, options)
    await sink.read_rules()
    keep = timedelta(days=ground.keep_days)
    third = ground.lease_seconds / 3
    again = options.ack is Ack.QUEUED
    workers = [
        *(create_task(sink.intake.work(again=again)) for _ in range(WORKERS)),
        create_task(sink.loading.work()),
        create_task(repeating(_rounds(sink.hold_on, third))),
        create_task(repeating(_rounds(sink.take_over, min(third, RULES_SECONDS), at_once=True))),
        create_task(repeating(_rounds(sink.read_rules, RULES_SECONDS))),
        create_task(repeating(_rounds(partial(sink.keeping.ledger.sweep, keep), SWEEP_SECONDS))),
    ]
    try:
        yield sink
    finally:
        with suppress(TimeoutError):
            async with asyncio.timeout(drain_seconds):
                await sink.intake.emptied()
                await sink.loading.drained()
        sink.loading.stop()
        await stopped(workers)


def _sink(ground: Ground, options: SinkOptions) -> Sink:
    access = Access(ground.table, SINK, ground.clock, Budget())
    lines = Lines.of(ground.files, Event)
    worker = ground.clock.new_id()
    ledger = Ledger(access, lines, worker, ground.place, ground.made_by, ground.lease_seconds)
    keeping = Keeping(
        ground.table,
        ledger,
        Catalog(ground.table),
        Contents.of(ground.files),
        ground.clock,
        secrets.randbelow(SHARDS),
    )
    room = Room(options.max_pending)
    sorter = Sorter(Registry(ground.table), options, ground.clock)
    persisting = Persisting(ground.destinations, options.layout)
    loading = Loading(keeping, persisting, options.batching, room)
    intake = Intake(keeping, sorter, ground.clock, room, loading.take)
    replaying = Replaying(keeping, sorter, room, loading.take)
    return Sink(options, room, intake, loading, keeping, sorter, replaying)


def _rounds(
    work: Callable[[], Awaitable[object]], seconds: float, *, at_once: bool = False
) -> Chore:
    return Chore(work, seconds, logger, "the sink could not do its rounds", at_once)
