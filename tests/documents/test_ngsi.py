"""The access patterns of the sink's data, one test for each row."""

import json
from pathlib import Path
from typing import Any

from penstock.datastore.ngsi.directory import ServicePath
from penstock.datastore.ngsi.hours.reader import FIRST_PAGE
from penstock.datastore.store import Store
from tests.datastore.ngsi.sample_sinks import car, notification, open_world
from tests.datastore.ngsi.stored_samples import store_dead_letter, store_locations, store_samples
from tests.support.graphql_client import Ask, as_caller

CARLA = as_caller("carla", "/vehicles/4wheels=contributor")
ADA = as_caller("ada", "/vehicles=admin")
PATH = """query($service: String!, $path: String!) { ngsiService(name: $service) {
  servicePath(path: $path) { %s } } }"""
SPEED = 'entity(id: "car1", type: "car") { attribute(name: "speed") { %s } }'
WHEELS = {"service": "vehicles", "path": "/4wheels"}
DESTINATIONS = """{ ngsiService(name: "vehicles") { destinations { nodes {
  table dataModel encoding namedService namedPath namedEntity namedType } } } }"""
REPLAY = """mutation($input: ReplayDeadLettersInput!) { replayDeadLetters(input: $input) {
  __typename ...on ReplayDeadLettersPayload { replayed { letter { id } events dead } }
  ...on UserError { code message path } } }"""
DELETE = """mutation($input: DeleteDeadLettersInput!) { deleteDeadLetters(input: $input) {
  __typename ...on DeleteDeadLettersPayload { letters { id } }
  ...on UserError { code message path } } }"""
SAMPLES = {
    "service": "vehicles",
    "servicePath": "/4wheels",
    "entityId": "car1",
    "entityType": "car",
}
DELETE_SAMPLES = """mutation($input: DeleteNgsiSamplesInput!) { deleteNgsiSamples(input: $input) {
  __typename ...on DeleteNgsiSamplesPayload { job { id kind } }
  ...on UserError { code message path } } }"""
JOB = "query($id: ID!) { job(id: $id) { state done total } }"
PUT = """mutation($mappings: String!, $grouping: String!) {
  a: putNameMappings(input: {document: $mappings}) { __typename }
  b: putGroupingRules(input: {document: $grouping}) { __typename } }"""


async def of_path(ask: Ask, shown: str, **more: Any) -> Any:
    answer = await ask(PATH % shown, WHEELS, CARLA)
    return answer.value["servicePath"]


async def test_list_services(ask: Ask) -> None:
    """list services"""
    for service in ("vehicles", "rooms", "vehicles2"):
        await store_samples(ask.store, service, "/4wheels")
    services = "{ ngsiServices { nodes { name } } }"
    assert (await ask(services, {}, CARLA)).value == {"nodes": [{"name": "vehicles"}]}
    assert len((await ask(services)).value["nodes"]) == 3


async def test_list_the_paths_of_a_service(ask: Ask) -> None:
    """list the paths of a service"""
    for path in ("/", "/2wheels", "/4wheels", "/4wheels/vans"):
        await store_samples(ask.store, path=path)
    paths = '{ ngsiService(name: "vehicles") { servicePaths { nodes { path } } } }'
    seen = (await ask(paths, {}, CARLA)).value["servicePaths"]["nodes"]
    assert [each["path"] for each in seen] == ["/", "/4wheels", "/4wheels/vans"]


async def test_list_the_entities_of_a_service_path(ask: Ask) -> None:
    """list the entities of a service path"""
    await store_samples(ask.store, entities=("car1", "car2", "bus1"))
    found = await of_path(ask, 'entities(idPrefix: "car") { nodes { entityId entityType } }')
    assert found == {
        "entities": {
            "nodes": [{"entityId": name, "entityType": "car"} for name in ("car1", "car2")]
        }
    }


async def test_list_the_attributes_of_an_entity(ask: Ask) -> None:
    """list the attributes of an entity"""
    await store_samples(ask.store)
    found = await of_path(
        ask, 'entity(id: "car1", type: "car") { attributes { nodes { name type } } }'
    )
    assert found["entity"]["attributes"]["nodes"] == [
        {"name": "oil_level", "type": "float"},
        {"name": "speed", "type": "float"},
    ]


async def test_get_the_latest_value_of_an_attribute(ask: Ask) -> None:
    """get the latest value of an attribute"""
    await store_samples(ask.store, samples=3)
    found = await of_path(ask, SPEED % "latest { recvTime text number metadata }")
    assert found["entity"]["attribute"]["latest"] == {
        "recvTime": "2015-04-20T13:16:17.005Z",
        "text": "2",
        "number": "2",
        "metadata": "[]",
    }


