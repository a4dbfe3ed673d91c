"""The patterns of groups, names and grants, for each kind, one test for each row."""

from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from penstock.datastore.change_log.feed import ChangeFeed
from penstock.datastore.change_log.follow import ListChange
from penstock.datastore.executions.records import ExecutionState
from penstock.datastore.executions.workers.registry import WorkerKind
from penstock.datastore.jobs.jobs import JobState
from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.quotas.quotas import Quotas
from penstock.datastore.quotas.rules import QuotaRules
from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.roles import Caller, GroupPath
from penstock.datastore.store import Store
from penstock.schema.core.relay import parse_key
from tests.schema.metrics.sample_metrics import make_metric
from tests.support.graphql_client import (
    CREATE,
    CREATE_GROUP,
    ROOT,
    UPDATE,
    Ask,
    as_caller,
    draft,
    tag_inputs,
)

NORTHWEST = as_caller("nora", "/usa/northwest=reader")
FRANCE = as_caller("fleur", "/eu/france=reader")
GROUP = "query($path: GroupPath!) { group(path: $path) { path name } }"
CHILDREN = """query($path: GroupPath!) {
  group(path: $path) { children { nodes { path name parent { path } } } } }"""
DELETE_GROUP = """mutation($input: DeleteGroupInput!) { deleteGroup(input: $input) {
  __typename ...on DeleteGroupPayload { group { path } } ...on UserError { code message } } }"""
CASCADE = """mutation($input: DeleteGroupInput!) { deleteGroup(input: $input) {
  ...on DeleteGroupPayload { job { id state } } } }"""
JOB = "query($id: ID!) { job(id: $id) { state done total } }"
GRANT = """mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) {
  __typename ...on GrantPipelinePayload { changed pipeline { groups version } }
  ...on UserError { code path } ...on NameTaken { group holder } } }"""
REVOKE = """mutation($input: RevokePipelineInput!) { revokePipeline(input: $input) {
  __typename ...on RevokePipelinePayload { pipeline { groups version } } ...on UserError { code }
} }"""
KEPT = "query($path: GroupPath!) { group(path: $path) { quotas { kind maximum used } } }"
MINE = "{ viewer { quotas { kind maximum used } } }"
PIPELINE = "query($id: ID!) { pipeline(id: $id) { name version } }"
VERSION = """query($id: ID!) { pipeline(id: $id) { versionNumbered(version: 1) { name } } }"""
VERSIONS = "query($id: ID!) { pipeline(id: $id) { versions { nodes { version } } } }"
BY_NAME = """query($name: String!, $group: GroupPath!) {
  pipelineByName(name: $name, group: $group) { id owner } }"""
THROUGH = """query($id: ID!, $group: GroupPath!) {
  pipeline(id: $id) { grantedThrough(group: $group) } }"""
DIFF = "query($id: ID!) { pipeline(id: $id) { diff(from: 1, to: 2) { op path before after } } }"
VALUES = """query($group: GroupPath!) { tagValues(kind: PIPELINE, key: "scope", group: $group) {
  nodes { value count } } }"""


@pytest.fixture(params=["pipeline", "calculation"])
def ask(store: Store, request: pytest.FixtureRequest) -> Ask:
    """Ask of each kind of resource what the documents ask of pipelines."""
    return Ask(store, request.param)


async def children(ask: Ask, path: str, caller: Any = ROOT) -> list[str]:
    page = (await ask(CHILDREN, {"path": path}, caller)).value["children"]
    assert all(node["parent"]["path"] == path for node in page["nodes"])
    return [node["path"] for node in page["nodes"]]


async def test_create_a_group(ask: Ask) -> None:
    """create a group"""
    await ask.create_groups("/usa")
    made = await ask.input(CREATE_GROUP, path="/USA/Northwest", name="The Northwest")
    assert made["group"] == {"path": "/usa/northwest"}
    found = (await ask(GROUP, {"path": "/usa/northwest"}, NORTHWEST)).value
    assert found == {"path": "/usa/northwest", "name": "The Northwest"}
    again = await ask.input(CREATE_GROUP, path="/usa/northwest")
    assert again["code"] == "NAME_TAKEN"


UPDATE_GROUP = """mutation($input: UpdateGroupInput!) { updateGroup(input: $input) { __typename
  ...on UpdateGroupPayload { group { description tags { key value } state } }
  ...on UserError { code } } }"""
