"""Every list of the schema, read one node at a time in both directions, with all its arguments."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from graphql import GraphQLEnumType, GraphQLObjectType

from penstock.datastore.access.vault import LocalVault
from penstock.datastore.audio.library import BucketAccess
from penstock.datastore.clock import Clock, iso_timestamp
from penstock.datastore.executions.workers.registry import WorkerKind
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.resolvers.cursors import Cursors
from penstock.schema import schema
from penstock.schema.engine.documents import core_schema
from tests.datastore.ngsi.sample_destinations import open_embedded
from tests.datastore.ngsi.stored_samples import store_dead_letter, store_locations, store_samples
from tests.schema.audio.list_cases import A0, AUDIO_LISTS, BIG_PINK, THE_BAND, audio_catalogue
from tests.schema.audio.sample_playlists import (
    ADD_ENTRIES,
    CREATE_PLAYLIST,
    FIXED,
    global_id,
    with_counted_ids,
)
from tests.schema.metrics.sample_metrics import make_metric
from tests.support.graphql_client import (
    NOUNS,
    ROOT,
    TRANSFORMER,
    Answer,
    Ask,
    as_caller,
    tag_inputs,
    words_for,
)
from tests.support.sample_resources import Watch

PAGE = "first: $first, after: $after, last: $last, before: $before"
VARIABLES = "$first: Int, $after: String, $last: Int, $before: String"
CREATE_API_KEY = (
    "mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { __typename } }"
)
DISCOVER = "mutation($input: DiscoverRunInput!) { discoverRun(input: $input) { __typename } }"
CLAIM = "mutation($input: ClaimRunInput!) { claimRun(input: $input) { __typename } }"
SET_FAVOURITE = (
    "mutation($input: SetFavouriteInput!) { setFavourite(input: $input) { __typename } }"
)
RECORD_PLAY = "mutation($input: RecordPlayInput!) { recordPlay(input: $input) { __typename } }"
CREATE_EXECUTION = """mutation($input: CreateExecutionInput!) {
  createExecution(input: $input) { ...on CreateExecutionPayload { execution { id } } } }"""
CANCEL_EXECUTION = (
    "mutation($input: CancelExecutionInput!) { cancelExecution(input: $input) { __typename } }"
)
INFO = "pageInfo { hasNextPage hasPreviousPage startCursor endCursor }"
TAGS = "material=metal/steel", "material=metal/copper", "material=wood", "material=metal/steel"


class Listing(NamedTuple):
    """A list: its path and arguments, the fields that identify a node, and all its nodes."""

    field: str
    path: tuple[str, ...]
    arguments: str
    shown: str
    nodes: list[Any]

    def document(self) -> str:
        *outer, field = self.path
        name = field.partition("(")[0]
        arguments = f"({self.arguments}{', ' * bool(self.arguments)}{PAGE})"
        edges = f"edges {{ cursor node {{ {self.shown} }} }} nodes {{ {self.shown} }}"
        text = f"list: {name}{arguments} {{ {edges} {INFO} }}"
        for around in reversed(outer):
            alias = "" if around.startswith("...") else "around: "
            text = f"{alias}{around} {{ {text} }}"
        return f"query({VARIABLES}) {{ {text} }}"


LIST, SONG = global_id("Playlist", FIXED.format(10)), global_id("Audio", FIXED.format(0))
MIXED = 'tags: {all: [{key: "material", value: "metal"}], none: [{key: "x", value: "y"}]}'
ANY = 'tags: {any: [{key: "material", value: "wood"}, {key: "material", value: "metal/copper"}]}'
SNOW = 'group: "/usa", manifest: "SNOWPLOW"'
NAMED = 'pipelineByName(name: "p3", group: "/usa/west")'
SERVICE = 'ngsiService(name: "vehicles")'
WHEELS = 'servicePath(path: "/4wheels")'
CAR = 'entity(id: "car1", type: "car")'
SPEED = 'attribute(name: "speed")'
KEEPER = 'pipelineByName(name: "keeper", group: "/eu")'
LISTS = {
    "pipelines": Listing(
        "Query.pipelines",
        ("pipelines",),
        'group: "/usa/west"',
        "name",
        ["p4", "p3", "p2", "p1", "p0"],
    ),
    "oldest first": Listing(
        "Query.pipelines",
        ("pipelines",),
        'group: "/usa/west", order: OLDEST_FIRST',
        "name",
        ["p0", "p1", "p2", "p3", "p4"],
    ),
    "by tags": Listing(
        "Query.pipelines",
        ("pipelines",),
        f'group: "/usa/west", {MIXED}',
        "name",
        ["p3", "p1", "p0"],
    ),
    "by any tag": Listing(
        "Query.pipelines", ("pipelines",), f'group: "/usa/west", {ANY}', "name", ["p2", "p1"]
    ),
    "below": Listing(
        "Query.pipelines",
        ("pipelines",),
        'group: "/usa", includeChildGroups: true',
        "name",
        ["p5", "p4", "p3", "p2", "p1", "p0"],
    ),
    "below, by owner and state": Listing(
        "Query.pipelines",
        ("pipelines",),
        'group: "/usa", includeChildGroups: true, owner: "/usa", states: [ENABLED]',
        "name",
        ["p4", "p2", "p0"],
    ),
    "everything": Listing(
        "Query.pipelines",
        ("pipelines",),
        'group: "/", includeChildGroups: true, order: OLDEST_FIRST',
        "name",
        ["p0", "p1", "p2", "p3", "p4", "p5", "keeper", "reader", "timed"],
    ),
    "versions": Listing("Pipeline.versions", (NAMED, "versions"), "", "version", [3, 2, 1]),
    "kept rows": Listing("Pipeline.rows", (KEEPER, "rows"), "", "key", [["a"], ["b"], ["c"]]),
    "totals": Listing(
        "Pipeline.totals",
        (KEEPER, "totals"),
        'by: ["name"], measures: [{output: "name", function: COUNT}]',
        "by { value }",
        [[{"value": "a"}], [{"value": "b"}], [{"value": "c"}]],
    ),
    "versions of a row": Listing(
        "KeptRow.history", (KEEPER, "rows(first: 1)", "nodes", "history"), "", "number", [2, 3, 1]
    ),
    "users of a calculation": Listing(
        "Calculation.usedBy",
        ('calculationByName(name: "base", group: "/eu")', "usedBy"),
        "",
        "... on Calculation { name } ... on Pipeline { name }",
        ["user0", "user1", "reader"],
    ),
    "users of a dataset": Listing(
        "ReferenceDataset.usedBy",
        ('referenceDatasetByName(name: "factors", group: "/eu")', "usedBy"),
        "",
        "... on Calculation { name } ... on Pipeline { name }",
        ["user0", "user1", "reader"],
    ),
    "users of a pipeline": Listing(
        "Pipeline.usedBy",
        ('pipelineByName(name: "timed", group: "/eu")', "usedBy"),
        "",
        "... on Metric { name }",
        ["energy", "half"],
    ),
    "users of a metric": Listing(
        "Metric.usedBy",
        ('metricByName(name: "energy", group: "/eu")', "usedBy"),
        "",
        "... on Metric { name }",
        ["all", "most"],
    ),
    "what a metric uses": Listing(
        "Metric.uses",
        ('metricByName(name: "all", group: "/eu")', "uses"),
        "",
        "... on Metric { name }",
        ["energy", "half"],
    ),
    "what a calculation uses": Listing(
        "Calculation.uses",
        ('calculationByName(name: "user1", group: "/eu")', "uses"),
        "",
        "... on Calculation { name } ... on ReferenceDataset { name }",
        ["base", "factors"],
    ),
    "what a pipeline uses": Listing(
        "Pipeline.uses",
        ('pipelineByName(name: "reader", group: "/eu")', "uses"),
        "",
        "... on Calculation { name } ... on ReferenceDataset { name }",
        ["base", "factors"],
    ),
    "calculations": Listing(
        "Query.calculations", ("calculations",), 'group: "/usa/west"', "name", ["c2", "p3", "c0"]
    ),
    "versions of a calculation": Listing(
        "Calculation.versions",
        ('calculationByName(name: "p3", group: "/usa/west")', "versions"),
        "",
        "version",
        [2, 1],
    ),
    "datasets": Listing(
        "Query.referenceDatasets",
        ("referenceDatasets",),
        'group: "/usa/west", tags: {all: [{key: "scope", value: "1"}]}',
        "name",
        ["c2", "p3", "c0"],
    ),
    "versions of a dataset": Listing(
        "ReferenceDataset.versions",
        ('referenceDatasetByName(name: "p3", group: "/usa/west")', "versions"),
        "",
        "version",
        [2, 1],
    ),
    "metrics": Listing(
        "Query.metrics",
        ("metrics",),
        'group: "/usa/west", tags: {all: [{key: "scope", value: "1"}]}',
        "name",
        ["c2", "p3", "c0"],
    ),
    "versions of a metric": Listing(
        "Metric.versions",
        ('metricByName(name: "p3", group: "/usa/west")', "versions"),
        "",
        "version",
        [2, 1],
    ),
    "children": Listing(
        "Group.children",
        ('group(path: "/usa")', "children"),
        "",
        "path",
        ["/usa/east", "/usa/west", "/usa/west coast"],
    ),
    "history of a pipeline": Listing(
        "Pipeline.history",
        ('pipelineByName(name: "p3", group: "/usa/west")', "history"),
        "",
        "group",
        ["/asia", "/eu"],
    ),
    "history of a calculation": Listing(
        "Calculation.history",
        ('calculationByName(name: "p3", group: "/usa/west")', "history"),
        "",
        "group",
        ["/asia", "/eu"],
    ),
    "history of a dataset": Listing(
        "ReferenceDataset.history",
        ('referenceDatasetByName(name: "p3", group: "/usa/west")', "history"),
        "",
        "group",
        ["/asia", "/eu"],
    ),
    "history of a metric": Listing(
        "Metric.history",
        ('metricByName(name: "p3", group: "/usa/west")', "history"),
        "",
        "group",
        ["/asia", "/eu"],
    ),
    "history of a group": Listing(
        "Group.history", ('group(path: "/eu")', "history"), "", "subject", ["p3", "p3", "p3", "p3"]
    ),
    "workers": Listing("Query.workers", ("workers",), "", "name", ["a:1", "b", "c"]),
    "tag keys": Listing(
        "Query.tagKeys",
        ("tagKeys",),
        'kind: PIPELINE, group: "/usa/west"',
        "key",
        ["k%2", "k: 1", "material", "scope"],
    ),
    "tag values": Listing(
        "Query.tagValues",
        ("tagValues",),
        'kind: PIPELINE, key: "material", group: "/usa/west"',
        "value",
        ["metal", "wood"],
    ),
    "tag values below": Listing(
        "Query.tagValues",
        ("tagValues",),
        'kind: PIPELINE, key: "material", parent: "metal", group: "/usa/west"',
        "value",
        ["metal/copper", "metal/steel"],
    ),
    "manifests": Listing(
        "Query.manifests", ("manifests",), 'group: "/usa"', "name", ["a:b", "Snowplow", "z"]
    ),
    "runs": Listing("Query.runs", ("runs",), SNOW, "runId", ["r0", "r1", "r2", "r3"]),
    "newest runs of a state": Listing(
        "Query.runs",
        ("runs",),
        f"{SNOW}, state: NEW, toSkip: false, order: NEWEST_FIRST",
        "runId",
        ["r3", "r2", "r0"],
    ),
    "runs of a time": Listing(
        "Query.runs",
        ("runs",),
        f'{SNOW}, from: "2001-01-01T00:00:00Z", to: "2999-01-01T00:00:00Z"',
        "runId",
        ["r0", "r1", "r2", "r3"],
    ),
    "stale runs": Listing(
        "Query.staleRuns",
        ("staleRuns",),
        f"{SNOW}, olderThanSeconds: 0",
        "runId",
        ["r0", "r2", "r3"],
    ),
    "history": Listing(
        "Run.history", (f'run({SNOW}, runId: "r1")', "history"), "", "action", ["CLAIM", "DISCOVER"]
    ),
    "playlists": Listing("Query.playlists", ("playlists",), "", "name", ["l2", "l1", "l0"]),
    "playlists, oldest first": Listing(
        "Query.playlists", ("playlists",), "order: OLDEST_FIRST", "name", ["l0", "l1", "l2"]
    ),
    "entries": Listing(
        "Playlist.entries", (f'playlist(id: "{LIST}")', "entries"), "", "title", ["t0", "t1", "t0"]
    ),
    "playlists of a track": Listing(
        "Audio.playlists", (f'audio(id: "{SONG}")', "playlists"), "", "name", ["l0", "l2"]
    ),
    "favourite audio": Listing(
        "Viewer.favouriteAudio", ("viewer", "favouriteAudio"), "", "title", ["t0", "t1"]
    ),
    "favourite playlists": Listing(
        "Viewer.favouritePlaylists", ("viewer", "favouritePlaylists"), "", "name", ["l2", "l0"]
    ),
    "plays": Listing(
        "Viewer.plays", ("viewer", "plays"), "", "listenedMs", [100_002, 100_001, 100_000]
    ),
    "executions": Listing(
        "Pipeline.executions",
        (NAMED, "executions"),
        "states: [WAITING, CANCELLED]",
        "maxFailedRows",
        [3, 2, 1, 0],
    ),
    "executions by tags, oldest first": Listing(
        "Pipeline.executions",
        (NAMED, "executions"),
        'order: OLDEST_FIRST, tags: {all: [{key: "material", value: "metal"}]}, '
        'from: "2020-01-01T00:00:00Z", to: "2999-01-01T00:00:00Z"',
        "maxFailedRows",
        [0, 1, 3],
    ),
    "executions of a group": Listing(
        "Query.executions", ("executions",), 'group: "/usa/west"', "maxFailedRows", [3, 2, 1, 0]
    ),
    "executions of a group in some states": Listing(
        "Query.executions",
        ("executions",),
        'group: "/usa", includeChildGroups: true, order: OLDEST_FIRST, createdBy: "root", '
        'states: [WAITING, CANCELLED], createdFrom: "2020-01-01T00:00:00Z"',
        "maxFailedRows",
        [0, 1, 2, 3],
    ),
    "executions of a group by their end": Listing(
        "Query.executions",
        ("executions",),
        'group: "/usa/west", order: ENDED_LAST, endedFrom: "2020-01-01T00:00:00Z"',
        "maxFailedRows",
        [3],
    ),
    "tag keys of executions": Listing(
        "Pipeline.executionTagKeys", (NAMED, "executionTagKeys"), "", "key", ["material", "scope"]
    ),
    "tag values of executions": Listing(
        "Pipeline.executionTagValues",
        (NAMED, "executionTagValues"),
        'key: "material", parent: "metal"',
        "value",
        ["metal/copper", "metal/steel"],
    ),
    "timeline": Listing(
        "Execution.timeline",
        (NAMED, "executions(first: 1)", "nodes", "timeline"),
        "",
        "happening",
        ["CREATED", "CANCELLED"],
    ),
    "services": Listing("Query.ngsiServices", ("ngsiServices",), "", "name", ["rooms", "vehicles"]),
    "service paths": Listing(
        "NgsiService.servicePaths", (SERVICE, "servicePaths"), "", "path", ["/2wheels", "/4wheels"]
    ),
    "destinations": Listing(
        "NgsiService.destinations",
        (SERVICE, "destinations"),
        "",
        "table",
        [f"vehiclesxffffx002f4wheelsxffff{name}xffffcar" for name in ("busx003a1", "car1", "car2")],
    ),
    "entities": Listing(
        "NgsiServicePath.entities",
        (SERVICE, WHEELS, "entities"),
        "",
        "entityId",
        ["bus:1", "car1", "car2"],
    ),
    "positions": Listing(
        "NgsiServicePath.positions",
        ('ngsiService(name: "rooms")', 'servicePath(path: "/")', "positions"),
        "near: {latitude: 40, longitude: -3.7, meters: 50000}",
        "entity { entityId }",
        [{"entityId": f"van{n}"} for n in range(3)],
    ),
    "entities by id and type": Listing(
        "NgsiServicePath.entities",
        (SERVICE, WHEELS, "entities"),
        'idPrefix: "c", type: "car"',
        "entityId",
        ["car1", "car2"],
    ),
    "dead letters": Listing(
        "NgsiServicePath.deadLetters",
        (SERVICE, WHEELS, "deadLetters"),
        "",
        "reason",
        ["third", "second", "first"],
    ),
    "attributes": Listing(
        "NgsiEntity.attributes",
        (SERVICE, WHEELS, CAR, "attributes"),
        "",
        "name",
        ["oil_level", "speed"],
    ),
    "series": Listing(
        "NgsiAttribute.series",
        (SERVICE, WHEELS, CAR, SPEED, "series"),
        "",
        "text",
        ["0", "1", "2", "3"],
    ),
    "series from the newest": Listing(
        "NgsiAttribute.series",
        (SERVICE, WHEELS, CAR, SPEED, "series"),
        'order: NEWEST_FIRST, from: "2015-04-20T13:16:16Z", to: "2015-04-20T13:16:18Z"',
        "text",
        ["2", "1"],
    ),
    "api keys": Listing("Viewer.apiKeys", ("viewer", "apiKeys"), "", "name", ["k2", "k1", "k0"]),
    "passwords of players": Listing(
        "Viewer.playerPasswords", ("viewer", "playerPasswords"), "", "name", ["w2", "w1", "w0"]
    ),
    **{name: Listing(*row) for name, row in AUDIO_LISTS.items()},
}


async def catalogue(ask: Ask) -> None:
    """Make pipelines p0 to p5, granted in turn to a group and to its parent, and calculations."""
    await ask.create_groups("/usa", "/usa/west", "/usa/east", "/usa/west coast")
    for n, tag in enumerate(TAGS):
        more = ["scope=1", "k: 1=#a", "k%2=b:c"][:n]
        await ask.make(("/usa", "/usa/west")[n % 2], f"p{n}", tag, *more)
    await ask.make("/usa", "p4")
    await ask.make("/usa/east", "p5")
    for version in (1, 2):
        found = await ask('{ pipelineByName(name: "p3", group: "/usa/west") { id } }')
        await ask.change(found.value["id"], version, description=f"{version}")
    for noun in NOUNS[1:]:
        of = Ask(ask.store, noun)
        made = [await of.make("/usa", name, "scope=1") for name in ("c0", "p3", "c2")]
        await of.change(made[1], 1, description="changed")
    await share_p3(ask)
    await keep_rows(ask)
    await use(ask)
    await discover(ask)
    await announce_workers(ask.store)
    for n, tag in enumerate(TAGS):
        tags = tag_inputs(tag, "scope=1")
        begun = await ask.input(
            CREATE_EXECUTION, pipelineId=found.value["id"], tags=tags, maxFailedRows=n
        )
    await ask.input(CANCEL_EXECUTION, id=begun["execution"]["id"])
    await store_samples(ask.store, "vehicles", "/4wheels", ("car1", "car2", "bus:1"), 4)
    places = {f"van{n}": ["40.4, -3.7"] for n in range(3)}
    await store_locations(ask.store, "rooms", "/", {**places, "far": ["1, 1"], "odd": ["no"]})
    await store_dead_letter(ask.store, "vehicles", "/2wheels")
    await store_dead_letter(ask.store, "rooms", "/")
    for reason in ("first", "second", "third"):
        await store_dead_letter(ask.store, reason=reason)
    until = iso_timestamp(datetime.now(UTC) + timedelta(days=1))
    for n in range(3):
        roles = [{"group": "/usa", "role": "READER"}]
        await ask.input(CREATE_API_KEY, name=f"k{n}", roles=roles, expiresAt=until)
    vault = BucketAccess(LocalVault(b"k" * 32))
    owner = replace(ask.store, user_buckets=vault).open_session(Caller("root", {}))
    for n in range(3):
        await owner.player_passwords.create(f"w{n}")
    await audio_catalogue(with_counted_ids(ask.store, 0))
    await listen(ask)


async def use(ask: Ask) -> None:
    """Make a calculation and a dataset, two calculations and a pipeline that use both."""
    calculations = Ask(ask.store, "calculation")
    await calculations.make("/eu", "base")
    await Ask(ask.store, "reference dataset").make("/eu", "factors")
    formula = {**TRANSFORMER["transforms"][0], "formula": "#base(:x) + LOOKUP('factors', 'a')"}
    using = {**TRANSFORMER, "transforms": [formula]}
    for n in range(2):
        await calculations.make("/eu", f"user{n}", transformer=using)
    await ask.make("/eu", "reader", transformer=using)
    time = {"index": 1, "key": "t", "type": "TIMESTAMP"}
    number = {**TRANSFORMER["parameters"][0]}
    timed = {
        "parameters": [number, time],
        "transforms": [
            {"index": 0, "formula": ":x", "outputs": [number]},
            {"index": 1, "formula": ":t", "outputs": [{**time, "index": 0}]},
        ],
        "rows": {"key": ["x"], "time": "t"},
    }
    await ask.make("/eu", "timed", transformer=timed)
    output = {"pipeline": "timed", "output": "x"}
    for name in ("energy", "half"):
        await make_metric(ask, name, output, group="/eu")
    for name in ("all", "most"):
        await make_metric(ask, name, {"metric": "energy"}, {"metric": "half"}, group="/eu")


async def announce_workers(store: Store) -> None:
    """Announce them tomorrow: a list forgets a worker after a minute, and the store serves long."""
    tomorrow = Clock(lambda: datetime.now(UTC) + timedelta(days=1))
    registry = replace(store.workers, clock=tomorrow)
    for name in ("c", "a:1", "b"):
        described = registry.describe_process(name, WorkerKind.SERVER, 2, "1.2")
        await registry.announce(described, 0)


async def keep_rows(ask: Ask) -> None:
    """Keep the rows a to c, where a is the first, the third and the second row of three inputs."""
    transformer = {
        "parameters": [{"index": 0, "key": "name", "type": "STRING"}],
        "transforms": [
            {
                "index": 0,
                "formula": ":name",
                "outputs": [{"index": 0, "key": "name", "type": "STRING"}],
            }
        ],
        "rows": {"key": ["name"]},
    }
    keeper = await ask.make("/eu", "keeper", transformer=transformer)
    for names in ("a", "bca", "ba"):
        rows = [{"name": name} for name in names]
        await ask.input(CREATE_EXECUTION, pipelineId=keeper, mode="INLINE", rows=rows)


FIND_P3 = '{ pipelineByName(name: "p3", group: "/usa/west") { id } }'
GRANT = "mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) { __typename } }"

REVOKE = "mutation($input: RevokePipelineInput!) { revokePipeline(input: $input) { __typename } }"


async def share_p3(ask: Ask) -> None:
    """Grant what is named p3 to two groups, so that all of them have a history."""
    await ask.create_groups("/eu", "/asia")
    for noun in NOUNS:
        found = await ask(words_for(FIND_P3, noun))
        for group in ("/eu", "/asia"):
            await ask.input(words_for(GRANT, noun), id=found.value["id"], group=group)


async def discover(ask: Ask) -> None:
    """Enter runs r0 to r3 of Snowplow, with r1 claimed, and one run each of two other manifests."""
    for name, ids in (("Snowplow", ("r0", "r1", "r2", "r3")), ("a:b", ("r",)), ("z", ("r",))):
        for id in ids:
            run = {"group": "/usa", "manifest": name, "runId": id}
            await ask.input(DISCOVER, **run, addedBy="t")
    claim = {"group": "/usa", "manifest": "Snowplow", "runId": "r1"}
    await ask.input(CLAIM, **claim, stage="TRANSFORM", owner="w")


async def listen(ask: Ask) -> None:
    """Make playlists l0 to l2: l0 holds t0, t1 and t0 again, l1 nothing, and l2 both."""
    b, a = SONG, global_id("Audio", FIXED.format(1))
    numbered = Ask(with_counted_ids(ask.store, 10))
    mixes = [(await numbered.input(CREATE_PLAYLIST, name=f"l{n}"))["playlist"]["id"] for n in "012"]
    assert mixes[0] == LIST
    for id, audio in ((mixes[0], [b, a, b]), (mixes[2], [a, b])):
        await ask.input(ADD_ENTRIES, id=id, audioIds=audio)
    watch = Watch()
    timed = Ask(Store(ask.store.table, Clock(now=watch)))
    for id in (mixes[0], a, b, mixes[2], BIG_PINK, THE_BAND, A0):
        await timed.input(SET_FAVOURITE, id=id, favourite=True)
        watch.move(timedelta(seconds=1))
    for n in range(3):
        started = f"2022-08-10T23:0{n}:00Z"
        await ask.input(RECORD_PLAY, id=a, startedAt=started, listenedMs=100_000 + n)


async def read_list(ask: Ask, name: str, caller: Caller = ROOT, **arguments: Any) -> Answer:
    return await ask(LISTS[name].document(), arguments, caller)


async def read_page(ask: Ask, name: str, **arguments: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return the identifying values of a page's nodes and its pageInfo; edges and nodes agree."""
    return page_of(await read_list(ask, name, **arguments))


