"""Every member of every result union occurs in practice, with its code and its path."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from graphql import GraphQLUnionType

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.dataset_loads.loads import MAX_LOADS
from penstock.datastore.jobs.jobs import JobKind, new_job
from penstock.datastore.jobs.rows import creation_writes
from penstock.datastore.manifest.consumers import MAX_CONSUMERS, ConsumerStart
from penstock.datastore.manifest.records import ManifestName
from penstock.datastore.manifest.runs import Discovery
from penstock.datastore.ngsi.directory import Entity
from penstock.datastore.ngsi.reading.series import ALL_TIMES
from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.quotas.quotas import Quotas
from penstock.datastore.quotas.rules import QuotaRules
from penstock.datastore.resources.version_labels.labels import MAX_LABELS
from penstock.datastore.roles import ROOT as ROOT_GROUP
from penstock.datastore.roles import Caller, GroupPath, Role
from penstock.datastore.table.commit import commit
from penstock.datastore.table.layout import API_KEY, PLAYER_PASSWORD
from penstock.datastore.table.port import Item, Put, Update, Value
from penstock.schema import schema
from penstock.schema.core.relay import GlobalId
from penstock.schema.core.scalars import MAX_INT
from penstock.schema.engine.documents import core_schema
from penstock.schema.resources.any_kind import find_kind
from tests.datastore.ngsi.sample_destinations import open_embedded
from tests.datastore.ngsi.stored_samples import store_dead_letter, store_samples
from tests.schema.audio.listener_cases import LISTENERS_FAILURES, make_things, replace_names
from tests.schema.audio.mutation_failures import AUDIO_CASES
from tests.schema.executions.execution_failures import execution_failures
from tests.schema.failure_case import ABSENT, READER, Case
from tests.schema.manifest.run_failures import FOLDER, RUN, run_failures
from tests.schema.metrics.sample_metrics import make_metric
from tests.support.consistency_check import contents
from tests.support.graphql_client import (
    NOUNS,
    TRANSFORMER,
    Ask,
    as_caller,
    content_for,
    draft,
    tag_inputs,
    title_of,
    words_for,
)
from tests.support.sample_resources import fill_open_uploads

CONTRIBUTOR = as_caller("carl", "/usa=contributor")
USA = as_caller("uma", "/usa=admin")
COLLECTOR = as_caller("cora", "/usa=admin")
WITH_KEY = Caller("uma", USA.roles, api_key="a key")
SAMPLES = {"service": "usa", "servicePath": "/p", "entityId": "car1", "entityType": "car"}
LONG = tag_inputs(f"key={'/'.join(['x' * 128] * 8)}")
"""A tag that is longer than a key of the table may be."""
TOO_LONG = {"limit": "bytes of sk", "maximum": 1024}
BELOW = [f"/usa/g{n}" for n in range(52)]
"""Groups whose grants are too many to be replaced by one above them."""
LIMIT = {"limit": "operations of a transaction", "maximum": 100}
NEVER = {
    (f"Revoke{title}Result", "LimitExceeded")
    for title in ("Pipeline", "Calculation", "ReferenceDataset", "Metric")
} | {
    (union, "LimitExceeded")
    for union in ("CreateAudioUploadResult", "CreatePlaylistUploadResult", "RetryExecutionResult")
}
"""Members that clients may still select, although nothing makes them any more."""
DETAILS = {
    "ValidationProblem": "problems { path message }",
    "NameTaken": "holder group",
    "VersionConflict": "currentVersion",
    "LimitExceeded": "limit maximum actual",
    "QuotaExceeded": "quota maximum used group",
    "IllegalState": "state",
    "InUse": "more usedBy { ... on Pipeline { name } ... on Metric { name } }",
}
FULL = GroupPath("/full")
"""A group that may keep no more than it does."""
CLOSED = "/closed"
"""A group that is disabled, with one below it."""
UPLOADS = {"quota": "OPEN_UPLOADS", "maximum": 100, "used": 100, "group": None}


TOMORROW = "tomorrow"
"""It stands for a day after the moment in which the input is sent."""


def key(group: str = "/usa", **more: Any) -> dict[str, Any]:
    """Return the input of an API key that may read the group until tomorrow."""
    roles = [{"group": group, "role": "READER"}]
    return {"name": "k", "roles": roles, "expiresAt": TOMORROW, **more}


CASES: dict[tuple[str, str], Case] = {
    ("CreateGroupResult", "NotFound"): Case(
        "createGroup", {"path": "/nowhere/new"}, "NOT_FOUND", ["path"]
    ),
    ("CreateGroupResult", "NotPermitted"): Case(
        "createGroup", {"path": "/usa/new"}, "FORBIDDEN", None, {}, READER
    ),
    ("CreateGroupResult", "ValidationProblem"): Case(
        "createGroup", {"path": "/usa/new", "name": " "}, "BAD_USER_INPUT", ["name"]
    ),
    ("CreateGroupResult", "NameTaken"): Case(
        "createGroup", {"path": "/usa/northwest"}, "NAME_TAKEN", ["path"], {"group": "/usa"}
    ),
    ("CreateGroupResult", "IllegalState"): Case(
        "createGroup", {"path": f"{CLOSED}/new"}, "ILLEGAL_STATE", None, {"state": "DISABLED"}
    ),
    ("UpdateGroupResult", "NotFound"): Case(
        "updateGroup", {"path": "/nowhere", "name": "x"}, "NOT_FOUND", ["path"]
    ),
    ("UpdateGroupResult", "NotPermitted"): Case(
        "updateGroup", {"path": "/usa", "state": "DISABLED"}, "FORBIDDEN", None, {}, READER
    ),
    ("UpdateGroupResult", "ValidationProblem"): Case(
        "updateGroup", {"path": "/usa", "name": None}, "BAD_USER_INPUT", ["name"]
    ),
    ("UpdateGroupResult", "IllegalState"): Case(
        "updateGroup", {"path": "/", "name": "x"}, "ILLEGAL_STATE", None, {"state": "ROOT"}
    ),
    ("DeleteGroupResult", "NotFound"): Case(
        "deleteGroup", {"path": "/nowhere"}, "NOT_FOUND", ["path"]
    ),
    ("DeleteGroupResult", "NotPermitted"): Case(
        "deleteGroup", {"path": "/eu/france"}, "FORBIDDEN", None, {}, READER
    ),
    ("DeleteGroupResult", "IllegalState"): Case(
        "deleteGroup", {"path": "/usa"}, "ILLEGAL_STATE", None, {"state": "NOT_EMPTY"}
    ),
    ("CancelJobResult", "NotFound"): Case("cancelJob", {"id": "no job"}, "NOT_FOUND", ["id"]),
    ("CancelJobResult", "NotPermitted"): Case(
        "cancelJob", {"id": "deletion"}, "FORBIDDEN", None, {}, READER
    ),
    ("CancelJobResult", "IllegalState"): Case(
        "cancelJob", {"id": "deletion"}, "ILLEGAL_STATE", None, {"state": "PENDING"}
    ),
    ("CreatePipelineResult", "NotFound"): Case(
        "createPipeline", draft("new", group="/nowhere"), "NOT_FOUND", ["group"]
    ),
    ("CreatePipelineResult", "IllegalState"): Case(
        "createPipeline",
        draft("new", group=f"{CLOSED}/below"),
        "ILLEGAL_STATE",
        None,
        {"state": "DISABLED"},
    ),
    ("CreatePipelineResult", "NotPermitted"): Case(
        "createPipeline", draft("new", group="/usa"), "FORBIDDEN", None, {}, READER
    ),
    ("CreatePipelineResult", "ValidationProblem"): Case(
        "createPipeline", draft(" ", group="/usa"), "BAD_USER_INPUT", ["name"]
    ),
    ("CreatePipelineResult", "NameTaken"): Case(
        "createPipeline",
        draft("ONE", group="/usa/northwest"),
        "NAME_TAKEN",
        ["name"],
        {"group": "/usa", "holder": "one"},
    ),
    ("CreatePipelineResult", "LimitExceeded"): Case(
        "createPipeline",
        draft("new", group="/usa") | {"tags": LONG},
        "LIMIT_EXCEEDED",
        None,
        TOO_LONG,
    ),
    ("CreatePipelineResult", "QuotaExceeded"): Case(
        "createPipeline",
        draft("new", group=FULL),
        "QUOTA_EXCEEDED",
        None,
        {"quota": "RESOURCES", "maximum": 1, "used": 1, "group": FULL},
    ),
    ("UpdatePipelineResult", "QuotaExceeded"): Case(
        "updatePipeline",
        {"id": "kept", "expectedVersion": 1, "name": "new"},
        "QUOTA_EXCEEDED",
        None,
        {"quota": "VERSIONS", "maximum": 1, "used": 1, "group": FULL},
    ),
    ("UpdatePipelineResult", "NotFound"): Case(
        "updatePipeline", {"id": ABSENT, "expectedVersion": 1}, "NOT_FOUND", ["id"]
    ),
    ("UpdatePipelineResult", "NotPermitted"): Case(
        "updatePipeline", {"id": "one", "expectedVersion": 1}, "FORBIDDEN", None, {}, READER
    ),
    ("UpdatePipelineResult", "ValidationProblem"): Case(
        "updatePipeline",
        {"id": "one", "expectedVersion": 1, "tags": tag_inputs("a=b", "A=c")},
        "BAD_USER_INPUT",
        ["tags", "1", "key"],
    ),
    ("UpdatePipelineResult", "NameTaken"): Case(
        "updatePipeline",
        {"id": "one", "expectedVersion": 1, "name": "two"},
        "NAME_TAKEN",
        ["name"],
        {"group": "/usa/northwest", "holder": "two"},
    ),
    ("UpdatePipelineResult", "VersionConflict"): Case(
        "updatePipeline",
        {"id": "one", "expectedVersion": 2},
        "CONFLICT",
        ["expectedVersion"],
        {"currentVersion": 1},
    ),
    ("UpdatePipelineResult", "LimitExceeded"): Case(
        "updatePipeline",
        {"id": "one", "expectedVersion": 1, "attributes": {"a": "x" * 410_000}},
        "LIMIT_EXCEEDED",
        None,
    ),
    ("UpdatePipelineResult", "IllegalState"): Case(
        "updatePipeline",
        {"id": "cold", "expectedVersion": 2, "name": "new", "state": "ENABLED"},
        "ILLEGAL_STATE",
        None,
        {"state": "FROZEN"},
    ),
    ("DeletePipelineResult", "NotFound"): Case(
        "deletePipeline", {"id": ABSENT}, "NOT_FOUND", ["id"]
    ),
    ("DeletePipelineResult", "NotPermitted"): Case(
        "deletePipeline",
        {"id": "one"},
        "FORBIDDEN",
        None,
        {},
        as_caller("carl", "/usa=contributor"),
    ),
    ("DeletePipelineResult", "VersionConflict"): Case(
        "deletePipeline",
        {"id": "one", "expectedVersion": 9},
        "CONFLICT",
        ["expectedVersion"],
        {"currentVersion": 1},
    ),
    ("GrantPipelineResult", "NotFound"): Case(
        "grantPipeline", {"id": "one", "group": "/nowhere"}, "NOT_FOUND", ["group"]
    ),
    ("GrantPipelineResult", "NotPermitted"): Case(
        "grantPipeline", {"id": "one", "group": "/"}, "FORBIDDEN", None, {}, USA
    ),
    ("GrantPipelineResult", "NameTaken"): Case(
        "grantPipeline",
        {"id": "same", "group": "/eu"},
        "NAME_TAKEN",
        ["group"],
        {"group": "/eu", "holder": "other same"},
    ),
    ("GrantPipelineResult", "LimitExceeded"): Case(
        "grantPipeline", {"id": "heavy", "group": "/usa"}, "LIMIT_EXCEEDED", ["group"], LIMIT
    ),
    ("RevokePipelineResult", "NotFound"): Case(
        "revokePipeline", {"id": "one", "group": "/eu"}, "NOT_FOUND", ["group"]
    ),
    ("RevokePipelineResult", "NotPermitted"): Case(
        "revokePipeline", {"id": "one", "group": "/usa"}, "FORBIDDEN", None, {}, READER
    ),
    ("RevokePipelineResult", "IllegalState"): Case(
        "revokePipeline", {"id": "one", "group": "/usa"}, "ILLEGAL_STATE", None, {"state": "OWNER"}
    ),
    ("CreateApiKeyResult", "NotFound"): Case(
        "createApiKey", key("/eu"), "NOT_FOUND", ["group"], {}, USA
    ),
    ("CreateApiKeyResult", "NotPermitted"): Case(
        "createApiKey", key("/"), "FORBIDDEN", None, {}, USA
    ),
    ("CreateApiKeyResult", "ValidationProblem"): Case(
        "createApiKey", key(name=" "), "BAD_USER_INPUT", ["name"], {}, USA
    ),
    ("CreateApiKeyResult", "LimitExceeded"): Case(
        "createApiKey",
        key(),
        "LIMIT_EXCEEDED",
        None,
        {"limit": "API keys of a user", "maximum": 100, "actual": 101},
        COLLECTOR,
    ),
    ("RevokeApiKeyResult", "NotFound"): Case(
        "revokeApiKey", {"id": ABSENT}, "NOT_FOUND", ["id"], {}, USA
    ),
    ("RevokeApiKeyResult", "NotPermitted"): Case(
        "revokeApiKey",
        {"id": ABSENT},
        "FORBIDDEN",
        None,
        {},
        WITH_KEY,
    ),
    ("CreatePlayerPasswordResult", "NotPermitted"): Case(
        "createPlayerPassword", {"name": "p"}, "FORBIDDEN", None, {}, WITH_KEY
    ),
    ("CreatePlayerPasswordResult", "ValidationProblem"): Case(
        "createPlayerPassword", {"name": " "}, "BAD_USER_INPUT", ["name"], {}, USA
    ),
    ("CreatePlayerPasswordResult", "LimitExceeded"): Case(
        "createPlayerPassword",
        {"name": "p"},
        "LIMIT_EXCEEDED",
        None,
        {"limit": "passwords of music players of a user", "maximum": 20, "actual": 21},
        COLLECTOR,
    ),
    ("RevokePlayerPasswordResult", "NotFound"): Case(
        "revokePlayerPassword", {"id": ABSENT}, "NOT_FOUND", ["id"], {}, USA
    ),
    ("RevokePlayerPasswordResult", "NotPermitted"): Case(
        "revokePlayerPassword", {"id": ABSENT}, "FORBIDDEN", None, {}, WITH_KEY
    ),
    ("ReplayDeadLettersResult", "NotFound"): Case(
        "replayDeadLetters", {"ids": [ABSENT]}, "NOT_FOUND", ["ids"]
    ),
    ("ReplayDeadLettersResult", "NotPermitted"): Case(
        "replayDeadLetters", {"ids": ["letter"]}, "FORBIDDEN", None, {}, READER
    ),
    ("ReplayDeadLettersResult", "LimitExceeded"): Case(
        "replayDeadLetters",
        {"ids": [ABSENT] * 101},
        "LIMIT_EXCEEDED",
        ["ids"],
        {"limit": "dead letters at a time", "maximum": 100, "actual": 101},
    ),
    ("DeleteDeadLettersResult", "NotFound"): Case(
        "deleteDeadLetters", {"ids": [ABSENT]}, "NOT_FOUND", ["ids"]
    ),
    ("DeleteDeadLettersResult", "NotPermitted"): Case(
        "deleteDeadLetters", {"ids": ["letter"]}, "FORBIDDEN", None, {}, READER
    ),
    ("DeleteDeadLettersResult", "LimitExceeded"): Case(
        "deleteDeadLetters",
        {"ids": [ABSENT] * 51},
        "LIMIT_EXCEEDED",
        ["ids"],
        {"limit": "dead letters at a time", "maximum": 50, "actual": 51},
    ),
    ("DeleteNgsiSamplesResult", "NotFound"): Case(
        "deleteNgsiSamples", {**SAMPLES, "entityId": "no"}, "NOT_FOUND", ["entityId"]
    ),
    ("DeleteNgsiSamplesResult", "NotPermitted"): Case(
        "deleteNgsiSamples", SAMPLES, "FORBIDDEN", None, {}, CONTRIBUTOR
    ),
    ("DeleteNgsiSamplesResult", "ValidationProblem"): Case(
        "deleteNgsiSamples",
        {**SAMPLES, "from": "2022-01-01T00:00:00Z", "to": "2022-01-01T00:00:00Z"},
        "BAD_USER_INPUT",
        ["to"],
    ),
    ("DeleteNgsiSamplesResult", "LimitExceeded"): Case(
        "deleteNgsiSamples",
        SAMPLES,
        "LIMIT_EXCEEDED",
        None,
        {"limit": "unfinished deletions of samples", "maximum": 10, "actual": 11},
        COLLECTOR,
    ),
    **{
        (f"Put{rules}Result", member): Case(f"put{rules}", {"document": document}, *told)
        for rules, problem in (("NameMappings", "mappings"), ("GroupingRules", "rules"))
        for member, document, *told in (
            ("NotFound", "{}", "NOT_FOUND", None, {}, USA),
            ("NotPermitted", "{}", "FORBIDDEN", None, {}, READER),
            ("ValidationProblem", "[]", "BAD_USER_INPUT", [problem]),
        )
    },
}


CASES |= {
    **run_failures(),
    **execution_failures(),
    ("RetryExecutionResult", "QuotaExceeded"): Case(
        "retryExecution", {"id": "cancelled"}, "QUOTA_EXCEEDED", None, UPLOADS, COLLECTOR
    ),
}
LARGE = [{"index": n, "type": "NUMBER", "description": "é" * 2048} for n in range(200)]
CASES |= {
    (words_for(union, noun), member): case._replace(
        field=words_for(case.field, noun), input=content_for(case.input, noun)
    )
    for (union, member), case in CASES.items()
    for noun in NOUNS[1:]
    if "Pipeline" in union
}
CASES["UpdateCalculationResult", "LimitExceeded"].input.update(outputs=LARGE)
del CASES["UpdateCalculationResult", "LimitExceeded"].input["attributes"]
for title in ("ReferenceDataset", "Metric"):
    CASES[f"Update{title}Result", "LimitExceeded"] = CASES[
        f"Create{title}Result", "LimitExceeded"
    ]._replace(field=f"update{title}", input={"id": "one", "expectedVersion": 1, "tags": LONG})
CASES["CreateDatasetUploadResult", "NotFound"] = Case(
    "createDatasetUpload", {"group": "/nowhere"}, "NOT_FOUND", ["group"], {}, USA
)
CASES["CreateDatasetUploadResult", "QuotaExceeded"] = Case(
    "createDatasetUpload", {"group": "/usa"}, "QUOTA_EXCEEDED", None, UPLOADS, COLLECTOR
)
CASES["CreateDatasetUploadResult", "LimitExceeded"] = Case(
    "createDatasetUpload",
    {"group": "/usa", "maxBytes": 2**40},
    "LIMIT_EXCEEDED",
    ["maxBytes"],
    {"limit": "bytes of a dataset", "actual": MAX_INT},
    USA,
)
CASES["CreateDatasetUploadResult", "NotPermitted"] = Case(
    "createDatasetUpload", {"group": "/usa"}, "FORBIDDEN", None, {}, READER
)
LOADED = {"columns": [{"name": "k", "type": "STRING"}], "upload": "none"}
CASES |= {
    ("LoadReferenceDatasetResult", member): Case(
        "loadReferenceDataset",
        {"id": "one", "expectedVersion": 1, "content": LOADED, **input},
        *told,
    )
    for member, input, *told in (
        ("NotFound", {"id": ABSENT}, "NOT_FOUND", ["id"]),
        ("NotPermitted", {}, "FORBIDDEN", None, {}, READER),
        ("ValidationProblem", {}, "BAD_USER_INPUT", ["content", "upload"]),
        (
            "VersionConflict",
            {"expectedVersion": 2},
            "CONFLICT",
            ["expectedVersion"],
            {"currentVersion": 1},
        ),
        ("LimitExceeded", {}, "LIMIT_EXCEEDED", None, {"maximum": 5, "actual": 6}, COLLECTOR),
        (
            "IllegalState",
            {"id": "cold", "expectedVersion": 2},
            "ILLEGAL_STATE",
            None,
            {"state": "FROZEN"},
        ),
    )
}


CASES |= {
    (f"Delete{title_of(noun)}Result", "InUse"): Case(
        f"delete{title_of(noun)}",
        {"id": "used"},
        "IN_USE",
        ["id"],
        {"more": False, "usedBy": [{"name": "user"}]},
    )
    for noun in NOUNS
}


CASES |= {
    ("EvaluateResult", "NotFound"): Case(
        "evaluate", {"name": "nothing", "group": "/usa", "rows": []}, "NOT_FOUND", ["name"]
    ),
    ("EvaluateResult", "ValidationProblem"): Case(
        "evaluate", {"rows": []}, "BAD_USER_INPUT", ["id"]
    ),
    ("EvaluateResult", "LimitExceeded"): Case(
        "evaluate",
        {"name": "one", "group": "/usa", "rows": [{}] * 1_001},
        "LIMIT_EXCEEDED",
        ["rows"],
        {"limit": "rows", "maximum": 1_000, "actual": 1_001},
    ),
    ("EvaluateResult", "IllegalState"): Case(
        "evaluate",
        {"name": "cold", "group": "/usa", "rows": []},
        "ILLEGAL_STATE",
        None,
        {"state": "FROZEN"},
    ),
}


ROWS: dict[str, Any] = {"rows": [{"x": 1}]}
CASES |= {
    ("EvaluatePipelineResult", "NotFound"): Case(
        "evaluatePipeline", {"id": "no pipeline", **ROWS}, "NOT_FOUND", ["id"]
    ),
    ("EvaluatePipelineResult", "NotPermitted"): Case(
        "evaluatePipeline", {"id": "one", **ROWS}, "FORBIDDEN", None, {}, READER
    ),
    ("EvaluatePipelineResult", "ValidationProblem"): Case(
        "evaluatePipeline", {"id": "one", "rows": []}, "BAD_USER_INPUT", ["rows"]
    ),
    ("EvaluatePipelineResult", "LimitExceeded"): Case(
        "evaluatePipeline",
        {"id": "one", "rows": [{}] * 1_001},
        "LIMIT_EXCEEDED",
        ["rows"],
        {"limit": "rows of a request", "maximum": 1_000, "actual": 1_001},
    ),
    ("EvaluatePipelineResult", "IllegalState"): Case(
        "evaluatePipeline", {"id": "cold", **ROWS}, "ILLEGAL_STATE", None, {"state": "FROZEN"}
    ),
}


CASES |= {
    ("RestoreVersionResult", member): Case(
        "restoreVersion", {"version": 1, "expectedVersion": 2, **input}, *told
    )
    for member, input, *told in (
        ("NotFound", {"id": "was", "version": 3}, "NOT_FOUND", ["version"]),
        ("NotPermitted", {"id": "was"}, "FORBIDDEN", None, {}, READER),
        (
            "ValidationProblem",
            {"id": "calling"},
            "BAD_USER_INPUT",
            ["transformer", "transforms", "0", "formula"],
        ),
        ("NameTaken", {"id": "was"}, "NAME_TAKEN", ["name"], {"group": "/usa", "holder": "is"}),
        (
            "VersionConflict",
            {"id": "was", "expectedVersion": 1},
            "CONFLICT",
            ["expectedVersion"],
            {"currentVersion": 2},
        ),
        ("LimitExceeded", {"id": "heavy"}, "LIMIT_EXCEEDED", ["name"], LIMIT),
        (
            "QuotaExceeded",
            {"id": "kept", "expectedVersion": 1},
            "QUOTA_EXCEEDED",
            None,
            {"quota": "VERSIONS", "maximum": 1, "used": 1, "group": FULL},
        ),
        ("IllegalState", {"id": "cold"}, "ILLEGAL_STATE", None, {"state": "FROZEN"}),
    )
}


CASES |= {
    ("SetVersionLabelResult", member): Case(
        "setVersionLabel", {"version": 1, "label": "prod", **input}, *told
    )
    for member, input, *told in (
        ("NotFound", {"id": "was", "version": 3}, "NOT_FOUND", ["version"]),
        ("NotPermitted", {"id": "was"}, "FORBIDDEN", None, {}, READER),
        ("ValidationProblem", {"id": "was", "label": ""}, "BAD_USER_INPUT", ["label"]),
        (
            "LimitExceeded",
            {"id": "labelled"},
            "LIMIT_EXCEEDED",
            ["label"],
            {"limit": "labels of versions", "maximum": 100, "actual": 101},
        ),
        ("IllegalState", {"id": "off"}, "ILLEGAL_STATE", None, {"state": "DISABLED"}),
    )
}
CASES |= {
    ("RemoveVersionLabelResult", member): Case(
        "removeVersionLabel", {"label": "prod", **input}, *told
    )
    for member, input, *told in (
        ("NotFound", {"id": "was"}, "NOT_FOUND", ["label"]),
        ("NotPermitted", {"id": "was"}, "FORBIDDEN", None, {}, READER),
        ("IllegalState", {"id": "off"}, "ILLEGAL_STATE", None, {"state": "DISABLED"}),
    )
}


WITHDRAWN: dict[str, Any] = {"keys": [["a"]], "reason": "wrong"}
CASES |= {
    ("WithdrawRowsResult", "NotFound"): Case(
        "withdrawRows", {"pipelineId": "no pipeline", **WITHDRAWN}, "NOT_FOUND", ["pipelineId"]
    ),
    ("WithdrawRowsResult", "NotPermitted"): Case(
        "withdrawRows",
        {"pipelineId": "keeper", "keys": [["7"]], "reason": "wrong"},
        "FORBIDDEN",
        None,
        {},
        READER,
    ),
    ("WithdrawRowsResult", "ValidationProblem"): Case(
        "withdrawRows", {"pipelineId": "keeper", "reason": "x"}, "BAD_USER_INPUT", ["keys"]
    ),
    ("WithdrawRowsResult", "LimitExceeded"): Case(
        "withdrawRows",
        {"pipelineId": "keeper", "keys": [["a"]] * 101, "reason": "wrong"},
        "LIMIT_EXCEEDED",
        ["keys"],
        {"limit": "keys of a withdrawal", "maximum": 100, "actual": 101},
    ),
    ("WithdrawRowsResult", "IllegalState"): Case(
        "withdrawRows",
        {"pipelineId": "cold", **WITHDRAWN},
        "ILLEGAL_STATE",
        None,
        {"state": "FROZEN"},
    ),
}


CASES |= {key: Case(*told) for key, told in LISTENERS_FAILURES.items()}


def mutation(field: str, member: str) -> str:
    name = f"{field[0].upper()}{field[1:]}Input"
    kind = "query" if field.startswith("evaluate") else "mutation"
    details = f"...on {member} {{ {DETAILS[member]} }}" if member in DETAILS else ""
    told = f"__typename ...on UserError {{ code path message }} {details}"
    return f"{kind}($input: {name}!) {{ {field}(input: $input) {{ {told} }} }}"


KEYED = {"index": 0, "key": "x", "type": "NUMBER"}
CREATE_EXECUTION = """mutation($input: CreateExecutionInput!) {
  createExecution(input: $input) { ...on CreateExecutionPayload { execution { id } } } }"""


DISABLE_GROUP = """mutation($input: UpdateGroupInput!) { updateGroup(input: $input) {
  ...on UpdateGroupPayload { group { state } } } }"""
DELETE_GONE = """mutation { deleteGroup(input: {path: "/gone", cascade: true}) {
  ...on DeleteGroupPayload { job { id } } } }"""


async def make_passwords(ask: Ask) -> None:
    """Make as many passwords of players as a user may have; this store has no key to seal them."""
    named = {"name": "p", "createdAt": "2022-08-10T23:55:20.322Z"}
    rows = [PLAYER_PASSWORD.item(user="cora", password=f"{n}") for n in range(20)]
    await ask.store.table.write([Put({**row, **named}) for row in rows])


async def resources(ask: Ask) -> dict[str, str]:
    """Make the resources of the cases, by name; the heavy one has many grants."""
    await ask.create_groups()
    made = {"one": await ask.make("/usa", "one", "a=b")}
    made["two"] = await ask.make("/usa/northwest", "two")
    made["cold"] = await ask.make("/usa", "cold")
    await ask.change(made["cold"], 1, state="FROZEN")
    made["off"] = await ask.make("/usa", "off")
    await ask.change(made["off"], 1, state="DISABLED")
    made["labelled"] = await ask.make("/usa", "labelled")
    await fill_labels(ask, made["labelled"])
    made["same"] = await ask.make("/usa", "same")
    made["other same"] = await ask.make("/eu", "same")
    await ask.create_groups(*BELOW, FULL)
    made["kept"] = await ask.make(FULL, "kept")
    made["heavy"] = await ask.make(BELOW[0], "light")
    await ask.change(made["heavy"], 1, name="heavy")
    grant = "mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) { __typename } }"
    for group in BELOW[1:]:
        await ask.input(grant, id=made["heavy"], group=group)
    inline = {"mode": "INLINE", "rows": [{"x": 7}]}
    transform = {**TRANSFORMER["transforms"][0], "outputs": [KEYED]}
    keeping = {**TRANSFORMER, "transforms": [transform], "rows": {"key": ["x"]}}
    made["keeper"] = await ask.make("/usa", "keeper", transformer=keeping)
    await ask.input(CREATE_EXECUTION, pipelineId=made["keeper"], **inline)
    inline = {"mode": "INLINE", "rows": [{"x": 1}]}
    pipeline = await Ask(ask.store).make("/usa", "to run")
    for name, more in (("awaiting", {}), ("over", inline), ("cancelled", {})):
        told = await Ask(ask.store).input(CREATE_EXECUTION, pipelineId=pipeline, **more)
        made[name] = told["execution"]["id"]
    cancel = "mutation($input: CancelExecutionInput!) { cancelExecution(input: $input) { %s } }"
    await Ask(ask.store).input(cancel % "__typename", id=made["cancelled"])
    made["used"] = await use(ask)
    made["was"] = await ask.make("/usa", "was")
    await ask.change(made["was"], 1, name="other name")
    made["is"] = await ask.make("/usa", "was")
    made["calling"] = await call_what_is_gone(Ask(ask.store))
    await runs(Ask(ask.store))
    for start in range(0, 100, 25):
        rows = [API_KEY.item(id=f"{n}", user="cora") for n in range(start, start + 25)]
        await ask.store.table.write([Put(row) for row in rows])
    await make_passwords(ask)
    await fill_open_uploads(ask.store.table, "cora")
    made["letter"] = await store_dead_letter(ask.store)
    await store_samples(ask.store, "usa", "/p")
    deletions = ask.store.open_session(Caller("cora", USA.roles)).sample_deletions
    for _ in range(10):
        await deletions.begin(Entity("usa", "/p", "car1", "car"), ALL_TIMES)
    for _ in range(MAX_LOADS):
        load = new_job(deletions.access, JobKind.LOAD_DATASET)
        await commit(ask.store.table, creation_writes(load))
    await ask.create_groups("/gone")
    await ask.make("/gone", "going")
    await ask.create_groups(CLOSED, f"{CLOSED}/below")
    await ask.input(DISABLE_GROUP, path=CLOSED, state="DISABLED")
    made["deletion"] = (await ask(DELETE_GONE)).value["job"]["id"]
    return made


async def fill_consumers(ask: Ask) -> None:
    """Make a manifest with as many consumers as it may have."""
    session = ask.store.open_session(Caller("root", {ROOT_GROUP: Role.ADMIN}))
    busy = ManifestName(GroupPath("/usa"), "busy")
    await session.runs.discover(busy, Discovery(run_id="a/", added_by="t"))
    for n in range(MAX_CONSUMERS):
        await session.run_consumers.create(busy, f"consumer {n}", ConsumerStart.NOW)


async def fill_labels(ask: Ask, id: str) -> None:
    """Give a resource as many labels as it may have."""
    kind, key = find_kind(id)
    one: Item = {"version": 1, "setAt": "2022-08-10T23:55:20.321Z", "setBy": "ann"}
    labels: list[Value] = [{"label": f"label {n}", **one} for n in range(MAX_LABELS)]
    await ask.store.table.transact([Update(key=kind.latest.key(id=key), set={"labels": labels})])


async def call_what_is_gone(ask: Ask) -> str:
    """Make a pipeline whose first version calls a calculation that is deleted; return its id."""
    called = await Ask(ask.store, "calculation").make("/usa", "going")
    formula = {**TRANSFORMER["transforms"][0], "formula": "#going(:x)"}
    calling = {**TRANSFORMER, "transforms": [formula]}
    id = await ask.make("/usa", "calling", transformer=calling)
    await ask.change(id, 1, transformer=TRANSFORMER)
    delete = "mutation($input: DeleteCalculationInput!) { deleteCalculation(input: $input) { %s } }"
    gone = await ask.input(delete % "__typename", id=called)
    assert gone["__typename"] == "DeleteCalculationPayload"
    return id


async def use(ask: Ask) -> str:
    """Make a resource that a pipeline or a metric uses, and return its id."""
    transform = {**TRANSFORMER["transforms"][0], "outputs": [KEYED]}
    uses = {"calculation": "#used(:x)", "reference dataset": "LOOKUP('used', 'a')"}
    if ask.noun in uses:
        id = await ask.make("/usa", "used")
        using = {**TRANSFORMER, "transforms": [{**transform, "formula": uses[ask.noun]}]}
        await Ask(ask.store).make("/usa", "user", transformer=using)
        return id
    time = {"index": 1, "key": "t", "type": "TIMESTAMP"}
    timed = {"index": 1, "formula": ":t", "outputs": [{**time, "index": 0}]}
    keeping = {
        "parameters": [KEYED, time],
        "transforms": [transform, timed],
        "rows": {"key": ["x"], "time": "t"},
    }
    id = await ask.make("/usa", "used", transformer=keeping)
    source = {"metric": "used"} if ask.noun == "metric" else {"pipeline": "used", "output": "x"}
    await make_metric(Ask(ask.store), "user", source)
    return id


async def runs(ask: Ask) -> None:
    """Make two manifest runs: a new one, and one that is loaded."""
    steps = (
        ("discoverRun", {"addedBy": "t"}),
        ("claimRun", {"stage": "TRANSFORM", "owner": "w"}),
        ("markRunProcessed", {"fence": 1, "shredTypes": [], "savedTo": FOLDER}),
        ("claimRun", {"stage": "LOAD", "owner": "w"}),
        ("markRunLoaded", {"fence": 2, "loadedBy": "l"}),
    )
    await fill_consumers(ask)
    for id, count in (("new/", 1), ("loaded/", 5)):
        for field, input in steps[:count]:
            told = await ask.input(mutation(field, "NotFound"), **{**RUN, "runId": id, **input})
            assert told["__typename"].endswith("Payload"), told


def members() -> set[tuple[str, str]]:
    unions = [t for t in core_schema(schema).type_map.values() if isinstance(t, GraphQLUnionType)]
    results = [union for union in unions if union.name.endswith("Result")]
    named = {(union.name, member.name) for union in results for member in union.types}
    return {(union, member) for union, member in named if not member.endswith("Payload")}


def test_every_failure_of_every_result_has_a_case() -> None:
    assert CASES.keys() | AUDIO_CASES.keys() == members() - NEVER
    assert members() >= NEVER
    for (union, _), case in CASES.items():
        assert f"{case.field}Result".lower() == union.lower()


class Places:
    """Stores with the resources of the cases, one for each noun; failures change nothing."""

    def __init__(self, opened: AsyncExitStack, directory: Path) -> None:
        self._opened = opened
        self._directory = directory
        self._made: dict[str, tuple[Ask, dict[str, str]]] = {}

    async def of(self, noun: str) -> tuple[Ask, dict[str, str]]:
        if noun not in self._made:
            opened = await self._opened.enter_async_context(open_embedded(self._directory))
            rules = QuotaRules(own={FULL: Amounts(resources=1, versions=1)})
            store = replace(opened, quotas=Quotas(rules))
            made = await resources(Ask(store, noun))
            self._made[noun] = Ask(store), made
        return self._made[noun]


@pytest.fixture(scope="module")
async def places(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Places]:
    async with AsyncExitStack() as opened:
        yield Places(opened, tmp_path_factory.mktemp("places"))


@pytest.mark.parametrize(("union", "member"), LISTENERS_FAILURES)
async def test_a_failure_of_listeners_occurs_and_changes_nothing(
    union: str, member: str, ask: Ask
) -> None:
    case = CASES[union, member]
    await assert_fails(member, case, replace_names(case.input, await make_things(ask)), ask)


@pytest.mark.thorough
@pytest.mark.parametrize(("union", "member"), sorted(CASES.keys() - LISTENERS_FAILURES))
async def test_a_failure_occurs_and_changes_nothing(
    union: str, member: str, places: Places
) -> None:
    case = CASES[union, member]
    nouns = {"EvaluateResult": "calculation", **{title_of(noun): noun for noun in NOUNS}}
    noun = next((noun for title, noun in nouns.items() if title in union), "pipeline")
    ask, made = await places.of(noun)
    input = {**case.input}
    title = "Execution" if "Execution" in union and "id" in input else title_of(noun)
    for name in {"id", "pipelineId"} & input.keys():
        absent = ABSENT if "Key" in case.field else GlobalId(title, ABSENT).encode()
        input[name] = made.get(input[name], absent)
    if input.get("expiresAt") == TOMORROW:
        input["expiresAt"] = iso_timestamp(datetime.now(UTC) + timedelta(days=1))
    if "ids" in input:
        input["ids"] = [made.get(id, id) for id in input["ids"]]
    told = await assert_fails(member, case, input, ask)
    if "holder" in case.more:
        assert told["holder"] == made[case.more["holder"]]


async def assert_fails(member: str, case: Case, input: dict[str, Any], ask: Ask) -> Any:
    """Run the case with this input, and return the failure."""
    before = await contents(ask.store.table)
    told = (await ask(mutation(case.field, member), {"input": input}, case.caller)).value
    assert (told["__typename"], told["code"], told["path"]) == (member, case.code, case.path)
    assert told["message"]
    known = {name: value for name, value in case.more.items() if name != "holder"}
    assert {name: told[name] for name in known} == known
    assert await contents(ask.store.table) == before
    return told