THROUGH_GROUP = "query($path: GroupPath!) { group(path: $path) { disabledThrough } }"


async def test_describe_tag_disable_or_enable_a_group(ask: Ask) -> None:
    """describe, tag, disable or enable a group"""
    await ask.create_groups()
    wanted = {"description": "Plants", "tags": tag_inputs("region=west"), "state": "DISABLED"}
    refused = await ask.input(UPDATE_GROUP, NORTHWEST, path="/usa/northwest", **wanted)
    assert refused == {"__typename": "NotPermitted", "code": "FORBIDDEN"}
    done = await ask.input(UPDATE_GROUP, path="/usa/northwest", **wanted)
    assert done["group"] == wanted
    enabled = await ask.input(UPDATE_GROUP, path="/usa/northwest", state="ENABLED")
    assert enabled["group"] == {**wanted, "state": "ENABLED"}


async def test_tell_whether_anything_is_made_or_started_in_a_group(ask: Ask) -> None:
    """tell whether anything is made or started in a group"""
    await ask.create_groups()
    place = {"path": "/usa/northwest"}
    assert (await ask(THROUGH_GROUP, place)).value == {"disabledThrough": None}
    await ask.input(UPDATE_GROUP, path="/usa", state="DISABLED")
    assert (await ask(THROUGH_GROUP, place, NORTHWEST)).value == {"disabledThrough": "/usa"}
    refused = await ask.input(CREATE, **draft("one", group="/usa/northwest"))
    assert refused["code"] == "ILLEGAL_STATE"
    assert await ask.names("/usa/northwest") == []


async def test_delete_a_group(ask: Ask) -> None:
    """delete a group"""
    await ask.create_groups("/usa", "/usa/northwest")
    held = await ask.input(DELETE_GROUP, path="/usa")
    assert (held["__typename"], held["code"]) == ("IllegalState", "ILLEGAL_STATE")
    assert (await ask.input(DELETE_GROUP, path="/usa/northwest"))["group"]["path"]
    assert (await ask(GROUP, {"path": "/usa/northwest"})).code == "NOT_FOUND"
    assert (await ask.input(DELETE_GROUP, path="/usa"))["group"] == {"path": "/usa"}
    assert await children(ask, "/") == []


async def test_delete_a_group_with_all_that_lies_in_it(ask: Ask) -> None:
    """delete a group with all that lies in it"""
    await ask.create_groups()
    owned = await ask.make("/usa/northwest", "owned", "scope=1")
    lent = await ask.make("/eu", "lent", "scope=1")
    grant = "mutation($i: GrantPipelineInput!) { grantPipeline(input: $i) { __typename } }"
    for id, group in ((owned, "/"), (lent, "/usa")):
        await ask(grant, {"i": {"id": id, "group": group}})
    assert (await ask.input(CASCADE, path="/usa", cascade=True))["job"]["state"] == "PENDING"
    late = await ask.input(CREATE, **draft("late", group="/usa"))
    assert (late["code"], late["message"]) == ("NOT_FOUND", "The group /usa is being deleted.")
    assert await ask.store.run_jobs("a worker") == 1
    assert await children(ask, "/") == ["/eu"]
    assert (await ask(PIPELINE, {"id": owned})).code == "NOT_FOUND"
    assert await ask.names("/", below=True) == ["lent"]
    assert (await ask(VALUES, {"group": "/eu"})).value["nodes"] == [{"value": "1", "count": 1}]


async def test_follow_a_job(ask: Ask) -> None:
    """follow a job"""
    await ask.create_groups()
    id = (await ask.input(CASCADE, path="/usa", cascade=True))["job"]["id"]
    assert (await ask(JOB, {"id": id})).value == {"state": "PENDING", "done": 0, "total": None}
    assert await ask.store.run_jobs("a worker") == 1
    assert (await ask(JOB, {"id": id}, NORTHWEST)).value == {"state": "DONE", "done": 3, "total": 3}
    assert (await ask(JOB, {"id": id}, as_caller("eve", "/eu=admin"))).code == "NOT_FOUND"


JOBS = """query($group: GroupPath, $states: [JobState!]) {
  jobs(group: $group, states: $states) { nodes { kind state createdBy } } }"""
IMPORT = """mutation($input: ImportAudioInput!) { importAudio(input: $input) {
  ...on ImportAudioPayload { job { id } } } }"""
