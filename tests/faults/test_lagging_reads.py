"""Over a table whose eventually consistent reads lag, answers show what was written before."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.clock import Clock, wall_clock
from penstock.datastore.store import Store
from penstock.schema.core.relay import parse_key
from tests.faults.dynamodb_proxy import FaultProxy
from tests.support.application import ApplicationClient, open_application
from tests.support.consistency_check import contents
from tests.support.graphql_client import CREATE_GROUP, UPDATE, Ask, as_caller, draft, tag_inputs
from tests.support.stores import open_dynamodb, open_files, open_table, quick_endpoint
from tests.support.table_interceptors import LaggingTable

REED = as_caller("reed", "/eu=reader")
ANN = as_caller("ann", "/usa=admin")
CREATE = """mutation($input: CreatePipelineInput!) { createPipeline(input: $input) {
  ...on CreatePipelinePayload { pipeline { id version versions { nodes { version } }
    ownerGroup { path } } } ...on UserError { code } } }"""
CREATE_EXECUTIONS = """mutation($one: CreateExecutionInput!, $two: CreateExecutionInput!) {
  one: createExecution(input: $one) { ...on CreateExecutionPayload { execution { id } } }
  two: createExecution(input: $two) { ...on CreateExecutionPayload { execution { id
    tags { key } timeline { nodes { state } }
    pipeline { executions(first: 1) { nodes { id } pageInfo { hasNextPage } } } } } } }"""
TWO_GRANTS = """mutation($one: GrantPipelineInput!, $two: RevokePipelineInput!) {
  one: grantPipeline(input: $one) { ...on GrantPipelinePayload { pipeline { groups } } }
  two: revokePipeline(input: $two) { ...on RevokePipelinePayload { pipeline { groups } }
    ...on UserError { code } } }"""
GRANT = """mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) {
  ...on GrantPipelinePayload { pipeline { groups } } ...on UserError { code } } }"""
REVOKE = """mutation($input: RevokePipelineInput!) { revokePipeline(input: $input) {
  ...on RevokePipelinePayload { pipeline { groups } } ...on UserError { code } } }"""
CREATE_EXECUTION = """mutation($input: CreateExecutionInput!) { createExecution(input: $input) {
  ...on CreateExecutionPayload { execution { id } } ...on UserError { code } } }"""
DELETE_ALL = """mutation($input: DeleteGroupInput!) { deleteGroup(input: $input) {
  __typename } }"""
READS = {
    "pipeline": """query($id: ID!, $run: ID!) { pipeline(id: $id) { name } execution(id: $run) {
      id } }""",
    "node": """query($id: ID!, $run: ID!) { node(id: $id) { ...on Pipeline { name } }
      other: node(id: $run) { id } }""",
    "version": """query($id: ID!) { pipeline(id: $id) { versionNumbered(version: 1) { name } } }""",
    "name": """query { pipelineByName(name: "one", group: "/eu") { name } }""",
    "list": """query { pipelines(group: "/eu") { nodes { name } } }""",
    "tags": """query { pipelines(group: "/eu", tags: {all: [{key: "a", value: "b"}]}) {
      nodes { name } } }""",
    "executions": """query($id: ID!) { pipeline(id: $id) { executions { nodes { id } } } }""",
}
EVALUATE = """query($id: ID!) { evaluate(input: {id: $id, rows: [{x: 1}]}) {
  __typename ...on UserError { code } } }"""
ONE = "query($id: ID!) { pipeline(id: $id) { version versions { nodes { version } } } }"
LISTS = """query { pipelines(group: "/usa") { nodes { name } }
  everything: pipelines(group: "/", includeChildGroups: true) { nodes { name } }
  tagged: pipelines(group: "/usa", tags: {all: [{key: "a", value: "b"}]}) { nodes { name } }
  tagKeys(kind: PIPELINE, group: "/usa") { nodes { key count } } }"""


@pytest.fixture
async def lagging(tmp_path: Path) -> AsyncIterator[LaggingTable]:
    async with AsyncExitStack() as held:
        table, replica = [
            await held.enter_async_context(open_table("sqlite", tmp_path)) for _ in range(2)
        ]
        yield LaggingTable(table, replica)


@pytest.fixture
async def ask(lagging: LaggingTable, tmp_path: Path) -> AsyncIterator[Ask]:
    async with open_files(tmp_path) as files:
        found = Ask(Store(lagging, files=files))
        await found.create_groups("/usa", "/usa/northwest", "/eu")
        await lagging.catch_up()
        yield found


async def test_the_answer_of_a_create_shows_its_versions_and_its_group(ask: Ask) -> None:
    await ask.create_groups("/usa/southeast")
    made = await ask.input(CREATE, **draft("one", "a=b", group="/usa/southeast"))
    assert made["pipeline"]["versions"] == {"nodes": [{"version": 1}]}
    assert made["pipeline"]["ownerGroup"] == {"path": "/usa/southeast"}


async def test_an_answer_lists_what_earlier_fields_of_its_operation_wrote(ask: Ask) -> None:
    pipeline = await ask.make("/usa", "one")
    variables = {
        "one": {"pipelineId": pipeline},
        "two": {"pipelineId": pipeline, "tags": tag_inputs("a=b")},
    }
    made = await ask(CREATE_EXECUTIONS, variables)
    assert made.errors == ()
    two = made.data["two"]["execution"]
    assert two["tags"] == [{"key": "a"}]
    assert two["timeline"] == {"nodes": [{"state": "WAITING"}]}
    assert two["pipeline"]["executions"]["nodes"] == [{"id": two["id"]}]
    assert two["pipeline"]["executions"]["pageInfo"] == {"hasNextPage": True}
    variables = {"one": {"id": pipeline, "group": "/eu"}, "two": {"id": pipeline, "group": "/eu"}}
    changed = await ask(TWO_GRANTS, variables)
    assert changed.data["one"]["pipeline"]["groups"] == ["/usa", "/eu"]
    assert changed.data["two"]["pipeline"]["groups"] == ["/usa"]


async def test_what_was_just_created_is_found_by_its_id_and_its_name(ask: Ask) -> None:
    made = await ask.input(CREATE, **draft("one", group="/usa"))
    id = made["pipeline"]["id"]
    assert (await ask(ONE, {"id": id})).value == {
        "version": 1,
        "versions": {"nodes": [{"version": 1}]},
    }
    named = """query { pipelineByName(name: "one", group: "/usa") { id } }"""
    assert (await ask(named)).value == {"id": id}


async def test_updates_with_the_version_that_a_query_read_meet_no_conflict(ask: Ask) -> None:
    id = await ask.make("/usa", "one")
    for expected in range(1, 8):
        shown = (await ask(ONE, {"id": id})).value
        assert shown["version"] == expected
        assert [one["version"] for one in shown["versions"]["nodes"]] == [*range(expected, 0, -1)]
        assert await ask.change(id, shown["version"], description=f"{expected}") == expected + 1


@pytest.mark.parametrize("read", READS)
async def test_a_revoked_reader_reads_nothing_from_the_answer_of_the_revoke_on(
    ask: Ask, lagging: LaggingTable, read: str
) -> None:
    id = await ask.make("/usa", "one", "a=b")
    await ask.input(GRANT, id=id, group="/eu")
    run = (await ask.input(CREATE_EXECUTION, pipelineId=id))["execution"]["id"]
    await lagging.catch_up()
    variables = {"id": id, "run": run}
    before = json.dumps((await ask(READS[read], variables, REED)).data)
    assert "one" in before or run in before
    assert (await ask.input(REVOKE, id=id, group="/eu"))["pipeline"]["groups"] == ["/usa"]
    after = await ask(READS[read], variables, REED)
    assert json.dumps("one") not in json.dumps(after.data)
    assert run not in json.dumps(after.data)


async def test_a_revoked_reader_runs_no_formula_that_calls_what_was_revoked(
    ask: Ask, lagging: LaggingTable
) -> None:
    calculations = Ask(ask.store, "calculation")
    id = await calculations.make("/usa", "one")
    await calculations.input(GRANT, id=id, group="/eu")
    await lagging.catch_up()
    seen = (await ask(EVALUATE, {"id": id}, REED)).value
    assert seen == {"__typename": "EvaluatePayload"}
    await calculations.input(REVOKE, id=id, group="/eu")
    told = await ask(EVALUATE, {"id": id}, REED)
    assert told.value == {"__typename": "NotFound", "code": "NOT_FOUND"}


async def test_a_role_in_an_operation_is_decided_by_what_stands_now(
    ask: Ask, lagging: LaggingTable
) -> None:
    """An admin of one group, whose group lost the resource, changes nothing of it."""
    id = await ask.make("/usa", "one")
    await ask.input(GRANT, id=id, group="/eu")
    await lagging.catch_up()
    await ask.input(REVOKE, id=id, group="/eu")
    admin = as_caller("eve", "/eu=admin")
    told = await ask.input(GRANT, admin, id=id, group="/eu")
    assert told == {"code": "NOT_FOUND"}
    assert (await ask.input(UPDATE, admin, id=id, expectedVersion=1, name="x"))["code"] == (
        "NOT_FOUND"
    )
    shown = await ask("query($id: ID!) { pipeline(id: $id) { name groups } }", {"id": id})
    assert shown.value == {"name": "one", "groups": ["/usa"]}


async def test_lists_lag_without_a_token_and_are_exact_with_one(
    ask: Ask, lagging: LaggingTable
) -> None:
    old = await ask.make("/usa", "old", "a=b")
    gone = await ask.make("/usa", "gone", "a=b")
    await lagging.catch_up()
    delete = "mutation($id: ID!) { deletePipeline(input: {id: $id}) { __typename } }"
    client = Ask(ask.store, tokens=[])
    await client.make("/usa", "new", "a=b")
    await client(delete, {"id": gone})
    await client.change(old, 1, name="renamed")

    def names(answer: Any) -> list[list[str]]:
        lists = ("pipelines", "everything", "tagged")
        return [[node["name"] for node in answer.data[each]["nodes"]] for each in lists]

    # What a list shows is read by its key, so that it is as it is now, or gone.
    stale = await ask(LISTS)
    assert names(stale) == [["renamed"]] * 3
    assert stale.data["tagKeys"]["nodes"] == [{"key": "a", "count": 2}]
    current = await client(LISTS)
    assert names(current) == [["new", "renamed"]] * 3
    assert current.data["tagKeys"]["nodes"] == [{"key": "a", "count": 2}]
    await lagging.catch_up()
    assert names(await ask(LISTS)) == [["new", "renamed"]] * 3


async def test_a_list_with_a_token_is_walked_at_any_size_of_its_pages(
    ask: Ask, lagging: LaggingTable
) -> None:
    pipeline = await ask.make("/usa", "one")
    runs = [
        (await ask.input(CREATE_EXECUTION, pipelineId=pipeline))["execution"]["id"]
        for _ in range(3)
    ]
    await lagging.catch_up()
    client = Ask(ask.store, tokens=[])
    runs += [
        (await client.input(CREATE_EXECUTION, pipelineId=pipeline))["execution"]["id"]
        for _ in range(3)
    ]
    page = """query($id: ID!, $size: Int!, $after: String) { pipeline(id: $id) {
      executions(first: $size, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } }
    } }"""
    for size in (1, 2, 5, 6, 10):
        found, after, more = list[str](), None, True
        while more:
            variables = {"id": pipeline, "size": size, "after": after}
            read = (await client(page, variables)).value["executions"]
            found += [node["id"] for node in read["nodes"]]
            after, more = read["pageInfo"]["endCursor"], read["pageInfo"]["hasNextPage"]
        assert found == runs[::-1]


NEW_LISTS = {
    "named": """pipelines(group: "/usa", name: {contains: "sales"}, first: 1, after: $after) {
      nodes { name } pageInfo { endCursor hasNextPage } }""",
    "jobs": """jobs(first: 1, after: $after) { nodes { kind }
      pageInfo { endCursor hasNextPage } }""",
    "history": """group(path: "/usa") { history(first: 1, after: $after) { nodes { subject }
      pageInfo { endCursor hasNextPage } } }""",
    "executions": """executions(group: "/usa", first: 1, after: $after) { nodes { state }
      pageInfo { endCursor hasNextPage } }""",
}


async def walk_list(ask: Ask, field: str) -> int:
    """Walk a list by single entries; return their number."""
    found, after = 0, None
    while True:
        page = (await ask(f"query($after: String) {{ {field} }}", {"after": after})).value
        page = page.get("history", page)
        found += len(page["nodes"])
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            return found


async def test_new_lists_are_walked_behind_lag_and_are_whole_after_it(
    ask: Ask, lagging: LaggingTable
) -> None:
    for name in ("Sales one", "Sales two"):
        id = await ask.make("/usa", name)
        await ask.input(GRANT, id=id, group="/eu")
        await ask.input(CREATE_EXECUTION, pipelineId=id)
    await ask.input(DELETE_ALL, path="/usa", cascade=True)
    late = {name: await walk_list(ask, field) for name, field in NEW_LISTS.items()}
    assert all(count <= 2 for count in late.values())
    await lagging.catch_up()
    whole = {name: await walk_list(ask, field) for name, field in NEW_LISTS.items()}
    assert whole == {"named": 2, "jobs": 1, "history": 2, "executions": 2}


async def test_a_key_that_was_revoked_is_read_as_revoked(ask: Ask) -> None:
    make = """mutation { createApiKey(input: {name: "key", expiresAt: "2999-01-01T00:00:00Z",
      roles: [{group: "/usa", role: READER}]}) { ...on CreateApiKeyPayload { apiKey { id } secret }
      ...on UserError { code message } } }"""
    ask = Ask(Store(ask.store.table, longest_api_key=ask.store.longest_api_key * 1000))
    made = (await ask(make, caller=ANN)).value
    id = made["secret"].split("_")[1]
    assert await ask.store.find_credential(id) is not None
    end = "mutation($id: ID!) { revokeApiKey(input: {id: $id}) { __typename } }"
    assert (await ask(end, {"id": made["apiKey"]["id"]}, ANN)).value == {
        "__typename": "RevokeApiKeyPayload"
    }
    assert await ask.store.find_credential(id) is None


async def test_a_group_is_deleted_by_a_job_that_sees_late_what_was_created(
    ask: Ask, lagging: LaggingTable
) -> None:
    await ask.make("/usa/northwest", "one", "a=b")
    delete = """mutation { deleteGroup(input: {path: "/usa", cascade: true}) {
      ...on DeleteGroupPayload { job { id } } } }"""
    id = (await ask(delete)).value["job"]["id"]
    job = "query($id: ID!) { job(id: $id) { state } }"
    # The index shows neither the job nor the pipeline: nothing is lost, and nothing ends early.
    for _ in range(2):
        await ask.store.run_jobs("worker")
        assert (await ask(job, {"id": id})).value == {"state": "PENDING"}
    await lagging.catch_up()
    while (await ask(job, {"id": id})).value["state"] != "DONE":
        await ask.store.run_jobs("worker")
        await lagging.catch_up()
    assert (await ask('query { group(path: "/usa") { path } }')).code == "NOT_FOUND"


async def test_the_removal_of_an_execution_leaves_no_row_of_its_history(ask: Ask) -> None:
    pipeline = await ask.make("/usa", "one")
    rows = {"mode": "INLINE", "rows": [{"x": 1}]}
    run = (await ask.input(CREATE_EXECUTION, pipelineId=pipeline, **rows))["execution"]["id"]
    key = parse_key("Execution", run)
    assert any(key in pk for pk, _ in await contents(ask.store.table))
    later = replace(ask.store, clock=Clock(lambda: wall_clock() + timedelta(days=400)))
    await later.finish_deletes()
    assert [row for row in await contents(ask.store.table) if key in row.pk] == []


async def test_the_requests_over_the_wire_ask_for_consistency(tmp_path: Path) -> None:
    endpoint = quick_endpoint()
    async with AsyncExitStack() as held:
        proxy = await held.enter_async_context(FaultProxy(endpoint))
        table = await open_dynamodb(proxy.url)
        held.push_async_callback(table.close)
        stale = await open_dynamodb(endpoint)
        held.push_async_callback(stale.close)
        await table.create()
        await stale.create()
        proxy.stale_table = stale._name
        store = Store(table)
        client, other = Ask(store, tokens=[]), Ask(store)
        await client.create_groups("/usa", "/eu")
        made = await client.input(CREATE, **draft("one", "a=b", group="/usa"))
        id = made["pipeline"]["id"]
        assert made["pipeline"]["versions"] == {"nodes": [{"version": 1}]}
        await client.input(GRANT, id=id, group="/eu")
        shown = await other(READS["version"], {"id": id}, REED)
        assert shown.value == {"versionNumbered": {"name": "one"}}
        await client.input(REVOKE, id=id, group="/eu")
        assert (await other(ONE, {"id": id}, REED)).code == "NOT_FOUND"
        assert (await client(LISTS)).data["pipelines"]["nodes"] == [{"name": "one"}]
        assert (await other(LISTS)).data["pipelines"]["nodes"] == []


@pytest.fixture
async def application(lagging: LaggingTable, tmp_path: Path) -> AsyncIterator[ApplicationClient]:
    async with open_files(tmp_path) as files:
        store = Store(lagging, files=files)
        async with open_application(store, tmp_path, rate_limit_per_second=0) as found:
            made = await found.ask(CREATE_GROUP, {"input": {"path": "/usa"}})
            assert made.json()["data"]["createGroup"]["group"] == {"path": "/usa"}
            yield found


HTTP_LIST = """query { pipelines(group: "/usa") { nodes { name } } }"""


async def test_the_token_is_in_the_answer_of_a_write_and_goes_back_in_either_place(
    application: ApplicationClient,
) -> None:
    first = await application.ask(CREATE, {"input": draft("one", group="/usa")})
    token = first.headers["penstock-consistency"]
    assert first.json()["extensions"] == {"consistencyToken": token}
    sent = {"penstock-consistency": token}
    second = await application.ask(CREATE, {"input": draft("two", group="/usa")}, sent)
    newer = second.headers["penstock-consistency"]
    assert newer != token
    # The second token also names what the first one named.
    found = await application.ask(HTTP_LIST, headers={"penstock-consistency": newer})
    both = {"pipelines": {"nodes": [{"name": "two"}, {"name": "one"}]}}
    assert found.json() == {"data": both}
    assert "penstock-consistency" not in found.headers
    body = {"query": HTTP_LIST, "extensions": {"consistencyToken": newer}}
    found = await application.client.post("/graphql", json=body)
    assert found.json() == {"data": both}
    found = await application.client.get(
        "/graphql",
        params={"query": HTTP_LIST},
        headers={"penstock-consistency": newer, "x-requested-with": "test"},
    )
    assert found.json() == {"data": both}
    assert "penstock-consistency" in found.headers["vary"]
    bare = await application.ask(HTTP_LIST)
    assert bare.json() == {"data": {"pipelines": {"nodes": []}}}


async def test_a_refused_write_gives_no_token(application: ApplicationClient) -> None:
    told = await application.ask(CREATE, {"input": draft("", group="/usa")})
    assert told.json()["data"]["createPipeline"] == {"code": "BAD_USER_INPUT"}
    assert "extensions" not in told.json()
    assert "penstock-consistency" not in told.headers


async def test_cost_and_token_stand_side_by_side(application: ApplicationClient) -> None:
    made = await application.ask(
        CREATE, {"input": draft("one", group="/usa")}, {"x-penstock-cost": "1"}
    )
    assert made.json()["extensions"].keys() == {"consistencyToken", "cost"}


@pytest.mark.parametrize("token", ["", "x", "AAAA", "A" * 5000, "é".encode().decode("latin-1")])
async def test_a_token_that_no_server_gave_is_refused_and_nothing_is_written(
    application: ApplicationClient, lagging: LaggingTable, token: str
) -> None:
    for document, variables in ((HTTP_LIST, {}), (CREATE, {"input": draft("x", group="/usa")})):
        body = {
            "query": document,
            "variables": variables,
            "extensions": {"consistencyToken": token},
        }
        told = await application.client.post("/graphql", json=body)
        assert told.status_code == 400
        (error,) = told.json()["errors"]
        assert error["extensions"]["code"] == "BAD_USER_INPUT"
        assert error["message"] == "Invalid consistency token."
    await lagging.catch_up()
    found = await application.ask(HTTP_LIST)
    assert found.json() == {"data": {"pipelines": {"nodes": []}}}


@pytest.mark.parametrize("token", [1, ["x"], {"a": "b"}, True])
async def test_a_token_is_a_text(application: ApplicationClient, token: object) -> None:
    body = {"query": HTTP_LIST, "extensions": {"consistencyToken": token}}
    told = await application.client.post("/graphql", json=body)
    assert told.status_code == 400
    (error,) = told.json()["errors"]
    assert error["extensions"]["code"] == "BAD_REQUEST"
