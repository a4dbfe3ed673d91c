"""Tenants of NGSI-LD and FIWARE services: apart, also where they have one name."""

import pytest

from penstock.datastore.errors import BadArgument
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.linked_data.tenants import Tenants
from penstock.datastore.ngsi.notification import NotificationDefaults, read_headers
from tests.datastore.ngsi.sample_notifications import heading, read
from tests.datastore.ngsi.sample_sinks import SinkWorld, car
from tests.support.sample_resources import walk

TOGETHER = NotificationDefaults(tenants=Tenants.SERVICES)


def test_a_tenant_has_a_service_that_no_header_of_fiware_names() -> None:
    assert heading(ngsild_tenant="t1").service == "ngsild:t1"
    assert heading(ngsild_tenant="urn:ngsi-ld:tenant:01").service == "ngsild:urn:ngsi-ld:tenant:01"
    assert heading(fiware_service="t1").service == "t1"
    with pytest.raises(BadArgument, match="Fiware-Service"):
        heading(fiware_service="ngsild:t1")


@pytest.mark.parametrize("tenant", ["", " ", "a/b", "t" * 51, "é", "a,b", "ngsild t1", ".", ".."])
def test_what_is_no_tenant_is_refused(tenant: str) -> None:
    with pytest.raises(BadArgument, match="NGSILD-Tenant"):
        heading(ngsild_tenant=tenant)


@pytest.mark.parametrize("service", ["t1", "t2", "default", ""])
def test_a_tenant_beside_a_service_is_refused(service: str) -> None:
    with pytest.raises(BadArgument, match="send one"):
        heading(ngsild_tenant="t1", fiware_service=service)


def test_a_setting_makes_tenants_and_services_the_same() -> None:
    assert read_headers({"ngsild-tenant": "t1"}, TOGETHER).service == "t1"
    both = {"ngsild-tenant": "t1", "fiware-service": "t1"}
    assert read_headers(both, TOGETHER).service == "t1"
    with pytest.raises(BadArgument, match="send one"):
        read_headers({**both, "fiware-service": "t2"}, TOGETHER)


def test_a_notification_without_a_tenant_is_of_the_default_service() -> None:
    assert heading(ngsild_attribute_format="Normalized").service == "default"


async def test_equal_names_are_stored_listed_and_read_apart(world: SinkWorld) -> None:
    tenant, service = ("ngsild:red", "/4wheels"), ("red", "/4wheels")
    async with world.open_sink() as sink:
        for name, value in (("ngsild_tenant", "red"), ("fiware_service", "red")):
            sent = read({"data": [car("car1")]}, fiware_servicepath="/4wheels", **{name: value})
            await sink.accept_notification(sent, 100)
        await world.wait_until_settled(tenant, service)
    for at in (tenant, service):
        assert await world.recount(at) == IngestCounts(received=1, persisted=1, items=2)
    one, other = [
        {str(item["pk"]) for item in await world.read_samples(at)} for at in (tenant, service)
    ]
    assert one
    assert not one & other
    for role, seen in (("/ngsild:red=reader", "ngsild:red"), ("/red=reader", "red")):
        directory = world.caller("ann", role).notifications.directory
        assert [each.name for each in await walk(directory.services)] == [seen]
