"""Objects of every type by their global ids, and texts that are no ids of the server."""

from base64 import urlsafe_b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.store import Store
from penstock.schema.core.relay import MAX_ID_LENGTH, GlobalId, parse_global_id, parse_key
from tests.support.graphql_client import NOUNS, Ask, as_caller

NODE = """query($id: ID!) { node(id: $id) { __typename id ...on Pipeline { name }
  ...on PipelineVersion { version } ...on Group { path } ...on Job { kind }
  ...on Run { runId state } ...on Manifest { name runCount } } }"""
IDS = """{ group(path: "/usa") { id } pipelineByName(name: "one", group: "/usa") {
  id versionNumbered(version: 1) { id } } }"""
RUN = """mutation { discoverRun(input: {group: "/usa", manifest: "Snow:plow", runId: "a#b/run=1/",
  addedBy: "t"}) { ...on DiscoverRunPayload { run { id } } } }"""
MANIFESTS = '{ manifests(group: "/usa") { nodes { id } } }'
UUID = "01a1fd33-4531-77f0-8555-cdb912a93fef"

CASCADE = """mutation { deleteGroup(input: {path: "/eu", cascade: true}) {
  ...on DeleteGroupPayload { job { id } } } }"""


def id_of(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode()


async def ids(ask: Ask) -> dict[str, str]:
    await ask.create_groups()
    await ask.make("/usa", "one")
    found = (await ask(IDS)).data
    version = found["pipelineByName"]["versionNumbered"]["id"]
    run = (await ask(RUN)).value["run"]["id"]
    return {
        "Run": run,
        "Manifest": (await ask(MANIFESTS)).value["nodes"][0]["id"],
        "Group": found["group"]["id"],
        "Job": (await ask(CASCADE)).value["job"]["id"],
        "Pipeline": found["pipelineByName"]["id"],
        "PipelineVersion": version,
    }


@pytest.mark.parametrize("noun", NOUNS)
async def test_every_type_is_found_by_the_id_it_shows(noun: str, store: Store) -> None:
    ask = Ask(store, noun)
    shown: dict[str, dict[str, Any]] = {
        "Group": {"path": "/usa"},
        "Job": {"kind": "DELETE_GROUP"},
        "Pipeline": {"name": "one"},
        "PipelineVersion": {"version": 1},
        "Run": {"runId": "a#b/run=1/", "state": "NEW"},
        "Manifest": {"name": "Snow:plow", "runCount": 1},
    }
    for name, id in (await ids(ask)).items():
        found = (await ask(NODE, {"id": id}, as_caller("rita", "/usa=reader", "/eu=reader"))).value
        assert found == {"__typename": name, "id": id, **shown[name]}


ODD = [
    "",
    "x",
    "ä",
    "%%%",
    UUID,
    id_of("Pipeline"),
    id_of("Pipeline:"),
    id_of("Pipeline:x"),
    id_of(f"Pipeline:{UUID.upper()}"),
    id_of(f"Pipeline:{UUID}"),
    id_of(f"pipeline:{UUID}"),
    id_of(f"Calculation:{UUID}"),
    id_of(f"CalculationVersion:{UUID}:1"),
    id_of(f"Calculations:{UUID}"),
    id_of(f"PipelineVersion:{UUID}"),
    id_of(f"PipelineVersion:{UUID}:0"),
    id_of(f"PipelineVersion:{UUID}:1"),
    id_of(f"PipelineVersion:{UUID}:²"),
    id_of(f"PipelineVersion:{UUID}:{10**30}"),
    id_of("Group:/nowhere"),
    id_of("Group:nowhere"),
    id_of("Group:"),
    id_of("Group:/" + "a/" * 300),
    id_of(f"Job:{UUID}"),
    id_of("Job:x"),
    id_of("Query:x"),
    id_of("Run:/usa"),
    id_of("Run:/usa#snowplow"),
    id_of("Run:/usa#snowplow:r"),
    id_of("Run:/usa#Snow%3Aplow:a%23b/run=1/"),
    id_of("Run:/usa#snow:plow:a"),
    id_of("Run:/usa#snow%3Aplow:a%23b/run=1/#"),
    id_of("Run::"),
    id_of("Manifest:/usa"),
    id_of("Manifest:/usa#x"),
    id_of("Manifest:/USA#snow%3Aplow"),
    id_of("Manifest:#" + "x" * 1000),
    "A" * 5000,
]


@pytest.mark.parametrize("odd", ODD)
async def test_a_text_that_is_no_id_of_ours_finds_nothing(odd: str, ask: Ask) -> None:
    await ask.create_groups()
    answer = await ask(NODE, {"id": odd})
    assert answer.data == {"node": None}
    assert answer.errors == ()


async def test_ids_of_the_same_thing_in_another_writing_find_nothing(ask: Ask) -> None:
    id = (await ids(ask))["PipelineVersion"]
    uuid = parse_global_id(id)
    assert isinstance(uuid, GlobalId)
    for key in (uuid.key.replace(":1", ":01"), uuid.key.replace(":1", ":3"), f"{uuid.key}:1"):
        assert (await ask(NODE, {"id": id_of(f"PipelineVersion:{key}")})).data == {"node": None}
    assert (await ask(NODE, {"id": id_of("Group:/USA")})).data == {"node": None}


async def test_nodes_are_aligned_with_the_ids_and_null_where_there_is_none(ask: Ask) -> None:
    known = await ids(ask)
    asked = [known["Pipeline"], "odd", known["Group"], known["Pipeline"], id_of("Group:/nowhere")]
    found = (await ask("query($ids: [ID!]!) { nodes(ids: $ids) { id } }", {"ids": asked})).value
    assert [node and node["id"] for node in found] == [
        known["Pipeline"],
        None,
        known["Group"],
        known["Pipeline"],
        None,
    ]


@pytest.mark.parametrize(("count", "codes"), [(0, []), (100, []), (101, ["BAD_USER_INPUT"])])
async def test_at_most_100_nodes_are_read_at_once(count: int, codes: list[str], ask: Ask) -> None:
    await ask.create_groups()
    query = "query($ids: [ID!]!) { nodes(ids: $ids) { id } }"
    answer = await ask(query, {"ids": ["odd"] * count})
    assert [error["extensions"]["code"] for error in answer.errors] == codes
    assert answer.data == (None if codes else {"nodes": [None] * count})


async def test_an_id_of_another_type_is_not_found_where_a_pipeline_is_asked_for(ask: Ask) -> None:
    known = await ids(ask)
    query = "query($id: ID!) { pipeline(id: $id) { id } }"
    for name in ("Group", "Job", "PipelineVersion", "Run", "Manifest"):
        assert (await ask(query, {"id": known[name]})).code == "NOT_FOUND"


@given(st.sampled_from(["Pipeline", "Group"]), st.text(max_size=200))
def test_an_id_says_what_it_was_made_of(type: str, key: str) -> None:
    text = GlobalId(type, key).encode()
    if len(text) <= MAX_ID_LENGTH:
        assert parse_global_id(text) == (type, key)
        assert parse_key(type, text) == key


@given(st.text(max_size=60))
def test_no_text_breaks_the_reading_of_ids(text: str) -> None:
    found: Any = parse_global_id(text)
    assert found is None or found.text() == text
