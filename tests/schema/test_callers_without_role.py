"""A caller without a role on the line of groups learns nothing and changes nothing.

Every field of the schema answers such a caller as it answers for objects that do not exist.
"""

import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.schema import schema
from penstock.schema.core.relay import GlobalId
from penstock.schema.engine.documents import core_schema
from tests.datastore.ngsi.stored_samples import store_dead_letter, store_samples
from tests.schema.audio.listener_cases import LISTENERS_FIELDS
from tests.schema.audio.mutation_failures import NOTHING, WITHOUT_NAMES, documents_by_field
from tests.support.consistency_check import contents
from tests.support.graphql_client import (
    NOUNS,
    Ask,
    as_caller,
    draft,
    tag_inputs,
    title_of,
    words_for,
)

OUTSIDERS = {
    "admin of another tree": as_caller("eve", "/eu=admin"),
    "reader of a look-alike": as_caller("eve", "/usa2=admin"),
    "nobody": Caller("eve", {}),
}
DRAFT = {"formula": "1", "outputs": [{"index": 0, "type": "NUMBER"}]}
CREATE_ALL = """mutation($inputs: [CreatePipelineInput!]!) { createPipelines(inputs: $inputs) {
  __typename ...on UserError { code message path } } }"""
UNION = "{ __typename ...on UserError { code message path } }"


RUNS: Mapping[str, dict[str, Any]] = {
    "DiscoverRun": {"addedBy": "mine"},
    "ClaimRun": {"stage": "TRANSFORM", "owner": "mine"},
    "HeartbeatRun": {"fence": 1},
    "MarkRunProcessed": {"fence": 1, "shredTypes": [], "savedTo": "s3://mine/run/"},
    "MarkRunLoaded": {"fence": 1, "loadedBy": "mine"},
    "FailRun": {"fence": 1, "error": "mine"},
    "SkipRun": {"reason": "mine"},
    "UnskipRun": {},
    "RecoverRun": {"shredTypes": [], "savedTo": "s3://mine/run/"},
    "ResetRun": {"force": True, "delete": True},
    "RetryRun": {},
    "SetRunTags": {"tags": [], "batch": None},
    "ReloadRun": {"reason": "mine", "force": True},
}
"""The mutations of runs, each with an input that succeeds for a caller with the role."""


LOADED = {"columns": [{"name": "k", "type": "STRING"}], "upload": "none"}


class World(NamedTuple):
    """Names of things in a foreign tree of groups, or of things that do not exist."""

    id: str
    version_id: str
    group_id: str
    group: str
    name: str
    key: str
    job: str
    execution: str
    letter: str

    @property
    def service(self) -> str:
        """The name of the NGSI service that belongs to the group."""
        return self.group.strip("/")

    def blur_names(self, answer: object) -> str:
        """Return the answer as text, with the names of this world replaced by `?`."""
        text = json.dumps(answer)
        names = (self.group, self.name, self.service, self.letter)
        ids = (_uuid(self.id), _uuid(self.job), _uuid(self.execution))
        for known in sorted((*names, *ids), key=len, reverse=True):
            text = text.replace(known, "?")
        return text


def mutation(field: str, input: str) -> str:
    return f"mutation($in: {input}!) {{ {field}(input: $in) {UNION} }}"


