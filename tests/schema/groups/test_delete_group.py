"""Deleting a group with everything in it, as clients start and follow it."""

from typing import Any

import pytest

from penstock.datastore.store import Store
from tests.support.consistency_check import contents, faults
from tests.support.graphql_client import CREATE, CREATE_GROUP, Ask, as_caller, draft
from tests.support.table_interceptors import TracedTable

DELETE = """mutation($input: DeleteGroupInput!) { deleteGroup(input: $input) {
  __typename ...on DeleteGroupPayload { group { path } job { id state done total } }
  ...on UserError { code message path } ...on IllegalState { state } } }"""
JOB = """query($id: ID!) { job(id: $id) { __typename id kind state createdBy done total message
  createdAt startedAt finishedAt } }"""
UMA = as_caller("uma", "/usa=admin")


async def grow_tree(ask: Ask) -> str:
    """Make the tree with one pipeline in each group; return the id of a pipeline elsewhere."""
    await ask.create_groups()
    for group in ("/usa", "/usa/northwest", "/usa/southeast"):
        await ask.make(group, f"in {group}", "a=b")
    return await ask.make("/eu", "kept", "a=b")


async def start_deletion(ask: Ask) -> str:
    """Start the deletion of `/usa` and everything below; return the id of the job."""
    told = await ask.input(DELETE, UMA, path="/usa", cascade=True)
    assert told["__typename"] == "DeleteGroupPayload", told
    id: str = told["job"]["id"]
    return id


async def read_job(ask: Ask, id: str) -> Any:
    return (await ask(JOB, {"id": id}, UMA)).value


async def test_a_job_is_followed_from_its_beginning_to_its_end(ask: Ask, store: Store) -> None:
    kept = await grow_tree(ask)
    told = await ask.input(DELETE, UMA, path="/usa", cascade=True)
    id = told["job"]["id"]
    assert told == {
        "__typename": "DeleteGroupPayload",
        "group": {"path": "/usa"},
        "job": {"id": id, "state": "PENDING", "done": 0, "total": None},
    }
    waiting = await read_job(ask, id)
    created = waiting.pop("createdAt")
    assert waiting == {
        "__typename": "Job",
        "id": id,
        "kind": "DELETE_GROUP",
        "state": "PENDING",
        "createdBy": "uma",
        "done": 0,
        "total": None,
        "message": None,
        "startedAt": None,
        "finishedAt": None,
    }
    assert await store.run_jobs("w") == 1
    over = await read_job(ask, id)
    assert (over["state"], over["done"], over["total"]) == ("DONE", 6, 6)
    assert created <= over["startedAt"] <= over["finishedAt"]
    assert (await ask("query($id: ID!) { node(id: $id) { id } }", {"id": id}, UMA)).value == {
        "id": id
    }
    assert (await ask('{ group(path: "/usa") { path } }')).code == "NOT_FOUND"
    assert await ask.names("/eu") == ["kept"]
    assert (await ask("query($id: ID!) { node(id: $id) { id } }", {"id": kept})).value
    assert await faults(store.table) == []


async def test_without_a_cascade_a_group_that_is_not_empty_is_refused(
    ask: Ask, store: Store
) -> None:
    await grow_tree(ask)
    before = await contents(store.table)
    for more in ({}, {"cascade": False}, {"cascade": None}):
        told = await ask.input(DELETE, UMA, path="/usa", **more)
        assert (told["__typename"], told["state"]) == ("IllegalState", "NOT_EMPTY")
    assert await contents(store.table) == before


async def test_an_empty_group_goes_at_once_with_or_without_a_cascade(ask: Ask) -> None:
    await ask.create_groups("/usa", "/usa/one", "/usa/two")
    for path, more in (("/usa/one", {}), ("/usa/two", {"cascade": True})):
        told = await ask.input(DELETE, UMA, path=path, **more)
        gone = {"__typename": "DeleteGroupPayload", "group": {"path": path}, "job": None}
        assert told == gone
        assert (await ask("query($p: GroupPath!) { group(path: $p) { path } }", {"p": path})).code


async def test_who_writes_into_a_group_that_is_being_deleted_is_told_so(
    ask: Ask, store: Store
) -> None:
    kept = await grow_tree(ask)
    await start_deletion(ask)
    before = await contents(store.table)
    grant = """mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) {
      __typename ...on UserError { code message path } } }"""
    for told in (
        await ask.input(CREATE, UMA, **draft("late", group="/usa")),
        await ask.input(CREATE_GROUP, UMA, path="/usa/late"),
        await ask.input(grant, id=kept, group="/usa"),
    ):
        assert (told["__typename"], told["code"]) == ("NotFound", "NOT_FOUND")
        assert told["message"] == "The group /usa is being deleted."
    assert await contents(store.table) == before


async def test_the_root_is_deleted_by_no_cascade(ask: Ask, store: Store) -> None:
    await grow_tree(ask)
    before = await contents(store.table)
    told = await ask.input(DELETE, path="/", cascade=True)
    assert (told["__typename"], told["state"]) == ("IllegalState", "ROOT")
    assert await contents(store.table) == before


@pytest.mark.parametrize(
    ("roles", "code"),
    [
        (["/usa=contributor"], "FORBIDDEN"),
        (["/usa=admin", "/usa/northwest=reader"], "FORBIDDEN"),
        (["/usa/northwest=admin"], "FORBIDDEN"),
        (["/eu=admin"], "NOT_FOUND"),
    ],
)
async def test_only_an_admin_of_the_whole_subtree_deletes_it(
    roles: list[str], code: str, ask: Ask, store: Store
) -> None:
    await grow_tree(ask)
    before = await contents(store.table)
    told = await ask.input(DELETE, as_caller("ann", *roles), path="/usa", cascade=True)
    assert told["code"] == code
    assert await contents(store.table) == before


@pytest.mark.parametrize(
    ("user", "roles", "sees"),
    [
        ("uma", ["/eu=admin"], False),
        ("rita", ["/usa=reader"], True),
        ("rita", ["/usa/northwest=reader"], True),
        ("rita", ["/=reader"], True),
        ("rita", ["/eu=admin"], False),
        ("rita", ["/usa2=admin"], False),
    ],
)
async def test_a_job_is_shown_to_who_may_know_the_group(
    user: str, roles: list[str], sees: bool, ask: Ask
) -> None:
    await grow_tree(ask)
    id, who = await start_deletion(ask), as_caller(user, *roles)
    answer = await ask("query($id: ID!) { node(id: $id) { id } }", {"id": id}, who)
    assert answer.data == {"node": {"id": id} if sees else None}
    named = await ask("query($id: ID!) { job(id: $id) { id } }", {"id": id}, who)
    assert named.data == {"job": {"id": id} if sees else None}
    assert [error["extensions"]["code"] for error in named.errors] == (
        [] if sees else ["NOT_FOUND"]
    )


async def test_many_jobs_are_read_at_once(store: Store) -> None:
    traced = TracedTable(store.table)
    ask = Ask(Store(traced))
    paths = [f"/g{n}" for n in range(5)]
    await ask.create_groups(*paths)
    ids = []
    for path in paths:
        await ask.make(path, f"in {path}")
        ids.append((await ask.input(DELETE, path=path, cascade=True))["job"]["id"])
    traced.start()
    found = await ask("query($ids: [ID!]!) { nodes(ids: $ids) { id } }", {"ids": ids})
    assert [node["id"] for node in found.value] == ids
    assert traced.seen == (1, 0, 1)
