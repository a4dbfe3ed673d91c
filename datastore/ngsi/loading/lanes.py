"""Lanes: the events that wait for one destination, apart from those of all others.

A lane exists while its destination fails, or while events of one destination alone are stored. It
is a place of its own: however long it waits, it takes no place from another destination. What the
lanes of failing destinations hold in memory is bounded.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from penstock.datastore.ngsi.intake.in_flight import EventAmount, InFlightLimit, ServiceAmounts
from penstock.datastore.ngsi.loading.open_runs import PendingEvent, PendingEvents

MAX_TOGETHER: Final = 500
"""The largest number of events that one attempt stores."""

FAILING_SHARE: Final = 8
"""A failing destination holds an eighth of what a process may hold, all of them together a half."""


@dataclass(slots=True, eq=False)
class DestinationLane:
    """The events that wait for one destination, oldest first.

    `held` is the amount of its unsettled events, `by_service` that of each service; `failure` is
    the latest one, None while nothing has failed.
    """

    table: str
    waiting: deque[PendingEvent] = field(default_factory=deque)
    held: EventAmount = field(default_factory=EventAmount)
    by_service: ServiceAmounts = field(default_factory=ServiceAmounts)
    failure: str | None = None

    def take(self) -> PendingEvents:
        """Take the oldest events, as many as one attempt stores; they stay unsettled."""
        return [self.waiting.popleft() for _ in range(min(len(self.waiting), MAX_TOGETHER))]

    def put_back(self, entries: PendingEvents) -> None:
        """Put events of a failed attempt at the front again."""
        self.waiting.extendleft(reversed(entries))


@dataclass(slots=True)
class DestinationLanes:
    """All lanes of a process by their tables, and the bound of what failing ones hold."""

    in_flight: InFlightLimit
    by_table: dict[str, DestinationLane] = field(default_factory=dict)
    _failing: EventAmount = field(default_factory=EventAmount)

    @property
    def failures(self) -> dict[str, str]:
        """The latest failure of each destination that cannot be written at the moment."""
        found = self.by_table.values()
        return {lane.table: lane.failure for lane in found if lane.failure is not None}

    def put(self, lane: DestinationLane, entries: Sequence[PendingEvent]) -> PendingEvents:
        """Put events at the end of a lane; return those that it cannot hold."""
        for entry in entries:
            lane.waiting.append(entry)
            self._hold(lane, entry, entry.share)
        return self._shed(lane)

    def release(self, lane: DestinationLane, settled: Sequence[PendingEvent]) -> None:
        """Let go of events that are settled."""
        for entry in settled:
            self._hold(lane, entry, entry.share.negated)

    def fail(self, lane: DestinationLane, failure: str) -> PendingEvents:
        """Note that a destination fails; return the events that its lane cannot hold any more."""
        if lane.failure is None:
            self._failing += lane.held
            for service, load in lane.by_service:
                self.in_flight.set_aside(service, load)
        lane.failure = failure
        return self._shed(lane)

    def recover(self, lane: DestinationLane) -> None:
        """Note that a destination can be written."""
        if lane.failure is not None:
            self._failing += lane.held.negated
            for service, load in lane.by_service:
                self.in_flight.set_aside(service, load.negated)
        lane.failure = None

    def _hold(self, lane: DestinationLane, entry: PendingEvent, change: EventAmount) -> None:
        service = entry.event.service
        lane.held += change
        lane.by_service.add(service, change)
        if lane.failure is not None:
            self._failing += change
            self.in_flight.set_aside(service, change)

    def _shed(self, lane: DestinationLane) -> PendingEvents:
        """Take from a failing lane what is more than failing lanes may hold, newest first."""
        shed: PendingEvents = []
        while lane.failure is not None and lane.waiting and self._holds_too_much(lane):
            shed.append(lane.waiting.pop())
            self._hold(lane, shed[-1], shed[-1].share.negated)
        return shed

    def _holds_too_much(self, lane: DestinationLane) -> bool:
        most = EventAmount(self.in_flight.max_events, self.in_flight.max_bytes)
        return _exceeds(lane.held, most, FAILING_SHARE) or _exceeds(self._failing, most, 2)


def _exceeds(held: EventAmount, most: EventAmount, share: int) -> bool:
    """Whether the amount is more than this share of the most; a single event never is."""
    return held.events > max(most.events // share, 1) or (
        held.events > 1 and held.size > most.size // share
    )
