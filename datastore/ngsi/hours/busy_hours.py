"""The busy hours of entities, of which one process stored so much that it keeps them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock.datastore.ngsi.event_times import HOUR_MS
from penstock.datastore.ngsi.hours.generations import LATE_MS, SKEW_MS, EntityHour, HourOfEvents

BUSY: Final = 100
"""The events from which an hour of an entity is busy: a month of such hours is read in one go."""

MOST_HOURS: Final = 50_000
"""The hours that a process remembers; it does not count in more."""


@dataclass(slots=True)
class _StoredHour:
    events: int
    latest: int


@dataclass(slots=True)
class BusyHours:
    """Counts stored events by hours of entities, until the hours are over and nothing comes."""

    most: int = MOST_HOURS
    _stored: dict[EntityHour, _StoredHour] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._stored)

    def note(self, hours: Mapping[EntityHour, HourOfEvents], now: int) -> None:
        """Count events that were stored at a time in milliseconds."""
        for key, entry in hours.items():
            known = self._stored.get(key)
            if known is not None:
                known.events += entry.events
                known.latest = now
            elif len(self._stored) < self.most:
                self._stored[key] = _StoredHour(entry.events, now)

    def due(self, now: int) -> list[EntityHour]:
        """The busy hours that can be kept, oldest first; those that were quiet are forgotten."""
        over = [key for key, entry in self._stored.items() if _is_due(key, entry, now)]
        self.forget(key for key in over if self._stored[key].events < BUSY)
        return sorted((key for key in over if key in self._stored), key=lambda key: key[1])

    def forget(self, hours: Iterable[EntityHour]) -> None:
        """Forget hours that are kept, or not to be kept."""
        for key in hours:
            self._stored.pop(key, None)


def _is_due(key: EntityHour, entry: _StoredHour, now: int) -> bool:
    """Whether an hour is over, and nothing more of it has come for a while."""
    end = (key[1] + 1) * HOUR_MS
    return end <= now - LATE_MS - SKEW_MS and entry.latest <= now - LATE_MS
