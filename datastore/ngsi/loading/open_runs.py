"""Runs that a process is storing, and their events that are not settled yet."""

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from penstock.datastore.manifest.records import Run
from penstock.datastore.ngsi.counts import IngestCounts, Tally
from penstock.datastore.ngsi.dead_letters import DeadEvent, Refusal
from penstock.datastore.ngsi.inbox import EventAmount
from penstock.datastore.ngsi.rows import Event, item_count
from penstock.datastore.ngsi.run_log import PERSISTED


@dataclass(slots=True, eq=False)
class OpenRun:
    """A run that this process is storing, with the number of its unsettled events.

    `load` is what the run still holds of the sink's limit, `share` what one of its events does.
    `lost` is set if another worker holds the run; then this process does not change it any more.
    """

    run: Run
    events: int
    load: EventAmount
    share: EventAmount
    unsettled: int
    tally: Tally = field(default_factory=Tally)
    dead: list[DeadEvent] = field(default_factory=list)
    attempts: int = 0
    lost: bool = False

    @classmethod
    def of(cls, run: Run, events: int, size: int) -> "OpenRun":
        """The run of so many events, which arrived in `size` bytes."""
        share = EventAmount(1, size // max(events, 1))
        return cls(run, events, EventAmount(events, size), share, events)

    @property
    def was_settled(self) -> bool:
        """Whether its events were settled before: the run is being loaded again."""
        return PERSISTED in (self.run.counts or {})

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
        self.tally.add(at, IngestCounts(pending=-1, persisted=1, items=item_count(event)))
        self.load += self.share.negated
        return self.share


class PendingEvent(NamedTuple):
    """An event that is not settled, with its run and the number of failed attempts."""

    opened: OpenRun
    event: Event
    attempts: int = 0

    @property
    def failed_again(self) -> "PendingEvent":
        return self._replace(attempts=self.attempts + 1)


PendingEvents: TypeAlias = list[PendingEvent]