def page_of(answer: Answer) -> tuple[list[Any], dict[str, Any]]:
    found = answer.data
    while "list" not in found:
        found = found["around"]
        found = found[0] if isinstance(found, list) else found
    listed = found["list"]
    told = [*(edge["node"] for edge in listed["edges"])]
    assert told == listed["nodes"]
    info, cursors = listed["pageInfo"], [edge["cursor"] for edge in listed["edges"]]
    assert len({*cursors}) == len(cursors)
    if cursors:
        assert (info["startCursor"], info["endCursor"]) == (cursors[0], cursors[-1])
    return [value for node in told for value in node.values()], info


@pytest.fixture(scope="module")
async def listed_store(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Ask]:
    """Ask a store that holds the content of all lists; tests that only read share it."""
    async with open_embedded(tmp_path_factory.mktemp("listed_store")) as store:
        ask = Ask(store)
        await catalogue(ask)
        yield ask


def test_every_list_of_the_schema_is_walked() -> None:
    fields = {
        f"{type.name}.{name}"
        for type in core_schema(schema).type_map.values()
        if isinstance(type, GraphQLObjectType)
        for name, field in type.fields.items()
        if str(field.type).removesuffix("!").endswith("Connection")
    }
    assert fields == {listing.field for listing in LISTS.values()}


