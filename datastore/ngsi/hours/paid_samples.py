"""The samples of series, which a caller pays as they are read."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import sample_units
from penstock.datastore.ngsi.directory import Attribute
from penstock.datastore.ngsi.reading.series import (
    WHOLE_PAGE,
    SampledNumber,
    SeriesReader,
    TimeSpan,
)
from penstock.datastore.table.pages import Slice, Window


@dataclass(frozen=True, slots=True)
class PaidSamples:
    """Reads samples of series at the cost of the caller of `access`."""

    access: Access
    series: SeriesReader

    async def read_page(
        self, of: Attribute, span: TimeSpan, window: Window
    ) -> Slice[SampledNumber]:
        page = await self.series.page_of_numbers(of, span, window)
        self.access.work.owe(sample_units(len(page.entries)))
        return page

    async def walk(self, of: Attribute, span: TimeSpan) -> AsyncGenerator[Slice[SampledNumber]]:
        """Yield every page of a span."""
        after, more = None, True
        while more:
            page = await self.read_page(of, span, Window(size=WHOLE_PAGE, after=after))
            yield page
            more, after = page.more, page.reached
