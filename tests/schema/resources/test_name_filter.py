"""The argument `name` of lists: what it finds, what it refuses, and the cursors of its lists."""

from typing import Any

import pytest

from penstock.datastore.store import Store
from tests.support.graphql_client import NOUNS, Ask, as_caller, tag_inputs

READER = as_caller("eve", "/eu=reader")
PAGE = """query($after: String, $name: NameFilter, $order: Order) {
  pipelines(group: "/usa", first: 1, after: $after, name: $name, order: $order) {
    nodes { name } pageInfo { endCursor hasNextPage } } }"""
GRANT = "mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) { __typename } }"
REVOKE = "mutation($input: RevokePipelineInput!) { revokePipeline(input: $input) { __typename } }"
DELETE = "mutation($input: DeletePipelineInput!) { deletePipeline(input: $input) { __typename } }"
WRITTEN = '{ pipelines(group: "/usa", name: %s) { nodes { name } } }'


@pytest.mark.parametrize("noun", NOUNS)
async def test_each_kind_is_found_by_a_part_of_its_name(store: Store, noun: str) -> None:
    ask = Ask(store, noun)
    await ask.create_groups()
    await ask.make("/usa", "Daily report", "m=a")
    await ask.make("/usa/northwest", "Report 2", "m=b")
    assert await ask.names("/usa", name={"contains": "rep"}) == ["Daily report"]
    below: dict[str, Any] = {"name": {"contains": "rep"}, "below": True}
    assert await ask.names("/usa", **below) == ["Daily report", "Report 2"]
    wanted = {"all": tag_inputs("m=b")}
    assert await ask.names("/usa", tags=wanted, **below) == ["Report 2"]
    assert await ask.names("/usa", name=None) == ["Daily report"]
    assert await ask.names("/eu", READER, name={"contains": "rep"}) == []
    assert (await ask(PAGE, {"name": {"contains": "rep"}}, READER)).code == "NOT_FOUND"


async def test_a_walk_by_single_entries_finds_each_name_once(ask: Ask) -> None:
    await ask.create_groups()
    for n in range(5):
        await ask.make("/usa", f"row {n}")
        await ask.make("/usa", f"other {n}")
    variables = {"name": {"startsWith": "ROW"}, "order": "OLDEST_FIRST"}
    names, after = [], None
    while True:
        page = (await ask(PAGE, {**variables, "after": after})).value
        names += [node["name"] for node in page["nodes"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert names == [f"row {n}" for n in range(5)]
    for other in ({"contains": "row"}, {"startsWith": "r"}, None):
        moved = {**variables, "name": other, "after": after}
        assert (await ask(PAGE, moved)).code == "BAD_USER_INPUT"


@pytest.mark.parametrize(
    "name",
    [
        {},
        {"contains": None},
        {"contains": "a", "startsWith": "a"},
        {"contains": ""},
        {"contains": "!"},
        {"startsWith": " "},
        {"startsWith": "a" * 129},
        {"contains": "a\u0000"},
        {"contains": "\u0301" * 100},
    ],
)
async def test_a_filter_that_can_find_nothing_is_refused(ask: Ask, name: dict[str, str]) -> None:
    await ask.create_groups()
    assert (await ask(PAGE, {"name": name})).code == "BAD_USER_INPUT"


async def test_a_filter_may_be_written_into_the_document(ask: Ask) -> None:
    await ask.create_groups()
    await ask.make("/usa", "one")
    for _ in range(3):
        page = (await ask(WRITTEN % '{ contains: "ONE" }')).value
        assert page["nodes"] == [{"name": "one"}]
    both = WRITTEN % '{ contains: "one", startsWith: "one" }'
    assert (await ask(both)).code == "BAD_USER_INPUT"


async def test_searches_follow_updates_grants_revokes_and_deletes(ask: Ask) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "Old name")
    await ask.make("/usa", "Other name")
    assert await ask.names("/usa", name={"contains": "na"}) == ["Old name", "Other name"]
    await ask.change(id, 1, name="New word")
    for group, found in (("/usa", ["New word"]), ("/eu", [])):
        assert await ask.names(group, name={"contains": "wor new"}) == found
    assert await ask.names("/usa", name={"contains": "old"}) == []
    await ask.input(GRANT, id=id, group="/eu")
    assert await ask.names("/eu", READER, name={"startsWith": "new w"}) == ["New word"]
    await ask.input(REVOKE, id=id, group="/eu")
    assert await ask.names("/eu", READER, name={"startsWith": "new w"}) == []
    await ask.input(DELETE, id=id)
    assert await ask.names("/usa", name={"contains": "w"}) == []
