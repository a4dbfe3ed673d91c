"""The delivery of events: a bounded queue, sent in order, and again when the catalogue is away.

Whoever puts a report in never waits and never fails. What does not fit is dropped and counted.
"""

import asyncio
import logging
import random
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import partial
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from penstock.datastore.background_tasks import start_task
from penstock.datastore.errors import PenstockError
from penstock.datastore.periodic import cancel_tasks
from penstock.server.lineage.events import LineageEvent

T = TypeVar("T")
R = TypeVar("R")

Describe: TypeAlias = Callable[[T], Awaitable[Sequence[LineageEvent]]]
"""Makes the events of a report."""

MOST_PENDING: Final = 10_000
FLUSH_SECONDS: Final = 5.0
"""The time for what is left at the end."""

MOST_FAILURES: Final = 10
"""The failures of a catalogue after which it has refused an event: some five minutes."""

MOST_TAKEN: Final = 3
"""The other reports that a catalogue takes before an event that it does not take is at fault."""

_LONGEST_DELAY: Final = 60.0

logger = logging.getLogger("penstock.lineage")


class Outcome(StrEnum):
    """The end of an event; one report that is dropped counts as one event."""

    SENT = "sent"
    REFUSED = "refused"
    DROPPED = "dropped"


class Sending(Enum):
    """The answer to an event that was sent."""

    SENT = "sent"
    REFUSED = "refused"
    TRY_AGAIN = "try again"
    FAILED = "failed"
    """The catalogue is there, and failed: the event may be the reason."""


class Sender(Protocol):
    """Sends one event, which is a JSON text."""

    async def send(self, event: bytes) -> Sending: ...


def delay_of(attempt: int) -> float:
    """The seconds before the next attempt: twice as many each time, less up to half of them."""
    longest = min(_LONGEST_DELAY, 2.0 ** min(attempt, 10))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - it spreads requests


class Delivery(Generic[T]):
    """Takes reports at any time; while it is running, it sends what is made of them, in order."""

    def __init__(self, most: int = MOST_PENDING, delay: Callable[[int], float] = delay_of) -> None:
        self._most = most
        self._delay = delay
        self._queue: deque[T] = deque()
        self._changed = asyncio.Event()
        self._ending = asyncio.Event()
        self._place = 0
        self.outcomes: Counter[Outcome] = Counter()

    @property
    def pending(self) -> int:
        """The reports that wait, with the one that is being sent."""
        return len(self._queue)

    def put(self, report: T) -> None:
        """Take a report, or drop it if too many wait."""
        if len(self._queue) >= self._most:
            if not self.outcomes[Outcome.DROPPED]:
                logger.warning("events for the catalogue of data are dropped: too many wait")
            self.outcomes[Outcome.DROPPED] += 1
            return
        self._queue.append(report)
        self._changed.set()

    @asynccontextmanager
    async def running(self, sender: Sender, describe: Describe[T]) -> AsyncIterator[None]:
        """Deliver until the end, and then what is left for up to FLUSH_SECONDS.

        A report is described when its turn comes; that is repeated if it fails with PenstockError.
        """
        working = start_task(
            self._deliver(sender, describe), logger, "no more events reach the catalogue"
        )
        try:
            yield
        finally:
            self._ending.set()
            self._changed.set()
            await asyncio.wait([working], timeout=FLUSH_SECONDS)
            await cancel_tasks([working])
            if self._queue:
                logger.warning("%d reports did not reach the catalogue of data", len(self._queue))
                self.outcomes[Outcome.DROPPED] += len(self._queue)
                self._queue.clear()

    async def _deliver(self, sender: Sender, describe: Describe[T]) -> None:
        """Deliver reports until the end, when none is left or the catalogue is away."""
        while self._queue or not self._ending.is_set():
            if not self._queue:
                self._changed.clear()
                await self._changed.wait()
            elif not await self._deliver_first(sender, describe):
                return
            else:
                self._queue.popleft()

    async def _deliver_first(self, sender: Sender, describe: Describe[T]) -> bool:
        """Deliver the oldest report; False if that has to wait until after the end."""
        events = await self._repeat(partial(self._describe_once, describe, self._queue[0]))
        send_another = partial(self._send_another, sender, describe)
        for event in events or ():
            text = msgspec.json.encode(event)
            sending = await self._repeat(_SendAttempts(sender, text, send_another).attempt)
            if sending is None:
                return False
            is_sent = sending is Sending.SENT
            self.outcomes[Outcome.SENT if is_sent else Outcome.REFUSED] += 1
        return events is not None

    async def _send_another(self, sender: Sender, describe: Describe[T]) -> bool:
        """Send a report behind the oldest, each time the next one; tell whether it was taken.

        One that is not taken stays in its place.
        """
        if len(self._queue) == 1:
            return False
        self._place = self._place % (len(self._queue) - 1) + 1
        events = await self._describe_once(describe, self._queue[self._place])
        if events is None:
            return False
        for event in events:
            if await _send_once(sender, msgspec.json.encode(event)) is not Sending.SENT:
                return False
        del self._queue[self._place]
        self._place -= 1
        self.outcomes[Outcome.SENT] += len(events)
        return bool(events)

    async def _repeat(self, work: Callable[[], Awaitable[R | None]]) -> R | None:
        """Do the work again and again until it has a result; None if the end comes before."""
        attempt = 0
        while (result := await work()) is None and not self._ending.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), self._delay(attempt))
            attempt += 1
        return result

    async def _describe_once(
        self, describe: Describe[T], report: T
    ) -> Sequence[LineageEvent] | None:
        try:
            return await describe(report)
        except PenstockError as error:
            logger.warning("an event waits for the store: %s", error.message)
            return None
        except Exception:
            logger.exception("an event could not be described")
            self.outcomes[Outcome.DROPPED] += 1
            return []


@dataclass(slots=True)
class _SendAttempts:
    """The attempts to send one event.

    A catalogue that seems to be away may be away for this event only, such as one behind a gateway
    that does not wait as long as it works at the event. So others are sent in between.
    """

    sender: Sender
    event: bytes
    send_another: Callable[[], Awaitable[bool]]
    attempts: int = 0
    failures: int = 0
    taken: int = 0

    async def attempt(self) -> Sending | None:
        """Send the event; None if it is to be sent again."""
        sending = await _send_once(self.sender, self.event)
        if sending not in (Sending.TRY_AGAIN, Sending.FAILED):
            return sending
        self.attempts += 1
        self.failures += sending is Sending.FAILED
        if self.failures >= MOST_FAILURES:
            logger.warning("an event is left out: the catalogue of data fails each time")
            return Sending.REFUSED
        if self.taken >= MOST_TAKEN:
            logger.warning("an event is left out: the catalogue of data takes others")
            return Sending.REFUSED
        if self.attempts > MOST_FAILURES:
            self.taken += await self.send_another()
        return None


async def _send_once(sender: Sender, event: bytes) -> Sending:
    try:
        return await sender.send(event)
    except Exception:
        logger.exception("an event could not be sent")
        return Sending.REFUSED
