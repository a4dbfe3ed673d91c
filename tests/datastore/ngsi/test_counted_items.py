"""A run of the sink says how many items each destination got: what was written, by the manifest."""

from collections import Counter
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.clock import Clock
from penstock.datastore.errors import Unavailable
from penstock.datastore.manifest.rules import MAX_COUNTS, counts_problem
from penstock.datastore.ngsi.run_counts import MAX_COUNTED, counts_in, items_in, show_counts
from tests.datastore.ngsi.failing_destinations import FailingDestinations, fail_table
from tests.datastore.ngsi.run_totals import RunTotals
from tests.datastore.ngsi.sample_sinks import SinkWorld
from tests.datastore.ngsi.test_late_segments import store_all
from tests.datastore.ngsi.test_replay import ONCE
from tests.datastore.ngsi.test_sink import accept, runs
from tests.support.patience import until
from tests.support.sample_resources import Watch, without_moto

TABLE = "vehiclesxffffx002f4wheelsxffff%sxffffcar"


async def test_a_run_counts_the_items_of_each_destination(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        await accept(sink, "car1", "car2")
        await accept(sink, "car1")
        await world.wait_until_settled()
        await sink.loader.drain()
        found = Counter[str]()
        for run in await runs(sink):
            found += items_in(run.counts or {})
            assert (run.counts or {})["items"] == sum(items_in(run.counts or {}).values())
    samples = await world.read_samples()
    stored = Counter(TABLE % item["entityId"] for item in samples)
    assert found == stored == {TABLE % "car1": 4, TABLE % "car2": 2}


async def test_dead_letters_are_no_items_of_a_destination(world: SinkWorld) -> None:
    failing = fail_table(TABLE % "car2", Unavailable("busy"))
    destinations = FailingDestinations(world.context.destinations, failing)
    async with world.open_sink(ONCE, destinations=destinations) as sink:
        await accept(sink, "car1", "car2")
        await world.wait_until_settled()
        await sink.loader.drain()
        (run,) = await runs(sink)
        assert run.counts == {
            "events": 2,
            "persisted": 1,
            "deadLettered": 1,
            "items": 2,
            "received": 2,
            f"items:{TABLE % 'car1'}": 2,
            f"deadLettered:{TABLE % 'car2'}": 2,
            f"received:{TABLE % 'car2'}": 2,
        }


@without_moto
async def test_a_run_counts_also_what_a_server_settled_that_died_before(world: SinkWorld) -> None:
    failing = fail_table(TABLE % "car9", Unavailable("busy"))
    watch = Watch()
    shared: Any = {
        "clock": Clock(watch),
        "lease_seconds": 60,
        "destinations": FailingDestinations(world.context.destinations, failing),
    }
    async with world.open_sink(ONCE, drain=0.0, **shared) as sink:
        for correlator in ("a", "b", "b", "c"):
            await accept(sink, "car1", {"type": "car"}, "car9", "car2", correlator=correlator)
            await world.wait_until_settled()
            await until(lambda: not sink.loader.open_runs)
        assert [run.counts is None for run in await runs(sink)] == [False, True]
    watch.move(timedelta(seconds=61))
    async with world.open_sink(ONCE, **shared) as sink:
        await store_all(sink)
        _, run = await runs(sink)
        counts, totals = await world.counts(), RunTotals.of(await runs(sink))
    tables = {name: TABLE % name for name in ("car1", "car2", "car9")}
    assert run.shred_types == (tables["car1"], tables["car9"], tables["car2"])
    assert run.counts == {
        "received": 12,
        "events": 6,
        "persisted": 4,
        "deadLettered": 2,
        "refused": 2,
        "refused:BAD_USER_INPUT": 2,
        "duplicates": 4,
        "items": 8,
        f"items:{tables['car1']}": 4,
        f"items:{tables['car2']}": 4,
        f"deadLettered:{tables['car9']}": 4,
        **{f"duplicates:{table}": 2 for table in tables.values()},
        **{f"received:{table}": 6 for table in tables.values()},
    }
    assert totals.adds_up
    assert totals.ingested == counts


NAMES = st.text(min_size=1, max_size=4)


def counts_of(items: dict[str, int]) -> Counter[str]:
    """The counts of a segment with stored items of these tables."""
    named = {f"{kind}:{table}": count for table, count in items.items() for kind in KINDS}
    return Counter({"items": sum(items.values()), **named})


KINDS = ("items", "received")


@given(st.dictionaries(NAMES, st.integers(1, 9), max_size=MAX_COUNTED))
def test_counts_are_read_back_as_they_were(items: dict[str, int]) -> None:
    assert items_in(show_counts(counts_of(items))) == items
    assert counts_in(show_counts(counts_of(items))) == counts_of(items)


def test_the_items_of_a_table_with_a_long_name_are_counted_with_all() -> None:
    counts = show_counts(counts_of({"t" * 200: 3, "u": 4}))
    assert counts == {"items": 7, "items:u": 4}
    assert items_in(counts) == {"": 3, "u": 4}


def test_the_items_of_very_many_tables_are_counted_together() -> None:
    items = {f"t{number:04}": 1 for number in range(MAX_COUNTED + 5)}
    counts = show_counts(counts_of(items))
    assert (counts["items"], len(counts)) == (MAX_COUNTED + 5, MAX_COUNTED + 1)
    assert items_in(counts).total() == MAX_COUNTED + 5


def test_a_table_is_named_with_all_of_its_counts_or_with_none() -> None:
    items = counts_of({f"t{number:04}": 1 for number in range(MAX_COUNTED)})
    items.update({"duplicates:t0000": 5, "received:t0000": 5})
    counts = show_counts(items)
    assert len(counts) == 1 + MAX_COUNTED
    assert {name: count for name, count in counts.items() if name.endswith("t0000")} == {
        "items:t0000": 1,
        "duplicates:t0000": 5,
        "received:t0000": 6,
    }
    assert f"items:t{MAX_COUNTED - 3:04}" in counts
    assert f"items:t{MAX_COUNTED - 2:04}" not in counts


def test_a_run_has_no_more_counts_than_any_run_may_have() -> None:
    counts = counts_of({f"t{number:04}": 1 for number in range(MAX_COUNTED)})
    names = ("events", "persisted", "deadLettered", "received", "refused", "duplicates", "replayed")
    counts.update({**dict.fromkeys(names, 1), **{f"refused:{code}": 1 for code in "abcd"}})
    shown = show_counts(counts)
    assert len(shown) == MAX_COUNTS
    assert counts_problem(shown) is None
