"""The number of reads of a request, in total and in sequence, does not grow with its nodes."""

from asyncio import gather
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.store import Store
from penstock.schema.core.relay import GlobalId, parse_key
from tests.support.graphql_client import (
    CREATE,
    NOUNS,
    ROOT,
    UPDATE,
    Ask,
    as_caller,
    draft,
    tag_inputs,
    title_of,
)
from tests.support.stores import open_files, open_table
from tests.support.table_interceptors import TracedTable

pytestmark = pytest.mark.runs_together("round trips")

NESTED = """query($group: GroupPath, $first: Int, $tags: TagFilter) {
  pipelines(group: $group, first: $first, tags: $tags) { nodes {
    name ownerGroup { name }
    versions(first: 2) { nodes { version pipeline { name version ownerGroup { path } } } }
    one: versionNumbered(version: 1) { name pipeline { id } }
  } } }"""
NODES = "query($ids: [ID!]!) { nodes(ids: $ids) { id ...on Pipeline { name } } }"


@pytest.fixture(scope="module", params=NOUNS)
def noun(request: pytest.FixtureRequest) -> str:
    """Name the kind of resource; all kinds have the same budgets."""
    found: str = request.param
    return found


@pytest.fixture(scope="module")
async def traced_table(noun: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Fill a store with 60 resources of two versions, on a table that counts its reads."""
    folder: Path = tmp_path_factory.mktemp("table")
    async with open_table("sqlite", folder) as table, open_files(folder) as files:
        ask = Ask(Store(table, files=files), noun)
        await ask.create_groups()
        for n in range(60):
            group = ("/usa", "/usa/northwest")[n % 2]
            tags = ("even=yes",) if n % 2 == 0 else ("even=no",)
            id = await ask.make(group, f"p{n}", *tags, "all=1")
            await ask.change(id, 1, description="changed")
        yield TracedTable(table)


@pytest.fixture
def ask(traced_table: TracedTable, noun: str) -> Ask:
    """Ask the filled store; the count starts again for each test."""
    traced_table.start()
    return Ask(Store(traced_table), noun)


async def ids(ask: Ask, count: int) -> list[str]:
    query = 'query($n: Int) { pipelines(group: "/usa/northwest", first: $n) { nodes { id } } }'
    page = (await ask(query, {"n": count})).value
    return [node["id"] for node in page["nodes"]]


@pytest.mark.thorough
@pytest.mark.parametrize("tags", [None, {"all": tag_inputs("all=1")}])
async def test_a_page_with_versions_and_back_again_takes_as_many_calls_for_50_as_for_10(
    tags: Any, ask: Ask, traced_table: TracedTable
) -> None:
    costs = []
    for size in (10, 50):
        traced_table.start()
        variables = {"group": "/usa/northwest", "first": size, "tags": tags}
        answer = await ask(NESTED, variables)
        nodes = answer.value["nodes"]
        assert len(nodes) == size
        for node in nodes:
            assert [v["version"] for v in node["versions"]["nodes"]] == [2, 1]
            assert {v["pipeline"]["name"] for v in node["versions"]["nodes"]} == {node["name"]}
        assert answer.units.calls == traced_table.reads
        costs.append(traced_table.seen)
    # Three streams and the group; the pipelines; their groups, versions and first versions.
    assert costs == [(8, 0, 3), (8, 0, 3)]


async def test_50_nodes_by_id_are_one_call(ask: Ask, traced_table: TracedTable) -> None:
    wanted = await ids(ask, 50)
    traced_table.start()
    answer = await ask(NODES, {"ids": wanted})
    assert [node["id"] for node in answer.value] == wanted
    assert answer.units.calls == 1
    assert traced_table.seen == (1, 0, 1)


async def test_the_same_thing_asked_for_twice_is_read_once(
    ask: Ask, traced_table: TracedTable
) -> None:
    (id,) = await ids(ask, 1)
    traced_table.start()
    query = "query($id: ID!) { a: pipeline(id: $id) { name } b: node(id: $id) { id } }"
    assert (await ask(query, {"id": id})).errors == ()
    assert traced_table.seen == (1, 0, 1)


async def test_requests_share_no_loader_and_each_caller_is_judged_alone(
    ask: Ask, traced_table: TracedTable
) -> None:
    wanted = await ids(ask, 2)
    callers = (ROOT, as_caller("eve", "/eu=admin"), as_caller("uma", "/usa=reader"), ROOT)
    traced_table.start()
    answers = await gather(*(ask(NODES, {"ids": wanted}, caller) for caller in callers))
    shown = [[node and node["id"] for node in answer.value] for answer in answers]
    assert shown == [wanted, [None, None], wanted, wanted]
    assert [answer.units.calls for answer in answers] == [1, 1, 1, 1]
    assert traced_table.seen == (4, 0, 1)


READS = {
    "latest": ("query($id: ID!) { pipeline(id: $id) { name groups } }", (1, 0, 1)),
    "version": (
        "query($id: ID!) { pipeline(id: $id) { versionNumbered(version: 1) { name } } }",
        (2, 0, 2),
    ),
    "versions": (
        "query($id: ID!) { pipeline(id: $id) { versions { nodes { name } } } }",
        (2, 0, 2),
    ),
    "list in a group": ('{ pipelines(group: "/usa/northwest") { nodes { name } } }', (5, 0, 2)),
    "list all": (
        '{ pipelines(group: "/", includeChildGroups: true) { nodes { name } } }',
        (2, 0, 2),
    ),
    "tag keys": ('{ tagKeys(kind: PIPELINE, group: "/usa") { nodes { count } } }', (3, 0, 1)),
    "tag values": (
        '{ tagValues(kind: PIPELINE, key: "even", group: "/usa") { nodes { count } } }',
        (3, 0, 1),
    ),
    "by name": ('{ pipelineByName(name: "p1", group: "/usa/northwest") { id } }', (2, 0, 2)),
    "group": ('{ group(path: "/usa") { name parent { name } } }', (2, 0, 2)),
    "children": ('{ group(path: "/usa") { children { nodes { name } } } }', (2, 0, 2)),
    "viewer": ("{ viewer { userId } }", (0, 0, 0)),
}


@pytest.mark.parametrize("name", READS)
async def test_a_read_keeps_its_budget(name: str, ask: Ask, traced_table: TracedTable) -> None:
    query, budget = READS[name]
    (id,) = await ids(ask, 1)
    traced_table.start()
    answer = await ask(query, {"id": id} if "$id" in query else {})
    assert answer.errors == ()
    assert traced_table.seen == budget
    assert answer.units.calls == traced_table.reads


async def test_a_version_by_its_own_id_is_one_round_trip(
    ask: Ask, traced_table: TracedTable
) -> None:
    (id,) = await ids(ask, 1)
    query = "query($id: ID!) { pipeline(id: $id) { versionNumbered(version: 1) { id } } }"
    version = (await ask(query, {"id": id})).value["versionNumbered"]["id"]
    traced_table.start()
    found = await ask("query($id: ID!) { node(id: $id) { id } }", {"id": version})
    assert found.value == {"id": version}
    assert traced_table.seen == (1, 0, 1)


GRANT = "mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) { __typename } }"
REVOKE = "mutation($input: RevokePipelineInput!) { revokePipeline(input: $input) { __typename } }"
DELETE = "mutation($input: DeletePipelineInput!) { deletePipeline(input: $input) { __typename } }"


async def test_writes_keep_their_budgets(noun: str, store: Store) -> None:
    traced_table = TracedTable(store.table)
    ask = Ask(Store(traced_table, files=store.files, shards=1), noun)
    await ask.create_groups()
    # Another carrier of the tags in each group: the last one to leave costs one try more.
    for group in ("/usa/northwest", "/eu"):
        await ask.make(group, f"other {group}", "a=b/c/d", "e=f")
    traced_table.start()
    made = await ask.input(CREATE, ROOT, **draft("one", "a=b/c/d", "e=f", group="/usa/northwest"))
    has_file = noun == "reference dataset"
    # The states of its groups are read, and the row of a file that is being put in place.
    assert traced_table.seen == ((1, 2, 3) if has_file else (1, 1, 2))
    id = made["pipeline"]["id"]
    writes = (
        (UPDATE, {"expectedVersion": 1, "name": "two", "tags": tag_inputs("a=b/c", "e=f")}),
        (GRANT, {"group": "/eu"}),
        (REVOKE, {"group": "/eu"}),
        (UPDATE, {"expectedVersion": 2, "tags": []}),
        (DELETE, {"expectedVersion": 3}),
    )
    for document, input in writes:
        traced_table.start()
        told = await ask.input(document, id=id, **input)
        assert told["__typename"].endswith("Payload")
        # The tombstone, the versions, and the tombstone's end, for the sake of the files.
        buried = has_file and document is DELETE
        changed = document is UPDATE
        assert traced_table.seen == ((1, 3, 4) if buried else (1 + changed, 1, 2 + changed))


async def test_the_last_carrier_of_a_tag_costs_one_try_more_when_it_leaves(
    noun: str, store: Store
) -> None:
    traced_table = TracedTable(store.table)
    ask = Ask(Store(traced_table, files=store.files), noun)
    await ask.create_groups()
    id = await ask.make("/usa", "one", "a=b/c/d", "e=f")
    traced_table.start()
    assert (await ask.input(DELETE, id=id))["__typename"] == "DeletePipelinePayload"
    assert traced_table.seen == ((1, 4, 5) if noun == "reference dataset" else (1, 2, 3))


async def test_fifty_versions_by_their_ids_are_one_call(ask: Ask) -> None:
    kind = title_of(ask.noun)
    keys = [parse_key(kind, id) for id in await ids(ask, 50)]
    wanted = [GlobalId(f"{kind}Version", f"{key}:1").encode() for key in keys]
    answer = await ask(NODES, {"ids": wanted})
    assert [node["id"] for node in answer.value] == wanted
    assert answer.units.calls == 1
