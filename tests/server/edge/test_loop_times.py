"""Callers owe for time of the event loop beyond that for which they pay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.access.work import CPU_SECONDS
from penstock.datastore.errors import RateLimited
from penstock.server.edge.rate_limit import (
    FIRST_UNITS,
    MAX_CALLERS,
    MOST_UNITS,
    OPERATION_UNITS,
    PAID_TIMES,
    LocalBuckets,
    LoopTimes,
    RateLimiter,
)

SAMPLE = 0.005
UNITS = round(SAMPLE / CPU_SECONDS)


def times_of(caller: str, *units: float) -> LoopTimes:
    times = LoopTimes()
    for each in units:
        times.note(caller, each * CPU_SECONDS)
    return times


def test_the_first_time_of_a_caller_is_free_and_the_rest_is_owed() -> None:
    times = times_of("ann", FIRST_UNITS)
    assert times.settle("ann") == 0
    times.note("ann", 7 * CPU_SECONDS)
    assert (times.settle("ann"), times.settle("ann"), times.unpaid) == (7, 0, 7)


def test_what_is_paid_before_or_after_and_each_operation_allow_more_time() -> None:
    times = times_of("ann", FIRST_UNITS)
    assert times.settle("ann") == 0
    times.begin_operation("ann")
    times.pay("ann", 30)
    times.note("ann", (OPERATION_UNITS + PAID_TIMES * 30 + 1) * CPU_SECONDS)
    assert times.settle("ann") == 1


def test_callers_owe_for_themselves() -> None:
    times = times_of("ann", FIRST_UNITS + 5)
    times.note("bob", FIRST_UNITS * CPU_SECONDS)
    assert (times.settle("bob"), times.settle("ann")) == (0, 5)


def test_time_that_was_paid_and_not_used_is_kept_up_to_a_bound() -> None:
    times = LoopTimes()
    times.pay("ann", 10 * MOST_UNITS)
    times.note("ann", (MOST_UNITS + 3) * CPU_SECONDS)
    assert times.settle("ann") == 3


def test_the_callers_in_memory_are_bounded() -> None:
    times = LoopTimes()
    for number in range(MAX_CALLERS + 10):
        times.pay(f"user {number}", 1)
        times.note(f"user {number}", SAMPLE)
    assert len(times._left) == len(times._noted) == MAX_CALLERS


def test_who_comes_after_very_many_callers_is_watched_and_who_came_last_is_remembered() -> None:
    times = LoopTimes()
    times.pay("ann", MOST_UNITS)
    for number in range(MAX_CALLERS):
        times.note(f"user {number}", SAMPLE)
        times.pay(f"user {number}", 1)
        times.begin_operation("ann")
    times.note("late", (FIRST_UNITS + 7) * CPU_SECONDS)
    times.note("ann", (MOST_UNITS + 7) * CPU_SECONDS)
    assert (times.settle("late"), times.settle("ann")) == (7, 7)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 2_000)), max_size=40))
def test_a_caller_owes_what_goes_beyond_twice_the_payments(steps: list[tuple[int, int]]) -> None:
    times, owed, used, allowed = LoopTimes(), 0, 0, FIRST_UNITS
    for samples, paid in steps:
        for _ in range(samples):
            times.note("ann", SAMPLE)
        owed += times.settle("ann")
        times.begin_operation("ann")
        times.pay("ann", paid)
        used += samples * UNITS
        allowed += OPERATION_UNITS + PAID_TIMES * paid
    assert used - allowed <= owed <= used


def test_a_caller_who_held_the_loop_too_long_is_refused_until_it_is_paid() -> None:
    now = 1000.0
    limiter = RateLimiter(10, 100, LocalBuckets(), clock=lambda: now)
    limiter.spend("ann", 1)
    free = FIRST_UNITS + OPERATION_UNITS + PAID_TIMES
    limiter.loop_times.note("ann", (free + OPERATION_UNITS + 198) * CPU_SECONDS)
    with pytest.raises(RateLimited) as refused:
        limiter.spend("ann", 1)
    assert refused.value.retry_after == 10
    limiter.spend("bob", 100)
    now += 10
    limiter.spend("ann", 1)


def test_a_refused_operation_pays_for_no_time() -> None:
    limiter = RateLimiter(1, 100, LocalBuckets(), clock=lambda: 0.0)
    limiter.owe("ann", 100)
    with pytest.raises(RateLimited):
        limiter.spend("ann", 1_000)
    free = FIRST_UNITS + PAID_TIMES * 100 + OPERATION_UNITS
    limiter.loop_times.note("ann", (free + 4) * CPU_SECONDS)
    assert limiter.loop_times.settle("ann") == 4


def test_no_time_is_owed_without_a_limit() -> None:
    limiter = RateLimiter(0, 1)
    limiter.loop_times.note("ann", 1_000.0)
    limiter.spend("ann", 1)
    limiter.owe("ann", 1)
    assert limiter.loop_times.unpaid == 0
