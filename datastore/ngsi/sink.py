"""The sink: accepts notifications, stores them, and takes over runs that other sinks abandoned."""

import asyncio
import logging
import secrets
from asyncio import create_task
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.access.work import NOBODY, WorkPayer
from penstock.datastore.background_tasks import start_task
from penstock.datastore.clock import Clock
from penstock.datastore.errors import IllegalState, NotFound, Unavailable
from penstock.datastore.manifest.records import Run
from penstock.datastore.ngsi.catalog import Catalog
from penstock.datastore.ngsi.commit import BatchCommitter, RetryWindow
from penstock.datastore.ngsi.counts import SHARDS, KnownRemovals
from penstock.datastore.ngsi.dead_letters import LetterFiles
from penstock.datastore.ngsi.destinations import Destinations
from penstock.datastore.ngsi.directory import Directory
from penstock.datastore.ngsi.events import DamagedLines, LineFiles
from penstock.datastore.ngsi.hours.busy_hours import MOST_HOURS, BusyHours
from penstock.datastore.ngsi.hours.hour_keeper import HourKeeper
from penstock.datastore.ngsi.hours.reader import HourReader
from penstock.datastore.ngsi.inbox import WORKERS, Inbox, IntakeResult
from penstock.datastore.ngsi.intake.in_flight import InFlightLimit, SinkBacklog
from penstock.datastore.ngsi.large_values import LargeValues
from penstock.datastore.ngsi.latest_rows import LatestRows
from penstock.datastore.ngsi.loading.lanes import DestinationLanes
from penstock.datastore.ngsi.loading.run_loader import RunLoader
from penstock.datastore.ngsi.loading.sample_writer import SampleWriter
from penstock.datastore.ngsi.naming.rules import load_renamer
from penstock.datastore.ngsi.naming.table_names import TableNameRegistry
from penstock.datastore.ngsi.notification import Notification
from penstock.datastore.ngsi.options import FOR_EVER, Ack, RetentionTimes, SinkOptions
from penstock.datastore.ngsi.reading.series import SeriesReader
from penstock.datastore.ngsi.replay import LetterReplayer
from penstock.datastore.ngsi.retention.sweep import RetentionSweep
from penstock.datastore.ngsi.router import EntityRouter
from penstock.datastore.ngsi.rows import Event
from penstock.datastore.ngsi.run_counts import intake_in
from penstock.datastore.ngsi.run_log import FILE, LEASE_SECONDS, SINK_CALLER, RunLog
from penstock.datastore.ngsi.segments.segment_files import SegmentContent
from penstock.datastore.ngsi.segments.segment_sweep import sweep_segments
from penstock.datastore.ngsi.segments.settlements import SettlementQueue
from penstock.datastore.ngsi.segments.shared_runs import Segment
from penstock.datastore.ngsi.segments.writer import SegmentWriter
from penstock.datastore.objects.port import LOCAL_BUCKET, Files
from penstock.datastore.periodic import PeriodicTask, cancel_tasks, repeat_task, try_once
from penstock.datastore.table import counters
from penstock.datastore.table.instrumentation import Units
from penstock.datastore.table.port import Table
from penstock.datastore.work_reports import WatchRun, ignore_report

RULES_SECONDS: Final = 30.0
DRAIN_SECONDS: Final = 5.0
SWEEP_SECONDS: Final = 3600.0
HOURS_SECONDS: Final = 60.0

ROUNDS_FAILED: Final = "the sink could not do its rounds"
WORKER_FAILED: Final = "the sink stores no more of what it has"

_EVENT_BYTES = 1000
"""The size in bytes that an event of an abandoned run is assumed to have."""

logger = logging.getLogger("penstock.ngsi")


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkContext:
    """The stores and settings that a sink needs.

    `storage_name` is the name of the storage that readers of the manifest see. `written_by` is the
    program that writes runs. `retention` says how long the sink keeps what it wrote. `shards` is
    the number of shards among which new runs are counted. `watch_run` learns of each change of one.
    """

    table: Table
    files: Files
    destinations: Destinations
    clock: Clock
    storage_name: str = LOCAL_BUCKET
    written_by: str = "penstock"
    lease_seconds: int = LEASE_SECONDS
    retention: RetentionTimes = FOR_EVER
    shards: int = counters.SHARDS
    watch_run: WatchRun = ignore_report