@pytest.mark.parametrize("name", LISTS)
async def test_a_list_is_walked_both_ways_a_node_at_a_time(name: str, listed_store: Ask) -> None:
    nodes = LISTS[name].nodes
    assert await read_page(listed_store, name) == (nodes, (await read_page(listed_store, name))[1])
    after = before = None
    for n, node in enumerate(nodes):
        found, info = await read_page(listed_store, name, first=1, after=after)
        assert found == [node]
        assert info["hasNextPage"] is (n + 1 < len(nodes))
        assert info["hasPreviousPage"] is (n > 0)
        after = info["endCursor"]
    for n, node in enumerate(reversed(nodes)):
        found, info = await read_page(listed_store, name, last=1, before=before)
        assert found == [node]
        assert info["hasPreviousPage"] is (n + 1 < len(nodes))
        assert info["hasNextPage"] is (n > 0)
        before = info["startCursor"]
    assert await read_page(listed_store, name, first=1, after=after) == (
        [],
        {"hasNextPage": False, "hasPreviousPage": True, "startCursor": None, "endCursor": after},
    )


@pytest.mark.parametrize("name", LISTS)
async def test_a_page_of_two_ends_with_the_list(name: str, listed_store: Ask) -> None:
    nodes = LISTS[name].nodes
    found, info = await read_page(listed_store, name, first=2)
    assert (found, info["hasNextPage"]) == (nodes[:2], len(nodes) > 2)
    found, info = await read_page(listed_store, name, last=2)
    assert (found, info["hasPreviousPage"]) == (nodes[-2:], len(nodes) > 2)
    found, info = await read_page(listed_store, name, first=len(nodes))
    assert (found, info["hasNextPage"], info["hasPreviousPage"]) == (nodes, False, False)


