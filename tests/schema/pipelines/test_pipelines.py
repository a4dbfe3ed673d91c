"""Pipelines and their versions: every field as input and output, updates, and rejections."""

from typing import Any

import pytest

from penstock.datastore.store import Store
from tests.support.consistency_check import contents
from tests.support.graphql_client import (
    CREATE,
    TRANSFORMER,
    UPDATE,
    Ask,
    as_caller,
    draft,
    tag_inputs,
)

CONTENT = """name description state attributes tags { key value } groups version
  createdAt createdBy updatedAt updatedBy
  transformer {
    parameters { index key label description type required }
    transforms { index formula outputs { index key label description type } }
  }"""
WHOLE = f"""query($id: ID!) {{ pipeline(id: $id) {{ id owner ownerGroup {{ path }} {CONTENT}
  versions {{ nodes {{ {CONTENT} pipeline {{ id }} }} }} }} }}"""
PROBLEMS = """mutation($input: CreatePipelineInput!) { createPipeline(input: $input) {
  ...on ValidationProblem { problems { path message } } } }"""
UPDATE_PROBLEMS = PROBLEMS.replace("create", "update").replace("Create", "Update")
ATTRIBUTES = {"label": "My Pipeline", "nested": {"list": [1, True, None, "x"], "empty": {}}}
PARAMETER = {
    "index": 0,
    "key": "pin24",
    "label": "pin 24",
    "description": "some description\nin two lines",
    "type": "STRING",
    "required": True,
}
OUTPUT = {"index": 0, "key": "vehicle", "label": "Vehicle", "description": "", "type": "NUMBER"}
DOCUMENTED: dict[str, Any] = {
    "name": "sap:emissions:pipeline",
    "description": "Emissions — größer als 0",
    "attributes": ATTRIBUTES,
    "tags": tag_inputs("source=SAP", "material=Metal/Steel"),
    "transformer": {
        "parameters": [PARAMETER],
        "transforms": [
            {"index": 0, "formula": "LOOKUP('vehicle_type', IN(:pin24))", "outputs": [OUTPUT]}
        ],
    },
}


async def whole(ask: Ask, id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await ask(WHOLE, {"id": id})).value
    return found


async def test_every_field_of_the_document_comes_back_as_it_went_in(ask: Ask) -> None:
    await ask.create_groups()
    await Ask(ask.store, "reference dataset").make("/usa", "vehicle_type")
    uma = as_caller("uma@example.org", "/usa=contributor")
    made = await ask.input(CREATE, uma, **DOCUMENTED)
    found = await whole(ask, made["pipeline"]["id"])
    assert {name: found[name] for name in DOCUMENTED} == DOCUMENTED
    assert (found["owner"], found["groups"], found["state"]) == ("/usa", ["/usa"], "ENABLED")
    assert found["ownerGroup"] == {"path": "/usa"}
    assert (found["version"], found["createdBy"], found["updatedBy"]) == (1, *[uma.user_id] * 2)
    assert found["createdAt"] == found["updatedAt"]
    (version,) = found.pop("versions")["nodes"]
    assert version.pop("pipeline") == {"id": found["id"]}
    assert version == {name: found[name] for name in version}


async def test_an_update_makes_a_version_and_leaves_the_earlier_ones_alone(ask: Ask) -> None:
    await ask.create_groups()
    await Ask(ask.store, "reference dataset").make("/usa", "vehicle_type")
    id = await ask.make("/usa", "one", "a=1", attributes={"n": 1})
    before = await whole(ask, id)
    ben = as_caller("ben", "/usa=contributor")
    changes = {"name": "two", "tags": tag_inputs("a=2"), "transformer": DOCUMENTED["transformer"]}
    told = await ask.input(UPDATE, ben, id=id, expectedVersion=1, **changes)
    assert told["pipeline"] == {"id": id, "name": "two", "version": 2}
    after = await whole(ask, id)
    assert {name: after[name] for name in changes} == changes
    assert (after["createdBy"], after["updatedBy"]) == ("root", "ben")
    assert after["createdAt"] == before["createdAt"] <= after["updatedAt"]
    assert after["attributes"] == {"n": 1}
    new, old = after["versions"]["nodes"]
    assert new["version"] == 2
    assert old == before["versions"]["nodes"][0]


CLEARED: dict[str, Any] = {"description": None, "attributes": None, "tags": []}


async def test_null_clears_and_what_is_left_out_stays(ask: Ask) -> None:
    await ask.create_groups()
    more: dict[str, Any] = {"description": "words", "attributes": {"a": 1}}
    id = await ask.make("/usa", "one", "a=b", **more)
    assert await ask.change(id, 1) == 2
    kept = await whole(ask, id)
    assert {name: kept[name] for name in CLEARED} == {**more, "tags": tag_inputs("a=b")}
    assert await ask.change(id, 2, description=None, attributes=None, tags=None) == 3
    cleared = await whole(ask, id)
    assert {name: cleared[name] for name in CLEARED} == CLEARED
    assert cleared["name"] == "one"
    assert await ask.names("/usa", tags={"all": tag_inputs("a=b")}) == []


