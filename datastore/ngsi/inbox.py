"""The inbox of the sink: notifications that arrive together are committed together.

A sender gets its answer after the commit. A limit bounds how much one process holds that is not
stored yet; beyond it, senders are asked to retry later.
"""

import asyncio
import logging
from asyncio import Future, Queue, get_running_loop
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, NoReturn, TypeAlias

from penstock.datastore.clock import Clock
from penstock.datastore.errors import PenstockError, Unavailable
from penstock.datastore.manifest.records import Run
from penstock.datastore.ngsi.commit import Batch, Keeping, Repeated, receipt, received, repeated
from penstock.datastore.ngsi.counts import Counts
from penstock.datastore.ngsi.notification import Notification
from penstock.datastore.ngsi.router import Sorted, Sorter
from penstock.datastore.ngsi.rows import Event
from penstock.datastore.periodic import heed

MAX_BYTES: Final = 64 * 1024 * 1024
RETRY_SECONDS: Final = 5


@dataclass(frozen=True, slots=True)
class Load:
    """A number of events, and the bytes in which they arrived."""

    events: int = 0
    size: int = 0

    def __add__(self, other: "Load") -> "Load":
        return Load(self.events + other.events, self.size + other.size)


@dataclass(slots=True)
class Room:
    """The events that this process holds and has not stored yet, and their limit."""

    max_events: int
    max_bytes: int = MAX_BYTES
    held: Load = Load()

    @property
    def is_full(self) -> bool:
        return self.held.events >= self.max_events or self.held.size >= self.max_bytes

    def take(self, load: Load) -> None:
        """Add an amount; raises Unavailable and adds nothing if the limit is reached."""
        if self.is_full:
            raise Unavailable("Too much is waiting to be stored.", RETRY_SECONDS)
        self.add(load)

    def add(self, load: Load) -> None:
        """Add an amount, even beyond the limit."""
        self.held += load

    def leave(self, load: Load) -> None:
        """Subtract an amount."""
        self.held += Load(-load.events, -load.size)


WORKERS: Final = 2
GROUP_ROWS: Final = 90
GROUP_EVENTS: Final = 500
AGAIN_SECONDS: Final = 1.0
ATTEMPTS: Final = 5

HandOver: TypeAlias = Callable[[Run, Sequence[Event], int], None]
"""Receives an entered run, its events, and the number of bytes in which they arrived."""

logger = logging.getLogger("penstock.ngsi")


class Refused(NamedTuple):
    """An entity that became a dead letter: its position in the notification, and the reason."""

    position: int
    reason: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """The result of a notification: the number of events to store, none if it is a repetition."""

    events: int
    refused: tuple[Refused, ...] = ()
    repeated: bool = False


@dataclass(slots=True)
class _Waiting:
    notification: Notification
    at: int
    size: int
    answer: "Future[Accepted]"

    @property
    def rows(self) -> int:
        """The largest number of rows that it may need in a transaction."""
        return 1 + 2 * len(self.notification.paths)

    @property
    def load(self) -> Load:
        return Load(len(self.notification.entries), self.size)


