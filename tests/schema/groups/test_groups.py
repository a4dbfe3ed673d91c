"""Groups: their names, the roles that create and delete them, and their tree."""

from typing import Any

import pytest

from penstock.datastore.store import Store
from tests.support.consistency_check import contents
from tests.support.graphql_client import CREATE_GROUP, Ask, as_caller

GROUP = """query($path: GroupPath!) { group(path: $path) {
  id path name createdAt createdBy parent { path parent { path } } } }"""
DELETE = """mutation($input: DeleteGroupInput!) { deleteGroup(input: $input) {
  __typename ...on DeleteGroupPayload { group { path name parent { path } } }
  ...on UserError { code } } }"""


async def test_a_group_is_what_was_created(ask: Ask) -> None:
    await ask.create_groups("/usa")
    uma = as_caller("uma", "/usa=admin")
    made = await ask.input(CREATE_GROUP, uma, path="/USA/North West", name=" Northwest ")
    assert made["group"] == {"path": "/usa/north west"}
    found = (await ask(GROUP, {"path": "/usa/north WEST"})).value
    assert found.pop("createdAt") > "2022-08-10T23:55:20.322Z"
    assert found.pop("id")
    assert found == {
        "path": "/usa/north west",
        "name": "Northwest",
        "createdBy": "uma",
        "parent": {"path": "/usa", "parent": {"path": "/"}},
    }


async def test_the_root_is_there_from_the_start_and_cannot_be_made_or_deleted(ask: Ask) -> None:
    root = (await ask(GROUP, {"path": "/"})).value
    assert (root["path"], root["parent"], root["createdAt"]) == ("/", None, None)
    assert (await ask.input(CREATE_GROUP, path="/"))["code"] == "NAME_TAKEN"
    assert (await ask.input(DELETE, path="/"))["code"] == "ILLEGAL_STATE"


@pytest.mark.parametrize(
    "path",
    ["usa", "", "/usa/", "//", "/usa//west", "/a/b/c/d/e/f/g/h/i/j/k", "/\u0007", "/" + "x" * 65],
)
async def test_a_path_that_makes_no_sense_is_refused_before_anything_runs(
    path: str, ask: Ask
) -> None:
    answer = await ask(CREATE_GROUP, {"input": {"path": path}})
    assert answer.code == "BAD_USER_INPUT"
    assert answer.units.calls == 0


@pytest.mark.parametrize(
    ("roles", "code"),
    [
        (["/usa=contributor"], "FORBIDDEN"),
        (["/usa=admin", "/usa/new=reader"], "FORBIDDEN"),
        (["/usa/northwest=admin"], "NOT_FOUND"),
        (["/eu=admin"], "NOT_FOUND"),
    ],
)
async def test_only_an_admin_at_the_path_creates_a_group(
    roles: list[str], code: str, ask: Ask, store: Store
) -> None:
    await ask.create_groups()
    before = await contents(store.table)
    told = await ask.input(CREATE_GROUP, as_caller("ann", *roles), path="/usa/new")
    assert told["code"] == code
    assert await contents(store.table) == before


async def test_an_admin_of_a_group_alone_may_create_and_delete_just_that(ask: Ask) -> None:
    await ask.create_groups("/usa")
    ann = as_caller("ann", "/usa/new=admin")
    assert (await ask.input(CREATE_GROUP, ann, path="/usa/new"))["group"] == {"path": "/usa/new"}
    assert (await ask.input(DELETE, ann, path="/usa"))["code"] == "FORBIDDEN"
    gone = await ask.input(DELETE, ann, path="/usa/new")
    assert gone["group"] == {"path": "/usa/new", "name": "new", "parent": {"path": "/usa"}}


async def test_a_group_is_deleted_only_when_nothing_lies_in_it(ask: Ask, store: Store) -> None:
    await ask.create_groups("/usa", "/usa/west", "/eu")
    await ask.make("/eu", "one")
    before = await contents(store.table)
    for path in ("/usa", "/eu"):
        assert (await ask.input(DELETE, path=path))["code"] == "ILLEGAL_STATE"
    assert await contents(store.table) == before


async def test_children_of_many_groups_are_read_side_by_side(ask: Ask) -> None:
    await ask.create_groups()
    query = """{ group(path: "/") { children { nodes { path
      children { nodes { path parent { name } } } } } } }"""
    told: Any = (await ask(query)).value["children"]["nodes"]
    assert {one["path"]: [child["path"] for child in one["children"]["nodes"]] for one in told} == {
        "/eu": ["/eu/france"],
        "/usa": ["/usa/northwest", "/usa/southeast"],
    }
