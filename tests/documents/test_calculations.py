"""The access patterns of the calculations document, with its own example, one test for each row."""

from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.datastore.clock import Clock
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from tests.support.graphql_client import ROOT, Ask, as_caller, tag_inputs

NORTHWEST = as_caller("nora", "/usa/northwest=reader")
STRANGER = as_caller("eve", "/eu=admin")
FORMULA = (
    "IF(COALESCE(:passengers,0)>0,IMPACT('passenger_vehicles',:vehicleType,:pollutant)*:distance"
    "*:passengers,IMPACT('vehicles',:vehicleType,:pollutant)*:distance)"
)
VEHICLE: dict[str, Any] = {
    "name": "vehicle_emissions",
    "summary": "Calculates vehicle CO2eq emissions using the GHG Protocol.",
    "description": "If the no. of passengers is provided, distance and passengers are multiplied.",
    "formula": FORMULA,
    "parameters": [
        {
            "index": 0,
            "key": "vehicleType",
            "label": "Vehicle Type",
            "description": "Type of vehicle",
            "type": "STRING",
            "required": True,
        },
        {
            "index": 1,
            "key": "pollutant",
            "label": "CO2eq pollutant",
            "description": "The CO2eq pollutant to lookup fron the emission factor",
            "type": "STRING",
            "required": True,
        },
        {
            "index": 2,
            "key": "distance",
            "label": "Distance (Miles)",
            "description": "Distance (in miles)",
            "type": "NUMBER",
            "required": True,
        },
        {
            "index": 3,
            "key": "passengers",
            "label": "Passengers",
            "description": "No. of passengers",
            "type": "NUMBER",
            "required": False,
        },
    ],
    "outputs": [
        {
            "index": 0,
            "key": None,
            "label": None,
            "description": "The calculated CO2eq pollutant.",
            "type": "NUMBER",
        }
    ],
    "tags": tag_inputs("Datasource=GHG Protocol", "Type=Transportation"),
}
BOTH = {"all": tag_inputs("datasource=ghg protocol", "type=transportation")}
CONTENT = """name summary description formula tags { key value } groups state version
  parameters { index key label description type required }
  outputs { index key label description type } createdAt createdBy updatedAt updatedBy"""
CREATE = """mutation($input: CreateCalculationInput!) { createCalculation(input: $input) {
  __typename ...on CreateCalculationPayload { calculation { id version } }
  ...on UserError { code path message } ...on ValidationProblem { problems { path code } }
  ...on LimitExceeded { limit maximum actual } } }"""
UPDATE = """mutation($input: UpdateCalculationInput!) { updateCalculation(input: $input) {
  __typename ...on UpdateCalculationPayload { calculation { version } }
  ...on UserError { code path } ...on ValidationProblem { problems { path code } } } }"""
EVALUATE = """query($input: EvaluateInput!) { evaluate(input: $input) { __typename
  ...on EvaluatePayload { version values { text } errors { row column code }
    explanation { value { text } } }
  ...on UserError { path } ...on ValidationProblem { problems { path code } } } }"""
DATASET = """mutation($input: CreateReferenceDatasetInput!) {
  createReferenceDataset(input: $input) { __typename } }"""
DELETE = """mutation($input: DeleteCalculationInput!) { deleteCalculation(input: $input) {
  ...on DeleteCalculationPayload { calculation { name version } }
  ...on InUse { code more usedBy { ...on Calculation { name } } } } }"""
USED_BY = """query($id: ID!, $first: Int!, $after: String) { calculation(id: $id) {
  usedBy(first: $first, after: $after) {
    nodes { ...on Calculation { name } } pageInfo { hasNextPage endCursor } } } }"""
USES = """query($id: ID!) { calculation(id: $id) { uses {
  nodes { __typename ...on Calculation { name } } pageInfo { hasNextPage hasPreviousPage } } } }"""
LATEST = f"query($id: ID!) {{ calculation(id: $id) {{ id owner {CONTENT} }} }}"
SHOWN = "query($id: ID!) { calculation(id: $id) { formula } }"
AS_AT = "query($id: ID!, $at: DateTime) { calculation(id: $id, asAt: $at) { id version name } }"
VERSION = f"""query($id: ID!, $n: Int!) {{ calculation(id: $id) {{
  versionNumbered(version: $n) {{ {CONTENT} calculation {{ id }} }} }} }}"""
