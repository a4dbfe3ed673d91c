"""The access patterns for events: their effect has already happened; one test for each row."""

import pytest

from penstock.datastore.store import Store
from tests.documents.test_resource_management import (
    DELETE_GROUP,
    FRANCE,
    GRANT,
    NORTHWEST,
    PIPELINE,
    REVOKE,
    VALUES,
)
from tests.support.graphql_client import Ask, tag_inputs


@pytest.fixture(params=["pipeline", "calculation"])
def ask(store: Store, request: pytest.FixtureRequest) -> Ask:
    """Ask of each kind of resource what the documents ask of pipelines."""
    return Ask(store, request.param)


async def test_process_the_group_created_event(ask: Ask) -> None:
    """process the group created event"""
    await ask.create_groups("/usa")
    await ask.make("/usa", "one", "scope=1")
    await ask.create_groups("/usa/northwest")
    assert await ask.names("/usa/northwest", NORTHWEST) == ["one"]
    assert await ask.names("/usa/northwest", tags={"all": tag_inputs("scope=1")}) == ["one"]
    counted = (await ask(VALUES, {"group": "/usa/northwest"}, NORTHWEST)).value
    assert counted["nodes"] == [{"value": "1", "count": 1}]


async def test_process_the_group_deleted_event(ask: Ask) -> None:
    """process the group deleted event"""
    await ask.create_groups("/usa", "/usa/northwest")
    above = await ask.make("/usa", "above", "scope=1")
    within = await ask.make("/usa/northwest", "within", "scope=2")
    refused = await ask.input(DELETE_GROUP, path="/usa/northwest")
    assert refused["code"] == "ILLEGAL_STATE"
    assert (await ask(PIPELINE, {"id": within})).value["name"] == "within"
    gone = "mutation($i: DeletePipelineInput!) { deletePipeline(input: $i) { __typename } }"
    await ask(gone, {"i": {"id": within}})
    assert (await ask.input(DELETE_GROUP, path="/usa/northwest"))["group"]
    assert (await ask(PIPELINE, {"id": above}, NORTHWEST)).value["name"] == "above"
    assert await ask.names("/usa") == ["above"]
    assert (await ask(VALUES, {"group": "/usa"})).value["nodes"] == [{"value": "1", "count": 1}]


async def test_process_the_group_membership_granted_event(ask: Ask) -> None:
    """process the group membership granted event"""
    await ask.create_groups()
    id = await ask.make("/usa", "one", "scope=1")
    assert await ask.names("/eu/france", FRANCE) == []
    assert (await ask.input(GRANT, id=id, group="/eu"))["changed"] is True
    assert await ask.names("/eu/france", FRANCE) == ["one"]
    assert await ask.names("/eu/france", FRANCE, tags={"all": tag_inputs("scope=1")}) == ["one"]
    inherited = await ask.input(GRANT, id=id, group="/eu/france")
    assert (inherited["changed"], inherited["pipeline"]["groups"]) == (False, ["/usa", "/eu"])


async def test_process_the_group_membership_revoked_event(ask: Ask) -> None:
    """process the group membership revoked event"""
    await ask.create_groups()
    id = await ask.make("/usa/northwest", "one", "scope=1")
    await ask.input(GRANT, id=id, group="/eu")
    assert (await ask(PIPELINE, {"id": id}, FRANCE)).value["name"] == "one"
    await ask.input(REVOKE, id=id, group="/eu")
    assert (await ask(PIPELINE, {"id": id}, FRANCE)).code == "NOT_FOUND"
    assert await ask.names("/eu/france", FRANCE) == []
    assert (await ask(VALUES, {"group": "/eu/france"}, FRANCE)).value["nodes"] == []
    await ask.input(GRANT, id=id, group="/")
    assert await ask.names("/eu/france", FRANCE) == ["one"]
    narrowed = await ask.input(REVOKE, id=id, group="/")
    assert narrowed["pipeline"]["groups"] == ["/usa/northwest"]
    assert await ask.names("/eu/france", FRANCE) == []
