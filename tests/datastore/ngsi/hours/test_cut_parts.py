"""Periods that end within kept minutes or hours: exact by samples there, or said to be rounded."""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.errors import LimitExceeded
from penstock.datastore.ngsi.hours import day_keeper, hour_reading, reader
from penstock.datastore.ngsi.hours.kept_hours import KeptDay
from penstock.datastore.ngsi.reading import charts
from penstock.datastore.ngsi.reading.aggregates import Aggregation
from penstock.datastore.ngsi.reading.periods import Period, Width
from penstock.datastore.ngsi.reading.series import TimeSpan
from penstock.datastore.ngsi.reading.summaries import Method
from tests.datastore.ngsi.hours.hour_worlds import BEGIN, HourWorld, hour, open_hours
from tests.datastore.ngsi.sample_sinks import SinkWorld
from tests.support.sample_resources import on_sqlite

SIMPLE = [method for method in Method if method is not Method.PERCENTILE]
SECONDS = (0, 7, 58, 59, 61, 119, 120, 333, 3599, 3600, 4000, 5400, 7000, 9000, 90_000, 90_031)
"""When the samples are; the number of each is its place, so that no two are equal."""


def count_very_many(_: KeptDay) -> int:
    return charts.MAX_SAMPLES + 1


@pytest.fixture
async def place(world: SinkWorld, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[HourWorld]:
    """A car whose hours are kept, and which has more samples than a reading of samples may read."""
    monkeypatch.setattr(reader, "FIRST_PAGE", 2)
    monkeypatch.setattr(day_keeper, "KEPT_SAMPLES", 1)
    async with open_hours(world) as place:
        for number, second in enumerate(SECONDS):
            await place.send(BEGIN + timedelta(seconds=second), number * (-1) ** number)
        await world.wait_until_settled()
        await place.aggregate(Aggregation(Method.COUNT, Period.HOUR))
        assert await place.kept_days() == 2
        monkeypatch.setattr(reader, "samples_in", count_very_many)
        yield place


def refuse_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hour_reading, "READ_EDGES", {60: 0, 3600: 0})


def rounded_counts(width: int, part: int) -> list[tuple[str, int]]:
    """The samples of each period, to which each comes by the first second of its part."""
    begin = int(BEGIN.timestamp())
    starts = [(begin + second) // part * part // width * width for second in SECONDS]
    return [
        (iso_timestamp(datetime.fromtimestamp(start, UTC)), count)
        for start, count in sorted(Counter(starts).items())
    ]


@on_sqlite
async def test_periods_of_any_length_are_exact_by_the_samples_where_they_end(
    place: HourWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hour_reading, "READ_EDGES", {60: 10_000, 3600: 10_000})
    for span in (TimeSpan(), TimeSpan(hour(0), hour(25.5))):
        for width in (61, 90, 100, 333, 3601, 5000, 86_401):
            for method in SIMPLE:
                how = Aggregation(method, Width(width))
                assert await place.aggregate(how, span, fill=True) == await place.recompute(
                    how, span, fill=True
                )
        for width in (3601, 5400, 86_401):
            for percentile in (Decimal(0), Decimal(40), Decimal(100)):
                how = Aggregation(Method.PERCENTILE, Width(width), percentile)
                assert await place.aggregate(how, span, fill=True) == await place.recompute(
                    how, span, fill=True
                )


@on_sqlite
async def test_long_periods_may_begin_and_end_with_whole_parts(
    place: HourWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_edges(monkeypatch)
    for method, width, part in (
        (Method.LAST, 250, 60),
        (Method.SUM, 3630, 60),
        (Method.PERCENTILE, 4 * 3600 + 60, 3600),
    ):
        found = await place.aggregate(Aggregation(method, Width(width)))
        assert [(each.start, each.samples) for each in found] == rounded_counts(width, part)
        assert {each.resolution for each in found} == {part}
    (last,) = await place.aggregate(Aggregation(Method.LAST, Width(366 * 86_400 + 30)))
    assert last.value == -15


@on_sqlite
async def test_what_no_part_tells_is_refused(
    place: HourWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_edges(monkeypatch)
    monkeypatch.setattr(charts, "MAX_SAMPLES", len(SECONDS) - 1)
    for how in (
        Aggregation(Method.MIN, Period.SECOND),
        Aggregation(Method.MIN, Width(59)),
        Aggregation(Method.MIN, Width(239)),
        Aggregation(Method.PERCENTILE, Period.MINUTE),
        Aggregation(Method.PERCENTILE, Width(900)),
        Aggregation(Method.PERCENTILE, Width(4 * 3600 - 1)),
    ):
        with pytest.raises(LimitExceeded, match="samples of a span"):
            await place.aggregate(how)


@on_sqlite
async def test_samples_where_periods_end_are_read_up_to_the_most(
    place: HourWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "MAX_SAMPLES", 1)
    how = Aggregation(Method.SUM, Width(90))
    monkeypatch.setattr(hour_reading, "READ_EDGES", {60: 10_000})
    with pytest.raises(LimitExceeded, match="samples of a span"):
        await place.aggregate(how)