CREATE_EXECUTION = """mutation($input: CreateExecutionInput!) {
  createExecution(input: $input) { ...on CreateExecutionPayload { execution { id } } } }"""
CANCEL = """mutation($input: CancelJobInput!) { cancelJob(input: $input) {
  __typename ...on CancelJobPayload { job { state } } ...on IllegalState { state } } }"""


async def test_list_jobs(ask: Ask) -> None:
    """list jobs"""
    await ask.create_groups()
    await ask.input(CASCADE, path="/usa", cascade=True)
    deletion = {"kind": "DELETE_GROUP", "state": "PENDING", "createdBy": "root"}
    assert (await ask(JOBS, {"group": "/usa"})).value == {"nodes": [deletion]}
    assert (await ask(JOBS, {"group": "/eu"})).value == {"nodes": []}
    assert (await ask(JOBS, {})).value == {"nodes": [deletion]}
    assert (await ask(JOBS, {"states": ["DONE"]})).value == {"nodes": []}
    assert (await ask(JOBS, {"group": "/usa"}, as_caller("eve", "/eu=admin"))).code == "NOT_FOUND"


async def test_cancel_a_job(ask: Ask) -> None:
    """cancel a job"""
    id = (await ask.input(IMPORT, prefix="audio/root/uploads/"))["job"]["id"]
    assert await ask.input(CANCEL, id=id) == {
        "__typename": "CancelJobPayload",
        "job": {"state": "CANCELLED"},
    }
    assert await ask.store.run_jobs("a worker") == 0


HISTORY = """history { nodes { action by subject group state } }"""


async def grant_one(ask: Ask) -> tuple[str, dict[str, str | None]]:
    """Grant a pipeline of /usa to /eu; return its id and the entry of the history."""
    await ask.create_groups()
    id = await Ask(ask.store).make("/usa", "one")
    await ask.store.open_session(ROOT).pipelines.writing.grant(
        parse_key("Pipeline", id), GroupPath("/eu")
    )
    entry = {"action": "GRANTED", "by": "root", "subject": "one", "group": "/eu", "state": None}
    return id, entry


async def test_show_the_history_of_a_group(ask: Ask) -> None:
    """show the history of a group"""
    _, entry = await grant_one(ask)
    found = await ask(f'{{ group(path: "/eu") {{ {HISTORY} }} }}')
    assert found.value == {"history": {"nodes": [entry]}}


async def test_show_the_history_of_a_resource(ask: Ask) -> None:
    """show the history of a resource"""
    id, entry = await grant_one(ask)
    found = await Ask(ask.store)(
        f"query($id: ID!) {{ pipeline(id: $id) {{ {HISTORY} }} }}", {"id": id}
    )
    assert found.value == {"history": {"nodes": [entry]}}
    reader = await Ask(ask.store)(
        f"query($id: ID!) {{ pipeline(id: $id) {{ {HISTORY} }} }}",
        {"id": id},
        as_caller("eve", "/eu=admin"),
    )
    assert reader.value == {"history": None}


async def test_follow_the_progress_of_a_job(ask: Ask) -> None:
    """follow the progress of a job"""
    await ask.create_groups()
    id = (await ask.input(CASCADE, path="/usa", cascade=True))["job"]["id"]
    changes = RowChanges(ask.store.table)
    jobs = ask.store.open_session(ROOT).jobs
    async with aclosing(jobs.follow(changes, parse_key("Job", id))) as states:
        assert (await anext(states)).state is JobState.PENDING
        assert await ask.store.run_jobs("a worker") == 1
        await changes.poll()


async def test_follow_the_pipelines_of_a_group(ask: Ask) -> None:
    """follow the pipelines of a group"""
    await ask.create_groups()
    feed = ChangeFeed(ask.store.table, ask.store.clock)
    session = ask.store.open_session(ROOT)
    found = session.pipeline_events.follow(feed, GroupPath("/usa"), None, below=False)
    async with aclosing(found) as events:
        assert (await anext(events)).change is ListChange.RESET
        await Ask(ask.store).make("/usa", "followed")
        await feed.poll()
        event = await anext(events)
        assert (event.change, event.record.name) == (ListChange.CHANGED, "followed")


