"""The keeper of hours: it keeps busy hours soon after their end, before anybody reads them."""

import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from penstock.datastore.errors import LimitExceeded, NotFound, PenstockError
from penstock.datastore.ngsi.catalog import EntityName
from penstock.datastore.ngsi.directory import Directory, Entity
from penstock.datastore.ngsi.event_times import TIME_NAMES
from penstock.datastore.ngsi.hours.busy_hours import BusyHours
from penstock.datastore.ngsi.hours.generations import DAY_HOURS, EntityHour
from penstock.datastore.ngsi.hours.reader import HourReader
from penstock.datastore.ngsi.reading import charts
from penstock.datastore.ngsi.reading.series import milliseconds_of

TURN_SAMPLES: Final = 200_000
"""The samples behind which a turn ends; what is left waits for the next one."""

SERIES_SAMPLES: Final = 200
"""The samples whose reading costs as much as the calls for a series without any."""

ATTEMPTS: Final = 3

logger = logging.getLogger("penstock.ngsi")


@dataclass(slots=True)
class HourKeeper:
    """Keeps the busy hours of one process as a reader would, with the same safeguards."""

    busy: BusyHours
    directory: Directory
    hours: HourReader
    _attempts: Counter[tuple[EntityName, int]] = field(default_factory=Counter)

    async def keep_due(self) -> int:
        """Keep the hours that are due, oldest first; return the samples that were read.

        The day of an hour and the day before are read as far as they are not kept: so hours that
        another process did not live to keep are made up for.
        """
        access, spent = self.hours.access, 0
        due = self.busy.due(milliseconds_of(access.clock.now()))
        days = sorted(due, key=lambda each: (each[1] // DAY_HOURS, each[0]))
        for (day, name), hours in groupby(days, lambda each: (each[1] // DAY_HOURS, each[0])):
            if spent >= TURN_SAMPLES:
                break
            spent += await self._keep_day(name, day, list(hours))
        return spent

    async def _keep_day(self, name: EntityName, day: int, hours: list[EntityHour]) -> int:
        """Keep the hours of one entity on a day, or leave them to the next turn."""
        spent, first, end = 0, (day - 1) * DAY_HOURS, max(hour for _, hour in hours) + 1
        try:
            async for of in self.directory.walk_attributes(Entity(*name)):
                # The time of the event is an attribute too, and nobody aggregates it.
                if of.name not in TIME_NAMES:
                    spent += SERIES_SAMPLES + await self.hours.keep(of, first, end)
        except LimitExceeded:
            # What was read is kept, so the next turn gets further.
            spent += charts.MAX_SAMPLES
            self._try_again(name, day, hours)
        except NotFound:
            self._forget(name, day, hours)
        except PenstockError as error:
            logger.warning("hours could not be kept yet: %s", error.message)
            self._try_again(name, day, hours)
        else:
            self._forget(name, day, hours)
        return spent

    def _try_again(self, name: EntityName, day: int, hours: Iterable[EntityHour]) -> None:
        self._attempts[name, day] += 1
        if self._attempts[name, day] >= ATTEMPTS:
            self._forget(name, day, hours)

    def _forget(self, name: EntityName, day: int, hours: Iterable[EntityHour]) -> None:
        del self._attempts[name, day]
        self.busy.forget(hours)
