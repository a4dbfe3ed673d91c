"""Every member of every result union really occurs, with its code and its path."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from graphql import GraphQLUnionType

from datastore.access import Caller
from datastore.clock import canonical
from datastore.layout import API_KEY
from datastore.store import Store
from datastore.table import Put
from schema import schema
from schema.documents import core_schema
from schema.nodes import GlobalId
from tests.asking import (
    NOUNS,
    ROOT,
    Ask,
    as_caller,
    draft,
    tagged,
    title_of,
    translated,
    worded,
)
from tests.datastore.recount import contents
from tests.schema.audio_cases import AUDIO_CASES

READER = as_caller("rita", "/=reader")
CONTRIBUTOR = as_caller("carl", "/usa=contributor")
USA = as_caller("uma", "/usa=admin")
COLLECTOR = as_caller("cora", "/usa=admin")
ABSENT = "01a1fd33-4531-77f0-8555-cdb912a93fef"
MANY = tagged(*(f"key {n}=value" for n in range(28)))
LIMIT = {"limit": "operations of a transaction", "maximum": 100}
DETAILS = {
    "ValidationProblem": "problems { path message }",
    "NameTaken": "holder group",
    "VersionConflict": "currentVersion",
    "LimitExceeded": "limit maximum actual",
    "IllegalState": "state",
}


def key(group: str = "/usa", **more: Any) -> dict[str, Any]:
    """The input of an API key that may read the group until tomorrow."""
    until = canonical(datetime.now(UTC) + timedelta(days=1))
    return {"name": "k", "roles": [{"group": group, "role": "READER"}], "expiresAt": until, **more}


class Case(NamedTuple):
    """An input that ends in a failure; ids stand under the names that `resources` gives them."""

    field: str
    input: dict[str, Any]
    code: str
    path: list[str] | None
    more: Mapping[str, Any] = MappingProxyType({})
    caller: Caller = ROOT


CASES: dict[tuple[str, str], Case] = {
    ("CreateGroupResult", "NotFound"): Case(
        "createGroup", {"path": "/nowhere/new"}, "NOT_FOUND", ["path"]
    ),
    ("CreateGroupResult", "NotPermitted"): Case(
        "createGroup", {"path": "/usa/new"}, "FORBIDDEN", None, {}, READER
    ),
    ("CreateGroupResult", "ValidationProblem"): Case(
        "createGroup", {"path": "/usa/new", "name": " "}, "BAD_USER_INPUT", ["name"]
    ),
    ("CreateGroupResult", "NameTaken"): Case(
        "createGroup", {"path": "/usa/northwest"}, "NAME_TAKEN", ["path"], {"group": "/usa"}
    ),
    ("DeleteGroupResult", "NotFound"): Case(
        "deleteGroup", {"path": "/nowhere"}, "NOT_FOUND", ["path"]
    ),
    ("DeleteGroupResult", "NotPermitted"): Case(
        "deleteGroup", {"path": "/eu/france"}, "FORBIDDEN", None, {}, READER
    ),
    ("DeleteGroupResult", "IllegalState"): Case(
        "deleteGroup", {"path": "/usa"}, "ILLEGAL_STATE", None, {"state": "NOT_EMPTY"}
    ),
    ("CreatePipelineResult", "NotFound"): Case(
        "createPipeline", draft("new", group="/nowhere"), "NOT_FOUND", ["group"]
    ),
    ("CreatePipelineResult", "NotPermitted"): Case(
        "createPipeline", draft("new", group="/usa"), "FORBIDDEN", None, {}, READER
    ),
    ("CreatePipelineResult", "ValidationProblem"): Case(
        "createPipeline", draft(" ", group="/usa"), "BAD_USER_INPUT", ["name"]
    ),
    ("CreatePipelineResult", "NameTaken"): Case(
        "createPipeline",
        draft("ONE", group="/usa/northwest"),
        "NAME_TAKEN",
        ["name"],
        {"group": "/usa", "holder": "one"},
    ),
    ("CreatePipelineResult", "LimitExceeded"): Case(
        "createPipeline",
        draft("new", group="/usa") | {"tags": [*MANY, *tagged("a=b", "c=d", "e=f", "g=h")]},
        "LIMIT_EXCEEDED",
        ["tags"],
        LIMIT,
    ),
    ("UpdatePipelineResult", "NotFound"): Case(
        "updatePipeline", {"id": ABSENT, "expectedVersion": 1}, "NOT_FOUND", ["id"]
    ),
    ("UpdatePipelineResult", "NotPermitted"): Case(
        "updatePipeline", {"id": "one", "expectedVersion": 1}, "FORBIDDEN", None, {}, READER
    ),
    ("UpdatePipelineResult", "ValidationProblem"): Case(
        "updatePipeline",
        {"id": "one", "expectedVersion": 1, "tags": tagged("a=b", "A=c")},
        "BAD_USER_INPUT",
        ["tags", "1", "key"],
    ),
    ("UpdatePipelineResult", "NameTaken"): Case(
        "updatePipeline",
        {"id": "one", "expectedVersion": 1, "name": "two"},
        "NAME_TAKEN",
        ["name"],
        {"group": "/usa/northwest", "holder": "two"},
    ),
    ("UpdatePipelineResult", "VersionConflict"): Case(
        "updatePipeline",
        {"id": "one", "expectedVersion": 2},
        "CONFLICT",
        ["expectedVersion"],
        {"currentVersion": 1},
    ),
    ("UpdatePipelineResult", "LimitExceeded"): Case(
        "updatePipeline",
        {"id": "one", "expectedVersion": 1, "attributes": {"a": "x" * 410_000}},
        "LIMIT_EXCEEDED",
        None,
    ),
    ("UpdatePipelineResult", "IllegalState"): Case(
        "updatePipeline",
        {"id": "cold", "expectedVersion": 2, "name": "new", "state": "ENABLED"},
        "ILLEGAL_STATE",
        None,
        {"state": "FROZEN"},
    ),
    ("DeletePipelineResult", "NotFound"): Case(
        "deletePipeline", {"id": ABSENT}, "NOT_FOUND", ["id"]
    ),
    ("DeletePipelineResult", "NotPermitted"): Case(
        "deletePipeline",
        {"id": "one"},
        "FORBIDDEN",
        None,
        {},
        as_caller("carl", "/usa=contributor"),
    ),
    ("DeletePipelineResult", "VersionConflict"): Case(
        "deletePipeline",
        {"id": "one", "expectedVersion": 9},
        "CONFLICT",
        ["expectedVersion"],
        {"currentVersion": 1},
    ),
    ("GrantPipelineResult", "NotFound"): Case(
        "grantPipeline", {"id": "one", "group": "/nowhere"}, "NOT_FOUND", ["group"]
    ),
    ("GrantPipelineResult", "NotPermitted"): Case(
        "grantPipeline", {"id": "one", "group": "/"}, "FORBIDDEN", None, {}, USA
    ),
    ("GrantPipelineResult", "NameTaken"): Case(
        "grantPipeline",
        {"id": "same", "group": "/eu"},
        "NAME_TAKEN",
        ["group"],
        {"group": "/eu", "holder": "other same"},
    ),
    ("GrantPipelineResult", "LimitExceeded"): Case(
        "grantPipeline", {"id": "heavy", "group": "/usa"}, "LIMIT_EXCEEDED", ["group"], LIMIT
    ),
    ("RevokePipelineResult", "NotFound"): Case(
        "revokePipeline", {"id": "one", "group": "/eu"}, "NOT_FOUND", ["group"]
    ),
    ("RevokePipelineResult", "NotPermitted"): Case(
        "revokePipeline", {"id": "one", "group": "/usa"}, "FORBIDDEN", None, {}, READER
    ),
    ("RevokePipelineResult", "LimitExceeded"): Case(
        "revokePipeline", {"id": "lifted", "group": "/usa"}, "LIMIT_EXCEEDED", ["group"], LIMIT
    ),
    ("RevokePipelineResult", "IllegalState"): Case(
        "revokePipeline",
        {"id": "one", "group": "/usa"},
        "ILLEGAL_STATE",
        None,
        {"state": "OWNER"},
    ),
    ("CreateApiKeyResult", "NotFound"): Case(
        "createApiKey", key("/eu"), "NOT_FOUND", ["group"], {}, USA
    ),
    ("CreateApiKeyResult", "NotPermitted"): Case(
        "createApiKey", key("/"), "FORBIDDEN", None, {}, USA
    ),
    ("CreateApiKeyResult", "ValidationProblem"): Case(
        "createApiKey", key(name=" "), "BAD_USER_INPUT", ["name"], {}, USA
    ),
    ("CreateApiKeyResult", "LimitExceeded"): Case(
        "createApiKey",
        key(),
        "LIMIT_EXCEEDED",
        None,
        {"limit": "API keys of a user", "maximum": 100, "actual": 101},
        COLLECTOR,
    ),
    ("RevokeApiKeyResult", "NotFound"): Case(
        "revokeApiKey", {"id": ABSENT}, "NOT_FOUND", ["id"], {}, USA
    ),
    ("RevokeApiKeyResult", "NotPermitted"): Case(
        "revokeApiKey",
        {"id": ABSENT},
        "FORBIDDEN",
        None,
        {},
        Caller("uma", USA.roles, api_key="a key"),
    ),
}


LARGE = [{"index": n, "type": "NUMBER", "description": "é" * 2048} for n in range(200)]
CASES |= {
    (worded(union, noun), member): case._replace(
        field=worded(case.field, noun), input=translated(case.input, noun)
    )
    for (union, member), case in CASES.items()
    for noun in NOUNS[1:]
    if "Pipeline" in union
}
CASES["UpdateCalculationResult", "LimitExceeded"].input.update(outputs=LARGE)
del CASES["UpdateCalculationResult", "LimitExceeded"].input["attributes"]
CASES["UpdateReferenceDatasetResult", "LimitExceeded"] = CASES[
    "CreateReferenceDatasetResult", "LimitExceeded"
]._replace(
    field="updateReferenceDataset",
    input={
        "id": "one",
        "expectedVersion": 1,
        "tags": [*MANY, *tagged("c=d", "e=f", "g=h", "i=j", "k=l", "m=n")],
    },
)
CASES["CreateDatasetUploadResult", "NotFound"] = Case(
    "createDatasetUpload", {"group": "/nowhere"}, "NOT_FOUND", ["group"], {}, USA
)
CASES["CreateDatasetUploadResult", "NotPermitted"] = Case(
    "createDatasetUpload", {"group": "/usa"}, "FORBIDDEN", None, {}, READER
)


CASES |= {
    ("EvaluateResult", "NotFound"): Case(
        "evaluate", {"name": "nothing", "group": "/usa", "rows": []}, "NOT_FOUND", ["name"]
    ),
    ("EvaluateResult", "ValidationProblem"): Case(
        "evaluate", {"rows": []}, "BAD_USER_INPUT", ["id"]
    ),
    ("EvaluateResult", "LimitExceeded"): Case(
        "evaluate",
        {"name": "one", "group": "/usa", "rows": [{}] * 1_001},
        "LIMIT_EXCEEDED",
        ["rows"],
        {"limit": "rows", "maximum": 1_000, "actual": 1_001},
    ),
    ("EvaluateResult", "IllegalState"): Case(
        "evaluate",
        {"name": "cold", "group": "/usa", "rows": []},
        "ILLEGAL_STATE",
        None,
        {"state": "FROZEN"},
    ),
}


def mutation(field: str, member: str) -> str:
    name = f"{field[0].upper()}{field[1:]}Input"
    kind = "query" if field == "evaluate" else "mutation"
    details = f"...on {member} {{ {DETAILS[member]} }}" if member in DETAILS else ""
    told = f"__typename ...on UserError {{ code path message }} {details}"
    return f"{kind}($input: {name}!) {{ {field}(input: $input) {{ {told} }} }}"


async def resources(ask: Ask) -> dict[str, str]:
    """What the cases need, by name; rows of the heavy ones just fit one transaction."""
    await ask.grow()
    made = {"one": await ask.make("/usa", "one", "a=b")}
    made["two"] = await ask.make("/usa/northwest", "two")
    made["cold"] = await ask.make("/usa", "cold")
    await ask.change(made["cold"], 1, state="FROZEN")
    made["same"] = await ask.make("/usa", "same")
    made["other same"] = await ask.make("/eu", "same")
    made["heavy"] = await ask.make("/usa/northwest", "heavy")
    made["lifted"] = await ask.make("/usa/northwest", "lifted")
    lift = "mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) { __typename } }"
    await ask.input(lift, id=made["lifted"], group="/usa")
    for name in ("heavy", "lifted"):
        await ask.change(made[name], 1, tags=MANY)
    for start in range(0, 100, 25):
        rows = [API_KEY.item(id=f"{n}", user="cora") for n in range(start, start + 25)]
        await ask.store.table.write([Put(row) for row in rows])
    return made


def members() -> set[tuple[str, str]]:
    unions = [t for t in core_schema(schema).type_map.values() if isinstance(t, GraphQLUnionType)]
    named = {(union.name, member.name) for union in unions for member in union.types}
    return {(union, member) for union, member in named if not member.endswith("Payload")}


def test_every_failure_of_every_result_has_a_case() -> None:
    assert CASES.keys() | AUDIO_CASES.keys() == members()
    for (union, _), case in CASES.items():
        assert f"{case.field}Result".lower() == union.lower()


@pytest.mark.parametrize(("union", "member"), CASES)
async def test_a_failure_occurs_and_changes_nothing(
    union: str, member: str, ask: Ask, store: Store
) -> None:
    case = CASES[union, member]
    nouns = {"Evaluate": "calculation", **{title_of(noun): noun for noun in NOUNS}}
    noun = next((noun for title, noun in nouns.items() if title in union), "pipeline")
    made = await resources(Ask(ask.store, noun))
    input = {**case.input}
    if "id" in input:
        absent = ABSENT if "Key" in case.field else GlobalId(title_of(noun), ABSENT).text()
        input["id"] = made.get(input["id"], absent)
    before = await contents(store.table)
    told = (await ask(mutation(case.field, member), {"input": input}, case.caller)).value
    assert (told["__typename"], told["code"], told["path"]) == (member, case.code, case.path)
    assert told["message"]
    for name, value in case.more.items():
        assert told[name] == (made[value] if name == "holder" else value)
    assert await contents(store.table) == before
