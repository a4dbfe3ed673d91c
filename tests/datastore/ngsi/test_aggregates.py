"""Aggregates of a series by period."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.datastore.errors import LimitExceeded
from penstock.datastore.ngsi.reading import aggregates
from penstock.datastore.ngsi.reading.aggregates import (
    MAX_BUCKETS,
    AggregateBucket,
    Aggregation,
    aggregate_samples,
    aggregate_summaries,
)
from penstock.datastore.ngsi.reading.periods import Period, Width
from penstock.datastore.ngsi.reading.series import Sample
from penstock.datastore.ngsi.reading.summaries import Method, NumberSummary


def sample(at: int, number: int | None) -> Sample:
    text = None if number is None else str(number)
    return Sample(at, text, None if number is None else Decimal(number), "[]")


async def stream(*samples: Sample) -> AsyncIterator[Sample]:
    for each in samples:
        yield each


@pytest.mark.parametrize(
    ("method", "values"),
    [
        (Method.COUNT, [3, 1]),
        (Method.SUM, [5, None]),
        (Method.AVG, [Decimal("2.5"), None]),
        (Method.MIN, [2, None]),
        (Method.MAX, [3, None]),
        (Method.FIRST, [2, None]),
        (Method.LAST, [3, None]),
        (Method.PERCENTILE, [Decimal("2.5"), None]),
    ],
)
async def test_samples_are_aggregated_by_period(method: Method, values: list[Any]) -> None:
    found = await aggregate_samples(
        stream(sample(0, 2), sample(1, 3), sample(999, None), sample(3000, None)),
        Aggregation(method, Period.SECOND),
    )
    assert found == [
        AggregateBucket("1970-01-01T00:00:00.000Z", 3, values[0]),
        AggregateBucket("1970-01-01T00:00:03.000Z", 1, values[1]),
    ]


async def test_empty_periods_are_filled_up_to_a_limit() -> None:
    found = await aggregate_samples(
        stream(sample(0, 2), sample(3000, 1)), Aggregation(Method.COUNT, Period.SECOND), fill=True
    )
    assert [(bucket.start[17:19], bucket.value) for bucket in found] == [
        ("00", Decimal(1)),
        ("01", Decimal(0)),
        ("02", Decimal(0)),
        ("03", Decimal(1)),
    ]


@pytest.mark.parametrize("period", [Period.SECOND, Width(7)])
async def test_periods_that_are_too_many_to_fill_are_counted_and_not_made(
    monkeypatch: pytest.MonkeyPatch, period: Period | Width
) -> None:
    made = list[int]()

    def name_period(second: int) -> str:
        made.append(second)
        return ""

    monkeypatch.setattr(aggregates, "timestamp_of", name_period)
    with pytest.raises(LimitExceeded) as refused:
        await aggregate_samples(
            stream(sample(0, 2), sample(10**9, 1)), Aggregation(Method.COUNT, period), fill=True
        )
    assert (refused.value.maximum, made) == (MAX_BUCKETS, [0])


async def test_periods_with_samples_have_a_limit_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aggregates, "MAX_FULL_BUCKETS", 3)
    how = Aggregation(Method.COUNT, Period.MINUTE)

    async def summaries(minutes: int) -> AsyncIterator[tuple[int, NumberSummary]]:
        for minute in range(minutes):
            yield minute * 60, NumberSummary(samples=1)

    assert len(await aggregate_summaries(summaries(3), how)) == 3
    with pytest.raises(LimitExceeded) as refused:
        await aggregate_summaries(summaries(4), how)
    assert refused.value.maximum == 3


@pytest.mark.parametrize(
    ("period", "start", "following"),
    [
        (Period.YEAR, "2022-01-01T00:00:00", "2023-01-01T00:00:00"),
        (Period.MONTH, "2022-12-01T00:00:00", "2023-01-01T00:00:00"),
        (Period.DAY, "2022-12-31T00:00:00", "2023-01-01T00:00:00"),
        (Period.HOUR, "2022-12-31T23:00:00", "2023-01-01T00:00:00"),
        (Period.MINUTE, "2022-12-31T23:59:00", "2023-01-01T00:00:00"),
        (Period.SECOND, "2022-12-31T23:59:58", "2022-12-31T23:59:59"),
    ],
)
def test_periods_are_those_of_the_calendar(period: Period, start: str, following: str) -> None:
    moment = datetime(2022, 12, 31, 23, 59, 58, 999, UTC)
    began = period.start(moment)
    assert began == datetime.fromisoformat(start).replace(tzinfo=UTC)
    assert period.next_start(began) == datetime.fromisoformat(following).replace(tzinfo=UTC)


@given(st.datetimes(timezones=st.just(UTC)), st.sampled_from(Period))
def test_every_moment_lies_in_its_period(moment: datetime, period: Period) -> None:
    start = period.start(moment)
    assert start <= moment
    if moment.year < 9999:
        assert moment < period.next_start(start)


@given(
    st.datetimes(datetime(1970, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC)),
    st.integers(1, 366 * 86_400),
)
@example(datetime(8999, 12, 31, 23, 59, 59, 999_999, UTC), 60)
def test_every_moment_lies_in_its_period_of_any_length(moment: datetime, seconds: int) -> None:
    second = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    start, end = Width(seconds).bounds(second)
    assert start <= second < end == start + seconds
    assert start % seconds == 0


@given(st.datetimes(datetime(1970, 1, 1), timezones=st.just(UTC)), st.sampled_from(Period))
@example(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), Period.YEAR)
def test_the_bounds_of_a_period_are_its_start_and_that_of_the_next(
    moment: datetime, period: Period
) -> None:
    second = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    start, end = period.bounds(second)
    assert datetime.fromtimestamp(start, UTC) == period.start(moment)
    assert start <= second < end
    if moment.year < 9999:
        assert datetime.fromtimestamp(end, UTC) == period.next_start(period.start(moment))


async def test_samples_are_aggregated_by_a_quarter_of_an_hour() -> None:
    quarter = 15 * 60_000
    found = await aggregate_samples(
        stream(sample(0, 1), sample(quarter - 1, 2), sample(quarter, 3), sample(3 * quarter, 4)),
        Aggregation(Method.LAST, Width(900)),
        fill=True,
    )
    assert [(each.start[11:16], each.value) for each in found] == [
        ("00:00", 2),
        ("00:15", 3),
        ("00:30", None),
        ("00:45", 4),
    ]
