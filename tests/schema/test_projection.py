"""Lists decode only the attributes of a row that their operation selects."""

from typing import Any

import pytest

from penstock.datastore.audio.tracks import audio_key
from penstock.datastore.executions.rows import key_of_execution
from penstock.datastore.store import Store
from penstock.datastore.table.layout import KINDS, PIPELINE
from penstock.datastore.table.port import Key, Update
from penstock.datastore.table.unreadable_rows import collect_unreadable
from penstock.schema.core.relay import GlobalId, parse_key
from tests.schema.audio.sample_tracks import album_tracks, shelve
from tests.support.graphql_client import NOUNS, ROOT, Ask, camel, title_of
from tests.support.server_process import EXECUTOR

pytestmark = pytest.mark.skipif(EXECUTOR == "reference", reason="graphql-core asks for the whole")

CONTENTS = {
    "pipeline": "transformer",
    "calculation": "formula",
    "reference dataset": "content",
    "metric": "inputs",
}
CONTENT_FIELDS = {
    "pipeline": "transformer { transforms { formula } }",
    "calculation": "formula",
    "reference dataset": "content { keyColumn }",
    "metric": "inputs { output }",
}
KIND_OF = dict(zip(NOUNS, KINDS, strict=True))
START = """mutation($input: CreateExecutionInput!) { createExecution(input: $input) {
  ...on CreateExecutionPayload { execution { id } } } }"""


async def spoil(store: Store, key: Key, attribute: str) -> None:
    """Write a value into a row that no record can be decoded from."""
    assert attribute in (await store.table.get([key])).items[key]
    await store.table.transact([Update(key=key, set={attribute: {"spoiled": [1]}})])


async def read_list(ask: Ask, field: str, light: str, heavy: str) -> list[Any]:
    """Read a list with the spoiled field, which shortens it, and without; return its nodes."""
    with collect_unreadable() as unreadable:
        spoiled = await ask(field % f"nodes {{ {light} {heavy} }}")
    assert (spoiled.errors, len(unreadable)) == ((), 1)
    edges = await ask(field % f"edges {{ node {{ {light} }} }}")
    nodes = await ask(field % f"nodes {{ {light} }}")
    assert (nodes.errors, edges.errors) == ((), ())
    found = _nodes_of(nodes.data)
    assert len(_nodes_of(spoiled.data)) == len(found) - 1
    return found


def _nodes_of(data: Any) -> list[Any]:
    while "nodes" not in data:
        (data,) = (value for value in data.values() if isinstance(value, dict))
    nodes: list[Any] = data["nodes"]
    return nodes


@pytest.mark.parametrize("noun", NOUNS)
async def test_a_list_of_resources_and_one_of_versions(any_store: Store, noun: str) -> None:
    ask, kind = Ask(any_store, noun), KIND_OF[noun]
    await ask.create_groups("/usa")
    made = [await ask.make("/usa", name, "material=metal/steel") for name in ("one", "two")]
    await ask.change(made[0], 1, description="changed")
    one, two = (parse_key(title_of(noun), id) for id in made)
    await spoil(any_store, kind.latest.key(id=two), CONTENTS[noun])
    await spoil(any_store, kind.version.key(id=one, version=1), CONTENTS[noun])
    plain = Ask(any_store)
    light = "id name description state version tags { key value } groups owner createdAt __typename"
    asked = f'{{ {camel(noun)}s(group: "/usa", order: OLDEST_FIRST) {{ %s }} }}'
    found = await read_list(plain, asked, light, CONTENT_FIELDS[noun])
    assert [(node["id"], node["name"], node["version"]) for node in found] == [
        (made[0], "one", 2),
        (made[1], "two", 1),
    ]
    assert found[1]["tags"] == [{"key": "material", "value": "metal/steel"}]
    assert (found[1]["state"], found[1]["owner"], found[1]["groups"]) == (
        "ENABLED",
        "/usa",
        ["/usa"],
    )
    assert found[1]["__typename"] == title_of(noun)
    asked = f'{{ {camel(noun)}(id: "{made[0]}") {{ versions {{ %s }} }} }}'
    found = await read_list(plain, asked, "id version name tags { key }", CONTENT_FIELDS[noun])
    assert [(node["version"], node["name"]) for node in found] == [(2, "one"), (1, "one")]