BAD: dict[str, dict[str, Any]] = {
    "first of 0": {"first": 0},
    "first of 101": {"first": 101},
    "last of 0": {"last": 0},
    "last of 101": {"last": 101},
    "negative": {"first": -1},
    "both": {"first": 1, "last": 1},
    "before without last": {"before": "cursor"},
    "after with last": {"last": 1, "after": "cursor"},
    "no cursor": {"after": "cursor"},
    "empty cursor": {"after": ""},
    "no base64": {"after": "ä"},
    "long cursor": {"after": "A" * 5000},
}


@pytest.mark.parametrize("bad", BAD)
async def test_arguments_that_cannot_mean_anything_are_refused_by_every_list(
    bad: str, listed_store: Ask
) -> None:
    for name in LISTS:
        (error,) = (await read_list(listed_store, name, **BAD[bad])).errors
        assert error["extensions"]["code"] == "BAD_USER_INPUT", name


FOREIGN = ["BAD_USER_INPUT"]


async def test_a_cursor_opens_only_in_the_list_and_for_the_caller_that_it_was_made_for(
    listed_store: Ask,
) -> None:
    other, sealed, seal = as_caller("other", "/=admin"), dict[str, str](), Cursors.seal

    def note_identity(cursors: Cursors, identity: str, position: str) -> str:
        cursor = seal(cursors, identity, position)
        sealed[cursor] = identity
        return cursor

    with patch.object(Cursors, "seal", note_identity):
        made = [(await read_page(listed_store, one, first=1))[1]["endCursor"] for one in LISTS]
    # So every other list is as foreign as the ones next to it, which are the most alike.
    assert len({sealed[cursor] for cursor in made}) == len(LISTS)
    for n, name in enumerate(LISTS):
        for cursor, code in (
            (made[n - 1], FOREIGN),
            (made[n], []),
            (made[n + 1 - len(made)], FOREIGN),
        ):
            errors = (await read_list(listed_store, name, first=1, after=cursor)).errors
            assert [error["extensions"]["code"] for error in errors] == code, name
        told = await read_list(listed_store, name, other, first=1, after=made[n])
        assert told.errors or told.data == {"around": None}, name


