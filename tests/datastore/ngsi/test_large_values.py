"""Large values: stored in files beside the other attributes, read back, and gone with them."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from penstock.datastore.access.work import large_value_units
from penstock.datastore.clock import Clock
from penstock.datastore.errors import Unavailable
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.large_values import FOLDER, LargeValues, stored_values
from penstock.datastore.ngsi.options import (
    BatchingOptions,
    ItemLayout,
    Persistence,
    RetentionTimes,
    ValueFormat,
    parse_lifetimes,
)
from penstock.datastore.ngsi.reading import series
from penstock.datastore.ngsi.reading.series import ALL_TIMES
from penstock.datastore.ngsi.retention.sweep import RetentionSweep
from penstock.datastore.objects.chunks import single_chunk
from penstock.datastore.table.limits import ITEM_BYTES
from penstock.datastore.table.pages import Window
from tests.datastore.ngsi.retention.test_sample_deletion import open_place
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld, car
from tests.datastore.ngsi.test_repository import notify, reader, speed, texts
from tests.datastore.ngsi.test_sink import accept
from tests.support.sample_resources import Watch, on_sqlite, without_moto
from tests.support.work_account import Account

LARGE = "€" * (ITEM_BYTES // 3)
COLUMN = ItemLayout(attr_persistence=Persistence.COLUMN)
TYPED = ItemLayout(value_format=ValueFormat.TYPED)


async def stored_files(world: SinkWorld) -> tuple[str, ...]:
    return await world.context.files.list(f"{FOLDER}/")


async def accept_car(world: SinkWorld, layout: ItemLayout, **attributes: Any) -> IngestCounts:
    async with world.open_sink(replace(QUICK, layout=layout)) as sink:
        await accept(sink, car("car1", **attributes))
        return await world.wait_until_settled()


async def test_a_value_larger_than_an_item_is_stored_beside_the_others(world: SinkWorld) -> None:
    counts = await accept_car(world, ItemLayout(), speed=LARGE, oil=1)
    assert counts == IngestCounts(received=1, persisted=1, items=2)
    assert await texts(world, await speed(world)) == [LARGE]
    items = {str(item["attrName"]): item for item in await world.read_samples()}
    assert items["oil"]["attrValue"] == "1"
    assert items["speed"]["attrValue"] is None
    (file,) = await stored_files(world)
    named = {"attrValue": {"file": file, "size": len(LARGE.encode())}}
    assert items["speed"]["attrValueFiles"] == named


@without_moto
@pytest.mark.parametrize("layout", [COLUMN, TYPED], ids=["column", "typed"])
async def test_large_values_of_every_layout_are_read_back(
    world: SinkWorld, layout: ItemLayout
) -> None:
    value = {"points": ["x" * 1000] * 450}
    counts = await accept_car(world, layout, speed=value, oil=[1] * 9, level=7)
    assert (counts.persisted, counts.dead_lettered) == (1, 0)
    of = await speed(world)
    (text,) = await texts(world, of)
    assert text.startswith('{"points":["xxx')
    assert len(text) == len('{"points":[]}') + 450 * 1003 - 1
    oil = await reader(world).directory.attribute(of.entity, "oil")
    assert oil is not None
    assert await texts(world, oil) == ["[1,1,1,1,1,1,1,1,1]"]
    assert len(await stored_files(world)) == 1


@on_sqlite
async def test_a_page_holds_so_many_bytes_of_large_values_and_the_next_goes_on(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series, "READ_BYTES", 2 * len(LARGE.encode()))
    values = [1, LARGE, LARGE + "2", 2, LARGE + "3", 3]
    await notify(world, *values)
    of, expected = await speed(world), list(map(str, values))
    page = await reader(world).series.page(of, ALL_TIMES, Window(size=10))
    assert ([sample.text for _, sample in page.entries], page.more) == (expected[:2], True)
    last = await reader(world).series.page(of, ALL_TIMES, Window(size=10, backward=True))
    assert ([sample.text for _, sample in last.entries], last.more) == (expected[3:], True)
    for size, backward in ((10, False), (1, False), (10, True)):
        assert await texts(world, of, size=size, backward=backward) == expected
    newest = await texts(world, of, size=10, newest_first=True)
    assert newest == expected[::-1]


@on_sqlite
async def test_the_caller_pays_for_the_bytes_and_charts_read_none(world: SinkWorld) -> None:
    await notify(world, 1, LARGE)
    of, work = await speed(world), Account()
    here = reader(world)
    paid = replace(here, access=structs.replace(here.access, work=work))
    assert [sample.number async for sample in paid.charts.walk(of, ALL_TIMES)] == [1, None]
    # One unit for each walk.
    assert (work.taken, work.owed) == (1, 1)
    await paid.series.page(of, ALL_TIMES, Window(size=10))
    assert work.taken == 1 + large_value_units(len(LARGE.encode())) == 1 + 41


@without_moto
async def test_a_bucket_that_fails_delays_a_large_value_and_loses_nothing(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    batching = BatchingOptions(ttl=-1, retry_intervals=(0.01,))
    failures, real = [Unavailable("busy")] * 3, LargeValues.move_values

    async def fail_at_first(self: LargeValues, item: Any) -> Any:
        small = await real(self, item)
        if failures:
            raise failures.pop()
        return small

    monkeypatch.setattr(LargeValues, "move_values", fail_at_first)
    async with world.open_sink(replace(QUICK, batching=batching)) as sink:
        await accept(sink, car("car1", speed=LARGE, oil=1))
        counts = await world.recount()
    assert counts == IngestCounts(received=1, persisted=1, items=2)
    assert await texts(world, await speed(world)) == [LARGE]
    # However often it was written, it is one file.
    assert len(await stored_files(world)) == 1


@without_moto
async def test_a_deleted_sample_takes_its_file_along(world: SinkWorld) -> None:
    await notify(world, 1, LARGE)
    assert len(await stored_files(world)) == 1
    async with open_place(world) as place:
        assert (await place.delete()).done == 2
    assert await stored_files(world) == ()


@on_sqlite
async def test_the_file_of_a_sample_that_expires_goes_by_the_sweep(world: SinkWorld) -> None:
    watch, day = Watch(), timedelta(days=1)
    options = replace(QUICK, layout=ItemLayout(lifetimes=parse_lifetimes("30,/rooms=0")))
    async with world.open_sink(options, clock=Clock(watch), lease_seconds=60) as sink:
        await accept(sink, car("car1", speed=LARGE))
        await accept(sink, car("car1", speed=LARGE), fiware_service="rooms")
        await world.wait_until_settled(("vehicles", "/4wheels"), ("rooms", "/4wheels"))
        expiring, kept = await stored_files(world)
        assert (expiring.split("/")[2], kept.split("/")[2]) == ("2022-09-09", "kept")
        sweep = RetentionSweep(sink.committer, RetentionTimes(segments=365 * day))
        watch.move(31 * day)
        assert await sweep.remove_old() == 0
        watch.move(day)
        assert await sweep.remove_old() == 1
        assert await stored_files(world) == (kept,)


@on_sqlite
async def test_a_column_item_may_have_attributes_named_like_the_fields_of_a_row(
    world: SinkWorld,
) -> None:
    counts = await accept_car(world, COLUMN, attrName="x", attrValue="y", speed=LARGE)
    assert counts == IngestCounts(received=1, persisted=1, items=1)
    assert await texts(world, await speed(world)) == [LARGE]


@pytest.mark.parametrize(
    "named",
    [
        "text",
        ["attrValue"],
        {"attrValue": 1},
        {"attrValue": {"file": 1, "size": 1}},
        {"attrValue": {"file": "pipelines/theirs/input.txt", "size": 9}},
        {"attrValue": {"file": f"{FOLDER}/kept/{'0' * 64}", "size": 9}},
    ],
)
def test_an_item_has_no_files_but_its_own(named: Any) -> None:
    item = {"pk": "vehicles:/4wheels:car1:car:speed", "sk": "001429535775005:abc"}
    assert stored_values({**item, "attrValueFiles": named}) == {}


@on_sqlite
async def test_a_value_of_another_size_than_its_sample_says_is_not_given(world: SinkWorld) -> None:
    await notify(world, LARGE)
    (file,) = await stored_files(world)
    await world.context.files.write(file, single_chunk(b"[1]"), content_type="application/json")
    of = await speed(world)
    with pytest.raises(Unavailable):
        await texts(world, of)
