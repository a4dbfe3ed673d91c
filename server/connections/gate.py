"""The gate of a listener: it counts connections, and ends those that wait too long."""

import asyncio
import logging
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from enum import IntEnum, StrEnum
from itertools import chain, islice
from math import inf
from typing import Final, NamedTuple, Protocol

from penstock.datastore.periodic import PeriodicTask, run_periodically
from penstock.server.connections.body_budget import BodyBudget, Party, TotalBytesExceeded
from penstock.server.settings.limit_settings import LimitSettings

RESERVE: Final = 16
"""Silent connections beyond the cap, so that a health probe is heard while all are busy."""

MAX_BEGINS: Final = 8
"""Requests that begin in one turn of the event loop, besides those for health."""

COMING_SECONDS: Final = 0.005
"""The time behind a new connection in which one request begins in a turn.

The loop accepts one connection of a listener in each turn, so that others wait for as many turns as
there are connections before them.
"""

MAX_HELD_BYTES: Final = 32 * 2**20
"""The most memory for what is not yet handed on, of all connections together."""

_SEEN: Final = 64
"""The connections among which the largest crowd is looked for."""

_SEEN_SILENT: Final = 16
"""The connections of each stage among which the largest silent crowd is looked for."""

_GRACE_SECONDS: Final = 1.0
"""Time in which a client that has just connected, or asked to, may be heard from."""

_LONGEST_TICK: Final = 1.0
_TICKS: Final = 4
_LEAVING_SECONDS: Final = 2.0

logger = logging.getLogger("penstock.connections")


class EndReason(StrEnum):
    """The reasons for which the guard refuses a request, or lets a connection go."""

    MALFORMED = "malformed"
    HEAD_TOO_LARGE = "head_too_large"
    HEAD_TOO_LATE = "head_too_late"
    TOO_MANY = "too_many"
    """All places were busy; the last to come, or one whose body was awaited, is refused."""
    CROWDED_OUT = "crowded_out"
    """Silent, and its place or memory was needed."""
    SILENT = "silent"
    """Nothing came in time."""
    UNREAD = "unread"
    """The client did not read its answer."""
    TOO_MUCH_BODY = "too_much_body"
    """All bodies under way, or those of one client, were too large together."""


class Stage(IntEnum):
    """The things that a connection may wait for; each has a time limit."""

    LEAVING = 0
    """The client is to read that its request is refused, and to close."""
    UNPROVEN = 1
    """The client of a WebSocket, or of a request that needs no token, is to prove who it is."""
    FIRST_HEAD = 2
    HEAD = 3
    """The rest of a head that has begun."""
    REST_OF_BODY = 4
    """The rest of a body whose request is already answered."""
    NEXT_REQUEST = 5
    READING = 6
    """The client is to read the answer; it may wait for something else at the same time."""
    PROVING = 7
    """The token of a WebSocket's handshake is being checked."""
    BODY = 8
    """More of a body that the application reads."""


SILENT: Final = tuple(stage for stage in Stage if stage is not Stage.BODY)
"""The stages in which the client is silent, those of likely strangers first."""


_STRANGERS: Final = frozenset(
    (Stage.LEAVING, Stage.UNPROVEN, Stage.FIRST_HEAD, Stage.HEAD, Stage.REST_OF_BODY)
)
"""The stages of clients who have not shown who they are, or who are about to leave."""


class WaitingConnection(Protocol):
    """A connection as its gate knows it."""

    def end_wait(self, stage: Stage) -> None:
        """End the connection, whose time is over; it may begin the wait again."""

    def abort(self) -> None:
        """End the connection at once, whose place is needed."""

    def give_way(self) -> None:
        """Refuse the request whose body has not come, because its place is needed."""

    @property
    def site(self) -> str:
        """The site of the client's address."""

    @property
    def party(self) -> Party | None:
        """The client whose body is awaited; None if the application reads none now."""

    @property
    def body_bytes(self) -> int:
        """The bytes of its request's body that are under way."""


def time_limits(settings: LimitSettings) -> Mapping[Stage, float]:
    """Return the time limit of each stage, in seconds."""
    # A handshake may have a token, and then a second one in `connection_init`.
    proof_seconds = 2 * (settings.stream_init_seconds + settings.deadline_seconds)
    return {
        Stage.LEAVING: min(settings.head_seconds, _LEAVING_SECONDS),
        Stage.UNPROVEN: settings.head_seconds + proof_seconds,
        Stage.PROVING: settings.head_seconds + proof_seconds,
        Stage.FIRST_HEAD: settings.head_seconds,
        Stage.HEAD: settings.head_seconds,
        Stage.REST_OF_BODY: settings.head_seconds,
        Stage.NEXT_REQUEST: settings.idle_seconds,
        Stage.READING: settings.stall_seconds,
        Stage.BODY: settings.stall_seconds,
    }