async def test_follow_the_metrics_of_a_group(ask: Ask) -> None:
    """follow the metrics of a group"""
    await ask.create_groups()
    feed = ChangeFeed(ask.store.table, ask.store.clock)
    session = ask.store.open_session(ROOT)
    found = session.metric_events.follow(feed, GroupPath("/usa"), None, below=False)
    async with aclosing(found) as events:
        assert (await anext(events)).change is ListChange.RESET
        made = await make_metric(ask, "followed")
        await feed.poll()
        event = await anext(events)
        assert (event.change, event.id) == (ListChange.CHANGED, parse_key("Metric", made))


async def test_follow_the_executions_of_a_group(ask: Ask) -> None:
    """follow the executions of a group"""
    await ask.create_groups()
    feed = ChangeFeed(ask.store.table, ask.store.clock)
    pipeline = await Ask(ask.store).make("/usa", "run")
    session = ask.store.open_session(ROOT)
    found = session.execution_events.follow(feed, GroupPath("/usa"), (), None, below=False)
    async with aclosing(found) as events:
        assert (await anext(events)).change is ListChange.RESET
        made = await ask.input(CREATE_EXECUTION, pipelineId=pipeline)
        await feed.poll()
        event = await anext(events)
        assert (event.id, event.record.state) == (
            parse_key("Execution", made["execution"]["id"]),
            ExecutionState.WAITING,
        )


async def test_list_the_workers(ask: Ask) -> None:
    """list the workers"""
    workers = ask.store.workers
    await workers.announce(workers.describe_process("w", WorkerKind.COMMAND, 1, "1.2"), 0)
    found = "{ workers { nodes { name kind running } } }"
    worker = {"name": "w", "kind": "COMMAND", "running": 0}
    assert (await ask(found)).value == {"nodes": [worker]}


async def test_list_the_children_of_a_group(ask: Ask) -> None:
    """list the children of a group"""
    await ask.create_groups("/usa", "/usa2", "/usa/south", "/usa/north", "/usa/north/seattle")
    assert await children(ask, "/") == ["/usa", "/usa2"]
    assert await children(ask, "/usa") == ["/usa/north", "/usa/south"]
    assert await children(ask, "/usa", as_caller("sue", "/usa/south=reader")) == ["/usa/south"]


async def test_list_what_lies_in_a_subtree(ask: Ask) -> None:
    """list what lies in a subtree"""
    await ask.create_groups()
    for group in ("/", "/usa", "/usa/northwest", "/usa/southeast", "/eu"):
        await ask.make(group, f"in {group}")
    below = ["in /", "in /usa", "in /usa/northwest", "in /usa/southeast"]
    assert await ask.names("/usa", below=True) == below
    assert await ask.names("/usa") == below[:2]
    assert await ask.names("/usa", NORTHWEST, below=True) == below[:3]


async def test_ensure_uniqueness_of_a_name_within_a_group(ask: Ask) -> None:
    """ensure uniqueness of a name within a group"""
    await ask.create_groups()
    await ask.make("/usa", "Vehicle Emissions")
    for group in ("/usa", "/", "/usa/northwest"):
        refused = await ask.input(CREATE, **draft(" vehicle emissionS", group=group))
        assert (refused["code"], refused["path"]) == ("NAME_TAKEN", ["name"])
    await ask.make("/eu", "vehicle emissions")
    assert await ask.names("/", below=True) == ["Vehicle Emissions", "vehicle emissions"]


async def test_grant_a_group_access_to_a_resource(ask: Ask) -> None:
    """grant a group access to a resource"""
    await ask.create_groups()
    id = await ask.make("/usa/northwest", "one")
    granted = await ask.input(GRANT, id=id, group="/eu")
    groups = ["/usa/northwest", "/eu"]
    assert granted["pipeline"] == {"groups": groups, "version": 1}
    assert await ask.names("/eu") == ["one"]
    holder = await ask.make("/usa/southeast", "two")
    taken = await ask.make("/eu/france", "two")
    refused = await ask.input(GRANT, id=holder, group="/eu")
    assert (refused["code"], refused["group"], refused["holder"]) == (
        "NAME_TAKEN",
        "/eu/france",
        taken,
    )
    assert await ask.names("/eu", below=True) == ["one", "two"]


async def test_revoke_a_groups_access_to_a_resource(ask: Ask) -> None:
    """revoke a group's access to a resource"""
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    await ask.input(GRANT, id=id, group="/eu")
    assert (await ask.input(REVOKE, id=id, group="/eu"))["pipeline"]["groups"] == ["/usa"]
    assert await ask.names("/eu") == []
    await ask.make("/eu", "one")
    own = await ask.input(REVOKE, id=id, group="/usa")
    assert own == {"__typename": "IllegalState", "code": "ILLEGAL_STATE"}
    assert await ask.names("/usa") == ["one"]