def visible_nodes(answer: Answer) -> list[Any]:
    """The identifying values of the nodes that an answer shows; none without a list."""
    found = answer.data
    while isinstance(found, dict) and "list" not in found:
        found = found.get("around")
        if isinstance(found, list):
            found = found[0] if found else None
    shown = found["list"]["nodes"] if isinstance(found, dict) and found["list"] else []
    return [value for node in shown for value in node.values()]


@pytest.mark.parametrize("left", [(), ("/usa/west=reader",), ("/asia=reader",), ("/eu=reader",)])
async def test_a_page_behind_the_loss_of_a_role_shows_nothing_that_a_new_list_does_not(
    left: tuple[str, ...], listed_store: Ask
) -> None:
    later = as_caller("root", *left)
    for name in LISTS:
        cursor = (await read_page(listed_store, name, first=1))[1]["endCursor"]
        whole = await read_list(listed_store, name, later, first=100)
        behind = await read_list(listed_store, name, later, first=100, after=cursor)
        seen = visible_nodes(whole)
        assert [node for node in visible_nodes(behind) if node not in seen] == [], name


USUAL_ORDERS = {
    "Query.runs": "OLDEST_FIRST",
    "NgsiAttribute.series": "OLDEST_FIRST",
    "Query.albums": "NAME",
}
UNORDERED = {"audio of an artist", "audio of an album", "audio of a bucket"}


