"""The points of charts: of the samples of a span, or of what is kept of more of them."""

from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock.datastore.errors import LimitExceeded
from penstock.datastore.ngsi.directory import Attribute
from penstock.datastore.ngsi.hours.hour_reading import HourReading
from penstock.datastore.ngsi.hours.kept_hours import HOURS, MINUTES
from penstock.datastore.ngsi.hours.reader import HourReader
from penstock.datastore.ngsi.reading import charts
from penstock.datastore.ngsi.reading.downsampling import (
    Downsampling,
    Point,
    Stretches,
    downsample,
    downsample_stretches,
)
from penstock.datastore.ngsi.reading.periods import HOUR_SECONDS, MINUTE_SECONDS
from penstock.datastore.ngsi.reading.series import TimeSpan

HOURS_OF_POINT: Final = 4
"""The hours of a point from which charts are made of hours; those of shorter ones of minutes."""

MOST_HOURS: Final = 100 * 24
"""The hours of a span that is read by minutes at most."""


class ChartPoints(NamedTuple):
    """Points, and the seconds by which their times are rounded down; 0 for those of samples."""

    points: list[Point]
    resolution: int = 0


@dataclass(frozen=True, slots=True)
class ChartPointReader:
    """Reads the points of charts at the cost of a caller."""

    hours: HourReader

    async def read(
        self, of: Attribute, span: TimeSpan, points: int, method: Downsampling, user: str
    ) -> ChartPoints:
        """Choose points from a span: up to MAX_SAMPLES from its samples, else by what is kept.

        Raises LimitExceeded if more than MAX_SAMPLES lie in hours that are not kept; those that
        were read until then are kept.
        """
        if await self.hours.count_kept(of, span) <= charts.MAX_SAMPLES:
            try:
                samples = self.hours.charts.walk(of, span)
                return ChartPoints(await downsample(samples, points, method, user))
            except LimitExceeded:
                # There are more samples than are kept, so they are kept by what follows.
                pass
        _, reading = await self.hours.begin(of, span)
        if reading is None:
            return ChartPoints([])
        seconds, stretches = _resolution_of(reading, points), Stretches(method)
        if seconds == HOUR_SECONDS:
            async with aclosing(reading.read(HOURS)) as hours:
                async for second, summary in hours:
                    stretches.add_summary(second, summary)
        else:
            async with aclosing(reading.read(MINUTES)) as minutes:
                async for _, hour in minutes:
                    stretches.add(hour.seconds, hour.column)
        chosen = await downsample_stretches(stretches, seconds, points, user)
        return ChartPoints(chosen, seconds)


def _resolution_of(reading: HourReading, points: int) -> int:
    by_hours = reading.hours >= HOURS_OF_POINT * points or reading.hours > MOST_HOURS
    return HOUR_SECONDS if by_hours else MINUTE_SECONDS
