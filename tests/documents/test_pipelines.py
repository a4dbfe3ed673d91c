"""The access patterns of the pipelines document, one test for each row."""

from asyncio import sleep
from typing import Any

from tests.support.graphql_client import UPDATE, Ask, as_caller, tag_inputs

NORTHWEST = as_caller("nora", "/usa/northwest=reader")
BY_ID = """query($id: ID!) { pipeline(id: $id) { name version tags { key value } groups } }"""
BY_VERSION = """query($id: ID!, $version: Int!) {
  pipeline(id: $id) { versionNumbered(version: $version) { version name tags { value } } } }"""
AS_AT = """query($id: ID!, $at: DateTime) {
  pipeline(id: $id, asAt: $at) { version name updatedAt } }"""
VERSIONS = """query($id: ID!, $after: String) { pipeline(id: $id) {
  versions(first: 4, after: $after) { nodes { version name } pageInfo { hasNextPage endCursor } }
} }"""
KEYS = """query($group: GroupPath!) {
  tagKeys(kind: PIPELINE, group: $group) { nodes { key label count } } }"""
VALUES = """query($group: GroupPath!, $parent: String) {
  tagValues(kind: PIPELINE, key: "material", group: $group, parent: $parent) {
    nodes { value label count hasChildren } } }"""
RESTORE = """mutation($input: RestoreVersionInput!) { restoreVersion(input: $input) {
  ...on RestoreVersionPayload { resource { ...on Pipeline {
    name version tags { key value } diff(from: 1, to: 3) { path } } } }
  ...on UserError { code } } }"""
DELETE = """mutation($input: DeletePipelineInput!) { deletePipeline(input: $input) {
  __typename ...on DeletePipelinePayload { pipeline { name version } } } }"""
COUNTED_KEYS = """query($group: GroupPath, $tags: TagFilter, $below: Boolean, $after: String) {
  tagKeys(kind: PIPELINE, group: $group, tags: $tags, includeChildGroups: $below,
          first: 1, after: $after) {
    nodes { key count } isComplete pageInfo { hasNextPage endCursor } } }"""


async def values(ask: Ask, group: str, parent: str | None = None) -> list[tuple[Any, ...]]:
    page = (await ask(VALUES, {"group": group, "parent": parent})).value
    return [tuple(node.values()) for node in page["nodes"]]