def cases(world: World) -> Mapping[str, list[tuple[str, Mapping[str, Any]]]]:
    """Return the documents that ask for the things of a world, by field of Query and Mutation."""
    id, group = {"id": world.id}, {"group": world.group}
    return {
        "viewer": [("{ viewer { roles { group } defaultGroup apiKeys { nodes { id } } } }", {})],
        "node": [
            ("query($id: ID!) { node(id: $id) { id } }", {"id": each})
            for each in (world.id, world.version_id, world.group_id, world.job, world.execution)
        ],
        "nodes": [
            (
                "query($ids: [ID!]!) { nodes(ids: $ids) { id } }",
                {"ids": [world.id, world.version_id, world.group_id, world.job, world.execution]},
            )
        ],
        "group": [("query($p: GroupPath!) { group(path: $p) { path } }", {"p": world.group})],
        "job": [("query($id: ID!) { job(id: $id) { id done } }", {"id": world.job})],
        "jobs": [("query($group: GroupPath) { jobs(group: $group) { nodes { id } } }", group)],
        "system": [("{ system { version } }", {})],
        "workers": [("{ workers { nodes { name } } }", {})],
        "cancelJob": [(mutation("cancelJob", "CancelJobInput"), {"in": {"id": world.job}})],
        "tagKeys": [
            (
                "query($group: GroupPath) { tagKeys(kind: PIPELINE, group: $group) {"
                " nodes { key } } }",
                group,
            )
        ],
        "tagValues": [
            (
                "query($group: GroupPath, $parent: String) { tagValues(kind: PIPELINE, key: "
                '"scope", group: $group, parent: $parent) { nodes { value } } }',
                {**group, "parent": parent},
            )
            for parent in (None, "1")
        ],
        "pipeline": [("query($id: ID!) { pipeline(id: $id) { id } }", id)],
        "pipelineByName": [
            (
                "query($name: String!, $group: GroupPath) {"
                " pipelineByName(name: $name, group: $group) { id } }",
                {**group, "name": world.name},
            )
        ],
        "pipelines": [
            (
                "query($group: GroupPath, $tags: TagFilter, $below: Boolean) { pipelines("
                "group: $group, tags: $tags, includeChildGroups: $below) { nodes { id } } }",
                {**group, "tags": tags, "below": below},
            )
            for tags in (None, {"all": tag_inputs("scope=1")}, {"none": tag_inputs("scope=2")})
            for below in (False, True)
        ],
        "run": [
            (
                "query($group: GroupPath, $run: String!) {"
                ' run(group: $group, manifest: "snow", runId: $run) {'
                " id history { nodes { at } } } }",
                {**group, "run": run},
            )
            for run in ("theirs", "absent")
        ],
        "runs": [
            (
                "query($group: GroupPath, $state: RunState) {"
                ' runs(group: $group, manifest: "snow", state: $state) { nodes { id } } }',
                {**group, "state": state},
            )
            for state in (None, "NEW")
        ],
        "staleRuns": [
            (
                "query($group: GroupPath) { staleRuns(group: $group, manifest: "
                '"snow", olderThanSeconds: 0) { nodes { id } } }',
                group,
            )
        ],
        "manifests": [
            ("query($group: GroupPath) { manifests(group: $group) { nodes { id } } }", group)
        ],
        **{
            f"{verb[0].lower()}{verb[1:]}": [
                (
                    mutation(f"{verb[0].lower()}{verb[1:]}", f"{verb}Input"),
                    {"in": {**group, "manifest": "snow", "runId": run, **input}},
                )
                for run in ("theirs", "absent")
            ]
            for verb, input in RUNS.items()
        },
        "createRunConsumer": [
            (
                mutation("createRunConsumer", "CreateRunConsumerInput"),
                {"in": {**group, "manifest": "snow", "consumer": "lake", "start": "NOW"}},
            )
        ],
        "removeRunConsumer": [
            (
                mutation("removeRunConsumer", "RemoveRunConsumerInput"),
                {"in": {**group, "manifest": "snow", "consumer": "lake"}},
            )
        ],
        "setManifestRetries": [
            (
                mutation("setManifestRetries", "SetManifestRetriesInput"),
                {"in": {**group, "manifest": "snow", "retries": {}}},
            )
        ],
        "deleteManifest": [
            (
                mutation("deleteManifest", "DeleteManifestInput"),
                {"in": {**group, "manifest": "snow"}},
            )
        ],
        "evaluate": [
            (
                f"query($in: EvaluateInput!) {{ evaluate(input: $in) {UNION} }}",
                {"in": {**subject, "rows": [{}]}},
            )
            for subject in (
                id,
                {**id, "version": 1},
                {**group, "name": world.name},
                {**group, "draft": DRAFT},
            )
        ],
        "createGroup": [
            (mutation("createGroup", "CreateGroupInput"), {"in": {"path": f"{world.group}/mine"}}),
            (mutation("createGroup", "CreateGroupInput"), {"in": {"path": world.group}}),
        ],
        "updateGroup": [
            (
                mutation("updateGroup", "UpdateGroupInput"),
                {"in": {"path": world.group, "name": "mine", "state": "DISABLED"}},
            )
        ],
        "deleteGroup": [
            (
                mutation("deleteGroup", "DeleteGroupInput"),
                {"in": {"path": world.group, "cascade": cascade}},
            )
            for cascade in (False, True)
        ],
        "createPipeline": [
            (mutation("createPipeline", "CreatePipelineInput"), {"in": draft("mine", **group)})
        ],
        "createPipelines": [
            (CREATE_ALL, {"inputs": [draft("mine", **group), draft("mine too", **group)]})
        ],
        "updatePipeline": [
            (
                mutation("updatePipeline", "UpdatePipelineInput"),
                {"in": {**id, "expectedVersion": version, "name": "mine"}},
            )
            for version in (1, 7)
        ],
        "deletePipeline": [
            (mutation("deletePipeline", "DeletePipelineInput"), {"in": id}),
            (
                mutation("deletePipeline", "DeletePipelineInput"),
                {"in": {**id, "expectedVersion": 7}},
            ),
        ],
        "grantPipeline": [
            (mutation("grantPipeline", "GrantPipelineInput"), {"in": {**id, "group": to}})
            for to in (world.group, "/eu")
        ],
        "revokePipeline": [
            (mutation("revokePipeline", "RevokePipelineInput"), {"in": {**id, **group}})
        ],
        "createDatasetUpload": [
            (mutation("createDatasetUpload", "CreateDatasetUploadInput"), {"in": group})
        ],
        "loadPipeline": [
            (
                mutation("loadPipeline", "LoadPipelineInput"),
                {"in": {**id, "expectedVersion": 1, "content": LOADED}},
            )
        ],
        "createApiKey": [
            (
                mutation("createApiKey", "CreateApiKeyInput"),
                {
                    "in": {
                        "name": "mine",
                        "roles": [{**group, "role": "READER"}],
                        "expiresAt": "2999-01-01T00:00:00Z",
                    }
                },
            )
        ],
        "revokeApiKey": [
            (mutation("revokeApiKey", "RevokeApiKeyInput"), {"in": {"id": world.key}})
        ],
        "revokePlayerPassword": [
            (
                mutation("revokePlayerPassword", "RevokePlayerPasswordInput"),
                {"in": {"id": world.key}},
            )
        ],
        **execution_cases(world),
        **ngsi_cases(world),
    }