VERSIONS = "query($id: ID!) { calculation(id: $id) { versions { nodes { version name } } } }"
BY_NAME = """query($name: String!, $group: GroupPath) {
  calculationByName(name: $name, group: $group) { id } }"""
TAGS = """query($group: GroupPath) {
  tagKeys(kind: CALCULATION, group: $group) { nodes { label count } }
  tagValues(kind: CALCULATION, key: "type", group: $group) { nodes { label count } } }"""


async def create(ask: Ask, group: str, caller: Caller = ROOT, **changes: Any) -> Any:
    return await ask.input(CREATE, caller, group=group, **{**VEHICLE, **changes})


async def vehicle(ask: Ask, **changes: Any) -> str:
    """Make the groups and the document's calculation in `/usa`; return its global id."""
    await ask.create_groups()
    made = await create(ask, "/usa", **changes)
    assert made["__typename"] == "CreateCalculationPayload", made
    id: str = made["calculation"]["id"]
    return id


async def change(ask: Ask, id: str, expected: int, **changes: Any) -> Any:
    return await ask.input(UPDATE, id=id, expectedVersion=expected, **changes)


async def names(ask: Ask, group: str, caller: Caller = ROOT, **listed: Any) -> list[str]:
    return await Ask(ask.store, "calculation").names(group, caller, **listed)


async def test_create_a_new_calculation(ask: Ask) -> None:
    """create a new calculation"""
    id = await vehicle(ask)
    found = (await ask(LATEST, {"id": id})).value
    assert {name: found[name] for name in VEHICLE} == VEHICLE
    assert (found["owner"], found["groups"], found["version"]) == ("/usa", ["/usa"], 1)
    assert (found["state"], found["createdBy"], found["updatedBy"]) == ("ENABLED", "root", "root")
    assert found["createdAt"] == found["updatedAt"]
    assert await ask.make("/usa", "vehicle_emissions") != id
    unused = await create(ask, "/eu", formula=":distance")
    assert [one["code"] for one in unused["problems"]] == ["UNUSED_PARAMETER"] * 3
    assert await names(ask, "/eu") == []


async def test_retrieve_latest_version_of_calculation(ask: Ask) -> None:
    """retrieve latest version of calculation"""
    id = await vehicle(ask)
    await change(ask, id, 1, summary="shorter")
    found = await ask(LATEST, {"id": id}, NORTHWEST)
    assert (found.value["version"], found.value["summary"]) == (2, "shorter")
    assert found.units.calls == 1
    assert (await ask(LATEST, {"id": id}, STRANGER)).code == "NOT_FOUND"


async def test_retrieve_specific_version_of_calculation(ask: Ask) -> None:
    """retrieve specific version of calculation"""
    id = await vehicle(ask)
    before = (await ask(LATEST, {"id": id})).value
    await change(ask, id, 1, name="other")
    found = (await ask(VERSION, {"id": id, "n": 1}, NORTHWEST)).value["versionNumbered"]
    assert found.pop("calculation") == {"id": id}
    assert found == {name: before[name] for name in found}
    assert (await ask(VERSION, {"id": id, "n": 3})).value == {"versionNumbered": None}


async def test_retrieve_a_calculation_as_it_was_at_a_time(store: Store) -> None:
    """retrieve a calculation as it was at a time"""
    now = datetime(2022, 8, 10, tzinfo=UTC)
    ask = Ask(Store(store.table, Clock(now=lambda: now)))
    id = await vehicle(ask)
    for version in range(1, 40):
        now += timedelta(days=1)
        told = await change(ask, id, version, name=f"v{version + 1}")
        assert told["calculation"] == {"version": version + 1}
    for day in range(40):
        at = (datetime(2022, 8, 10, 12, tzinfo=UTC) + timedelta(days=day)).isoformat()
        found = await ask(AS_AT, {"id": id, "at": at}, NORTHWEST)
        assert (found.value["id"], found.value["version"]) == (id, day + 1)
        assert found.units.calls <= 7
    exact = await ask(AS_AT, {"id": id, "at": "2022-08-12T00:00:00Z"})
    assert (exact.value["version"], exact.value["name"]) == (3, "v3")
    before = {"id": id, "at": "2022-08-09T23:59:59.999Z"}
    assert (await ask(AS_AT, before)).code == "NOT_FOUND"
    assert (await ask(AS_AT, {"id": id, "at": "2999-01-01T00:00:00Z"})).value["version"] == 40
    assert (await ask(AS_AT, {"id": id})).value["version"] == 40
    told = await ask(AS_AT, {"id": id, "at": "2022-08-12T00:00:00Z"}, STRANGER)
    assert told.code == "NOT_FOUND"


