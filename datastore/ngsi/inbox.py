"""The inbox of the sink: notifications that arrive together are committed together.

A sender gets its answer after the commit. A limit bounds how much one process holds that is not
stored yet; beyond it, senders are asked to retry later.
"""

import asyncio
import logging
from asyncio import Future, get_running_loop
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, NoReturn, TypeAlias

from penstock.datastore.access.work import FREE_WORK, WorkAccount
from penstock.datastore.background_tasks import retrieve_failure
from penstock.datastore.errors import PenstockError, Unavailable
from penstock.datastore.ngsi.commit import (
    GROUP_ROWS,
    BatchCommitter,
    IntakeBatch,
    RepeatedNotification,
    RetryWindow,
    UncertainCommit,
    count_received,
    find_repeated,
    receipt_write,
)
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.intake.in_flight import EventAmount, InFlightLimit
from penstock.datastore.ngsi.intake.service_queue import ServiceQueue
from penstock.datastore.ngsi.notification import Notification
from penstock.datastore.ngsi.router import EntityRouter, RoutedEntities
from penstock.datastore.ngsi.run_counts import count_duplicates
from penstock.datastore.ngsi.segments.shared_runs import Segment
from penstock.datastore.periodic import check_cancelled
from penstock.datastore.table.commit import Attempts

WORKERS: Final = 2
GROUP_EVENTS: Final = 500
RETRY_DELAY_SECONDS: Final = 1.0

FAILING_SECONDS: Final = 10.0
"""The time for which a failed commit counts, unless a later one succeeds. It ends by itself: where
notifications are sent elsewhere meanwhile, no commit could show that the store works again."""

SegmentHandler: TypeAlias = Callable[[Segment, Mapping[str, int]], None]
"""Receives a committed segment, and the bytes in which each service sent its events."""

logger = logging.getLogger("penstock.ngsi")


class RefusedEntity(NamedTuple):
    """An entity that became a dead letter: its position in the notification, and the reason."""

    position: int
    reason: str


@dataclass(frozen=True, slots=True)
class IntakeResult:
    """The result of a notification: the number of events to store, and what was refused.

    One that is `repeated` has the result of the first time.
    """

    events: int
    refused: tuple[RefusedEntity, ...] = ()
    repeated: bool = False


@dataclass(slots=True)
class _QueuedNotification:
    notification: Notification
    at: int
    size: int
    answer: "Future[IntakeResult]"
    work: WorkAccount

    @property
    def rows(self) -> int:
        """The largest number of rows that it may need in a transaction."""
        return 1 + 2 * len(self.notification.paths)

    @property
    def load(self) -> EventAmount:
        return EventAmount(len(self.notification.entries), self.size)