async def test_get_the_latest_values_of_many_attributes(ask: Ask) -> None:
    """get the latest values of many attributes"""
    await store_samples(ask.store, entities=("car1", "car2", "car3"), samples=3)
    found = await of_path(
        ask, 'entities { nodes { entityId attribute(name: "speed") { latest { text } } } }'
    )
    assert found["entities"]["nodes"] == [
        {"entityId": name, "attribute": {"latest": {"text": "2"}}}
        for name in ("car1", "car2", "car3")
    ]


async def test_find_entities_inside_an_area(ask: Ask) -> None:
    """find entities inside an area"""
    places: dict[str, list[Any]] = {
        "madrid": ["0, 0", "40.4168, -3.7038"],
        "toledo": [{"type": "Point", "coordinates": [-4.0273, 39.8628]}],
        "vigo": ["42.2406, -8.7207"],
    }
    await store_locations(ask.store, "vehicles", "/4wheels", places)
    shown = "nodes { entity { entityId } latitude time meters }"
    near = "near: {latitude: 40.4168, longitude: -3.7038, meters: 100000}"
    found = await of_path(ask, f"positions({near}) {{ {shown} }}")
    madrid, toledo = found["positions"]["nodes"]
    assert madrid == {
        "entity": {"entityId": "madrid"},
        "latitude": 40.4168,
        "time": "2015-04-20T13:16:16.005Z",
        "meters": 0,
    }
    assert toledo["entity"] == {"entityId": "toledo"}
    assert round(toledo["meters"]) == 67461
    box = "within: {south: 42, west: -9, north: 43, east: -8}"
    found = await of_path(ask, f"positions({box}) {{ nodes {{ entity {{ entityId }} meters }} }}")
    assert found["positions"]["nodes"] == [{"entity": {"entityId": "vigo"}, "meters": None}]


async def test_list_the_values_of_an_attribute_between_two_times(ask: Ask) -> None:
    """list the values of an attribute between two times"""
    await store_samples(ask.store, samples=6)
    times = 'from: "2015-04-20T13:16:16.005Z", to: "2015-04-20T13:16:19Z"'
    found = await of_path(
        ask, SPEED % f"series({times}, order: NEWEST_FIRST) {{ nodes {{ text }} }}"
    )
    assert found["entity"]["attribute"]["series"]["nodes"] == [
        {"text": text} for text in ("3", "2", "1")
    ]


async def test_aggregate_the_values_of_an_attribute_by_hours_days_months_or_years(ask: Ask) -> None:
    """aggregate the values of an attribute by hours, days, months or years"""
    await store_samples(ask.store, samples=FIRST_PAGE + 1)
    for _ in range(2):
        for period in ("HOUR", "DAY", "MONTH", "YEAR"):
            shown = f"aggregate(method: MAX, period: {period}) {{ samples value }}"
            found = await of_path(ask, SPEED % shown)
            (bucket,) = found["entity"]["attribute"]["aggregate"]
            assert bucket == {"samples": FIRST_PAGE + 1, "value": str(FIRST_PAGE)}


async def test_list_the_destinations_of_a_service(ask: Ask) -> None:
    """list the destinations of a service"""
    await store_samples(ask.store)
    assert (await ask(DESTINATIONS)).value["destinations"]["nodes"] == [
        {
            "table": "vehiclesxffffx002f4wheelsxffffcar1xffffcar",
            "dataModel": "BY_ENTITY",
            "encoding": "CYGNUS",
            "namedService": "vehicles",
            "namedPath": "/4wheels",
            "namedEntity": "car1",
            "namedType": "car",
        }
    ]
    assert (await ask(DESTINATIONS, {}, CARLA)).errors[0]["extensions"]["code"] == "FORBIDDEN"


async def test_count_what_came_in_of_a_service_path(ask: Ask) -> None:
    """count what came in of a service path"""
    await store_samples(ask.store, samples=3)
    await store_dead_letter(ask.store)
    shown = "received persisted duplicates deadLettered pending items"
    expected = dict(zip(shown.split(), (4, 3, 0, 1, 0, 6), strict=True))
    assert (await of_path(ask, f"counts {{ {shown} }}")) == {"counts": expected}
    whole = await ask(f'{{ ngsiService(name: "vehicles") {{ counts {{ {shown} }} }} }}')
    assert whole.value == {"counts": expected}


