"""Positions: the points that values hold, areas, and pages of a bounded number of entities."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import BadArgument
from penstock.datastore.ngsi.directory import ServicePath
from penstock.datastore.ngsi.reading import positions
from penstock.datastore.ngsi.reading.positions import (
    Area,
    Box,
    Circle,
    Point,
    Position,
    distance,
    read_point,
)
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.datastore.ngsi.sample_sinks import SinkWorld
from tests.datastore.ngsi.stored_samples import store_locations
from tests.datastore.ngsi.test_repository import reader
from tests.support.sample_resources import on_sqlite, walk, without_moto

PATH = ServicePath("vehicles", "/map")
MADRID, VIGO = Point(40.4168, -3.7038), Point(42.2406, -8.7207)
POINTS = st.builds(Point, st.floats(-90, 90), st.floats(-180, 180))


@pytest.mark.parametrize(
    ("text", "point"),
    [
        ("40.4168, -3.7038", MADRID),
        ("40.4168,-3.7038", MADRID),
        ('"40.4168, -3.7038"', MADRID),
        ('{"type":"Point","coordinates":[-3.7038,40.4168]}', MADRID),
        ('{"type":"Point","coordinates":[-3.7038,40.4168,650]}', MADRID),
        ('{"type":"Point","coordinates":[180,-90]}', Point(-90, 180)),
        (None, None),
        ("", None),
        ("40.4", None),
        ("90.1, 0", None),
        ("0, 181", None),
        ("1e2, 3", None),
        ("{", None),
        ("{}", None),
        ('{"type":"Point","coordinates":[true,"x"]}', None),
        ('{"type":"Point","coordinates":["1","2"]}', None),
        ('{"type":"Point","coordinates":[1]}', None),
        ('{"type":"Point","coordinates":[1e400,2]}', None),
        ('{"type":"Point","coordinates":[1' + "0" * 400 + ",2]}", None),
        ('{"type":"Point","coordinates":[1,2,' + "[" * 1900 + "]" * 1900 + "]}", None),
        ('{"type":"Point","coordinates":[1,2]}'.ljust(4000), Point(2, 1)),
        ('{"type":"Point","coordinates":[1,2]}'.ljust(4001), None),
        ('{"type":"Polygon","coordinates":[[[1,2],[3,4],[5,6],[1,2]]]}', None),
        ("[1,2]", None),
    ],
)
def test_a_value_is_a_point_or_none(text: str | None, point: Point | None) -> None:
    assert read_point(text) == point


@given(POINTS, POINTS)
def test_distances_are_symmetric_and_bounded(one: Point, other: Point) -> None:
    there = distance(one, other)
    assert math.isclose(there, distance(other, one), abs_tol=1e-3)
    assert 0 <= there <= math.pi * positions.EARTH_METERS + 1e-3
    assert distance(one, one) == 0


def test_known_distances() -> None:
    assert round(distance(MADRID, VIGO) / 1000) == 465
    assert round(distance(Point(0, 179.5), Point(0, -179.5)) / 1000) == 111


def test_a_box_may_lie_across_the_antimeridian() -> None:
    box = Box(-10, 170, 10, -170)
    assert box.contains(Point(0, 175))
    assert box.contains(Point(0, -175))
    assert not box.contains(Point(0, 0))
    assert not box.contains(Point(11, 175))


@pytest.mark.parametrize(
    "area",
    [
        Area("location", near=Circle(Point(91, 0), 1)),
        Area("location", near=Circle(Point(math.nan, 0), 1)),
        Area("location", near=Circle(MADRID, 0)),
        Area("location", near=Circle(MADRID, math.inf)),
        Area("location", within=Box(1, 0, 0, 1)),
        Area("location", within=Box(0, 0, 1, 181)),
    ],
)
def test_what_is_no_area_is_refused(area: Area) -> None:
    with pytest.raises(BadArgument):
        area.check()


async def names(
    world: SinkWorld, area: Area, size: int = 1, *, backward: bool = False
) -> list[str]:
    pages = reader(world).positions
    found: list[Position] = await walk(
        lambda window: pages.page(PATH, area, window), size=size, backward=backward
    )
    return [position.entity.entity_id for position in found]


@without_moto
async def test_matches_are_walked_over_pages_that_may_be_empty(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(positions, "EXAMINED_TOGETHER", 2)
    monkeypatch.setattr(positions, "MAX_EXAMINED", 4)
    places = {f"car{n:02}": ["0, 0" if n % 7 else "40.4168, -3.7038"] for n in range(23)}
    store = Store(world.context.table, ngsi_access=reader(world).ingest)
    await store_locations(store, PATH.service, PATH.path, places)
    area = Area("location", near=Circle(MADRID, 10))
    expected = ["car00", "car07", "car14", "car21"]
    for size in (1, 2, 10):
        assert await names(world, area, size) == expected
        assert await names(world, area, size, backward=True) == expected
    empty = await reader(world).positions.page(PATH, area, Window(size=1, after="NE:car01:car"))
    assert (empty.entries, empty.more) == ((), True)


@on_sqlite
async def test_only_the_latest_point_of_an_attribute_and_type_counts(world: SinkWorld) -> None:
    store = Store(world.context.table, ngsi_access=reader(world).ingest)
    places = {"left": ["40.4168, -3.7038", "0, 0"], "there": ["40.4168, -3.7038"], "odd": ["x"]}
    await store_locations(store, PATH.service, PATH.path, places)
    near = Circle(MADRID, 10)
    assert await names(world, Area("location", near=near)) == ["there"]
    assert await names(world, Area("location")) == ["left", "there"]
    assert await names(world, Area("location", "bus", near)) == []
    assert await names(world, Area("place", near=near)) == []


@on_sqlite
async def test_fifty_entities_cost_so_many_calls(world: SinkWorld) -> None:
    store = Store(world.context.table, ngsi_access=reader(world).ingest)
    places = {f"car{n:02}": ["40.4168, -3.7038"] for n in range(50)}
    await store_locations(store, PATH.service, PATH.path, places)
    here = reader(world)
    page = await here.positions.page(PATH, Area("location"), Window(size=100))
    assert len(page.entries) == 50
    assert (here.units.calls, here.units.rcu) == (4, 100.5)
