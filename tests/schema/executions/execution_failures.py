"""The failures of the mutations of executions."""

from collections.abc import Mapping
from typing import Any

from tests.schema.failure_case import ABSENT, READER, Case
from tests.support.graphql_client import as_caller

CREATION: Mapping[tuple[str, str], Case] = {
    ("CreateExecutionResult", "NotFound"): Case(
        "createExecution", {"pipelineId": ABSENT}, "NOT_FOUND", ["pipelineId"]
    ),
    ("CreateExecutionResult", "NotPermitted"): Case(
        "createExecution", {"pipelineId": "one"}, "FORBIDDEN", None, {}, READER
    ),
    ("CreateExecutionResult", "ValidationProblem"): Case(
        "createExecution",
        {"pipelineId": "one", "mode": "INLINE", "rows": [{}, 1]},
        "BAD_USER_INPUT",
        ["rows", "1"],
    ),
    ("CreateExecutionResult", "LimitExceeded"): Case(
        "createExecution",
        {"pipelineId": "one", "mode": "INLINE", "rows": [{}] * 1001},
        "LIMIT_EXCEEDED",
        ["rows"],
        {"limit": "rows of a request", "maximum": 1000, "actual": 1001},
    ),
    ("CreateExecutionResult", "QuotaExceeded"): Case(
        "createExecution",
        {"pipelineId": "one"},
        "QUOTA_EXCEEDED",
        None,
        {"quota": "OPEN_UPLOADS", "maximum": 100, "used": 100, "group": None},
        as_caller("cora", "/usa=admin"),
    ),
    ("CreateExecutionResult", "IllegalState"): Case(
        "createExecution", {"pipelineId": "cold"}, "ILLEGAL_STATE", None, {"state": "FROZEN"}
    ),
}
STRANGE = dict.fromkeys(("rowsSucceeded", "rowsFailed", "bytesRead", "bytesWritten"), 1)


def execution_failures() -> dict[tuple[str, str], Case]:
    """Return the failures of every mutation of executions."""
    inputs: dict[str, dict[str, Any]] = {
        "startExecution": {},
        "cancelExecution": {},
        "retryExecution": {},
        "claimExecution": {"worker": "w"},
        "heartbeatExecution": {"fence": 1, "progress": STRANGE},
        "completeExecution": {"fence": 2, "progress": STRANGE},
        "failExecution": {"fence": 1, "code": "WORKER_FAILED", "message": "m"},
    }
    states = {
        "startExecution": ("awaiting", "WAITING"),
        "cancelExecution": ("over", "SUCCESS"),
        "retryExecution": ("over", "SUCCESS"),
        "claimExecution": ("awaiting", "WAITING"),
        "heartbeatExecution": ("over", "SUCCESS"),
        "completeExecution": ("over", "SUCCESS"),
        "failExecution": ("over", "SUCCESS"),
    }
    found = {}
    for field, input in inputs.items():
        union = f"{field[0].upper()}{field[1:]}Result"
        found[union, "NotFound"] = Case(field, {"id": ABSENT, **input}, "NOT_FOUND", ["id"])
        found[union, "NotPermitted"] = Case(
            field, {"id": "awaiting", **input}, "FORBIDDEN", None, {}, READER
        )
        id, state = states[field]
        found[union, "IllegalState"] = Case(
            field, {"id": id, **input}, "ILLEGAL_STATE", None, {"state": state}
        )
    for field, wrong in (("claimExecution", "worker"), ("failExecution", "code")):
        union = f"{field[0].upper()}{field[1:]}Result"
        found[union, "ValidationProblem"] = Case(
            field, {"id": "awaiting", **inputs[field], wrong: " "}, "BAD_USER_INPUT", [wrong]
        )
    for field in ("heartbeatExecution", "completeExecution"):
        union = f"{field[0].upper()}{field[1:]}Result"
        told = {"id": "awaiting", "fence": 1, "progress": {**STRANGE, "rowsFailed": -1}}
        path = ["progress", "rowsFailed"]
        found[union, "ValidationProblem"] = Case(field, told, "BAD_USER_INPUT", path)
    return {**found, **CREATION}
