"""Following a series: its samples as they are stored, whichever server stores them."""

import logging
from asyncio import sleep
from collections.abc import AsyncIterator
from datetime import timedelta

from penstock.datastore.clock import Clock
from penstock.datastore.errors import PenstockError
from penstock.datastore.ngsi.directory import Attribute
from penstock.datastore.ngsi.series import Sample, SeriesReading, Span
from penstock.datastore.slices import Window

LATE = timedelta(minutes=1)
"""How long after it arrived a sample may be stored and still be told of."""

PAGE = 100

logger = logging.getLogger("penstock.ngsi")


async def followed(
    series: SeriesReading, clock: Clock, of: Attribute, seconds: float
) -> AsyncIterator[Sample]:
    """Yield the latest sample, then each that is stored, asked for every so many seconds."""
    # What is stored between the two is told of: the other way round it would be missed.
    known = {sk for sk, _ in await _recent(series, clock, of)}
    latest = await series.latest(of)
    if latest is not None:
        yield latest
    while True:
        await sleep(seconds)
        try:
            recent = await _recent(series, clock, of)
        except PenstockError as error:
            logger.warning("a series could not be read: %s", error.message)
            continue
        for sk, sample in recent:
            if sk not in known:
                yield sample
        known = {sk for sk, _ in recent}


async def _recent(series: SeriesReading, clock: Clock, of: Attribute) -> list[tuple[str, Sample]]:
    """The samples of the last minute by their sort keys, oldest first."""
    span = Span(start=clock.now() - LATE)
    found: list[tuple[str, Sample]] = []
    window = Window(size=PAGE)
    while True:
        page = await series.page(of, span, window)
        found += page.entries
        if not page.more:
            return found
        window = Window(size=PAGE, after=page.reached)
