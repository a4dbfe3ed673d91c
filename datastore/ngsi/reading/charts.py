"""Reads of many samples for a chart: long pages, and walks, which their caller pays by length."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from penstock.datastore.access.work import WorkAccount, sample_units
from penstock.datastore.errors import LimitExceeded
from penstock.datastore.ngsi.directory import Attribute
from penstock.datastore.ngsi.reading.series import (
    WHOLE_PAGE,
    Sample,
    SampledNumber,
    SeriesReader,
    TimeSpan,
)
from penstock.datastore.table.pages import Slice, Window

MAX_POINTS: Final = 10_000
"""The largest number of points of a page, and of a chart."""

MAX_SAMPLES: Final = 100_000
"""The largest number of samples that are read for one chart or one aggregate."""


@dataclass(frozen=True, slots=True)
class ChartReader:
    """Reads samples of series at the cost of a caller: first one unit, then by their number."""

    series: SeriesReader
    work: WorkAccount

    async def points(self, of: Attribute, span: TimeSpan, window: Window) -> Slice[Sample]:
        """List up to MAX_POINTS samples, oldest first: a query for each WHOLE_PAGE of them."""
        self.work.spend_more(1)
        found: list[tuple[str, Sample]] = []
        while True:
            left = Window(size=min(window.size - len(found), WHOLE_PAGE), after=window.after)
            page = await self.series.page(of, span, left)
            self._pay(len(page.entries))
            found += page.entries
            if not page.more or len(found) == window.size or not page.entries:
                return Slice(tuple(found), page.more, page.reached)
            window = Window(size=window.size, after=page.reached)

    async def walk(self, of: Attribute, span: TimeSpan) -> AsyncIterator[SampledNumber]:
        """Yield the number of every sample of a span, oldest first.

        Raises LimitExceeded beyond MAX_SAMPLES.
        """
        self.work.spend_more(1)
        count, after, more = 0, None, True
        while more:
            window = Window(size=WHOLE_PAGE, after=after)
            page = await self.series.page_of_numbers(of, span, window)
            self._pay(len(page.entries))
            count += len(page.entries)
            if count > MAX_SAMPLES:
                raise LimitExceeded("samples of a span", MAX_SAMPLES, count)
            for _, sample in page.entries:
                yield sample
            more, after = page.more, page.reached

    def _pay(self, samples: int) -> None:
        self.work.owe(sample_units(samples))