async def test_list_calculations_for_a_group(ask: Ask) -> None:
    """list calculations for a group"""
    await vehicle(ask)
    await create(ask, "/usa/northwest", name="in the northwest")
    await create(ask, "/eu", name="elsewhere")
    await ask.make("/usa", "a pipeline")
    assert await names(ask, "/usa/northwest", NORTHWEST) == [
        "vehicle_emissions",
        "in the northwest",
    ]
    assert await names(ask, "/usa") == ["vehicle_emissions"]
    everything = ["vehicle_emissions", "in the northwest", "elsewhere"]
    assert await names(ask, "/", below=True) == everything


async def test_list_calculations_for_a_group_filtered_by_tag(ask: Ask) -> None:
    """list calculations for a group, filtered by tag"""
    await vehicle(ask)
    await create(ask, "/usa", name="one tag", tags=tag_inputs("Type=Transportation"))
    await create(ask, "/eu", name="elsewhere")
    await ask.make("/usa", "a pipeline", "Datasource=GHG Protocol", "Type=Transportation")
    assert await names(ask, "/usa/northwest", NORTHWEST, tags=BOTH) == ["vehicle_emissions"]
    none = {"all": tag_inputs("type=transportation"), "none": tag_inputs("datasource=GHG protocol")}
    assert await names(ask, "/usa/northwest", tags=none) == ["one tag"]


async def test_list_the_tags_of_calculations(ask: Ask) -> None:
    """list the tags of calculations"""
    await vehicle(ask)
    await ask.make("/usa", "a pipeline", "Type=Transportation", "plant=abc")
    found = (await ask(TAGS, {"group": "/usa/northwest"}, NORTHWEST)).data
    assert found["tagKeys"]["nodes"] == [
        {"label": "Datasource", "count": 1},
        {"label": "Type", "count": 1},
    ]
    assert found["tagValues"]["nodes"] == [{"label": "Transportation", "count": 1}]


async def test_update_calculation(ask: Ask) -> None:
    """update calculation"""
    id = await vehicle(ask)
    told = await change(ask, id, 1, tags=tag_inputs("Type=Energy"), formula=None, outputs=None)
    assert [one["path"] for one in told["problems"]] == [["formula"], ["outputs"]]
    assert (await change(ask, id, 1, tags=tag_inputs("Type=Energy")))["calculation"] == {
        "version": 2
    }
    assert await names(ask, "/usa", tags=BOTH) == []
    assert await names(ask, "/usa", tags={"all": tag_inputs("type=energy")}) == [
        "vehicle_emissions"
    ]
    assert (await change(ask, id, 1, name="late"))["code"] == "CONFLICT"
    broken = await change(ask, id, 2, formula=":nothing")
    assert [one["code"] for one in broken["problems"]] == [
        "UNDECLARED_PARAMETER",
        *["UNUSED_PARAMETER"] * 4,
    ]
    assert (await ask(LATEST, {"id": id})).value["formula"] == FORMULA


async def test_list_versions_of_a_calculation(ask: Ask) -> None:
    """list version of a calculations"""
    id = await vehicle(ask)
    await change(ask, id, 1, name="second")
    seen = (await ask(VERSIONS, {"id": id}, NORTHWEST)).value["versions"]["nodes"]
    assert [tuple(node.values()) for node in seen] == [(2, "second"), (1, "vehicle_emissions")]
    assert (await ask(VERSIONS, {"id": id}, STRANGER)).code == "NOT_FOUND"