def ngsi_cases(world: World) -> dict[str, list[tuple[str, Mapping[str, Any]]]]:
    name, document = {"name": world.service}, {"in": {"document": "{}"}}
    return {
        "ngsiServices": [("{ ngsiServices { nodes { name } } }", {})],
        "ngsiService": [
            (f"query($name: String!) {{ ngsiService(name: $name) {{ {shown} }} }}", name)
            for shown in ("name", "counts { received }", 'servicePath(path: "/p") { path }')
        ],
        "ngsiNamingRules": [("{ ngsiNamingRules { mappings grouping } }", {})],
        "replayDeadLetters": [
            (
                mutation("replayDeadLetters", "ReplayDeadLettersInput"),
                {"in": {"ids": [world.letter]}},
            )
        ],
        "deleteDeadLetters": [
            (
                mutation("deleteDeadLetters", "DeleteDeadLettersInput"),
                {"in": {"ids": [world.letter]}},
            )
        ],
        "deleteNgsiSamples": [
            (
                mutation("deleteNgsiSamples", "DeleteNgsiSamplesInput"),
                {
                    "in": {
                        "service": world.service,
                        "servicePath": "/p",
                        "entityId": "car1",
                        "entityType": "car",
                    }
                },
            )
        ],
        "putNameMappings": [(mutation("putNameMappings", "PutNameMappingsInput"), document)],
        "putGroupingRules": [(mutation("putGroupingRules", "PutGroupingRulesInput"), document)],
    }