async def test_retrieve_the_latest_version_of_a_resource(ask: Ask) -> None:
    """retrieve the latest version of a resource"""
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    await ask.change(id, 1, name="two")
    assert (await ask(PIPELINE, {"id": id}, NORTHWEST)).value == {"name": "two", "version": 2}
    assert (await ask(PIPELINE, {"id": id}, FRANCE)).code == "NOT_FOUND"


async def test_retrieve_a_specific_version_of_a_resource(ask: Ask) -> None:
    """retrieve a specific version of a resource"""
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    await ask.input(GRANT, id=id, group="/eu")
    await ask.change(id, 1, name="two")
    assert (await ask(VERSION, {"id": id}, FRANCE)).value["versionNumbered"] == {"name": "one"}
    await ask.input(REVOKE, id=id, group="/eu")
    assert (await ask(VERSION, {"id": id}, FRANCE)).code == "NOT_FOUND"
    assert (await ask(VERSION, {"id": id}, NORTHWEST)).value["versionNumbered"] == {"name": "one"}


async def test_list_resources_for_a_group(ask: Ask) -> None:
    """list resources for a group"""
    await ask.create_groups()
    for group in ("/usa/northwest", "/", "/eu", "/usa", "/usa/southeast"):
        await ask.make(group, f"in {group}")
    chain = ["in /usa/northwest", "in /", "in /usa"]
    assert await ask.names("/usa/northwest", NORTHWEST) == chain
    assert await ask.names("/usa/northwest", order="NEWEST_FIRST") == chain[::-1]


async def test_list_resources_for_a_group_filtered_by_tag(ask: Ask) -> None:
    """list resources for a group, filtered by tag"""
    await ask.create_groups()
    await ask.make("/usa", "one", "material=metal/steel")
    await ask.make("/usa/northwest", "two", "material=metal")
    await ask.make("/usa", "three", "material=metals")
    await ask.make("/eu", "four", "material=metal")
    wanted = {"all": tag_inputs("Material=METAL")}
    assert await ask.names("/usa/northwest", NORTHWEST, tags=wanted) == ["one", "two"]


async def test_list_resources_by_a_part_of_the_name(ask: Ask) -> None:
    """list resources by a part of the name"""
    await ask.create_groups()
    await ask.make("/", "Daily sales")
    await ask.make("/usa/northwest", "Sälzburg")
    await ask.make("/usa", "Wholesale")
    await ask.make("/eu", "Salmon")
    assert await ask.names("/usa/northwest", NORTHWEST, name={"contains": "SAL"}) == [
        "Daily sales",
        "Sälzburg",
    ]
    assert await ask.names("/usa/northwest", name={"startsWith": "sal"}) == ["Sälzburg"]


async def test_update_a_resource(ask: Ask) -> None:
    """update a resource"""
    await ask.create_groups()
    id = await ask.make("/usa", "one", "scope=1")
    change = {"id": id, "expectedVersion": 1, "tags": tag_inputs("scope=2")}
    reader = await ask.input(UPDATE, NORTHWEST, **change)
    assert (reader["__typename"], reader["code"]) == ("NotPermitted", "FORBIDDEN")
    assert await ask.names("/usa", tags={"all": tag_inputs("scope=1")}) == ["one"]
    contributor = as_caller("carl", "/usa=contributor")
    assert (await ask.input(UPDATE, contributor, **change))["pipeline"]["version"] == 2
    counted = (await ask(VALUES, {"group": "/usa"})).value
    assert counted["nodes"] == [{"value": "2", "count": 1}]


async def test_list_the_versions_of_a_resource(ask: Ask) -> None:
    """list the versions of a resource"""
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    await ask.change(id, 1, name="two")
    seen = (await ask(VERSIONS, {"id": id}, NORTHWEST)).value["versions"]
    assert seen["nodes"] == [{"version": 2}, {"version": 1}]
    assert (await ask(VERSIONS, {"id": id}, FRANCE)).code == "NOT_FOUND"