async def test_retrieve_calculation_by_name(ask: Ask) -> None:
    """retrieve calculation by name"""
    id = await vehicle(ask)
    pipeline = await ask.make("/usa", "vehicle_emissions")
    elsewhere = (await create(ask, "/eu"))["calculation"]["id"]
    named = {"name": " Vehicle_Emissions", "group": "/usa/northwest"}
    assert (await ask(BY_NAME, named, NORTHWEST)).value == {"id": id}
    assert (await ask(BY_NAME, {**named, "group": "/eu/france"})).value == {"id": elsewhere}
    assert len({id, elsewhere, pipeline}) == 3
    assert (await ask(BY_NAME, {**named, "group": "/"})).code == "NOT_FOUND"
    taken = await create(ask, "/usa/northwest")
    assert (taken["__typename"], taken["code"]) == ("NameTaken", "NAME_TAKEN")


async def test_call_a_calculation_by_name(ask: Ask) -> None:
    """call a calculation by name"""
    await vehicle(ask)
    distance = VEHICLE["parameters"][2] | {"index": 0}
    calls: dict[str, Any] = {
        "parameters": [distance],
        "formula": "#vehicle_emissions('car','co2e',:distance)",
    }
    made = await create(ask, "/usa/northwest", name="car", **calls)
    assert made["calculation"]["version"] == 1
    refused = await create(ask, "/eu", name="car", **calls)
    assert refused["problems"] == [{"path": ["formula"], "code": "UNKNOWN_CALCULATION"}]
    assert await names(ask, "/eu") == []


async def test_show_a_formula_with_the_names_of_today(ask: Ask) -> None:
    """show a formula with the names of today"""
    id = await vehicle(ask)
    distance = VEHICLE["parameters"][2] | {"index": 0}
    formula = "#vehicle_emissions('car','co2e',:distance)"
    made = await create(ask, "/usa", name="car", parameters=[distance], formula=formula)
    await change(ask, id, 1, name="vehicle_footprint")
    shown = (await ask(SHOWN, {"id": made["calculation"]["id"]})).value
    assert shown == {"formula": "#vehicle_footprint('car','co2e',:distance)"}


async def factors(ask: Ask) -> None:
    """Make the reference data in which the document's calculation looks up values."""
    columns = [{"name": "vehicleType", "type": "STRING"}, {"name": "co2e", "type": "NUMBER"}]
    for name, factor in (("vehicles", "0.3502"), ("passenger_vehicles", "0.175")):
        content = {"columns": columns, "csv": f"vehicleType,co2e\ncar,{factor}\n"}
        made = await ask.input(DATASET, group="/usa", name=name, content=content)
        assert made["__typename"] == "CreateReferenceDatasetPayload", made


def rows(*distances: object, **more: object) -> list[dict[str, object]]:
    car = {"vehicleType": "car", "pollutant": "co2e", **more}
    return [{**car, "distance": distance} for distance in distances]


async def test_evaluate_a_calculation(ask: Ask) -> None:
    """evaluate a calculation"""
    id = await vehicle(ask)
    await factors(ask)
    input = {"id": id, "rows": [*rows("12.5", 0.1), *rows(10, passengers=3), *rows("x")]}
    told = (await ask(EVALUATE, {"input": input}, NORTHWEST)).value
    texts = [value["text"] for value in told["values"]]
    assert (told["version"], texts) == (1, ["4.3775", "0.03502", "5.25", None])
    assert told["errors"] == [{"row": 3, "column": "distance", "code": "INVALID_INPUT"}]
    assert told["explanation"]["value"]["text"] == "4.3775"
    await change(
        ask, id, 1, formula=":distance*2", parameters=[VEHICLE["parameters"][2] | {"index": 0}]
    )
    for version, text in ((None, "25"), (2, "25"), (1, "4.3775")):
        told = (await ask(EVALUATE, {"input": {**input, "version": version}})).value
        assert told["values"][0]["text"] == text
    missing = (await ask(EVALUATE, {"input": {**input, "version": 3}})).value
    assert missing == {"__typename": "NotFound", "path": ["version"]}
    assert (await ask(EVALUATE, {"input": input}, STRANGER)).value["path"] == ["id"]