async def test_what_must_have_a_value_takes_no_null(ask: Ask, store: Store) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    before = await contents(store.table)
    nulls = {"name": None, "transformer": None, "state": None}
    input = {"id": id, "expectedVersion": 1, **nulls}
    told = (await ask(UPDATE_PROBLEMS, {"input": input})).value
    expected = [{"path": [name], "message": "must not be null"} for name in nulls]
    assert told["problems"] == expected
    assert await contents(store.table) == before


async def test_all_broken_rules_are_told_at_once_with_their_paths(ask: Ask, store: Store) -> None:
    await ask.create_groups()
    before = await contents(store.table)
    number = {"index": 0, "type": "NUMBER"}
    broken = {
        "name": "x" * 129,
        "tags": tag_inputs("a=b", "A=c", "d=/", "=e"),
        "transformer": {
            "parameters": [
                {"index": 1, "key": "p", "type": "STRING"},
                {"index": 1, "key": "P", "type": "NUMBER"},
            ],
            "transforms": [
                {"index": 0, "formula": " ", "outputs": []},
                {"index": 2, "formula": "1", "outputs": [number, {"index": 1, "type": "NUMBER"}]},
            ],
        },
    }
    told = (await ask(PROBLEMS, {"input": {"group": "/usa", **broken}})).value
    found = {".".join(problem["path"]): problem["message"] for problem in told["problems"]}
    assert found == {
        "name": "is longer than 128 characters",
        "tags.1.key": "'A' is given twice",
        "tags.2.value": "level 2: must not be empty",
        "tags.3.key": "must not be empty",
        "transformer.parameters.0.index": "must be 0, is 1",
        "transformer.parameters.1.key": "the key 'P' is given before",
        "transformer.transforms.0.formula": "must not be empty",
        "transformer.transforms.0.outputs": "must hold exactly one output, holds 0",
        "transformer.transforms.1.index": "must be 1, is 2",
        "transformer.transforms.1.outputs": "must hold exactly one output, holds 2",
    }
    assert await contents(store.table) == before


async def test_a_type_that_is_unknown_is_refused_before_anything_runs(ask: Ask) -> None:
    await ask.create_groups()
    column = {**PARAMETER, "type": "DATE"}
    input = draft("one", group="/usa") | {"transformer": {**TRANSFORMER, "parameters": [column]}}
    answer = await ask(CREATE, {"input": input})
    assert answer.code == "BAD_USER_INPUT"
    assert answer.units.calls == 0


@pytest.mark.parametrize("attributes", [[1, 2], "text", 5, True])
async def test_attributes_are_an_object(attributes: object, ask: Ask, store: Store) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    before = await contents(store.table)
    told = await ask.input(CREATE, **draft("two", group="/usa", attributes=attributes))
    assert (told["__typename"], told["path"]) == ("ValidationProblem", ["attributes"])
    told = await ask.input(UPDATE, id=id, expectedVersion=1, attributes=attributes)
    assert (told["__typename"], told["path"]) == ("ValidationProblem", ["attributes"])
    assert await contents(store.table) == before


async def test_numbers_written_in_the_document_stay_exact(ask: Ask) -> None:
    await ask.create_groups()
    exact = "0.12345678901234567890123456789"
    document = CREATE.replace("input: $input", f"input: {{{INLINE}, attributes: {{n: {exact}}}}}")
    made = await ask(document.replace("($input: CreatePipelineInput!)", ""))
    found = await whole(ask, made.value["pipeline"]["id"])
    assert str(found["attributes"]["n"]) == exact


INLINE = """group: "/usa", name: "one", transformer: {parameters: [], transforms: [
  {index: 0, formula: "1", outputs: [{index: 0, type: NUMBER}]}]}"""


@pytest.mark.parametrize("state", ["FROZEN", "DISABLED"])
async def test_what_is_not_enabled_changes_nothing_but_its_state(state: str, ask: Ask) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    assert await ask.change(id, 1, state=state) == 2
    told = await ask.input(UPDATE, id=id, expectedVersion=2, description="new")
    assert (told["__typename"], told["code"]) == ("IllegalState", "ILLEGAL_STATE")
    assert (await whole(ask, id))["description"] is None
    assert await ask.change(id, 2, state="ENABLED") == 3
    assert await ask.change(id, 3, description="new") == 4
    states = [version["state"] for version in (await whole(ask, id))["versions"]["nodes"]]
    assert states == ["ENABLED", "ENABLED", state, "ENABLED"]


async def test_all_problems_of_an_input_are_told_with_those_of_its_form(ask: Ask) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    odd = {
        "id": id,
        "expectedVersion": 1,
        "name": None,
        "attributes": [1],
        "tags": tag_inputs("=v"),
    }
    told = (await ask(UPDATE_PROBLEMS, {"input": odd})).value
    assert [problem["path"] for problem in told["problems"]] == [
        ["name"],
        ["attributes"],
        ["tags", "0", "key"],
    ]
    odd = draft(" ", group="/usa") | {"attributes": 1, "idempotencyKey": ""}
    told = (await ask(PROBLEMS, {"input": odd})).value
    assert [problem["path"] for problem in told["problems"]] == [
        ["attributes"],
        ["idempotencyKey"],
        ["name"],
    ]
