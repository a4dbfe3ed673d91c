"""Groups are described, tagged and disabled; in a disabled one nothing is made or started."""

from typing import Any

import pytest

from penstock.datastore.access.access import key_of_group
from penstock.datastore.executions.files import ingest_key
from penstock.datastore.groups.content import GroupContent
from penstock.datastore.records import GroupState
from penstock.datastore.roles import GroupPath
from penstock.datastore.store import Store
from penstock.datastore.table.row_forms import needed_number
from penstock.schema.core.relay import parse_key
from tests.datastore.executions.sample_executions import put_file
from tests.schema.executions.test_executions import create_execution
from tests.schema.kept_rows.energy import WITHDRAW, keep_energy, meter, read_energy, run_rows
from tests.support.consistency_check import contents, faults
from tests.support.graphql_client import CREATE, CREATE_GROUP, ROOT, UPDATE, Ask, as_caller, draft

WEST = "/usa/northwest"
GROUP = """query($path: GroupPath!) { group(path: $path) {
  name description tags { key value } state disabledThrough } }"""
CHANGE = """mutation($input: UpdateGroupInput!) { updateGroup(input: $input) { __typename
  ...on UpdateGroupPayload { group { name description tags { key value } state disabledThrough } }
  ...on ValidationProblem { problems { path message } }
  ...on UserError { code message } } }"""
TRAIL = """query($path: GroupPath!) { group(path: $path) {
  history { nodes { by action subject state } } } }"""
START = """mutation($input: StartExecutionInput!) { startExecution(input: $input) {
  __typename ...on UserError { code } } }"""
RETRY = """mutation($input: RetryExecutionInput!) { retryExecution(input: $input) {
  __typename ...on UserError { code } } }"""
CANCEL = """mutation($input: CancelExecutionInput!) { cancelExecution(input: $input) {
  __typename ...on UserError { code } } }"""
RESTORE = """mutation($input: RestoreVersionInput!) { restoreVersion(input: $input) {
  __typename ...on UserError { code } } }"""
EXECUTE = """mutation($input: CreateExecutionInput!) { createExecution(input: $input) {
  __typename ...on CreateExecutionPayload { execution { id } } ...on UserError { code } } }"""


async def change(ask: Ask, path: str, **given: Any) -> Any:
    return await ask.input(CHANGE, path=path, **given)


async def test_a_group_has_a_description_and_tags_that_are_set_one_by_one(ask: Ask) -> None:
    await ask.create_groups("/usa")
    plant = {"description": "Two boilers.", "tags": [{"key": "kind", "value": "plant"}]}
    await ask.input(CREATE_GROUP, path="/usa/bend", name="Bend", **plant)
    shown = (await ask(GROUP, {"path": "/usa/bend"})).value
    assert shown == {"name": "Bend", **plant, "state": "ENABLED", "disabledThrough": None}
    told = await change(ask, "/usa/bend", name=" Bend 1 ")
    assert told["group"] == {**shown, "name": "Bend 1"}
    told = await change(ask, "/usa/bend", description=None)
    assert told["group"] == {**shown, "name": "Bend 1", "description": None}
    told = await change(ask, "/usa/bend", tags=[])
    expected = {**shown, "name": "Bend 1", "description": None, "tags": []}
    assert told["group"] == expected
    assert (await ask(GROUP, {"path": "/usa/bend"})).value == expected
    assert (await change(ask, "/usa/bend"))["group"] == expected
    assert await faults(ask.store.table) == []


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"name": ""}, ["name"]),
        ({"name": None}, ["name"]),
        ({"state": None}, ["state"]),
        ({"description": "x" * 1001}, ["description"]),
        ({"tags": [{"key": "a", "value": "1"}, {"key": "A", "value": "2"}]}, ["tags", "1", "key"]),
        ({"tags": [{"key": f"k{n}", "value": "1"} for n in range(17)]}, ["tags"]),
        ({"tags": [{"key": "a\u200bb", "value": "1"}]}, ["tags", "0", "key"]),
    ],
)
async def test_odd_content_of_a_group_is_refused_and_changes_nothing(
    given: dict[str, Any], path: list[str], ask: Ask, store: Store
) -> None:
    await ask.create_groups("/usa")
    before = await contents(store.table)
    told = await change(ask, "/usa", **given)
    assert [one["path"] for one in told["problems"]] == [path]
    if None not in given.values() and "name" not in given:
        made = await ask.input(CREATE_GROUP, path="/usa/new", **given)
        assert made["code"] == "BAD_USER_INPUT"
    assert await contents(store.table) == before


async def test_only_an_admin_at_the_group_changes_it_and_nobody_the_root(
    ask: Ask, store: Store
) -> None:
    await ask.create_groups()
    before = await contents(store.table)
    for roles, path, code in (
        (["/usa=contributor"], "/usa", "FORBIDDEN"),
        (["/usa=admin", f"{WEST}=reader"], WEST, "FORBIDDEN"),
        ([f"{WEST}=admin"], "/usa", "FORBIDDEN"),
        (["/eu=admin"], "/usa", "NOT_FOUND"),
        (["/=admin"], "/", "ILLEGAL_STATE"),
        (["/=admin"], "/nowhere", "NOT_FOUND"),
    ):
        told = await ask.input(CHANGE, as_caller("ann", *roles), path=path, state="DISABLED")
        assert told["code"] == code
    assert await contents(store.table) == before