async def test_a_list_of_executions(any_store: Store) -> None:
    ask = Ask(any_store)
    await ask.create_groups("/usa")
    pipeline = await ask.make("/usa", "one")
    told = await ask.input(START, pipelineId=pipeline, mode="INLINE", rows=[{"x": 1}])
    id = told["execution"]["id"]
    await spoil(any_store, key_of_execution(parse_key("Execution", id)), "createdBy")
    asked = f'{{ pipeline(id: "{pipeline}") {{ executions {{ %s }} }} }}'
    found = await read_list(ask, asked, "id state code mode tags { key }", "createdBy")
    assert found == [{"id": id, "state": "SUCCESS", "code": None, "mode": "INLINE", "tags": []}]


async def test_a_list_of_audio(any_store: Store) -> None:
    ask = Ask(any_store)
    first, second = await shelve(any_store, *album_tracks(2))
    await spoil(any_store, audio_key(ROOT.user_id, second.id), "etag")
    await spoil(any_store, audio_key(ROOT.user_id, first.id), "objectKey")
    light = "title displayArtist track year size genres format"
    found = await read_list(ask, "{ audios { %s } }", light, "objectKey")
    assert [(node["title"], node["track"], node["year"]) for node in found] == [
        ("t1", 2, None),
        ("t0", 1, None),
    ]
    assert found[0]["displayArtist"] == "The Band, a1"


async def test_whole_records_are_there_for_resolvers_that_are_passed_them(any_store: Store) -> None:
    ask = Ask(any_store)
    await ask.create_groups("/usa")
    id = await ask.make("/usa", "one")
    found = (
        await ask(
            """{ pipelines(group: "/usa") { nodes { name ownerGroup { path }
              grantedThrough(group: "/usa") executions { nodes { id } }
              versions { nodes { version pipeline { id transformer { transforms { index } } } } }
              } } }"""
        )
    ).value
    again = {"id": id, "transformer": {"transforms": [{"index": 0}]}}
    assert found["nodes"] == [
        {
            "name": "one",
            "ownerGroup": {"path": "/usa"},
            "grantedThrough": "/usa",
            "executions": {"nodes": []},
            "versions": {"nodes": [{"version": 1, "pipeline": again}]},
        }
    ]


@pytest.mark.parametrize(
    "asked",
    [
        'pipeline(id: "{id}") {{ {fields} }}',
        'node(id: "{id}") {{ ... on Pipeline {{ {fields} }} }}',
        'nodes(ids: ["{id}", "{id}"]) {{ ... on Pipeline {{ {fields} }} }}',
        'execution(id: "{run}") {{ pipeline {{ {fields} }} }}',
        'node(id: "{version}") {{ ... on PipelineVersion {{ pipeline {{ {fields} }} }} }}',
    ],
)
async def test_a_resource_by_its_id(store: Store, asked: str) -> None:
    ask = Ask(store)
    await ask.create_groups("/usa")
    id = await ask.make("/usa", "one")
    told = await ask.input(START, pipelineId=id, mode="INLINE", rows=[{"x": 1}])
    await spoil(store, PIPELINE.latest.key(id=parse_key("Pipeline", id)), "createdBy")

    async def answer(fields: str) -> Any:
        version = GlobalId("PipelineVersion", f"{parse_key('Pipeline', id)}:1").encode()
        names = {"id": id, "version": version, "run": told["execution"]["id"], "fields": fields}
        return await ask(f"{{ {asked.format_map(names)} }}")

    found = await answer("id name state")
    assert found.errors == ()
    assert str(found.data).count(f"{{'id': '{id}', 'name': 'one', 'state': 'ENABLED'}}") == (
        2 if "nodes" in asked else 1
    )
    spoiled = await answer("id createdBy")
    if "nodes" in asked:
        assert (spoiled.data, spoiled.errors) == ({"nodes": [None, None]}, ())
    else:
        assert [each["extensions"]["code"] for each in spoiled.errors] == ["UNREADABLE"]
    both = await ask(
        f'{{ a: pipeline(id: "{id}") {{ name }} b: pipeline(id: "{id}") {{ owner }} }}'
    )
    assert both.data == {"a": {"name": "one"}, "b": {"owner": "/usa"}}
    assert both.units.calls == 1