async def test_a_cursor_of_the_usual_order_opens_with_that_order_spelled_out_and_no_other(
    listed_store: Ask,
) -> None:
    types = core_schema(schema).type_map
    seen = set()
    for name, listing in LISTS.items():
        of, _, field = listing.field.partition(".")
        made = types[of]
        assert isinstance(made, GraphQLObjectType)
        argument = made.fields[field].args.get("order")
        if argument is None or "order:" in listing.arguments:
            continue
        assert isinstance(argument.type, GraphQLEnumType)
        cursor = (await read_page(listed_store, name, first=1))[1]["endCursor"]
        opened = set()
        for order in argument.type.values:
            spelled = listing._replace(arguments=f"order: {order} {listing.arguments}")
            answer = await listed_store(spelled.document(), {"first": 100, "after": cursor})
            if not answer.errors:
                opened.add(order)
                assert page_of(answer)[0] == listing.nodes[1:], name
            else:
                (error,) = answer.errors
                assert error["extensions"]["code"] == "BAD_USER_INPUT", name
        usual = USUAL_ORDERS.get(listing.field, "NEWEST_FIRST")
        assert opened == (set() if name in UNORDERED else {usual}), name
        seen.add(listing.field)
    assert seen >= USUAL_ORDERS.keys()


async def test_what_comes_and_goes_between_pages_neither_hides_nor_repeats_the_rest(
    ask: Ask,
) -> None:
    await catalogue(ask)
    found, info = await read_page(ask, "oldest first", first=2)
    assert found == ["p0", "p1"]
    for name in ("p1", "p2"):
        id = (await ask(f'{{ pipelineByName(name: "{name}", group: "/usa/west") {{ id }} }}')).value
        gone = "mutation($i: DeletePipelineInput!) { deletePipeline(input: $i) { __typename } }"
        assert (await ask(gone, {"i": id})).value == {"__typename": "DeletePipelinePayload"}
    await ask.make("/usa", "p6")
    rest, _ = await read_page(ask, "oldest first", first=10, after=info["endCursor"])
    assert rest == ["p3", "p4", "p6"]


