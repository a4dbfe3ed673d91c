"""The registry of table names: every place gets a name, and no two places share one."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from penstock.datastore.errors import LimitExceeded
from penstock.datastore.ngsi.name_encoding import Encoding
from penstock.datastore.ngsi.options import DataModel, LongNames, Naming
from penstock.datastore.ngsi.table_names import Destination, Place, Registry, registered
from penstock.datastore.table.port import Table
from tests.support.sample_resources import walk

NAMING = Naming()
CAR = Place("vehicles", "/4wheels", "car1", "car")
NAME = "vehiclesxffffx002f4wheelsxffffcar1xffffcar"
NOW = "2022-08-10T23:55:20.322Z"


async def names(table: Table, service: str, **window: Any) -> list[str]:
    found = await walk(lambda page: registered(table, service, page), **window)
    return [destination.table for destination in found]


async def test_a_destination_is_registered_once_with_what_it_is_named_after(table: Table) -> None:
    for _ in range(2):
        assert await Registry(table).name("vehicles", CAR, NAMING, NOW) == NAME
    assert await walk(lambda page: registered(table, "vehicles", page)) == [
        Destination(
            service="vehicles",
            table=NAME,
            named_service="vehicles",
            named_path="/4wheels",
            named_entity="car1",
            named_type="car",
            data_model=DataModel.BY_ENTITY,
            encoding=Encoding.CYGNUS,
            created_at=NOW,
        )
    ]


async def test_a_service_lists_its_own_destinations_in_the_order_of_their_names(
    table: Table,
) -> None:
    registry = Registry(table)
    for id in ("b", "a", "c"):
        await registry.name("vehicles", CAR._replace(entity_id=id), NAMING, NOW)
    await registry.name("vehicles2", CAR._replace(service="vehicles2"), NAMING, NOW)
    found = [f"vehiclesxffffx002f4wheelsxffff{id}xffffcar" for id in "abc"]
    assert await names(table, "vehicles") == found
    assert await names(table, "vehicles", backward=True) == found
    assert await names(table, "vehicle") == []


async def test_by_service_path_entities_share_a_destination(table: Table) -> None:
    registry, naming = Registry(table), Naming(data_model=DataModel.BY_SERVICE_PATH)
    found = {
        await registry.name("vehicles", CAR._replace(entity_id=id), naming, NOW) for id in "abc"
    }
    assert found == {"vehiclesxffffx002f4wheels"}
    assert await names(table, "vehicles") == ["vehiclesxffffx002f4wheels"]


@pytest.mark.parametrize(
    ("one", "other", "naming"),
    [
        (Place("s", "/", "x:", "t"), Place("s", "/", "x003a", "t"), NAMING),
        (Place("s", "/", "a=b", "c"), Place("s", "/", "a", "b=c"), NAMING),
        (Place("s", "/", "A", "t"), Place("s", "/", "a", "t"), Naming(enable_lowercase=True)),
    ],
)
async def test_places_whose_names_collide_are_told_apart(
    table: Table, one: Place, other: Place, naming: Naming
) -> None:
    registry = Registry(table)
    first = await registry.name("s", one, naming, NOW)
    second = await registry.name("s", other, naming, NOW)
    assert first != second
    again = Registry(table)
    assert await again.name("s", other, naming, NOW) == second
    assert await again.name("s", one, naming, NOW) == first
    assert sorted(await names(table, "s")) == sorted([first, second])


async def test_services_that_are_mapped_to_one_share_its_destination(table: Table) -> None:
    registry = Registry(table)
    for service in ("a", "b"):
        assert await registry.name(service, CAR, NAMING, NOW) == NAME
        assert await names(table, service) == [NAME]


async def test_many_at_once_register_one_destination(table: Table) -> None:
    places = [Place("s", "/", id, "t") for id in ("x:", "x003a")]
    found = await asyncio.gather(
        *(Registry(table).name("s", place, NAMING, NOW) for place in places * 4)
    )
    assert len(set(found)) == 2
    assert len(await names(table, "s")) == 2


async def test_a_name_that_is_too_long_is_refused_where_that_is_wanted(table: Table) -> None:
    place = CAR._replace(entity_id="i" * 256)
    with pytest.raises(LimitExceeded):
        await Registry(table).name(
            "vehicles", place, replace(NAMING, long_names=LongNames.REJECT), NOW
        )
    assert await names(table, "vehicles") == []
    assert len(await Registry(table).name("vehicles", place, NAMING, NOW)) == 227