async def test_below_a_disabled_group_nothing_is_made_or_changed_and_all_is_read(
    ask: Ask, store: Store
) -> None:
    await ask.create_groups()
    id = await ask.make(WEST, "Smelt")
    await ask.change(id, 1, name="Smelter")
    assert (await change(ask, "/usa", state="DISABLED"))["group"]["state"] == "DISABLED"
    west = (await ask(GROUP, {"path": WEST})).value
    assert (west["state"], west["disabledThrough"]) == ("ENABLED", "/usa")
    before = await contents(store.table)
    for document, given in (
        (CREATE, draft("new", group="/usa")),
        (CREATE, draft("new", group=WEST)),
        (UPDATE, {"id": id, "expectedVersion": 2, "name": "other"}),
        (RESTORE, {"id": id, "version": 1, "expectedVersion": 2}),
        (CREATE_GROUP, {"path": f"{WEST}/new"}),
        (EXECUTE, {"pipelineId": id}),
        (EXECUTE, {"pipelineId": id, "mode": "INLINE", "rows": [{"x": 1}]}),
    ):
        assert (await ask.input(document, **given))["code"] == "ILLEGAL_STATE", document
    assert await contents(store.table) == before
    listed = "query($group: GroupPath) { pipelines(group: $group) { nodes { name } } }"
    assert (await ask(listed, {"group": WEST})).value == {"nodes": [{"name": "Smelter"}]}
    assert (await ask.input(CREATE, **draft("new", group="/eu")))["__typename"].endswith("Payload")


async def test_what_waits_below_a_disabled_group_does_not_start_and_can_be_put_away(
    ask: Ask, store: Store
) -> None:
    await ask.create_groups()
    pipeline = await ask.make(WEST, "Smelt")
    awaiting = (await create_execution(ask, pipelineId=pipeline))["id"]
    cancelled = (await create_execution(ask, pipelineId=pipeline))["id"]
    await ask.input(CANCEL, id=cancelled)
    await change(ask, WEST, state="DISABLED")
    before = await contents(store.table)
    assert (await ask.input(START, id=awaiting))["code"] == "ILLEGAL_STATE"
    assert (await ask.input(RETRY, id=cancelled))["code"] == "ILLEGAL_STATE"
    assert await contents(store.table) == before
    assert (await ask.input(CANCEL, id=awaiting))["__typename"] == "CancelExecutionPayload"
    frozen = await ask.input(UPDATE, id=pipeline, expectedVersion=1, state="FROZEN")
    assert frozen["__typename"] == "UpdatePipelinePayload"
    await change(ask, WEST, state="ENABLED")
    await ask.input(UPDATE, id=pipeline, expectedVersion=2, state="ENABLED")
    assert (await ask.input(RETRY, id=cancelled))["__typename"] == "RetryExecutionPayload"


async def test_the_search_for_uploads_starts_nothing_in_a_disabled_group(
    ask: Ask, store: Store
) -> None:
    await ask.create_groups()
    pipeline = await ask.make(WEST, "Smelt")
    id = (await create_execution(ask, pipelineId=pipeline))["id"]
    reading = store.open_session(ROOT).executions.reading
    execution = (await reading.one(parse_key("Execution", id))).execution
    await put_file(store.files, ingest_key(execution), b"x\n1\n")
    for state, started in (("DISABLED", 0), ("ENABLED", 1)):
        await change(ask, "/usa", state=state)
        assert await store.confirm_uploads() == started


async def test_rows_of_a_disabled_group_stay_and_are_neither_corrected_nor_withdrawn(
    ask: Ask, store: Store
) -> None:
    id = await keep_energy(ask)
    await run_rows(ask, id, meter(WEST, "2026-01-01", 10))
    await change(ask, "/usa", state="DISABLED")
    before = await contents(store.table)
    key = [WEST, "1767225600000"]
    told = await ask.input(WITHDRAW, pipelineId=id, keys=[key], reason="wrong")
    assert told["code"] == "ILLEGAL_STATE"
    rows = {"mode": "INLINE", "rows": [meter(WEST, "2026-01-01", 20)]}
    assert (await ask.input(EXECUTE, pipelineId=id, **rows))["code"] == "ILLEGAL_STATE"
    assert await contents(store.table) == before
    assert await read_energy(ask, id, group="/usa", below=True) == {f"{WEST} 2026-01": "15"}


async def test_a_change_of_state_is_in_the_trails_of_the_group_and_of_the_one_above(
    ask: Ask,
) -> None:
    await ask.create_groups()
    uma = as_caller("uma", "/usa=admin")
    for state in ("DISABLED", "DISABLED", "ENABLED"):
        await ask.input(CHANGE, uma, path=WEST, state=state)
    entries = [
        {"by": "uma", "action": "STATE_CHANGED", "subject": WEST, "state": state}
        for state in ("enabled", "disabled")
    ]
    for path in (WEST, "/usa"):
        assert (await ask(TRAIL, {"path": path})).value["history"]["nodes"] == entries


async def test_the_first_disabled_group_demands_releases_that_know_of_it() -> None:
    key = key_of_group(GroupPath("/usa"))
    for state, number in ((GroupState.DISABLED, 14), (GroupState.ENABLED, 0)):
        update = GroupContent(state=state).update(key)
        assert update is not None
        assert needed_number([update], 0) == number