def execution_cases(world: World) -> Mapping[str, list[tuple[str, Mapping[str, Any]]]]:
    """Return the documents that ask for executions, by field."""
    id, fence = {"id": world.execution}, {"fence": 1}
    progress = dict.fromkeys(("rowsSucceeded", "rowsFailed", "bytesRead", "bytesWritten"), 1)
    told: Mapping[str, Mapping[str, Any]] = {
        "startExecution": id,
        "cancelExecution": id,
        "retryExecution": id,
        "claimExecution": {**id, "worker": "mine"},
        "heartbeatExecution": {**id, **fence, "progress": progress},
        "completeExecution": {**id, **fence, "progress": progress},
        "failExecution": {**id, **fence, "code": "WORKER_FAILED", "message": "mine"},
    }
    fields = "{ id upload { url } outputDownload { url } timeline { nodes { by } } }"
    return {
        "execution": [(f"query($id: ID!) {{ execution(id: $id) {fields} }}", id)],
        "executionCounts": [
            (
                "query($group: GroupPath) { executionCounts(group: $group) { state count } }",
                {"group": world.group},
            )
        ],
        "executions": [
            (
                "query($group: GroupPath, $tags: TagFilter, $below: Boolean,"
                " $order: ExecutionOrder) { executions(group: $group, tags: $tags,"
                " includeChildGroups: $below, order: $order) { nodes { id } } }",
                {"group": world.group, "tags": tags, "below": below, "order": order},
            )
            for tags in (None, {"none": tag_inputs("scope=2")})
            for below in (False, True)
            for order in ("NEWEST_FIRST", "ENDED_LAST")
        ],
        "createExecution": [
            (
                mutation("createExecution", "CreateExecutionInput"),
                {"in": {"pipelineId": world.id, **more}},
            )
            for more in ({}, {"mode": "INLINE", "rows": [{"x": 1}]})
        ],
        "restoreVersion": [
            (
                mutation("restoreVersion", "RestoreVersionInput"),
                {"in": {"id": world.id, "version": 1, "expectedVersion": 1}},
            )
        ],
        "setVersionLabel": [
            (
                mutation("setVersionLabel", "SetVersionLabelInput"),
                {"in": {"id": world.id, "version": 1, "label": "prod"}},
            )
        ],
        "removeVersionLabel": [
            (
                mutation("removeVersionLabel", "RemoveVersionLabelInput"),
                {"in": {"id": world.id, "label": "prod"}},
            )
        ],
        "withdrawRows": [
            (
                mutation("withdrawRows", "WithdrawRowsInput"),
                {"in": {"pipelineId": world.id, "reason": "mine", **chosen}},
            )
            for chosen in ({"keys": [["a"]]}, {"executionId": world.execution})
        ],
        "evaluatePipeline": [
            (
                f"query($in: EvaluatePipelineInput!) {{ evaluatePipeline(input: $in) {UNION} }}",
                {"in": {**subject, "rows": [{"x": 1}]}},
            )
            for subject in (
                {"id": world.id},
                {
                    "group": world.group,
                    "draft": {"parameters": [], "transforms": [{"index": 0, **DRAFT}]},
                },
            )
        ],
        **{
            field: [(mutation(field, f"{field[0].upper()}{field[1:]}Input"), {"in": input})]
            for field, input in told.items()
        },
    }


KINDS = NOUNS


def absent_world(noun: str) -> World:
    """Return names that fit their kind but belong to nothing."""
    key = "01a1fd33-4531-77f0-8555-cdb912a93fef"
    return World(
        id=GlobalId(title_of(noun), key).encode(),
        version_id=GlobalId(f"{title_of(noun)}Version", f"{key}:1").encode(),
        group_id=GlobalId("Group", "/nowhere").encode(),
        group="/nowhere",
        name="no such name",
        key=key,
        job=GlobalId("Job", key).encode(),
        execution=GlobalId("Execution", key).encode(),
        letter=key,
    )


NOWHERE = absent_world("pipeline")
FIELDS = [
    field
    for root in (core_schema(schema).query_type, core_schema(schema).mutation_type)
    if root is not None
    for field in root.fields
]
IDS = """query($name: String!, $group: GroupPath!) { group(path: $group) { id }
  pipelineByName(name: $name, group: $group) { id versionNumbered(version: 1) { id } } }"""

KEY = """mutation($at: DateTime!) {
  createApiKey(input: {name: "theirs", roles: [{group: "/usa", role: READER}], expiresAt: $at}) {
    ...on CreateApiKeyPayload { apiKey { id } } } }"""

CASCADE = """mutation { deleteGroup(input: {path: "/usa/gone", cascade: true}) {
  ...on DeleteGroupPayload { job { id } } } }"""


EXECUTION = """mutation($id: ID!) { createExecution(input: {pipelineId: $id}) {
  ...on CreateExecutionPayload { execution { id } } } }"""


def _uuid(global_id: str) -> str:
    return urlsafe_b64decode(global_id).decode().partition(":")[2]


async def foreign_world(ask: Ask) -> World:
    """Make a foreign tree of groups with one thing of every kind in it."""
    await ask.create_groups("/usa", "/usa/northwest", "/usa/gone", "/usa2", "/eu")
    id = await ask.make("/usa", "theirs", "scope=1", "material=metal/steel")
    await ask.change(id, 1, description="changed")
    found = (await ask(IDS, {"name": "theirs", "group": "/usa"})).data
    version_id = found["pipelineByName"]["versionNumbered"]["id"]
    key = (await ask(KEY, {"at": iso_timestamp(datetime.now(UTC) + timedelta(days=1))})).value
    await ask.make("/usa/gone", "going")
    for run in ("theirs", "claimed"):
        of = {"group": "/usa", "manifest": "snow", "runId": run}
        await ask.input(
            mutation("discoverRun", "DiscoverRunInput").replace("$in", "$input"),
            **of,
            **RUNS["DiscoverRun"],
        )
    job = (await ask(CASCADE)).value["job"]["id"]
    pipelines = Ask(ask.store)
    run = await pipelines.make("/usa", "theirs to run")
    execution = (await pipelines(EXECUTION, {"id": run})).value["execution"]["id"]
    await store_samples(ask.store, "usa", "/p")
    letter = await store_dead_letter(ask.store, "usa", "/p")
    group, key_id = found["group"]["id"], key["apiKey"]["id"]
    return World(id, version_id, group, "/usa", "theirs", key_id, job, execution, letter)