async def test_retrieve_a_resource_by_name(ask: Ask) -> None:
    """retrieve a resource by name"""
    await ask.create_groups()
    usa = await ask.make("/usa", "One")
    eu = await ask.make("/eu", "one")
    named = {"name": " ONE ", "group": "/usa/northwest"}
    assert (await ask(BY_NAME, named, NORTHWEST)).value == {"id": usa, "owner": "/usa"}
    assert (await ask(BY_NAME, {"name": "one", "group": "/eu/france"})).value["id"] == eu
    assert (await ask(BY_NAME, {"name": "one", "group": "/"})).code == "NOT_FOUND"
    await ask.change(usa, 1, name="other")
    assert (await ask(BY_NAME, named, NORTHWEST)).code == "NOT_FOUND"


async def test_tell_by_which_grant_a_group_sees_a_resource(ask: Ask) -> None:
    """tell by which grant a group sees a resource"""
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    await ask.input(GRANT, id=id, group="/eu/france")

    async def through(group: str, caller: Caller = ROOT) -> Any:
        return (await ask(THROUGH, {"id": id, "group": group}, caller)).value["grantedThrough"]

    assert await through("/usa") == "/usa"
    assert await through("/USA/Northwest", NORTHWEST) == "/usa"
    assert await through("/eu/france", FRANCE) == "/eu/france"
    assert (await through("/eu"), await through("/")) == (None, None)
    for unknown in ("/usa/northwest", "/eu/france/nowhere"):
        answer = await ask(THROUGH, {"id": id, "group": unknown}, FRANCE)
        assert [error["extensions"]["code"] for error in answer.errors] == ["NOT_FOUND"]
    await ask.input(GRANT, id=id, group="/")
    assert await through("/eu/france", FRANCE) == "/"


async def test_compare_two_versions_of_a_resource(ask: Ask) -> None:
    """compare two versions of a resource"""
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    await ask.change(id, 1, name="two")
    found = (await ask(DIFF, {"id": id}, NORTHWEST)).value["diff"]
    assert found == [{"op": "REPLACE", "path": "/name", "before": "one", "after": "two"}]
    assert (await ask(DIFF, {"id": id}, FRANCE)).code == "NOT_FOUND"


def quotas_by_kind(quotas: Any) -> dict[str, tuple[int, int | None]]:
    return {one["kind"]: (one["used"], one["maximum"]) for one in quotas}


async def fill(ask: Ask) -> Ask:
    """Make three resources with four versions, in a store with quotas."""
    await ask.create_groups()
    rules = QuotaRules(Amounts(resources=20), Amounts(resources=10, bytes=7))
    ask = Ask(replace(ask.store, quotas=Quotas(rules)), ask.noun)
    id = await ask.make("/usa", "one")
    await ask.make("/usa/northwest", "two")
    await ask.make("/eu", "three")
    await ask.change(id, 1, name="two more")
    return ask


async def test_show_what_a_group_with_all_below_it_keeps(ask: Ask) -> None:
    """show what a group with all below it keeps"""
    ask = await fill(ask)

    async def read_quotas(path: str, caller: Caller = ROOT) -> Any:
        quotas = (await ask(KEPT, {"path": path}, caller)).value["quotas"]
        return quotas and quotas_by_kind(quotas)

    assert await read_quotas("/usa") == {
        "RESOURCES": (2, 20),
        "VERSIONS": (3, None),
        "FILES": (0, None),
        "BYTES": (0, None),
        "OPEN_UPLOADS": (0, 1_000),
    }
    assert (await read_quotas("/"))["RESOURCES"] == (3, None)
    assert (await read_quotas("/usa/northwest", NORTHWEST))["RESOURCES"] == (1, 20)
    # The caller sees the group above, but not what lies in it.
    assert await read_quotas("/usa", NORTHWEST) is None
    assert (await ask(KEPT, {"path": "/eu"}, NORTHWEST)).code == "NOT_FOUND"


async def test_show_what_a_user_keeps(ask: Ask) -> None:
    """show what a user keeps"""
    ask = await fill(ask)
    assert quotas_by_kind((await ask(MINE)).value["quotas"]) == {
        "RESOURCES": (3, 10),
        "VERSIONS": (4, None),
        "FILES": (0, None),
        "BYTES": (0, 7),
        "OPEN_UPLOADS": (0, 100),
    }
    nobodys = (await ask(MINE, caller=NORTHWEST)).value["quotas"]
    assert quotas_by_kind(nobodys)["RESOURCES"] == (0, 10)
