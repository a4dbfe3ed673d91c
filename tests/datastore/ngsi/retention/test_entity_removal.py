"""Entities without samples leave the lists, and come back with their next sample, on any server."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.clock import Clock
from penstock.datastore.errors import Unavailable
from penstock.datastore.jobs.jobs import JobState
from penstock.datastore.ngsi.catalog import LEAVING, Catalog
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.reading.series import TimeSpan
from penstock.datastore.ngsi.retention.entity_removal import EntityRemoval
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.layout import LATEST_SAMPLES
from penstock.datastore.table.port import Attributes
from tests.datastore.jobs.sample_subtree import follow
from tests.datastore.ngsi.latest_checks import check_latest
from tests.datastore.ngsi.retention.test_sample_deletion import CAR, SECOND, Place, open_place
from tests.datastore.ngsi.sample_sinks import (
    QUICK,
    SinkWorld,
    car,
    notification,
    wait_until_released,
)
from tests.datastore.ngsi.test_repository import START, WHEELS, notify, reader, speed, texts
from tests.datastore.ngsi.test_sink import SLOW, accept
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import SUPER, on_sqlite, walk, without_moto


async def list_names(world: SinkWorld) -> list[str]:
    """The entities of the service path, each with its attributes."""
    directory = reader(world).directory
    found = []
    for entity in await walk(lambda window: directory.entities(WHEELS, window)):
        names = await walk(partial(directory.attributes, entity))
        found.append(":".join([entity.entity_id, *(each.name for each in names)]))
    return found


async def test_an_entity_without_samples_leaves_the_lists(world: SinkWorld) -> None:
    async with open_place(world) as place:
        await accept(place.sink, car("car1", speed=1, oil=2), car("car2", speed=3))
        await world.wait_until_settled()
        before = await world.counts()
        place.watch.move(SECOND)
        await place.delete(TimeSpan(START, START + SECOND))
        assert await list_names(world) == ["car1:oil:speed", "car2:speed"]
        await place.delete()
        assert await list_names(world) == ["car2:speed"]
        left = await contents(world.context.table)
        assert not [key for key in left if key.pk.startswith("NA:vehicles:/4wheels:car1:")]
        assert await world.counts() == before == IngestCounts(received=2, persisted=2, items=3)
        assert await faults(world.context.table) == []


@without_moto
@pytest.mark.parametrize("alone", [False, True])
async def test_an_entity_comes_back_on_a_server_that_wrote_its_rows_before(
    world: SinkWorld, alone: bool
) -> None:
    async with open_place(world) as place, world.open_sink(clock=Clock(place.watch)) as other:
        for value in (1, 2):
            for sink in (place.sink, other):
                await accept(sink, car("car1", speed=value, oil=value))
        await world.wait_until_settled()
        for number, sink in enumerate((place.sink, other)):
            place.watch.move(SECOND)
            await place.delete()
            assert await list_names(world) == []
            # The first notification after a while is a run of its own, others share one.
            place.watch.move(timedelta(hours=1) if alone else SECOND)
            await accept(sink, car("car1", speed=number))
            await world.wait_until_settled()
            assert await list_names(world) == ["car1:speed"]
            assert await texts(world, await speed(world)) == [str(number)]
            assert await check_latest(world.context.table, reader(world)) == 1
        assert await faults(world.context.table) == []


@on_sqlite
async def test_what_another_server_takes_over_comes_back_to_the_lists(world: SinkWorld) -> None:
    async with open_place(world) as place:
        await accept(place.sink, car("car1", speed=1))
        await world.wait_until_settled()
        async with world.open_sink(SLOW, drain=0, clock=Clock(place.watch)) as dying:
            place.watch.move(SECOND)
            await place.delete()
            assert await list_names(world) == []
            await accept(dying, car("car1", speed=2))
        assert await list_names(world) == []
        place.watch.move(timedelta(hours=1))
        # This server remembers that it wrote the rows of the entity.
        await place.sink.take_over_runs()
        await world.wait_until_settled()
        assert await list_names(world) == ["car1:speed"]
        assert await texts(world, await speed(world)) == ["2"]


@on_sqlite
@pytest.mark.parametrize("stored", [False, True])
async def test_an_entity_stays_if_a_sample_arrives_during_its_removal(
    world: SinkWorld, stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, removals = EntityRemoval.remove, list[bool]()
    async with open_place(world) as place:
        await accept(place.sink, car("car1", speed=1))
        await world.wait_until_settled()
        place.watch.move(SECOND)

        async def remove_late(removal: EntityRemoval) -> bool:
            if not removals:
                await write_again(place)
            removals.append(await real(removal))
            return removals[-1]

        async def write_again(place: Place) -> None:
            if stored:
                place.watch.move(SECOND)
                await accept(place.sink, car("car1", speed=2))
                await world.wait_until_settled()
                return
            at = int(place.watch.time.timestamp() * 1000)
            router = place.sink.router
            routed = await router.route_notification(notification(car("car1", speed=9)), at)
            await Catalog(world.context.table).record_entities(routed.events)

        monkeypatch.setattr(EntityRemoval, "remove", remove_late)
        assert (await place.delete()).state is JobState.DONE
        # Rows that are written without a sample, by a server that died, do not keep the entity.
        assert removals == ([False] if stored else [False, True])
        assert await list_names(world) == (["car1:speed"] if stored else [])


@on_sqlite
async def test_a_late_sample_that_arrives_during_a_removal_keeps_the_row_of_latest_samples(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row names a later sample, which was deleted, so the late one raises nothing."""
    real, marks = EntityRemoval.remove, list[bool]()
    async with open_place(world) as place:
        when = {"type": "DateTime", "value": (place.watch.time + timedelta(hours=1)).isoformat()}
        await accept(place.sink, car("car1", speed=1) | {"TimeInstant": when})
        await world.wait_until_settled()
        before = await row_of_latest(world)
        place.watch.move(SECOND)

        async def remove_late(removal: EntityRemoval) -> bool:
            marks.append(LEAVING in await row_of_latest(world))
            place.watch.move(SECOND)
            await accept(place.sink, car("car1", speed=2))
            await world.wait_until_settled()
            marks.append(LEAVING in await row_of_latest(world))
            return await real(removal)

        monkeypatch.setattr(EntityRemoval, "remove", remove_late)
        assert (await place.delete()).state is JobState.DONE
        assert marks == [True, False]
        assert await row_of_latest(world) == before
        assert await texts(world, await speed(world)) == ["2"]
        await check_latest(world.context.table, reader(world))


