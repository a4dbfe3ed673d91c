"""Events are stored in portions, and one that cannot be listed leaves the others alone."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.events import EntityUpdate, NotifiedAttribute
from penstock.datastore.ngsi.hours.generations import hours_of
from penstock.datastore.ngsi.loading import portions, run_loader
from penstock.datastore.ngsi.loading.portions import divide_events
from penstock.datastore.ngsi.options import BatchingOptions, DataModel, NamingOptions
from penstock.datastore.ngsi.rows import Event
from tests.datastore.ngsi.sample_destinations import event
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld, car
from tests.datastore.ngsi.test_sink import accept
from tests.support.sample_resources import on_sqlite

BAD_NAMES = {"bytes of a sort key": "\U0001f600" * 256, "characters that are escaped": ":" * 256}


def shared_table(batch: int) -> Any:
    """Options under which all cars share a table, and a failing batch is tried again for ever."""
    batching = BatchingOptions(size=batch, ttl=-1, retry_intervals=(0.001,))
    return replace(
        QUICK, naming=NamingOptions(data_model=DataModel.BY_SERVICE_PATH), batching=batching
    )


@on_sqlite
@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES)
async def test_an_entity_whose_name_no_directory_holds_spoils_no_other(
    world: SinkWorld, name: str
) -> None:
    long = {**car(name), "type": name}
    async with world.open_sink(shared_table(3)) as sink:
        await accept(sink, "car1", long, "car2")
        counts = await world.recount()
        assert counts == IngestCounts(received=3, persisted=2, dead_lettered=1, items=4)
        (letter,) = await world.letters()
        assert letter.events == 1
        assert letter.reason.startswith("bytes of sk: ")


@on_sqlite
async def test_the_events_of_a_batch_are_stored_portion_by_portion(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def spy(events: Sequence[Event]) -> Any:
        seen.append(len(events))
        return hours_of(events)

    monkeypatch.setattr(run_loader, "hours_of", spy)
    monkeypatch.setattr(portions, "MOST_ATTRIBUTES", 4)
    async with world.open_sink(shared_table(5)) as sink:
        await accept(sink, *(f"car{number}" for number in range(5)))
        assert await world.recount() == IngestCounts(received=5, persisted=5, items=10)
    assert seen == [2, 2, 1]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([], []),
        ([3000], [[3000]]),
        ([0, 2000, 1], [[0], [2000], [1]]),
        ([1000, 1000, 1, 2500], [[1000, 1000], [1], [2500]]),
    ],
)
def test_a_portion_has_two_thousand_attributes_or_one_event(
    sizes: list[int], expected: list[list[int]]
) -> None:
    events = [event("cars", update=_update(size)) for size in sizes]
    found = [[len(each.update.attributes) for each in part] for part in divide_events(events)]
    assert found == expected


def _update(size: int) -> EntityUpdate:
    return EntityUpdate("car1", "car", (NotifiedAttribute("speed", "float", 1),) * size)
