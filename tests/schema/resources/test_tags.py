"""Tags in use: labels as first written, levels, and exact counts after every kind of change."""

from dataclasses import replace
from itertools import combinations
from typing import Any

from penstock.datastore.store import Store
from tests.support.consistency_check import faults
from tests.support.graphql_client import Ask, tag_inputs

KEYS = """query($group: GroupPath) {
  tagKeys(kind: PIPELINE, group: $group) { nodes { key label count } } }"""
VALUES = """query($group: GroupPath, $key: String!, $parent: String) {
  tagValues(kind: PIPELINE, key: $key, parent: $parent, group: $group, first: 100) {
    nodes { key value label count hasChildren } } }"""
GRANT = "mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) { __typename } }"
REVOKE = "mutation($input: RevokePipelineInput!) { revokePipeline(input: $input) { __typename } }"
DELETE = "mutation($input: DeletePipelineInput!) { deletePipeline(input: $input) { __typename } }"


async def keys(ask: Ask, group: str) -> dict[str, int]:
    page = (await ask(KEYS, {"group": group})).value
    return {node["key"]: node["count"] for node in page["nodes"]}


async def values(ask: Ask, group: str, key: str, parent: str | None = None) -> dict[str, int]:
    variables = {"group": group, "key": key, "parent": parent}
    page = (await ask(VALUES, variables)).value
    assert all(node["key"] == key.casefold() for node in page["nodes"])
    return {node["value"]: node["count"] for node in page["nodes"]}


async def test_keys_and_values_are_matched_in_any_writing_and_shown_as_first_written(
    ask: Ask,
) -> None:
    # The first of one shard is shown.
    ask = replace(ask, store=replace(ask.store, shards=1))
    await ask.create_groups()
    await ask.make("/usa", "one", "Material=Metal / STEEL")
    await ask.make("/usa", "two", "MATERIAL=ＭＥＴＡＬ/steel")
    shown = (await ask(KEYS, {"group": "/usa"})).value
    assert shown["nodes"] == [{"key": "material", "label": "Material", "count": 2}]
    top = (await ask(VALUES, {"group": "/usa", "key": " material"})).value
    metal = {"key": "material", "value": "metal", "label": "Metal", "count": 2, "hasChildren": True}
    assert top["nodes"] == [metal]
    below = (await ask(VALUES, {"group": "/usa", "key": "material", "parent": "METAL"})).value
    assert below["nodes"] == [
        {**metal, "value": "metal/steel", "label": "STEEL", "hasChildren": False}
    ]
    assert await ask.names("/usa", tags={"all": tag_inputs("MaTerial=metal/Steel")}) == [
        "one",
        "two",
    ]


async def test_a_value_is_no_prefix_of_another(ask: Ask) -> None:
    await ask.create_groups()
    await ask.make("/usa", "one", "m=metal")
    await ask.make("/usa", "two", "m=metals/steel")
    await ask.make("/usa", "three", "m=metal#steel")
    await ask.make("/usa", "four", "m=metal/steel")
    assert await ask.names("/usa", tags={"all": tag_inputs("m=metal")}) == ["one", "four"]
    assert await ask.names("/usa", tags={"all": tag_inputs("m=metal#steel")}) == ["three"]
    assert await values(ask, "/usa", "m") == {"metal": 2, "metal#steel": 1, "metals": 1}
    assert await values(ask, "/usa", "m", "metal") == {"metal/steel": 1}


async def test_counts_follow_updates_grants_revokes_and_deletes(ask: Ask, store: Store) -> None:
    await ask.create_groups()
    one = await ask.make("/usa", "one", "m=metal/steel", "scope=1")
    await ask.make("/usa/northwest", "two", "m=metal")
    assert await keys(ask, "/usa/northwest") == {"m": 2, "scope": 1}
    assert await keys(ask, "/usa") == {"m": 1, "scope": 1}
    assert await keys(ask, "/eu") == {}
    await ask.input(GRANT, id=one, group="/eu")
    assert await values(ask, "/eu/france", "m") == {"metal": 1}
    await ask.change(one, 1, tags=tag_inputs("m=wood"))
    assert await values(ask, "/eu/france", "m") == {"wood": 1}
    assert await values(ask, "/usa/northwest", "m") == {"metal": 1, "wood": 1}
    assert await values(ask, "/usa/northwest", "m", "metal") == {}
    await ask.input(REVOKE, id=one, group="/eu")
    assert await keys(ask, "/eu") == {}
    await ask.input(DELETE, id=one)
    assert await keys(ask, "/usa") == {}
    assert await keys(ask, "/usa/northwest") == {"m": 1}
    assert await faults(store.table) == []


async def test_a_filter_that_no_tag_can_match_is_refused_with_its_paths(ask: Ask) -> None:
    await ask.create_groups()
    query = 'query($t: TagFilter) { pipelines(group: "/usa", tags: $t) { nodes { id } } }'
    bad: dict[str, Any] = {"all": tag_inputs("a=b", "=c"), "none": tag_inputs("d=e//f")}
    assert (await ask(query, {"t": bad})).code == "BAD_USER_INPUT"
    many = {"any": tag_inputs(*(f"k{n}=v" for n in range(21)))}
    assert (await ask(query, {"t": many})).code == "BAD_USER_INPUT"


CHOICES = ("a=1", "a=1/2", "a=2", "b=1", "b=1/2/3", "c=x")
CARRIED = [
    [tag for tag in (a, b, c) if tag]
    for a in ("", "a=1", "a=1/2", "a=2", "a=1/20")
    for b in ("", "b=1", "b=1/2/3")
    for c in ("", "c=x")
]


def carries(tags: list[str], wanted: str) -> bool:
    return any(tag == wanted or tag.startswith(f"{wanted}/") for tag in tags)


async def test_every_filter_finds_what_set_algebra_finds(ask: Ask) -> None:
    await ask.create_groups()
    groups = ("/usa", "/usa/northwest", "/eu")
    for n, tags in enumerate(CARRIED):
        await ask.make(groups[n % 3], f"p{n}", *tags)
    seen = [(f"p{n}", tags) for n, tags in enumerate(CARRIED) if n % 3 != 2]
    for size in range(4):
        for wanted in combinations(CHOICES, size):
            for kind, other in (("none", "a=1/2"), ("none", "c=x"), ("any", "b=1")):
                filter = {"all": tag_inputs(*wanted), kind: tag_inputs(other)}
                expected = [
                    name
                    for name, tags in seen
                    if all(carries(tags, tag) for tag in wanted)
                    and carries(tags, other) is (kind == "any")
                ]
                assert await ask.names("/usa/northwest", tags=filter) == expected, filter
