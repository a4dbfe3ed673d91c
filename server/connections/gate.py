"""The gate of a listener: it counts connections, and ends those that wait too long."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

from penstock.datastore.periodic import PeriodicTask, run_periodically
from penstock.server.settings.limit_settings import LimitSettings

RESERVE: Final = 16
"""Silent connections beyond the cap, so that a health probe is heard while all are busy."""

MAX_HELD_BYTES: Final = 32 * 2**20
"""The most memory for what is not yet handed on, of all connections together."""

_LONGEST_TICK: Final = 1.0
_TICKS: Final = 4
_LEAVING_SECONDS: Final = 2.0

logger = logging.getLogger("penstock.connections")


class Stage(IntEnum):
    """The things that a connection may wait for; each has a time limit."""

    LEAVING = 0
    """The client is to read that its request is refused, and to close."""
    FIRST_HEAD = 1
    HEAD = 2
    """The rest of a head that has begun."""
    REST_OF_BODY = 3
    """The rest of a body whose request is already answered."""
    NEXT_REQUEST = 4
    BODY = 5
    """More of a body that the application reads."""
    READING = 6
    """The client is to read the answer."""


SILENT: Final = (
    Stage.LEAVING,
    Stage.FIRST_HEAD,
    Stage.HEAD,
    Stage.REST_OF_BODY,
    Stage.NEXT_REQUEST,
)
"""The stages without a request to answer, those of likely strangers first."""


class WaitingConnection(Protocol):
    """A connection as its gate knows it."""

    def end_wait(self, stage: Stage) -> None:
        """End the connection, whose time is over; it may begin the wait again."""

    def abort(self) -> None:
        """End the connection at once, whose place is needed."""


def time_limits(settings: LimitSettings) -> Mapping[Stage, float]:
    """Return the time limit of each stage, in seconds."""
    return {
        Stage.LEAVING: min(settings.head_seconds, _LEAVING_SECONDS),
        Stage.FIRST_HEAD: settings.head_seconds,
        Stage.HEAD: settings.head_seconds,
        Stage.REST_OF_BODY: settings.head_seconds,
        Stage.NEXT_REQUEST: settings.idle_seconds,
        Stage.BODY: settings.stall_seconds,
        Stage.READING: settings.stall_seconds,
    }


class ConnectionGate:
    """The open connections of a listener, of which at most `most` have a request to answer.

    When places are short, the connection that is silent for longest ends first, and a request
    beyond the cap is refused.
    """

    def __init__(
        self, most: int, limits: Mapping[Stage, float], clock: Callable[[], float] | None = None
    ) -> None:
        self.most = most
        self.held_bytes = 0
        self._clock = clock or asyncio.get_running_loop().time
        self._open: set[WaitingConnection] = set()
        self._seconds = [limits[stage] for stage in Stage]
        # The connections in each stage with the times of their beginning, which is their order.
        self._lines = [OrderedDict[WaitingConnection, float]() for _ in Stage]
        self._silent = [self._lines[stage] for stage in SILENT]

    def __len__(self) -> int:
        return len(self._open)

    @property
    def is_full(self) -> bool:
        """True if more connections have a request to answer than the cap allows."""
        return len(self._open) > self.most and len(self._open) - self._count_silent() > self.most

    def admit(self, connection: WaitingConnection) -> bool:
        """Count a new connection; False if there is no place for it, even without silent ones."""
        while len(self._open) >= self.most and self._count_silent() >= RESERVE:
            self._end_oldest(self._silent)
        if len(self._open) >= self.most + RESERVE:
            return False
        self._open.add(connection)
        self.move(connection, None, Stage.FIRST_HEAD)
        return True

    def remove(self, connection: WaitingConnection) -> None:
        """Forget a connection that has ended."""
        self._open.discard(connection)
        for line in self._lines:
            line.pop(connection, None)

    def move(self, connection: WaitingConnection, old: Stage | None, new: Stage | None) -> None:
        """Let a connection wait for something else from now on, or for nothing."""
        if old is not None:
            self._lines[old].pop(connection, None)
        if new is not None:
            self._lines[new][connection] = self._clock()

    def hold(self, size: int) -> None:
        """Count bytes that are not yet handed on.

        If they are too many, silent clients and those that do not read their answers go.
        """
        self.held_bytes += size
        lines = (*self._silent, self._lines[Stage.READING])
        while self.held_bytes > MAX_HELD_BYTES and any(lines):
            self._end_oldest(lines)

    async def end_late_ones(self) -> None:
        """End the connections whose time is over."""
        now = self._clock()
        for stage, line in zip(Stage, self._lines, strict=True):
            latest = now - self._seconds[stage]
            while line and next(iter(line.values())) <= latest:
                # It may begin the same wait again, from now on.
                line.popitem(last=False)[0].end_wait(stage)

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[None]:
        """End late connections until the block ends."""
        seconds = min(_LONGEST_TICK, *(seconds / _TICKS for seconds in self._seconds))
        failure = "late connections could not be ended"
        async with run_periodically(PeriodicTask(self.end_late_ones, seconds, logger, failure)):
            yield

    def _count_silent(self) -> int:
        return sum(map(len, self._silent))

    def _end_oldest(self, lines: Sequence[OrderedDict[WaitingConnection, float]]) -> None:
        line = next(filter(None, lines))
        connection, _ = line.popitem(last=False)
        connection.abort()
        self.remove(connection)


class Gates(NamedTuple):
    """The gate of the public listener, and that of the listener for health and metrics."""

    main: ConnectionGate
    admin: ConnectionGate | None = None
    admin_port: int = 0

    def gate_of(self, transport: asyncio.Transport) -> ConnectionGate:
        """Return the gate of the listener that has accepted the connection."""
        if self.admin is None:
            return self.main
        port = transport.get_extra_info("sockname")[1]
        return self.admin if port == self.admin_port else self.main