@dataclass(frozen=True, slots=True)
class NotificationSink:
    """The open sink of one process."""

    options: SinkOptions
    in_flight: InFlightLimit
    inbox: Inbox
    loader: RunLoader
    committer: BatchCommitter
    router: EntityRouter
    replayer: LetterReplayer
    hour_keeper: HourKeeper

    async def accept_notification(
        self, notification: Notification, size: int, payer: WorkPayer = NOBODY
    ) -> IntakeResult | None:
        """Accept a notification of `size` bytes, durably unless the options only queue it.

        Returns None for a queued notification, because its result is not known yet. Raises
        Unavailable, and LimitExceeded if the naming rules take too long for its entities.
        """
        await self.router.match_places(notification, payer)
        if self.options.ack is Ack.QUEUED:
            self.inbox.enqueue(notification, size, payer.work)
            return None
        return await self.inbox.accept_durably(notification, size, payer.work)

    def backlog(self) -> SinkBacklog:
        """Return what this process holds and has not stored yet."""
        held, troubled = self.in_flight.held, len(self.loader.failing_destinations)
        return SinkBacklog(held.events, held.size, troubled)

    def require_writable(self) -> None:
        """Raise Unavailable if the sink could not commit the latest notifications a short time ago.

        A destination that cannot be written is no reason, because the events of all others are
        stored; nor is a sink that is full, because other servers would fill up next.
        """
        if self.inbox.is_failing:
            raise Unavailable("The latest notifications could not be kept.")

    async def take_over_runs(self) -> int:
        """Take over some runs that no worker holds, if there is capacity; return their number."""
        if self.in_flight.is_full:
            return 0
        ledger = self.committer.run_log
        runs = await ledger.claim_abandoned()
        for run in runs:
            try:
                await self._take_over_run(run)
            except (NotFound, DamagedLines) as unreadable:
                with suppress(IllegalState):
                    await ledger.mark_failed(run, unreadable.message)
            except Unavailable as error:
                logger.warning("a run cannot be taken over yet: %s", error.message)
        return len(runs)

    async def _take_over_run(self, run: Run) -> None:
        segments, ledger = self.committer.segments, self.committer.run_log
        if segments.holds(run):
            return
        files = await ledger.list_files(run)
        if files == [run.run_id + FILE]:
            content = SegmentContent(await ledger.lines.read(files[0]), intake_in(run.counts or {}))
            self._load_again(Segment(run.id, run, segments.shard, content))
            return
        shared = await segments.take_over(run, files, self._load_again)
        if shared.is_done:
            await self.loader.close_run(shared)

    def _load_again(self, segment: Segment) -> None:
        # Since it was committed, entities may have been removed from the directory.
        self.committer.removals.on_removal()
        counts = Counter(event.service for event in segment.content.events)
        sizes = {service: _EVENT_BYTES * count for service, count in counts.items()}
        self.loader.load_segment(segment, sizes)

    async def renew_leases(self) -> None:
        """Renew the leases of the runs that this process is storing."""
        for shared in await self.loader.leases.renew():
            await self.loader.close_run(shared)

    async def reload_rules(self) -> None:
        """Load the naming rules again, so that changed rules take effect."""
        table, known = self.committer.table, self.router.renamer
        self.router.renamer = await load_renamer(table, self.options, known=known)


