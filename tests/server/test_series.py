"""Series that are counted in plain numbers read as those that the client library counts."""

from unittest.mock import patch

import prometheus_client as client
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from server.processes.gathering import Together, told_of
from server.series import Counter, Gauge, Histogram

BOUNDS = (0.001, 0.5, 1, 10, 5_000)
NOW = 1_753_660_800.25
WORDS = st.sampled_from(["query", 'a "b"\\\n', "ü"])
OPEN_METRICS = "application/openmetrics-text; version=1.0.0"
PLACES = st.sampled_from([*BOUNDS, 0.0]) | st.floats(0, 10_000)


class Both:
    """The same families twice: the client library's, and ours."""

    def __init__(self) -> None:
        self.theirs, self.ours = CollectorRegistry(), CollectorRegistry()
        self.their_counter = client.Counter("c", "C's.", ("one", "two"), registry=self.theirs)
        self.their_gauge = client.Gauge("g", "G's.", ("one",), registry=self.theirs)
        self.their_histogram = client.Histogram(
            "h", "H's.", ("one",), buckets=BOUNDS, registry=self.theirs
        )
        self.counter = Counter(self.ours, "c", "C's.", "one", "two")
        self.gauge = Gauge(self.ours, "g", "G's.", "one")
        self.histogram = Histogram(self.ours, "h", "H's.", "one", BOUNDS)

    def count(self, one: str, two: str, value: float) -> None:
        self.their_counter.labels(one, two).inc(value)
        self.their_gauge.labels(two).inc(value)
        self.their_gauge.labels(one).dec()
        self.their_histogram.labels(one).observe(value)
        self.counter.sums[one, two] += value
        self.gauge.values[two,] += value
        self.gauge.values[one,] -= 1
        self.histogram.observe(one, value)


@pytest.mark.parametrize("created", [True, False])
@given(counted=st.lists(st.tuples(WORDS, WORDS, PLACES), max_size=12))
def test_they_read_the_same_whoever_counts(
    created: bool, counted: list[tuple[str, str, float]]
) -> None:
    with (
        patch("prometheus_client.metrics._use_created", created),
        patch("time.time", lambda: NOW),
        patch("server.series.time", lambda: NOW),
    ):
        both = Both()
        for one, two, value in counted:
            both.count(one, two, value)
        for encode, _ in map(choose_encoder, ("", OPEN_METRICS)):
            text = encode(both.ours)
            assert text == encode(both.theirs)
            assert (b"_created" in text) == (created and bool(counted))
            ours, theirs = (Together([(3, told_of(each))]) for each in (both.ours, both.theirs))
            assert encode(ours) == encode(theirs)


def test_a_value_on_a_bound_is_within_it() -> None:
    registry = CollectorRegistry()
    histogram = Histogram(registry, "h", "H's.", "one", (1, 10))
    for value in (0, 1, 1.5, 10, 10.5):
        histogram.observe("a", value)
    samples = [sample for family in registry.collect() for sample in family.samples]
    counts = {each.labels["le"]: each.value for each in samples if each.name == "h_bucket"}
    assert counts == {"1.0": 2, "10.0": 4, "+Inf": 5}
    assert [each.value for each in samples if each.name in {"h_count", "h_sum"}] == [5, 23]


def test_a_series_that_was_only_looked_for_is_not_shown() -> None:
    registry = CollectorRegistry()
    counter = Counter(registry, "c", "C's.", "one")
    assert counter.sums.get(("a",)) is None
    assert [family.samples for family in registry.collect()] == [[]]