async def test_list_dead_letters(ask: Ask) -> None:
    """list dead letters"""
    ids = [await store_dead_letter(ask.store, reason=reason) for reason in ("one", "two")]
    await store_dead_letter(ask.store, path="/2wheels")
    found = await of_path(ask, "deadLetters { nodes { id reason events attempts firstSeen } }")
    assert found["deadLetters"]["nodes"] == [
        {
            "id": id,
            "reason": reason,
            "events": 1,
            "attempts": 11,
            "firstSeen": "2015-04-20T13:16:15.005Z",
        }
        for id, reason in zip(reversed(ids), ("two", "one"), strict=True)
    ]


async def test_try_dead_letters_again(store: Store, tmp_path: Path) -> None:
    """try dead letters again"""
    async with open_world(store.table, store.ngsi_access.destinations, tmp_path) as world:
        async with world.open_sink() as sink:
            await sink.accept_notification(notification({"type": "car"}, car("car1")), 10)
            ask = Ask(world.store_beside(sink))
            shown = "deadLetters { nodes { id entities { reason entity } } }"
            (letter,) = (await of_path(ask, shown))["deadLetters"]["nodes"]
            reason = "The entity's id is missing or not a text."
            assert letter["entities"] == [{"reason": reason, "entity": '{"type":"car"}'}]
            told = await ask(REPLAY, {"input": {"ids": [letter["id"]]}}, CARLA)
            assert told.value["replayed"] == [
                {"letter": {"id": letter["id"]}, "events": 0, "dead": 1}
            ]
            again = await ask(REPLAY, {"input": {"ids": [letter["id"]]}}, CARLA)
            assert again.value == told.value
        counts = await world.caller("carla", "/=reader").notifications.counts(
            ServicePath("vehicles", "/4wheels")
        )
        assert (counts.received, counts.dead_lettered) == (2, 1)


async def test_delete_dead_letters(ask: Ask) -> None:
    """delete dead letters"""
    ids = [await store_dead_letter(ask.store, reason=reason) for reason in ("one", "two", "three")]
    shown = "deadLetters(first: 1) { nodes { id } pageInfo { hasNextPage } }"
    refused = await ask(DELETE, {"input": {"ids": ids[:2]}}, CARLA)
    assert (refused.value["__typename"], refused.value["code"]) == ("NotPermitted", "FORBIDDEN")
    counts = "counts { received deadLettered }"
    before = await of_path(ask, counts)
    told = await ask(DELETE, {"input": {"ids": ids[:2]}}, ADA)
    assert told.value == {
        "__typename": "DeleteDeadLettersPayload",
        "letters": [{"id": id} for id in ids[:2]],
    }
    left = {"nodes": [{"id": ids[2]}], "pageInfo": {"hasNextPage": False}}
    assert (await of_path(ask, shown))["deadLetters"] == left
    assert await of_path(ask, counts) == before


async def test_delete_samples(ask: Ask) -> None:
    """delete samples"""
    await store_samples(ask.store, samples=4)
    input = {**SAMPLES, "from": "2015-04-20T13:16:16.005Z", "to": "2015-04-20T13:16:18.005Z"}
    refused = await ask(DELETE_SAMPLES, {"input": input}, CARLA)
    assert refused.value["code"] == "FORBIDDEN"
    told = await ask(DELETE_SAMPLES, {"input": input}, ADA)
    assert told.value["job"]["kind"] == "DELETE_SAMPLES"
    assert await ask.store.run_jobs("w") == 1
    job = await ask(JOB, {"id": told.value["job"]["id"]}, ADA)
    assert job.value == {"state": "DONE", "done": 4, "total": None}
    found = await of_path(ask, SPEED % "series { nodes { text } }")
    assert found["entity"]["attribute"]["series"]["nodes"] == [{"text": "0"}, {"text": "3"}]


async def test_get_and_put_naming_rules(ask: Ask) -> None:
    """get and put naming rules"""
    rule = {
        "id": 1,
        "fields": ["entityType"],
        "regex": "car",
        "destination": "cars",
        "fiware_service_path": "/cars",
    }
    documents = {
        "mappings": json.dumps({"serviceMappings": []}),
        "grouping": json.dumps({"grouping_rules": [rule]}),
    }
    assert (await ask("{ ngsiNamingRules { mappings grouping } }")).value == {
        "mappings": None,
        "grouping": None,
    }
    told = (await ask(PUT, documents)).data
    assert [each["__typename"] for each in told.values()] == [
        "PutNameMappingsPayload",
        "PutGroupingRulesPayload",
    ]
    assert (await ask("{ ngsiNamingRules { mappings grouping } }")).value == documents
    refused = await ask("{ ngsiNamingRules { mappings } }", {}, CARLA)
    assert refused.code == "NOT_FOUND"
