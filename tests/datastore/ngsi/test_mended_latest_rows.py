"""Rows of latest samples that are behind a stored sample are found and raised; others are right."""

from dataclasses import replace
from typing import Any

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.clock import Clock
from penstock.datastore.mending.latest_samples import (
    LatestDifferences,
    LatestSamplesMending,
    RowBehind,
)
from penstock.datastore.ngsi.directory import Directory
from penstock.datastore.ngsi.large_values import LargeValues
from penstock.datastore.ngsi.latest_rows import row_key
from penstock.datastore.ngsi.options import ItemLayout, Persistence
from penstock.datastore.ngsi.reading.series import SeriesReader
from penstock.datastore.ngsi.run_log import SINK_CALLER
from penstock.datastore.table.instrumentation import MeteredTable, Units
from penstock.datastore.table.port import Delete, Update
from tests.datastore.ngsi.latest_checks import check_latest
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld, car
from tests.datastore.ngsi.test_latest_rows import CAR, RefusingDestinations, entries
from tests.datastore.ngsi.test_repository import notify, reader
from tests.datastore.ngsi.test_sink import accept
from tests.support.sample_resources import on_sqlite, without_moto
from tests.support.table_interceptors import InterruptedTable

EARLY = "000000000000001:0"
LATE = "999999999999999:0"


def mending(world: SinkWorld, table: Any = None) -> LatestSamplesMending:
    access = Access(table or world.context.table, SINK_CALLER, Clock(), Budget())
    samples = SeriesReader(
        world.context.destinations,
        access.budget.rounds,
        Units(),
        access.clock,
        LargeValues(world.context.files),
        access.work,
    )
    return LatestSamplesMending(Directory(access), samples)


def ignore(_: int) -> None:
    """Show no progress."""


async def set_entry(world: SinkWorld, **keys: str) -> None:
    found = {f"key:{name}": key for name, key in keys.items()}
    await world.context.table.transact([Update(key=row_key(CAR), set=dict(found))])


@without_moto
async def test_a_row_that_is_behind_a_sample_is_found_and_raised(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        await accept(sink, "car1", "car2")
        await world.wait_until_settled()
    right = await entries(world)
    await set_entry(world, speed=EARLY)
    damaged = await entries(world)
    mends = mending(world)
    found = await mends.find(ignore)
    wanted = RowBehind(CAR, {"speed": EARLY}, {"speed": right["key:speed"]})
    assert found == LatestDifferences([wanted], 4, 0)
    assert await entries(world) == damaged
    await mends.raise_rows(found.rows)
    assert await entries(world) == right
    assert await mends.find(ignore) == ([], 4, 0)
    assert await check_latest(world.context.table, reader(world)) == 4


@without_moto
async def test_entries_that_name_no_sample_are_right(world: SinkWorld) -> None:
    """So are those that are missing, and missing rows: they cost a query each."""
    async with world.open_sink() as sink:
        await accept(sink, *(f"car{number}" for number in range(10)))
        await world.wait_until_settled()
    await set_entry(world, speed=LATE)
    await world.context.table.transact([Update(key=row_key(CAR), remove=("key:oil_level",))])
    await world.context.table.write([Delete(row_key(CAR._replace(entity="car2")))])
    assert await mending(world).find(ignore) == ([], 20, 0)


@on_sqlite
async def test_a_later_item_of_columns_without_the_attribute_is_no_sample_of_it(
    world: SinkWorld,
) -> None:
    columns = replace(QUICK, layout=ItemLayout(attr_persistence=Persistence.COLUMN))
    async with world.open_sink(columns) as sink:
        for attributes in ({"speed": 1, "oil": 1}, {"speed": 2}):
            await accept(sink, car("car1", **attributes))
            await world.wait_until_settled()
    assert await mending(world).find(ignore) == ([], 2, 0)


@on_sqlite
async def test_samples_that_cannot_be_read_are_told_of(world: SinkWorld) -> None:
    await notify(world, 1)
    refusing = RefusingDestinations(world.context.destinations, "query")
    broken = SinkWorld(replace(world.context, destinations=refusing))
    assert await mending(broken).find(ignore) == ([], 1, 1)


@on_sqlite
async def test_a_row_that_another_server_raises_meanwhile_keeps_what_is_later(
    world: SinkWorld,
) -> None:
    await notify(world, 1)
    await set_entry(world, speed=EARLY)
    found = await mending(world).find(ignore)

    async def raise_further() -> None:
        await set_entry(world, speed=LATE)

    racing = mending(world, InterruptedTable(world.context.table, raise_further))
    await racing.raise_rows(found.rows)
    assert await entries(world) == {"key:speed": LATE}


@on_sqlite
async def test_the_check_reads_each_entity_and_each_series_and_writes_nothing(
    world: SinkWorld,
) -> None:
    async with world.open_sink() as sink:
        await accept(sink, *(f"car{number}" for number in range(10)))
        await world.wait_until_settled()
    metered = MeteredTable(world.context.table)
    mends = mending(world, metered)
    await mends.find(ignore)
    # The service, its path, the entities, the attributes of each, and rows of 8 and of 2.
    assert (metered.units.calls, metered.units.wcu) == (3 + 10 + 2, 0)
    assert mends.reader.units.calls == 20