async def row_of_latest(world: SinkWorld) -> Attributes:
    key = LATEST_SAMPLES.key(**CAR.key_values)
    return (await world.context.table.get([key], consistent=True)).items[key]


def dying_at(number: int, *, after: bool) -> Callable[..., Awaitable[bool]]:
    """The changes of a removal whose process dies at one of them, before or after it is made."""
    real, numbers = EntityRemoval._change_if, count()

    async def change_or_die(removal: EntityRemoval, operation: Any) -> bool:
        dies = next(numbers) >= number
        if dies and not after:
            raise Unavailable("The process is dead.")
        made = await real(removal, operation)
        if dies:
            raise Unavailable("The process is dead.")
        return made

    return change_or_die


@pytest.fixture
async def place(world: SinkWorld) -> AsyncIterator[Place]:
    async with open_place(world) as opened:
        yield opened


@on_sqlite
@pytest.mark.parametrize("after", [False, True])
async def test_a_removal_that_is_interrupted_at_any_write_is_made_by_the_next_worker(
    world: SinkWorld, place: Place, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        await accept(place.sink, car("car1", speed=1, oil=2))
        await world.wait_until_settled()
        place.watch.move(SECOND)
        with monkeypatch.context() as patched:
            patched.setattr(EntityRemoval, "_change_if", dying_at(number, after=after))
            job = await place.begin()
            assert await place.store.run_jobs("w") == 0
        assert await place.store.run_jobs("w") == 1
        assert (await follow(place.store, job.id)).state is JobState.DONE
        assert await list_names(world) == []
        left_rows = await contents(world.context.table)
        assert not [key for key in left_rows if key.pk.startswith("NA:")]
    assert await faults(world.context.table) == []


@on_sqlite
async def test_a_removal_costs_so_much(world: SinkWorld) -> None:
    await notify(world, 1, 2)
    async with open_place(world) as place:
        metered = MeteredTable(world.context.table)
        access = Access(metered, SUPER, Clock(place.watch), Budget())
        removal = EntityRemoval(access, CAR, "m")
        await removal.announce()
        # Three rows are marked, and 16 rows of counts tell of it: two units each.
        assert (metered.units.wcu, metered.units.calls) == (6 + 32, 5)
        metered.units.wcu = metered.units.calls = 0
        assert await removal.remove()
        assert (metered.units.wcu, metered.units.calls) == (6, 4)
        async with world.open_sink(QUICK, table=metered, shards=1) as sink:
            for _ in range(3):
                metered.units.wcu = 0
                await accept(sink, "car1")
                await world.wait_until_settled()
                await wait_until_released(sink)
            # The removals cost no unit of a notification once a process knows them.
            assert metered.units.wcu == 6
