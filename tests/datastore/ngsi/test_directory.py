"""The directory of received data as callers see it, page by page."""

from typing import Any

import pytest

from penstock.datastore.errors import NotFound, NotPermitted
from penstock.datastore.ngsi.directory import Service, ServicePath
from penstock.datastore.ngsi.notification import group_of
from penstock.datastore.roles import Caller, GroupPath, Role
from penstock.datastore.table.pages import Window
from tests.datastore.ngsi.sample_sinks import SinkWorld, car, notification
from tests.datastore.ngsi.test_repository import WHEELS, notify, reader
from tests.support.sample_resources import on_sqlite, walk, without_moto


@without_moto
async def test_entities_are_listed_by_id_prefix_and_type(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        names = ["urn:car:1", "urn:car:2", "urn:bus:1", "x"]
        bus = {"id": "urn:car:1", "type": "bus", "a": {"value": 1}}
        await sink.accept_notification(notification(*[car(name) for name in names], bus), 100)
        await sink.loader.drain()
    directory = reader(world).directory

    async def list_both_ways(**how: Any) -> list[tuple[str, str]]:
        found = await walk(lambda window: directory.entities(WHEELS, window, **how))
        back = await walk(lambda window: directory.entities(WHEELS, window, **how), backward=True)
        assert found == back
        return [(each.entity_id, each.entity_type) for each in found]

    whole = [("urn:bus:1", "car"), ("urn:car:1", "bus"), ("urn:car:1", "car")]
    assert await list_both_ways() == [*whole, ("urn:car:2", "car"), ("x", "car")]
    assert await list_both_ways(prefix="urn:car:1") == whole[1:]
    assert await list_both_ways(prefix="urn:c", type="bus") == whole[1:2]
    assert await list_both_ways(type="ca") == []
    assert await directory.entity(WHEELS, "urn:car:1", "tram") is None


@without_moto
async def test_attributes_are_listed_by_name(world: SinkWorld) -> None:
    await notify(world, 1)
    async with world.open_sink() as sink:
        await sink.accept_notification(notification(car("car1", **{"a:b": 1, "z": 2})), 100)
        await sink.loader.drain()
    directory = reader(world).directory
    entity = await directory.entity(WHEELS, "car1", "car")
    assert entity is not None
    found = await walk(lambda window: directory.attributes(entity, window))
    assert [(each.name, each.type) for each in found] == [
        ("a:b", "float"),
        ("speed", "float"),
        ("z", "float"),
    ]
    assert await directory.attribute(entity, "none") is None


async def tree(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        for service in ("vehicles", "Vehicles", "vehicles2", "rooms"):
            for path in ("/", "/a", "/a/b", "/ab", "/b"):
                await sink.accept_notification(
                    notification(fiware_service=service, fiware_servicepath=path), 100
                )
        await sink.loader.drain()


@pytest.mark.parametrize(
    ("roles", "services", "paths"),
    [
        (["/"], ["rooms", "vehicles2", "Vehicles", "vehicles"], ["/", "/a", "/ab", "/a/b", "/b"]),
        (["/vehicles"], ["Vehicles", "vehicles"], ["/", "/a", "/ab", "/a/b", "/b"]),
        (["/vehicles/a"], ["Vehicles", "vehicles"], ["/", "/a", "/a/b"]),
        (["/vehicles/a/b"], ["Vehicles", "vehicles"], ["/", "/a", "/a/b"]),
        (["/vehicles/a/b", "/vehicles/b"], ["Vehicles", "vehicles"], ["/", "/a", "/a/b", "/b"]),
        (["/vehicles/none"], ["Vehicles", "vehicles"], ["/"]),
        (["/vehicles2/a", "/rooms"], ["rooms", "vehicles2"], None),
        (["/vehicle"], [], None),
        ([], [], None),
    ],
)
@on_sqlite
async def test_a_caller_sees_what_is_on_one_line_with_their_groups(
    world: SinkWorld, roles: list[str], services: list[str], paths: list[str] | None
) -> None:
    await tree(world)
    caller = Caller("ann", {GroupPath(group): Role.READER for group in roles})
    notified = reader(world, caller)
    directory = notified.directory
    for backward in (False, True):
        seen = await walk(directory.services, backward=backward)
        assert [each.name for each in seen] == services
    if paths is None:
        with pytest.raises(NotFound):
            await directory.service("vehicles")
    else:
        of = await directory.service("vehicles")
        for backward in (False, True):
            listed = await walk(lambda window: directory.paths(of, window), backward=backward)
            assert [each.path for each in listed] == paths
        assert (await notified.service_counts(of)).received == len(paths)
    for path in ("/", "/a", "/a/b", "/ab", "/b", "/none"):
        if paths is not None and path in paths:
            assert await directory.path("vehicles", path) == ServicePath("vehicles", path)
        else:
            with pytest.raises(NotFound):
                await directory.path("vehicles", path)


@on_sqlite
async def test_a_service_is_unknown_to_who_sees_none_of_its_paths(world: SinkWorld) -> None:
    caller = Caller("ann", {GroupPath("/cars/x"): Role.READER, GroupPath("/boats"): Role.READER})
    directory = reader(world, caller).directory

    async def names() -> list[str]:
        return [each.name for each in await walk(directory.services)]

    async def receive(service: str, path: str) -> None:
        async with world.open_sink() as sink:
            made = notification(fiware_service=service, fiware_servicepath=path)
            await sink.accept_notification(made, 100)
            await sink.loader.drain()

    await receive("cars", "/y")
    await receive("boats", "/y")
    assert await names() == ["boats"]
    with pytest.raises(NotFound):
        await directory.service("cars")
    await receive("cars", "/x/z")
    assert await names() == ["boats", "cars"]
    assert await directory.service("cars") == Service("cars")


@on_sqlite
async def test_destinations_are_listed_for_readers_of_the_whole_service(world: SinkWorld) -> None:
    await tree(world)
    whole = reader(world, Caller("ann", {GroupPath("/vehicles"): Role.READER}))
    of = Service("vehicles")
    assert len(await walk(lambda window: whole.destinations(of, window))) == 5
    part = reader(world, Caller("ann", {GroupPath("/vehicles/a"): Role.READER}))
    with pytest.raises(NotPermitted):
        await part.destinations(of, Window())
    with pytest.raises(NotFound):
        await reader(world, Caller("eve", {})).destinations(of, Window())


def test_a_group_is_that_of_the_service_and_its_path() -> None:
    assert group_of("Vehicles", "/") == GroupPath("/vehicles")
    assert group_of("s", "/A/b") == GroupPath("/s/a/b")