@dataclass(slots=True)
class Inbox:
    """A queue of notifications, and workers that commit them in groups; services take turns."""

    committer: BatchCommitter
    router: EntityRouter
    window: RetryWindow
    in_flight: InFlightLimit
    hand_over: SegmentHandler
    _queue: ServiceQueue[_QueuedNotification] = field(default_factory=ServiceQueue)
    _failed_at: float | None = None

    @property
    def is_failing(self) -> bool:
        """Whether the latest commit failed a short time ago."""
        if self._failed_at is None:
            return False
        return get_running_loop().time() - self._failed_at < FAILING_SECONDS

    async def accept_durably(
        self, notification: Notification, size: int, work: WorkAccount = FREE_WORK
    ) -> IntakeResult:
        """Accept a notification of `size` bytes; return once it is durable.

        Its sender owes the tables that are new. Raises Unavailable; the notification may be
        durable nevertheless, and sending it again is safe.
        """
        return await asyncio.shield(self._put_notification(notification, size, work).answer)

    def enqueue(self, notification: Notification, size: int, work: WorkAccount = FREE_WORK) -> None:
        """Put a notification into the queue; raises Unavailable if the limit is reached."""
        self._put_notification(notification, size, work)

    async def run_worker(self, *, again: bool) -> NoReturn:
        """Commit groups from the queue for ever; `again` retries a commit until it succeeds."""
        while True:
            check_cancelled()
            group = await self._next_group()
            try:
                await self._answer_group(group, again=again)
            except asyncio.CancelledError:
                self._fail_group(group, Unavailable("The server is stopping."))
                raise
            except Exception:
                logger.exception("notifications could not be kept")
                self._failed_at = get_running_loop().time()
                self._fail_group(group, Unavailable("The notification could not be kept."))
            finally:
                for _ in group:
                    self._queue.task_done()

    async def wait_until_empty(self) -> None:
        """Wait until every queued notification has its answer."""
        await self._queue.join()

    def _put_notification(
        self, notification: Notification, size: int, work: WorkAccount
    ) -> _QueuedNotification:
        at = int(self.window.clock.now().timestamp() * 1000)
        answer = get_running_loop().create_future()
        waiting = _QueuedNotification(notification, at, size, answer, work)
        self.in_flight.acquire(notification.service, waiting.load)
        # Mark the error as retrieved: the sender may have disconnected.
        waiting.answer.add_done_callback(retrieve_failure)
        self._queue.put(notification.service, waiting)
        return waiting

    async def _next_group(self) -> list[_QueuedNotification]:
        """Wait for a notification, and add more while one transaction can hold them."""
        group = [await self._queue.get()]
        rows, events = group[0].rows, group[0].load.events
        while (following := self._queue.peek()) is not None:
            rows, events = rows + following.rows, events + following.load.events
            if rows > GROUP_ROWS or events > GROUP_EVENTS:
                break
            group.append(self._queue.get_nowait())
        return group

    async def _answer_group(self, group: list[_QueuedNotification], *, again: bool) -> None:
        uncertain: UncertainCommit | None = None
        while True:
            try:
                if uncertain is not None and await self._was_committed(uncertain):
                    self._leave_group(group)
                    return
                uncertain = None
                outcomes = await self._commit_group(group)
            except PenstockError as error:
                self._note_failure(error)
                if not again:
                    self._fail_group(group, error)
                    return
                if isinstance(error, UncertainCommit):
                    uncertain = error
                logger.warning("notifications cannot be kept yet: %s", error.message)
                check_cancelled()
                await asyncio.sleep(RETRY_DELAY_SECONDS)
            else:
                self._failed_at = None
                for waiting, outcome in zip(group, outcomes, strict=True):
                    waiting.answer.set_result(outcome)
                return

    def _note_failure(self, error: PenstockError) -> None:
        if isinstance(error, Unavailable):
            self._failed_at = get_running_loop().time()

    async def _was_committed(self, uncertain: UncertainCommit) -> bool:
        segments = self.committer.segments
        return await segments.is_committed(uncertain.segment)

    def _leave_group(self, group: list[_QueuedNotification]) -> None:
        """Answer a group that an earlier attempt committed; who takes its run over stores it."""
        for waiting in group:
            self.in_flight.release(waiting.notification.service, waiting.load)
            self.committer.totals.received += waiting.load.events
            waiting.answer.set_result(IntakeResult(waiting.load.events))

    def _fail_group(self, group: list[_QueuedNotification], error: PenstockError) -> None:
        for waiting in group:
            self.in_flight.release(waiting.notification.service, waiting.load)
            waiting.answer.set_exception(error)

    async def _commit_group(self, group: list[_QueuedNotification]) -> list[IntakeResult]:
        """Commit the new notifications of a group, and count all of them."""
        notifications = [waiting.notification for waiting in group]
        async for _ in Attempts():
            known = await find_repeated(self.committer.table, self.window, notifications)
            found = [
                replace(
                    await self.router.route_notification(
                        waiting.notification, waiting.at, waiting.work
                    ),
                    repeated=before,
                )
                for waiting, before in zip(group, known, strict=True)
            ]
            batch = self._build_batch(notifications, found)
            try:
                segment = await self.committer.commit_batch(batch)
            except RepeatedNotification:
                continue
            sizes = self._release_group(group, found)
            if segment is not None:
                self.hand_over(segment, sizes)
            return [_intake_result(each) for each in found]
        raise Unavailable("The same notifications are being sent many times at once.")

    def _build_batch(
        self, notifications: Sequence[Notification], found: Sequence[RoutedEntities]
    ) -> IntakeBatch:
        batch = IntakeBatch()
        for notification, each in zip(notifications, found, strict=True):
            if each.repeated:
                for path, _ in notification.entries:
                    batch.tally.add(
                        (notification.service, path), IngestCounts(received=1, duplicates=1)
                    )
                batch.intake.update(count_duplicates(len(notification.entries), each.events))
                continue
            if notification.repeatable:
                batch.writes.append(receipt_write(notification, self.window))
            batch.events.extend(each.events)
            batch.dead_events.extend(each.dead.values())
        count_received(batch)
        return batch

    def _release_group(
        self, group: Sequence[_QueuedNotification], found: Sequence[RoutedEntities]
    ) -> Mapping[str, int]:
        """Release a group; return the bytes of each service that are handed over."""
        sizes: Counter[str] = Counter()
        for waiting, each in zip(group, found, strict=True):
            service = waiting.notification.service
            if each.events and not each.repeated:
                sizes[service] += waiting.size
            self.in_flight.release(service, waiting.load)
        return sizes


def _intake_result(found: RoutedEntities) -> IntakeResult:
    refused = (RefusedEntity(position, dead.reason) for position, dead in found.dead.items())
    return IntakeResult(len(found.events), tuple(refused), found.repeated)