def assert_says_nothing(field: str, data: Any, errors: Any) -> None:
    if errors:
        (error,) = errors
        assert error["extensions"]["code"] == "NOT_FOUND"
        assert data is None or data[field] is None
    elif isinstance(data[field], dict) and "__typename" in data[field]:
        assert (data[field]["__typename"], data[field]["code"]) == ("NotFound", "NOT_FOUND")
    elif isinstance(data[field], list):
        for one in data[field]:
            assert one is None or (one["__typename"], one["code"]) == ("NotFound", "NOT_FOUND")
    else:
        assert data[field] is None or data[field] == {"nodes": []}


def fields_of(noun: str) -> set[str]:
    """Return the fields with a case that the kind has, in words about pipelines."""
    own = {"createPipelines", "evaluatePipeline", "withdrawRows"}
    foreign = set() if noun == "pipeline" else own
    if noun != "reference dataset":
        foreign = foreign | {"loadPipeline"}
    return {*cases(NOWHERE)} - foreign


def test_every_field_of_the_schema_has_a_case() -> None:
    resources = {words_for(field, noun) for noun in KINDS for field in fields_of(noun)}
    audio = documents_by_field(NOTHING).keys() | WITHOUT_NAMES
    assert resources | audio | LISTENERS_FIELDS == {*FIELDS}


@pytest.mark.thorough
@pytest.mark.parametrize("noun", KINDS)
@pytest.mark.parametrize("outsider", OUTSIDERS)
async def test_an_outsider_is_told_what_is_told_of_nothing(
    outsider: str, noun: str, store: Store
) -> None:
    ask, absence = Ask(store, noun), absent_world(noun)
    world, caller = await foreign_world(ask), OUTSIDERS[outsider]
    before = await contents(store.table)
    for field in fields_of(noun) - {"viewer"}:
        pairs = zip(cases(world)[field], cases(absence)[field], strict=True)
        for (document, theirs), (_, nothing) in pairs:
            answer = await ask(document, theirs, caller)
            assert_says_nothing(field, answer.data, answer.errors)
            absent = await ask(document, nothing, caller)
            assert world.blur_names([answer.data, answer.errors]) == absence.blur_names(
                [absent.data, absent.errors]
            )
            assert await contents(store.table) == before, field


async def test_the_viewer_is_told_of_themselves_alone(ask: Ask) -> None:
    await foreign_world(ask)
    ((document, _),) = cases(NOWHERE)["viewer"]
    told = (await ask(document, {}, OUTSIDERS["admin of another tree"])).value
    assert told == {"roles": [{"group": "/eu"}], "defaultGroup": "/eu", "apiKeys": {"nodes": []}}


async def test_what_an_outsider_shares_with_the_tree_shows_nothing_of_it(ask: Ask) -> None:
    world, caller = await foreign_world(ask), OUTSIDERS["admin of another tree"]
    everywhere = world._replace(group="/")
    for field in ("tagKeys", "tagValues", "pipelines", "executions"):
        for document, variables in cases(everywhere)[field]:
            assert (await ask(document, variables, caller)).value == {"nodes": []}
    children = '{ group(path: "/") { children { nodes { path } } } }'
    shown = (await ask(children, {}, caller)).value
    assert shown == {"children": {"nodes": [{"path": "/eu"}]}}


async def test_an_outsiders_own_pipeline_cannot_be_granted_into_the_tree(
    ask: Ask, store: Store
) -> None:
    world, caller = await foreign_world(ask), OUTSIDERS["admin of another tree"]
    own = await ask.make("/eu", "theirs", caller=caller)
    before = await contents(store.table)
    document, _ = cases(world)["grantPipeline"][0]
    told = (await ask(document, {"in": {"id": own, "group": "/usa"}}, caller)).value
    assert told["__typename"] == "NotFound"
    assert await contents(store.table) == before