WAYS_TO_LIST = (
    'group: "/asia"',
    'group: "/asia", order: OLDEST_FIRST',
    'group: "/", includeChildGroups: true, order: OLDEST_FIRST',
    'group: "/asia", tags: {all: [{key: "scope", value: "1"}]}',
    'group: "/asia", name: {contains: "shared"}',
)


@pytest.mark.parametrize("noun", NOUNS)
async def test_what_is_revoked_between_two_pages_is_not_on_the_next(ask: Ask, noun: str) -> None:
    of, guest = Ask(ask.store, noun), as_caller("guest", "/asia=reader")
    await of.create_groups("/usa", "/asia")
    ids = {
        name: await of.make("/usa", name, "scope=1")
        for name in ("shared 1", "shared 2", "x shared")
    }
    for way in WAYS_TO_LIST:
        for id in ids.values():
            await of.input(GRANT, id=id, group="/asia")
        page = f"query({VARIABLES}) {{ pipelines({way}, {PAGE}) {{ nodes {{ name }} {INFO} }} }}"
        listed = [node["name"] for node in (await of(page, {}, guest)).value["nodes"]]
        assert sorted(listed) == sorted(ids), way
        first = (await of(page, {"first": 1}, guest)).value
        assert [node["name"] for node in first["nodes"]] == listed[:1], way
        await of.input(REVOKE, id=ids[listed[1]], group="/asia")
        rest = (await of(page, {"after": first["pageInfo"]["endCursor"]}, guest)).value
        assert [node["name"] for node in rest["nodes"]] == listed[2:], way


async def test_page_sizes_of_1_and_100_are_fine_and_20_is_meant_without_one(ask: Ask) -> None:
    await ask.create_groups("/usa", "/usa/west")
    for n in range(21):
        await ask.make("/usa", f"p{n}")
    sizes = [
        len((await read_page(ask, "pipelines", **arguments))[0])
        for arguments in ({}, {"first": 100})
    ]
    assert sizes == [20, 21]
    assert len((await read_page(ask, "pipelines", last=1))[0]) == 1
