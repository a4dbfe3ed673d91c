"""The registry of table names: every place gets a name, and no two places share one."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from penstock.datastore.access.work import NEW_TABLE_UNITS
from penstock.datastore.errors import LimitExceeded
from penstock.datastore.ngsi.name_encoding import Encoding
from penstock.datastore.ngsi.naming.table_names import (
    Destination,
    NamingPlace,
    TableNameRegistry,
    list_destinations,
)
from penstock.datastore.ngsi.options import DataModel, LongNames, NamingOptions
from penstock.datastore.table.port import Table
from tests.support.sample_resources import walk
from tests.support.work_account import Account

NAMING = NamingOptions()
CAR = NamingPlace("vehicles", "/4wheels", "car1", "car")
NAME = "vehiclesxffffx002f4wheelsxffffcar1xffffcar"
NOW = "2022-08-10T23:55:20.322Z"


async def names(table: Table, service: str, **window: Any) -> list[str]:
    found = await walk(lambda page: list_destinations(table, service, page), **window)
    return [destination.table for destination in found]


async def test_a_destination_is_registered_once_with_what_it_is_named_after(table: Table) -> None:
    for _ in range(2):
        assert await TableNameRegistry(table).name_table("vehicles", CAR, NAMING, NOW) == NAME
    assert await walk(lambda page: list_destinations(table, "vehicles", page)) == [
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


async def test_who_sends_the_first_samples_of_a_table_owes_it(table: Table) -> None:
    account, other = Account(), Account()
    for _ in range(2):
        await TableNameRegistry(table).name_table("vehicles", CAR, NAMING, NOW, account)
        await TableNameRegistry(table).name_table("vehicles", CAR, NAMING, NOW, other)
    assert (account.owed, other.owed) == (NEW_TABLE_UNITS, 0)


async def test_a_service_lists_its_own_destinations_in_the_order_of_their_names(
    table: Table,
) -> None:
    registry = TableNameRegistry(table)
    for id in ("b", "a", "c"):
        await registry.name_table("vehicles", CAR._replace(entity_id=id), NAMING, NOW)
    await registry.name_table("vehicles2", CAR._replace(service="vehicles2"), NAMING, NOW)
    found = [f"vehiclesxffffx002f4wheelsxffff{id}xffffcar" for id in "abc"]
    assert await names(table, "vehicles") == found
    assert await names(table, "vehicles", backward=True) == found
    assert await names(table, "vehicle") == []


async def test_by_service_path_entities_share_a_destination(table: Table) -> None:
    registry, naming = TableNameRegistry(table), NamingOptions(data_model=DataModel.BY_SERVICE_PATH)
    found = {
        await registry.name_table("vehicles", CAR._replace(entity_id=id), naming, NOW)
        for id in "abc"
    }
    assert found == {"vehiclesxffffx002f4wheels"}
    assert await names(table, "vehicles") == ["vehiclesxffffx002f4wheels"]


@pytest.mark.parametrize(
    ("one", "other", "naming"),
    [
        (NamingPlace("s", "/", "x:", "t"), NamingPlace("s", "/", "x003a", "t"), NAMING),
        (NamingPlace("s", "/", "a=b", "c"), NamingPlace("s", "/", "a", "b=c"), NAMING),
        (
            NamingPlace("s", "/", "A", "t"),
            NamingPlace("s", "/", "a", "t"),
            NamingOptions(enable_lowercase=True),
        ),
    ],
)
async def test_places_whose_names_collide_are_told_apart(
    table: Table, one: NamingPlace, other: NamingPlace, naming: NamingOptions
) -> None:
    registry = TableNameRegistry(table)
    first = await registry.name_table("s", one, naming, NOW)
    second = await registry.name_table("s", other, naming, NOW)
    assert first != second
    again = TableNameRegistry(table)
    assert await again.name_table("s", other, naming, NOW) == second
    assert await again.name_table("s", one, naming, NOW) == first
    assert sorted(await names(table, "s")) == sorted([first, second])


async def test_services_that_are_mapped_to_one_share_its_destination(table: Table) -> None:
    registry = TableNameRegistry(table)
    for service in ("a", "b"):
        assert await registry.name_table(service, CAR, NAMING, NOW) == NAME
        assert await names(table, service) == [NAME]


async def test_many_at_once_register_one_destination(table: Table) -> None:
    places = [NamingPlace("s", "/", id, "t") for id in ("x:", "x003a")]
    found = await asyncio.gather(
        *(TableNameRegistry(table).name_table("s", place, NAMING, NOW) for place in places * 4)
    )
    assert len(set(found)) == 2
    assert len(await names(table, "s")) == 2


async def test_a_name_that_is_too_long_is_refused_where_that_is_wanted(table: Table) -> None:
    place = CAR._replace(entity_id="i" * 256)
    with pytest.raises(LimitExceeded):
        await TableNameRegistry(table).name_table(
            "vehicles", place, replace(NAMING, long_names=LongNames.REJECT), NOW
        )
    assert await names(table, "vehicles") == []
    assert len(await TableNameRegistry(table).name_table("vehicles", place, NAMING, NOW)) == 227
