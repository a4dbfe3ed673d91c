"""Rate limits that several processes share."""

import mmap
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from multiprocessing import get_context

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import RateLimited
from penstock.server.core.siblings import RATES_BYTES
from penstock.server.edge.rate_limit import LocalBuckets, RateBucket, RateLimiter
from penstock.server.edge.shared_buckets import _SETS, _WAYS, SharedBuckets, _digest

ASKED = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 9), st.floats(0, 2)))


@pytest.fixture
def file() -> Iterator[int]:
    made = os.memfd_create("test")
    os.ftruncate(made, RATES_BYTES)
    yield made
    os.close(made)


def open_buckets(file: int) -> SharedBuckets:
    return SharedBuckets(mmap.mmap(file, RATES_BYTES), file)


@given(ASKED)
def test_shared_buckets_allow_what_own_ones_do(asked: list[tuple[str, int, float]]) -> None:
    file = os.memfd_create("test")
    os.ftruncate(file, RATES_BYTES)
    now = 0.0
    own, shared = (
        RateLimiter(1, 10, buckets, clock=lambda: now)
        for buckets in (LocalBuckets(), open_buckets(file))
    )
    for caller, cost, later in asked:
        now += later
        assert wait_of(own, caller, cost) == wait_of(shared, caller, cost)
    os.close(file)


def wait_of(limiter: RateLimiter, caller: str, cost: int) -> int:
    try:
        limiter.spend(caller, cost)
    except RateLimited as refused:
        return refused.retry_after
    return 0


def test_what_one_process_takes_another_does_not_have(file: int) -> None:
    one, other = (RateLimiter(1, 10, open_buckets(file), clock=lambda: 5.0) for _ in range(2))
    one.spend("ann", 7)
    with pytest.raises(RateLimited):
        other.spend("ann", 4)
    other.spend("ann", 3)
    other.spend("bob", 10)


def test_a_refusal_takes_nothing(file: int) -> None:
    limiter = RateLimiter(1, 10, open_buckets(file), clock=lambda: 5.0)
    limiter.spend("ann", 9)
    before = os.pread(file, RATES_BYTES, 0)
    with pytest.raises(RateLimited):
        limiter.spend("ann", 2)
    assert os.pread(file, RATES_BYTES, 0) == before


def test_who_asked_least_recently_is_forgotten_first(file: int) -> None:
    buckets = open_buckets(file)
    callers = _of_one_set(_WAYS + 1)
    for at, caller in enumerate(callers):
        buckets.update(caller, partial(given_bucket, RateBucket(at, 1.0 + at)))
    found: list[RateBucket | None] = []

    def look(bucket: RateBucket | None) -> RateBucket:
        found.append(bucket)
        raise LookupError

    for caller in callers:
        with suppress(LookupError):
            buckets.update(caller, look)
    assert found == [None, *(RateBucket(at, 1.0 + at) for at in range(1, _WAYS + 1))]


def given_bucket(bucket: RateBucket, _: RateBucket | None) -> RateBucket:
    return bucket


def _of_one_set(count: int) -> list[str]:
    callers = (f"user {n}" for n in range(100_000))
    return [caller for caller in callers if _digest(caller) % _SETS == 1][:count]


def spend(file: int, times: int) -> None:
    limiter = RateLimiter(1, 1_000, open_buckets(file), clock=lambda: 5.0)
    allowed = sum(wait_of(limiter, "ann", 1) == 0 for _ in range(times))
    os._exit(0 if os.write(file_of_counts(), allowed.to_bytes(4)) == 4 else 1)


def file_of_counts() -> int:
    return int(os.environ["COUNTS"])


def test_processes_that_ask_at_once_get_no_more_than_there_is(
    file: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    monkeypatch.setenv("COUNTS", str(writing))
    fork = get_context("fork")
    processes = [fork.Process(target=spend, args=(file, 600)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    os.close(writing)
    counts = os.read(reading, 100)
    os.close(reading)
    assert len(counts) == 16
    assert sum(int.from_bytes(counts[at : at + 4]) for at in range(0, 16, 4)) == 1_000