class ConnectionGate:
    """The open connections of a listener, of which at most `most` are busy with a request.

    When places are short, the connection that is silent for longest ends first, and a request
    beyond the cap is refused. `ends` counts the connections that the guard has ended. `bodies`
    counts the bytes of bodies under way.
    """

    def __init__(
        self,
        most: int,
        limits: Mapping[Stage, float],
        clock: Callable[[], float] | None = None,
        bodies: BodyBudget | None = None,
    ) -> None:
        self.most = most
        self.bodies = BodyBudget() if bodies is None else bodies
        self.held_bytes = 0
        self.ends: Counter[EndReason] = Counter()
        self._clock = clock or asyncio.get_running_loop().time
        self._begins: deque[Callable[[], None]] = deque()
        self._begun = 0
        self._came_at = -inf
        self._open: set[WaitingConnection] = set()
        self._busy: set[WaitingConnection] = set()
        self._seconds = [limits[stage] for stage in Stage]
        # The connections in each stage with the times of their beginning, which is their order.
        self._lines = [OrderedDict[WaitingConnection, float]() for _ in Stage]
        self._silent = [self._lines[stage] for stage in SILENT]
        self._unread = self._lines[Stage.READING]
        self._used: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._open)

    @property
    def is_full(self) -> bool:
        """True if more connections are busy with a request than the cap allows."""
        return len(self._busy) > self.most

    def admit(self, connection: WaitingConnection) -> bool:
        """Count a new connection; False if there is no place for it, even without silent ones."""
        while len(self._open) >= self.most and len(self._open) - len(self._busy) >= RESERVE:
            self._end_oldest()
        if len(self._open) >= self.most + RESERVE:
            return False
        self._open.add(connection)
        self._came_at = self._clock()
        self.move(connection, None, Stage.FIRST_HEAD)
        return True

    def make_place(self) -> bool:
        """Refuse a request that still waits for its body; False if there is none.

        Of those that wait for longest it is one of the party that has the most.
        """
        waiting = [(one.party, one) for one in islice(self._lines[Stage.BODY], _SEEN)]
        crowds = Counter(party for party, _ in waiting if party is not None)
        if not crowds:
            return False
        ((largest, _),) = crowds.most_common(1)
        next(one for party, one in waiting if party == largest).give_way()
        return True

    def take_body(self, party: Party, size: int) -> None:
        """Count bytes of a party's body; raises PartyBytesExceeded or TotalBytesExceeded.

        Unfinished bodies of the party with the most bytes give way to those of others.
        """
        while True:
            try:
                self.bodies.take(party, size)
                return
            except TotalBytesExceeded:
                if not self._refuse_largest_body(party):
                    raise

    def _refuse_largest_body(self, newcomer: Party) -> bool:
        """Refuse an unfinished body of the party with the most bytes; False if there is none."""
        largest = self.bodies.largest_party()
        waiting = [
            one
            for one in islice(self._lines[Stage.BODY], _SEEN)
            if one.body_bytes and one.party == largest
        ]
        if largest == newcomer or not waiting:
            return False
        max(waiting, key=lambda one: one.body_bytes).give_way()
        return True

    def take_place(self, caller: str) -> bool:
        """Count one more connection that a caller uses; False if they use half of the places."""
        used = self._used.get(caller, 0)
        if used >= max(1, self.most // 2):
            return False
        self._used[caller] = used + 1
        return True

    def leave_place(self, caller: str) -> None:
        """Count one connection less that a caller uses."""
        left = self._used[caller] - 1
        if left:
            self._used[caller] = left
        else:
            del self._used[caller]

    def may_begin(self) -> bool:
        """Count a request that begins now; False if it has to wait for its turn.

        It waits if others do, or if as many have begun in this turn of the event loop as may.
        """
        if self._begins:
            return False
        if not self._begun:
            asyncio.get_running_loop().call_soon(self._end_turn)
        elif self._begun >= self._most_begins:
            return False
        self._begun += 1
        return True

    @property
    def _most_begins(self) -> int:
        return 1 if self._clock() - self._came_at < COMING_SECONDS else MAX_BEGINS

    def _end_turn(self) -> None:
        self._begun = 0

    def begin_later(self, begin: Callable[[], None]) -> None:
        """Begin a request in its turn.

        A few begin in each turn of the event loop, and one while connections come, so that new ones
        are soon accepted, and requests for health, which wait for none, are soon answered.
        """
        self._begins.append(begin)
        if len(self._begins) == 1:
            asyncio.get_running_loop().call_soon(self._begin_some)

    def _begin_some(self) -> None:
        count = min(self._most_begins, len(self._begins))
        begins = [self._begins.popleft() for _ in range(count)]
        if self._begins:
            asyncio.get_running_loop().call_soon(self._begin_some)
        for begin in begins:
            begin()

    def remove(self, connection: WaitingConnection) -> None:
        """Forget a connection that has ended."""
        self._open.discard(connection)
        self._busy.discard(connection)
        for line in self._lines:
            line.pop(connection, None)

    def move(self, connection: WaitingConnection, old: Stage | None, new: Stage | None) -> None:
        """Let a connection wait for something else from now on, or for nothing."""
        if old is not None:
            self._lines[old].pop(connection, None)
        if new is not None:
            self._lines[new][connection] = self._clock()
        if new is not None and new is not Stage.BODY:
            self._busy.discard(connection)
        elif connection not in self._unread and connection in self._open:
            self._busy.add(connection)

    def begin_reading(self, connection: WaitingConnection) -> None:
        """Let a connection wait for its client to read, besides what else it waits for."""
        self.move(connection, Stage.READING, Stage.READING)

    def end_reading(self, connection: WaitingConnection, stage: Stage | None) -> None:
        """Wait no more for the client to read, but still for what `stage` says."""
        if self._unread.pop(connection, None) is not None and stage in (None, Stage.BODY):
            self.move(connection, None, None)

    def hold(self, size: int) -> None:
        """Count bytes that are not yet handed on.

        If they are too many, silent clients and those that do not read their answers go.
        """
        self.held_bytes += size
        while size > 0 and self.held_bytes > MAX_HELD_BYTES and any(self._silent):
            self._end_oldest()

    def count_end(self, reason: EndReason) -> None:
        """Count a connection that the guard ends."""
        self.ends[reason] += 1

    async def end_late_ones(self) -> None:
        """End the connections whose time is over."""
        now = self._clock()
        for stage, line in zip(Stage, self._lines, strict=True):
            latest = now - self._seconds[stage]
            while line and next(iter(line.values())) <= latest:
                connection = next(iter(line))
                # What does not end begins the wait again: no connection is without a timer.
                line[connection] = now
                line.move_to_end(connection)
                _end_wait(connection, stage)

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[None]:
        """End late connections until the block ends."""
        seconds = min(_LONGEST_TICK, *(seconds / _TICKS for seconds in self._seconds))
        failure = "late connections could not be ended"
        async with run_periodically(PeriodicTask(self.end_late_ones, seconds, logger, failure)):
            yield

    def _end_oldest(self) -> None:
        connection = self._choose_silent()
        self.count_end(EndReason.CROWDED_OUT)
        self.remove(connection)
        connection.abort()

    def _choose_silent(self) -> WaitingConnection:
        """Return a silent connection, of which there is one, of the site that has the most.

        It is one of likely strangers, or else of idle clients: neither is missed as much as a
        client that has come a moment ago, whom others would keep out by coming all the time.
        """
        seen = [
            (stage, since, one)
            for stage in SILENT
            for one, since in islice(self._lines[stage].items(), _SEEN_SILENT)
        ]
        ((largest, _),) = Counter(one.site for _, _, one in seen).most_common(1)
        crowd = [each for each in seen if each[2].site == largest]
        latest = self._clock() - _GRACE_SECONDS
        late = (each for each in crowd if each[0] in _STRANGERS and each[1] <= latest)
        idle = (each for each in crowd if each[0] is Stage.NEXT_REQUEST)
        return next(chain(late, idle, crowd))[2]


def _end_wait(connection: WaitingConnection, stage: Stage) -> None:
    """End one connection; a failure ends it at once, and hinders no other."""
    try:
        connection.end_wait(stage)
    except Exception:
        logger.exception("a late connection could not be ended as it should")
        with suppress(Exception):
            connection.abort()


class Gates(NamedTuple):
    """The gate of the public listener, and that of the listener for health and metrics."""

    main: ConnectionGate
    admin: ConnectionGate | None = None
    admin_port: int = 0

    @property
    def all(self) -> tuple[ConnectionGate, ...]:
        return (self.main,) if self.admin is None else (self.main, self.admin)

    def gate_of(self, transport: asyncio.Transport) -> ConnectionGate:
        """Return the gate of the listener that has accepted the connection."""
        if self.admin is None:
            return self.main
        port = transport.get_extra_info("sockname")[1]
        return self.admin if port == self.admin_port else self.main
