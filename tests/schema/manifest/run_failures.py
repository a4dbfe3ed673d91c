"""The failures of the mutations of manifest runs."""

from collections.abc import Mapping
from typing import Any

from tests.schema.failure_case import READER, Case

RUN = {"group": "/usa", "manifest": "snow", "runId": "new/"}
RETRIES: dict[str, Any] = {"group": "/usa", "manifest": "snow", "retries": {"maxAttempts": 3}}
LABELS: dict[str, Any] = {**RUN, "tags": [{"key": "country", "value": "de"}], "batch": "today"}
CONSUMER = {"group": "/usa", "manifest": "snow", "consumer": "lake", "start": "NOW"}
FOLDER = "s3://bucket/run/"
ASKS: Mapping[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "claimRun": ({"stage": "TRANSFORM", "owner": "w"}, {"owner": " "}, "owner"),
    "heartbeatRun": ({"fence": 0}, {"leaseSeconds": 0}, "leaseSeconds"),
    "markRunProcessed": (
        {"fence": 0, "shredTypes": [], "savedTo": FOLDER},
        {"savedTo": "nowhere"},
        "savedTo",
    ),
    "markRunLoaded": ({"fence": 0, "loadedBy": "l"}, {"loadedBy": ""}, "loadedBy"),
    "failRun": ({"fence": 0, "error": "e"}, {"error": ""}, "error"),
    "skipRun": ({"reason": "r"}, {"reason": ""}, "reason"),
    "unskipRun": ({}, {"reason": ""}, "reason"),
    "recoverRun": ({"shredTypes": [], "savedTo": FOLDER}, {"savedTo": "nowhere"}, "savedTo"),
    "resetRun": ({"force": True}, {"reason": ""}, "reason"),
    "retryRun": ({}, {"reason": ""}, "reason"),
    "reloadRun": ({"reason": "r", "force": True}, {"force": False}, "force"),
}
"""For each thing asked of a run: an input, what makes it invalid, and where."""

OTHERS: Mapping[tuple[str, str], Case] = {
    ("ReloadRunResult", "IllegalState"): Case(
        "reloadRun", {**RUN, **ASKS["reloadRun"][0]}, "ILLEGAL_STATE", None, {"state": "NEW"}
    ),
    ("DiscoverRunResult", "NotFound"): Case(
        "discoverRun", {**RUN, "group": "/nowhere", "addedBy": "t"}, "NOT_FOUND", ["group"]
    ),
    ("DiscoverRunResult", "NotPermitted"): Case(
        "discoverRun", {**RUN, "addedBy": "t"}, "FORBIDDEN", None, {}, READER
    ),
    ("DiscoverRunResult", "ValidationProblem"): Case(
        "discoverRun", {**RUN, "addedBy": ""}, "BAD_USER_INPUT", ["addedBy"]
    ),
    ("DiscoverRunResult", "LimitExceeded"): Case(
        "discoverRun",
        {**RUN, "runId": "x" * 1020, "addedBy": "t"},
        "LIMIT_EXCEEDED",
        ["runId"],
        {"limit": "bytes of a run's key", "maximum": 1024, "actual": 1032},
    ),
    ("CreateRunConsumerResult", "NotFound"): Case(
        "createRunConsumer", {**CONSUMER, "manifest": "x"}, "NOT_FOUND", ["manifest"]
    ),
    ("CreateRunConsumerResult", "NotPermitted"): Case(
        "createRunConsumer", CONSUMER, "FORBIDDEN", None, {}, READER
    ),
    ("CreateRunConsumerResult", "ValidationProblem"): Case(
        "createRunConsumer", {**CONSUMER, "consumer": "snow"}, "BAD_USER_INPUT", ["consumer"]
    ),
    ("CreateRunConsumerResult", "LimitExceeded"): Case(
        "createRunConsumer",
        {**CONSUMER, "manifest": "busy"},
        "LIMIT_EXCEEDED",
        ["consumer"],
        {"limit": "consumers of a manifest", "maximum": 3, "actual": 4},
    ),
    ("RemoveRunConsumerResult", "NotFound"): Case(
        "removeRunConsumer",
        {"group": "/usa", "manifest": "snow", "consumer": "x"},
        "NOT_FOUND",
        ["manifest"],
    ),
    ("RemoveRunConsumerResult", "NotPermitted"): Case(
        "removeRunConsumer",
        {"group": "/usa", "manifest": "snow", "consumer": "x"},
        "FORBIDDEN",
        None,
        {},
        READER,
    ),
    ("SetRunTagsResult", "NotFound"): Case(
        "setRunTags", {**LABELS, "runId": "absent/"}, "NOT_FOUND", ["runId"]
    ),
    ("SetRunTagsResult", "NotPermitted"): Case("setRunTags", LABELS, "FORBIDDEN", None, {}, READER),
    ("SetRunTagsResult", "ValidationProblem"): Case(
        "setRunTags",
        {**LABELS, "tags": [{"key": "k", "value": ""}]},
        "BAD_USER_INPUT",
        ["tags", "0", "value"],
    ),
    ("SetManifestRetriesResult", "NotFound"): Case(
        "setManifestRetries", {**RETRIES, "manifest": "x"}, "NOT_FOUND", ["manifest"]
    ),
    ("SetManifestRetriesResult", "NotPermitted"): Case(
        "setManifestRetries", RETRIES, "FORBIDDEN", None, {}, READER
    ),
    ("SetManifestRetriesResult", "ValidationProblem"): Case(
        "setManifestRetries",
        {**RETRIES, "retries": {"maxAttempts": 0}},
        "BAD_USER_INPUT",
        ["retries", "maxAttempts"],
    ),
    ("DeleteManifestResult", "NotFound"): Case(
        "deleteManifest", {"group": "/usa", "manifest": "x"}, "NOT_FOUND", ["manifest"]
    ),
    ("DeleteManifestResult", "NotPermitted"): Case(
        "deleteManifest", {"group": "/usa", "manifest": "snow"}, "FORBIDDEN", None, {}, READER
    ),
    ("DeleteManifestResult", "IllegalState"): Case(
        "deleteManifest",
        {"group": "/usa", "manifest": "snow"},
        "ILLEGAL_STATE",
        None,
        {"state": "NOT_EMPTY"},
    ),
}
"""The failures of `discoverRun` and of whole manifests, and one that only a reload has."""


def run_failures() -> dict[tuple[str, str], Case]:
    found: dict[tuple[str, str], Case] = {}
    for field, (more, bad, path) in ASKS.items():
        input, union = {**RUN, **more}, f"{field[0].upper()}{field[1:]}Result"
        absent, loaded = {**input, "runId": "absent/"}, {**input, "runId": "loaded/"}
        found |= {
            (union, "NotFound"): Case(field, absent, "NOT_FOUND", ["runId"]),
            (union, "NotPermitted"): Case(field, input, "FORBIDDEN", None, {}, READER),
            (union, "ValidationProblem"): Case(field, {**input, **bad}, "BAD_USER_INPUT", [path]),
            (union, "IllegalState"): Case(
                field, loaded, "ALREADY_LOADED", None, {"state": "LOADED"}
            ),
        }
    for field in ("heartbeatRun", "markRunProcessed", "markRunLoaded", "failRun"):
        input = {**RUN, **ASKS[field][0], "fence": 7}
        found[f"{field[0].upper()}{field[1:]}Result", "IllegalState"] = Case(
            field, input, "LEASE_LOST", None, {"state": "NEW"}
        )
    return {**found, **OTHERS}
