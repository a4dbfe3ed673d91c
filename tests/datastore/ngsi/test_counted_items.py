"""A run of the sink says how many items each destination got: what was written, by the manifest."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import Unavailable
from penstock.datastore.ngsi.run_log import MAX_COUNTED, item_counts, items_in
from tests.datastore.ngsi.failing_destinations import FailingDestinations, fail_table
from tests.datastore.ngsi.sample_sinks import SinkWorld
from tests.datastore.ngsi.test_replay import ONCE
from tests.datastore.ngsi.test_sink import accept, runs

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
            f"items:{TABLE % 'car1'}": 2,
        }


NAMES = st.text(min_size=1, max_size=4)


@given(st.dictionaries(NAMES, st.integers(1, 9), max_size=MAX_COUNTED))
def test_counts_are_read_back_as_they_were(items: dict[str, int]) -> None:
    assert items_in(item_counts(items)) == items


def test_the_items_of_a_table_with_a_long_name_are_counted_with_all() -> None:
    counts = item_counts({"t" * 200: 3, "u": 4})
    assert counts == {"items": 7, "items:u": 4}
    assert item_counts(items_in(counts)) == counts


def test_the_items_of_very_many_tables_are_counted_together() -> None:
    items = {f"t{number:04}": 1 for number in range(MAX_COUNTED + 5)}
    counts = item_counts(items)
    assert (counts["items"], len(counts)) == (MAX_COUNTED + 5, MAX_COUNTED + 1)
    again = items_in(counts)
    assert sum(again.values()) == MAX_COUNTED + 5
    assert item_counts(again) == counts