@dataclass(slots=True)
class Intake:
    """A queue of notifications, and workers that commit them in groups."""

    keeping: Keeping
    sorter: Sorter
    clock: Clock
    room: Room
    hand_over: HandOver
    _queue: "Queue[_Waiting]" = field(default_factory=Queue)

    async def durable(self, notification: Notification, size: int) -> Accepted:
        """Accept a notification of `size` bytes; return once it is durable.

        Raises Unavailable; the notification may be durable nevertheless, and sending it
        again is safe.
        """
        return await asyncio.shield(self._put(notification, size).answer)

    def queued(self, notification: Notification, size: int) -> None:
        """Put a notification into the queue; raises Unavailable if the limit is reached."""
        self._put(notification, size)

    async def work(self, *, again: bool) -> NoReturn:
        """Commit groups from the queue for ever; `again` retries a commit until it succeeds."""
        while True:
            heed()
            group = await self._group()
            try:
                await self._answer(group, again=again)
            except asyncio.CancelledError:
                self._fail(group, Unavailable("The server is stopping."))
                raise
            except Exception:
                logger.exception("notifications could not be kept")
                self._fail(group, Unavailable("The notification could not be kept."))
            finally:
                for _ in group:
                    self._queue.task_done()

    async def emptied(self) -> None:
        """Wait until every queued notification has its answer."""
        await self._queue.join()

    def _put(self, notification: Notification, size: int) -> _Waiting:
        at = int(self.clock.now().timestamp() * 1000)
        waiting = _Waiting(notification, at, size, get_running_loop().create_future())
        self.room.take(waiting.load)
        # Mark the error as retrieved: the sender may have disconnected.
        waiting.answer.add_done_callback(_seen)
        self._queue.put_nowait(waiting)
        return waiting

    async def _group(self) -> list[_Waiting]:
        """Wait for a notification, and add more while one transaction can hold them."""
        group = [await self._queue.get()]
        rows, events = group[0].rows, group[0].load.events
        while not self._queue.empty():
            following = self._queue.get_nowait()
            rows, events = rows + following.rows, events + following.load.events
            if rows > GROUP_ROWS or events > GROUP_EVENTS:
                self._queue.put_nowait(following)
                self._queue.task_done()
                break
            group.append(following)
        return group

    async def _answer(self, group: list[_Waiting], *, again: bool) -> None:
        while True:
            try:
                outcomes = await self._keep(group)
            except PenstockError as error:
                if not again:
                    self._fail(group, error)
                    return
                logger.warning("notifications cannot be kept yet: %s", error.message)
                heed()
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                for waiting, outcome in zip(group, outcomes, strict=True):
                    waiting.answer.set_result(outcome)
                return

    def _fail(self, group: list[_Waiting], error: PenstockError) -> None:
        for waiting in group:
            self.room.leave(waiting.load)
            waiting.answer.set_exception(error)

    async def _keep(self, group: list[_Waiting]) -> list[Accepted]:
        """Commit the new notifications of a group, and count all of them."""
        notifications = [waiting.notification for waiting in group]
        for _ in range(ATTEMPTS):
            known = await repeated(self.keeping.table, self.clock, notifications)
            found = [
                None if before else await self.sorter.sort(waiting.notification, waiting.at)
                for waiting, before in zip(group, known, strict=True)
            ]
            batch = self._batch(notifications, found)
            try:
                run = await self.keeping.keep(batch)
            except Repeated:
                continue
            size = self._release(group, found)
            if run is not None:
                self.hand_over(run, batch.events, size)
            return [_accepted(each) for each in found]
        raise Unavailable("The same notifications are being sent many times at once.")

    def _batch(
        self, notifications: Sequence[Notification], found: Sequence[Sorted | None]
    ) -> Batch:
        batch = Batch()
        for notification, each in zip(notifications, found, strict=True):
            if each is None:
                for path, _ in notification.entries:
                    batch.tally.add((notification.service, path), Counts(received=1, duplicates=1))
                continue
            if notification.repeatable:
                batch.writes.append(receipt(notification, self.clock))
            batch.events.extend(each.events)
            batch.dead.extend(each.dead.values())
        received(batch.tally, batch.events, batch.dead)
        return batch

    def _release(self, group: Sequence[_Waiting], found: Sequence[Sorted | None]) -> int:
        """Release everything that needs no storing; return the bytes of the rest."""
        staying = 0
        for waiting, each in zip(group, found, strict=True):
            stays = Load(len(each.events), waiting.size) if each and each.events else Load()
            staying += stays.size
            self.room.leave(waiting.load)
            self.room.add(stays)
        return staying


def _accepted(found: Sorted | None) -> Accepted:
    if found is None:
        return Accepted(0, repeated=True)
    refused = (Refused(position, dead.reason) for position, dead in found.dead.items())
    return Accepted(len(found.events), tuple(refused))


def _seen(answer: "Future[Accepted]") -> None:
    if not answer.cancelled():
        answer.exception()