@asynccontextmanager
async def open_sink(
    ground: SinkContext, options: SinkOptions, *, drain_seconds: float = DRAIN_SECONDS
) -> AsyncIterator[NotificationSink]:
    """Open a sink; on exit, wait up to `drain_seconds` until its events are stored.

    A failure of the block is raised at once.
    Events that are not stored by then are durable all the same; the next sink takes them over.
    """
    sink = _build_sink(ground, options)
    await sink.reload_rules()
    sweep = RetentionSweep(sink.committer, ground.retention)
    begin = partial(sweep_segments, sink.committer.segments)
    third = ground.lease_seconds / 3
    again = options.ack is Ack.QUEUED
    workers = [
        *(
            start_task(sink.inbox.run_worker(again=again), logger, WORKER_FAILED)
            for _ in range(WORKERS)
        ),
        start_task(sink.loader.run_batches(), logger, WORKER_FAILED),
        create_task(repeat_task(_periodic_task(sink.renew_leases, third))),
        create_task(
            repeat_task(
                _periodic_task(sink.take_over_runs, min(third, RULES_SECONDS), at_once=True)
            )
        ),
        create_task(repeat_task(_periodic_task(sink.reload_rules, RULES_SECONDS))),
        create_task(repeat_task(_periodic_task(sweep.remove_old, SWEEP_SECONDS))),
        create_task(try_once(begin, logger, ROUNDS_FAILED)),
        create_task(repeat_task(_periodic_task(sink.hour_keeper.keep_due, HOURS_SECONDS))),
    ]
    try:
        yield sink
    except asyncio.CancelledError:
        raise  # an end as any other
    except BaseException:
        drain_seconds = 0.0
        raise
    finally:
        with suppress(TimeoutError):
            async with asyncio.timeout(drain_seconds):
                await sink.inbox.wait_until_empty()
                await sink.loader.drain()
        sink.loader.cancel_writes()
        await cancel_tasks(workers)


def _build_sink(ground: SinkContext, options: SinkOptions) -> NotificationSink:
    """Build the parts of a sink, which share its access and what they may hold."""
    access = _build_access(ground)
    committer = _build_committer(ground, options, access)
    in_flight = InFlightLimit(options.max_pending)
    names = TableNameRegistry(ground.table)
    router = EntityRouter(names, options, ground.clock)
    busy = BusyHours(MOST_HOURS if options.keep_hours else 0)
    loader = RunLoader(
        committer,
        SampleWriter(ground.destinations, options.layout, LargeValues(ground.files)),
        options.batching,
        in_flight,
        DestinationLanes(in_flight),
        names.forget_table,
        busy,
    )
    window = RetryWindow(ground.clock, timedelta(seconds=options.retry_window))
    inbox = Inbox(committer, router, window, in_flight, loader.load_segment)
    replayer = LetterReplayer(committer, router, in_flight, loader.load_segment)
    keeper = _build_keeper(ground, access, busy)
    return NotificationSink(options, in_flight, inbox, loader, committer, router, replayer, keeper)


def _build_access(ground: SinkContext) -> Access:
    return Access(
        ground.table,
        SINK_CALLER,
        ground.clock,
        Budget(),
        shards=ground.shards,
        watch_run=ground.watch_run,
    )


def _build_committer(ground: SinkContext, options: SinkOptions, access: Access) -> BatchCommitter:
    run_log = RunLog(
        access,
        LineFiles.of(ground.files, Event),
        ground.clock.new_id(),
        ground.storage_name,
        ground.written_by,
        ground.lease_seconds,
    )
    queue = SettlementQueue(options.settlement_seconds)
    segments = SegmentWriter(run_log, secrets.randbelow(SHARDS), queue)
    catalog, latest = Catalog(ground.table), LatestRows(Directory(access), ground.destinations)

    def forget_rows() -> None:
        catalog.forget_rows()
        latest.forget_rows()

    return BatchCommitter(
        ground.table,
        run_log,
        catalog,
        LetterFiles.of(ground.files),
        ground.clock,
        segments,
        latest,
        options.batching.size,
        KnownRemovals(forget_rows),
    )


def _build_keeper(ground: SinkContext, access: Access, busy: BusyHours) -> HourKeeper:
    values = LargeValues(ground.files)
    rounds = access.budget.rounds
    series = SeriesReader(ground.destinations, rounds, Units(), ground.clock, values, access.work)
    return HourKeeper(busy, Directory(access), HourReader(access, series))


def _periodic_task(
    work: Callable[[], Awaitable[object]], seconds: float, *, at_once: bool = False
) -> PeriodicTask:
    return PeriodicTask(work, seconds, logger, ROUNDS_FAILED, at_once)