async def counted_keys(
    ask: Ask, group: str, tags: dict[str, Any], *, below: bool = False
) -> list[tuple[str, int]]:
    """Walk the keys under a filter, one on each page."""
    found: list[tuple[str, int]] = []
    after = None
    while True:
        variables = {"group": group, "tags": tags, "below": below, "after": after}
        page = (await ask(COUNTED_KEYS, variables)).value
        assert page["isComplete"] is True
        found += [(node["key"], node["count"]) for node in page["nodes"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            return found


async def catalogue(ask: Ask) -> None:
    await ask.create_groups()
    await ask.make("/usa", "steel", "material=Metal/Steel", "scope=1")
    await ask.make("/usa/northwest", "copper", "material=metal/copper", "scope=1")
    await ask.make("/usa/northwest", "wood", "material=wood", "scope=2")
    await ask.make("/eu", "iron", "material=metal/iron", "scope=1")


async def test_create_a_new_pipeline(ask: Ask) -> None:
    """create a new pipeline"""
    await ask.create_groups()
    id = await ask.make("/usa", "Vehicles", "source=SAP", "material=metal/steel")
    assert (await ask(BY_ID, {"id": id})).value == {
        "name": "Vehicles",
        "version": 1,
        "tags": tag_inputs("source=SAP", "material=metal/steel"),
        "groups": ["/usa"],
    }
    assert await ask.names("/usa/northwest", tags={"all": tag_inputs("material=metal")}) == [
        "Vehicles"
    ]
    assert await ask.names("/eu") == []


async def test_update_an_existing_pipeline(ask: Ask) -> None:
    """update an existing pipeline"""
    await ask.create_groups()
    id = await ask.make("/usa", "one", "scope=1", "source=sap")
    assert await ask.change(id, 1, name="two", tags=tag_inputs("scope=2", "source=sap")) == 2
    after = (await ask(BY_ID, {"id": id})).value
    assert (after["name"], after["version"]) == ("two", 2)
    assert after["tags"] == tag_inputs("scope=2", "source=sap")
    assert await ask.names("/usa", tags={"all": tag_inputs("scope=1")}) == []
    assert await ask.names("/usa", tags={"all": tag_inputs("scope=2", "source=sap")}) == ["two"]
    stale = await ask.input(UPDATE, id=id, expectedVersion=1, name="three")
    assert (stale["__typename"], stale["code"]) == ("VersionConflict", "CONFLICT")
    assert await ask.names("/usa") == ["two"]


async def test_get_an_existing_pipeline(ask: Ask) -> None:
    """get an existing pipeline"""
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    found = await ask(BY_ID, {"id": id}, NORTHWEST)
    assert (found.value["name"], found.units.calls) == ("one", 1)
    assert (await ask(BY_ID, {"id": id}, as_caller("eve", "/eu=admin"))).code == "NOT_FOUND"


async def test_list_pipelines(ask: Ask) -> None:
    """list pipelines"""
    await catalogue(ask)
    everything = ["steel", "copper", "wood", "iron"]
    assert await ask.names("/", below=True) == everything
    assert await ask.names("/", below=True, order="NEWEST_FIRST") == everything[::-1]
    assert await ask.names("/", NORTHWEST, below=True) == everything[:3]


async def test_get_a_specific_pipeline_version(ask: Ask) -> None:
    """get a specific pipeline version"""
    await ask.create_groups()
    id = await ask.make("/usa", "one", "scope=1")
    await ask.change(id, 1, name="two", tags=tag_inputs("scope=2"))
    for version, name in ((1, "one"), (2, "two")):
        found = (await ask(BY_VERSION, {"id": id, "version": version}, NORTHWEST)).value
        tags = [{"value": str(version)}]
        assert found["versionNumbered"] == {"version": version, "name": name, "tags": tags}
    absent = await ask(BY_VERSION, {"id": id, "version": 3}, NORTHWEST)
    assert absent.value == {"versionNumbered": None}


async def test_get_a_pipeline_as_it_was_at_a_time(ask: Ask) -> None:
    """get a pipeline as it was at a time"""
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    first = (await ask(AS_AT, {"id": id}, NORTHWEST)).value["updatedAt"]
    await sleep(0.002)
    assert await ask.change(id, 1, name="two") == 2
    then = (await ask(AS_AT, {"id": id, "at": first}, NORTHWEST)).value
    assert (then["version"], then["name"]) == (1, "one")
    now = (await ask(AS_AT, {"id": id, "at": "2999-01-01T00:00:00Z"})).value
    assert (now["version"], now["name"]) == (2, "two")
    assert (await ask(AS_AT, {"id": id, "at": "2022-08-10T00:00:00Z"})).code == "NOT_FOUND"


async def test_list_existing_pipeline_versions(ask: Ask) -> None:
    """list existing pipeline versions"""
    await ask.create_groups()
    id = await ask.make("/usa", "v1")
    for version in range(1, 11):
        await ask.change(id, version, name=f"v{version + 1}")
    found: list[str] = []
    after, goes_on = None, True
    while goes_on:
        page = (await ask(VERSIONS, {"id": id, "after": after}, NORTHWEST)).value["versions"]
        found += [node["name"] for node in page["nodes"]]
        after, goes_on = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
    assert found == [f"v{version}" for version in range(11, 0, -1)]


async def test_list_tags(ask: Ask) -> None:
    """list tags"""
    await catalogue(ask)
    page = (await ask(KEYS, {"group": "/usa/northwest"})).value
    assert page["nodes"] == [
        {"key": "material", "label": "material", "count": 3},
        {"key": "scope", "label": "scope", "count": 3},
    ]


async def test_list_the_values_of_a_tag(ask: Ask) -> None:
    """list the values of a tag"""
    await catalogue(ask)
    assert await values(ask, "/usa/northwest") == [
        ("metal", "Metal", 2, True),
        ("wood", "wood", 1, False),
    ]
    assert await values(ask, "/usa") == [("metal", "Metal", 1, True)]


async def test_list_the_values_below_a_tag_value(ask: Ask) -> None:
    """list the values below a tag value"""
    await catalogue(ask)
    assert await values(ask, "/usa/northwest", "METAL") == [
        ("metal/copper", "copper", 1, False),
        ("metal/steel", "Steel", 1, False),
    ]
    assert await values(ask, "/usa/northwest", "wood") == []


async def test_count_the_tags_of_the_pipelines_that_a_filter_matches(ask: Ask) -> None:
    """count the tags of the pipelines that a filter matches"""
    await catalogue(ask)
    one = {"all": tag_inputs("scope=1")}
    assert await counted_keys(ask, "/usa/northwest", one) == [("material", 2), ("scope", 2)]
    assert await counted_keys(ask, "/usa", one) == [("material", 1), ("scope", 1)]
    assert await counted_keys(ask, "/", one, below=True) == [("material", 3), ("scope", 3)]
    query = """{ tagKeys(kind: PIPELINE, group: "/usa", name: {contains: "COP"},
      includeChildGroups: true) { nodes { key count } resourceCount }
      tagValues(kind: PIPELINE, key: "material", group: "/usa", name: {startsWith: "w"},
        includeChildGroups: true) { nodes { value count } resourceCount } }"""
    assert (await ask(query)).data == {
        "tagKeys": {
            "nodes": [{"key": "material", "count": 1}, {"key": "scope", "count": 1}],
            "resourceCount": 1,
        },
        "tagValues": {"nodes": [{"value": "wood", "count": 1}], "resourceCount": 1},
    }
    for group, count in (("/usa", 1), ("/usa/northwest", 3), ("/eu/france", 1)):
        query = (
            f'{{ tagKeys(kind: PIPELINE, group: "{group}") {{ nodes {{ count }} resourceCount }} }}'
        )
        answer = (await ask(query)).value
        assert answer == {"nodes": [{"count": count}] * 2, "resourceCount": count}
    bad = '{ tagKeys(kind: CALCULATION, name: {startsWith: "a", contains: "b"}) { isComplete } }'
    assert (await ask(bad)).code == "BAD_USER_INPUT"


async def test_list_pipelines_by_tags(ask: Ask) -> None:
    """list pipelines by tags"""
    await catalogue(ask)
    both = {"all": tag_inputs("material=metal", "scope=1")}
    assert await ask.names("/usa/northwest", tags=both) == ["steel", "copper"]
    assert await ask.names("/usa/northwest", tags=both, order="NEWEST_FIRST") == ["copper", "steel"]
    assert await ask.names("/usa", tags=both) == ["steel"]
    assert await ask.names("/", tags=both, below=True) == ["steel", "copper", "iron"]
    other = {
        "any": tag_inputs("material=wood", "scope=1"),
        "none": tag_inputs("material=metal/steel"),
    }
    assert await ask.names("/usa/northwest", tags=other) == ["copper", "wood"]


async def test_restore_an_earlier_version_of_a_pipeline(ask: Ask) -> None:
    """restore an earlier version of a pipeline"""
    await ask.create_groups()
    id = await ask.make("/usa", "one", "scope=1")
    await ask.change(id, 1, name="two", tags=tag_inputs("scope=2"))
    reader = as_caller("rita", "/usa=reader")
    refused = await ask.input(RESTORE, reader, id=id, version=1, expectedVersion=2)
    assert refused == {"code": "FORBIDDEN"}
    assert await ask.names("/usa") == ["two"]
    restored = await ask.input(RESTORE, id=id, version=1, expectedVersion=2)
    assert restored["resource"] == {
        "name": "one",
        "version": 3,
        "tags": tag_inputs("scope=1"),
        "diff": [],
    }
    assert await ask.names("/usa") == ["one"]


async def test_delete_a_pipeline(ask: Ask) -> None:
    """delete a pipeline"""
    await ask.create_groups()
    id = await ask.make("/usa", "one", "scope=1")
    await ask.change(id, 1, description="changed")
    gone = await ask.input(DELETE, id=id, expectedVersion=2)
    assert gone["pipeline"] == {"name": "one", "version": 2}
    assert (await ask(BY_ID, {"id": id})).code == "NOT_FOUND"
    assert await ask.names("/usa") == []
    assert (await ask(KEYS, {"group": "/usa"})).value["nodes"] == []
    assert await ask.make("/usa", "one") != id
