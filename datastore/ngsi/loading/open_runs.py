"""Runs that a process is storing, and their events that are not settled yet."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from penstock.datastore.manifest.records import Run
from penstock.datastore.ngsi.counts import IngestCounts, Tally
from penstock.datastore.ngsi.dead_letters import DeadEvent, Refusal
from penstock.datastore.ngsi.intake.in_flight import EventAmount, ServiceAmounts
from penstock.datastore.ngsi.rows import Event, item_count
from penstock.datastore.ngsi.segments.shared_runs import Segment


@dataclass(slots=True, eq=False)
class OpenRun:
    """A segment that this process is storing, with the number of its unsettled events.

    `loads` are what each service still holds of the sink's limit by this run, `shares` what one
    event of the service does. `lost` is set if another worker holds the run; then this process
    does not change it any more.
    """

    segment: Segment
    loads: ServiceAmounts
    shares: Mapping[str, EventAmount]
    unsettled: int
    tally: Tally = field(default_factory=Tally)
    dead: list[DeadEvent] = field(default_factory=list)
    attempts: int = 0
    lost: bool = False

    @classmethod
    def of(cls, segment: Segment, sizes: Mapping[str, int]) -> "OpenRun":
        """A segment; its events of each service arrived in so many bytes."""
        loads, shares, events = ServiceAmounts(), {}, segment.content.events
        for service, count in Counter(event.service for event in events).items():
            size = sizes.get(service, 0)
            loads.add(service, EventAmount(count, size))
            shares[service] = EventAmount(1, size // count)
        tally = Tally()
        for at in segment.content.places:
            # Also a segment without events is taken out of the counts that name it.
            tally.add(at, IngestCounts())
        return cls(segment, loads, shares, len(events), tally)

    @property
    def run(self) -> Run:
        return self.segment.run

    @property
    def dead_places(self) -> int:
        """The places of the dead events among those of the segment, as bits."""
        dead = {each.identity for each in self.dead}
        events = self.segment.content.events
        return sum(1 << place for place, each in enumerate(events) if each.identity in dead)

    def settle(self, event: Event, refusal: Refusal | None, attempts: int) -> EventAmount:
        """Count an event as stored, or as dead-lettered if there is a refusal.

        Returns what need not be held any more: a dead event is held until its letter is written.
        """
        at = (event.service, event.path)
        self.attempts = max(self.attempts, attempts)
        self.unsettled -= 1
        if refusal is not None:
            self.tally.add(at, IngestCounts(pending=-1, dead_lettered=1))
            self.dead.append(DeadEvent.from_event(event, refusal))
            return EventAmount()
        items = item_count(event)
        self.tally.add(at, IngestCounts(pending=-1, persisted=1, items=items))
        share = self.shares[event.service]
        self.loads.add(event.service, share.negated)
        return share


class PendingEvent(NamedTuple):
    """An event that is not settled, with its run and the number of failed attempts."""

    opened: OpenRun
    event: Event
    attempts: int = 0

    @property
    def share(self) -> EventAmount:
        """The part of the sink's limit that the event holds."""
        return self.opened.shares[self.event.service]

    @property
    def failed_again(self) -> "PendingEvent":
        return self._replace(attempts=self.attempts + 1)


PendingEvents: TypeAlias = list[PendingEvent]