async def test_evaluate_a_calculation_by_name(ask: Ask) -> None:
    """evaluate a calculation by name"""
    await vehicle(ask)
    await factors(ask)
    input = {"name": "Vehicle_Emissions", "group": "/usa/northwest", "rows": rows(1)}
    told = (await ask(EVALUATE, {"input": input}, NORTHWEST)).value
    assert told["values"] == [{"text": "0.3502"}]
    elsewhere = {**input, "group": "/eu"}
    assert (await ask(EVALUATE, {"input": elsewhere}, STRANGER)).value["path"] == ["name"]


async def test_evaluate_a_calculation_that_is_not_saved(ask: Ask) -> None:
    """evaluate a calculation that is not saved"""
    await vehicle(ask)
    await factors(ask)
    draft: dict[str, Any] = {name: VEHICLE[name] for name in ("parameters", "outputs")}
    draft["formula"] = "#vehicle_emissions(:vehicleType,:pollutant,:distance,:passengers)*2"
    input: dict[str, Any] = {"draft": draft, "group": "/usa/northwest", "rows": rows(1)}
    told = (await ask(EVALUATE, {"input": input}, NORTHWEST)).value
    assert (told["version"], told["values"]) == (None, [{"text": "0.7004"}])
    wrong = {**input, "draft": {**draft, "formula": ":distance +"}}
    told = (await ask(EVALUATE, {"input": wrong}, NORTHWEST)).value
    assert told["problems"] == [{"path": ["draft", "formula"], "code": "SYNTAX"}]
    assert await names(ask, "/usa/northwest") == ["vehicle_emissions"]


async def test_list_the_users_of_a_calculation(ask: Ask) -> None:
    """list the users of a calculation"""
    id = await vehicle(ask)
    calls: dict[str, Any] = {"parameters": [], "formula": "#vehicle_emissions('car', 'co2e', 1, 0)"}
    for group in ("/usa", "/usa/northwest"):
        await create(ask, group, name=f"calls {group}", **calls)
    users = [f"calls {group}" for group in ("/usa/northwest", "/usa")]
    for size in (1, 2, 100):
        found, after = [], None
        while True:
            page = (await ask(USED_BY, {"id": id, "first": size, "after": after})).value["usedBy"]
            found += [one["name"] for one in page["nodes"]]
            assert len(page["nodes"]) <= size
            if not page["pageInfo"]["hasNextPage"]:
                break
            after = page["pageInfo"]["endCursor"]
        assert found == users
    told = await ask(USED_BY, {"id": id, "first": 5}, as_caller("sue", "/usa/southeast=reader"))
    assert [one["name"] for one in told.value["usedBy"]["nodes"]] == ["calls /usa"]
    assert (await ask(USED_BY, {"id": id, "first": 5}, STRANGER)).code == "NOT_FOUND"
    gone = await ask.input(DELETE, id=id)
    assert gone == {"code": "IN_USE", "usedBy": [{"name": name} for name in users], "more": False}


async def test_list_what_a_calculation_uses(ask: Ask) -> None:
    """list what a calculation uses"""
    await vehicle(ask)
    calls: dict[str, Any] = {"parameters": [], "formula": "#vehicle_emissions('car', 'co2e', 1, 0)"}
    made = await create(ask, "/usa", name="caller", **calls)
    id = made["calculation"]["id"]
    told = (await ask(USES, {"id": id})).value["uses"]
    assert told["nodes"] == [{"__typename": "Calculation", "name": "vehicle_emissions"}]
    assert told["pageInfo"] == {"hasNextPage": False, "hasPreviousPage": False}


async def test_delete_a_calculation(ask: Ask) -> None:
    """delete a calculation"""
    id = await vehicle(ask)
    await change(ask, id, 1, name="second")
    gone = await ask.input(DELETE, id=id, expectedVersion=2)
    assert gone == {"calculation": {"name": "second", "version": 2}}
    assert (await ask(LATEST, {"id": id})).code == "NOT_FOUND"
    assert await names(ask, "/usa") == []
    assert (await ask(TAGS, {"group": "/usa"})).data["tagKeys"]["nodes"] == []
    assert (await create(ask, "/usa", name="second"))["calculation"]["id"] != id
