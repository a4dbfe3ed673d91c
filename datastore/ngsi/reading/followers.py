"""Followers of a series: they yield new samples as they are stored, by any server."""

import logging
from asyncio import sleep
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from penstock.datastore.access.work import WorkAccount, sample_units
from penstock.datastore.change_log.opening_deadline import end_opening
from penstock.datastore.clock import Clock
from penstock.datastore.errors import LimitExceeded, PenstockError, RateLimited
from penstock.datastore.ngsi.directory import Attribute
from penstock.datastore.ngsi.reading.charts import MAX_SAMPLES
from penstock.datastore.ngsi.reading.series import Sample, SeriesReader, TimeSpan, moment_of
from penstock.datastore.table.instrumentation import NO_PAYMENTS
from penstock.datastore.table.pages import Window

MAX_STORAGE_DELAY = timedelta(minutes=1)
"""The longest delay between its time and storage with which a follower sees an older sample."""

RECENT_PAGE = 100

LOOK_UNITS: Final = 4
"""Units of looking for new samples of a series: it takes as long as reading four objects."""

logger = logging.getLogger("penstock.ngsi")

Entry: TypeAlias = tuple[str, Sample]
"""A sample with its sort key."""


async def follow_series(
    series: SeriesReader, clock: Clock, of: Attribute, seconds: float, work: WorkAccount
) -> AsyncIterator[Sample]:
    """Yield the latest sample, then each new one; look for new samples every `seconds` seconds.

    A new sample is seen if it is later than all before, whatever its time is, or at most
    MAX_STORAGE_DELAY old. Each look costs LOOK_UNITS, and what it reads. A caller who cannot pay
    for it hears of the samples later. Raises LimitExceeded where a look would read too many.
    """
    # A look has a price of its own, whatever the calls of the operation cost.
    series = replace(series, payments=NO_PAYMENTS)
    looked_at, newest = clock.now(), await series.newest(of)
    if newest is not None:
        yield newest[1]
    recent = await _entries_since(series, of, looked_at, newest, work)
    # What was stored between the two reads is new as well.
    known = {sk for sk, _ in recent if newest is not None and sk <= newest[0]}
    while True:
        for sk, sample in recent:
            if sk not in known:
                yield sample
        known = {sk for sk, _ in recent}
        newest = recent[-1] if recent else newest
        end_opening()
        await sleep(seconds)
        looking_at = clock.now()
        try:
            work.spend_more(LOOK_UNITS)
            recent = await _entries_since(series, of, looked_at, newest, work)
        except RateLimited:
            continue
        except LimitExceeded:
            raise
        except PenstockError as error:
            logger.warning("a series could not be read: %s", error.message)
            continue
        looked_at = looking_at


async def _entries_since(
    series: SeriesReader,
    of: Attribute,
    looked_at: datetime,
    newest: Entry | None,
    work: WorkAccount,
) -> list[Entry]:
    """The samples that may have come since a look, with that which was the newest, oldest first.

    The caller owes them, those of a time to come with each look.
    """
    start = looked_at - MAX_STORAGE_DELAY
    if newest is not None:
        start = min(start, moment_of(newest[1].at))
    found: list[Entry] = []
    window = Window(size=RECENT_PAGE)
    while True:
        page = await series.page(of, TimeSpan(start=start), window)
        found += page.entries
        work.owe(sample_units(len(page.entries)))
        if len(found) > MAX_SAMPLES:
            raise LimitExceeded("samples of a minute and of times to come", MAX_SAMPLES, len(found))
        if not page.more:
            return found
        window = Window(size=RECENT_PAGE, after=page.reached)
