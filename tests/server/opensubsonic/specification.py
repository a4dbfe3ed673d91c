"""The specification of OpenSubsonic, by whose schemas each answer in a test is checked."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

_FILE = Path(__file__).with_name("specification.json")


@cache
def _read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_FILE.read_text())
    schemas = found["$defs"]
    # Artists can be rated, so they have the rating that albums and tracks have.
    schemas["ArtistID3"]["properties"]["userRating"] = {"type": "integer"}
    for name in ("PlayQueue", "PlayQueueByIndex"):
        # A queue that was never saved is left out, as the server that began the API does.
        schemas[f"Get{name}SuccessResponse"]["allOf"][1]["required"] = []
    return found


def specified_calls() -> frozenset[str]:
    """The calls whose answers have a schema; those that serve files have none."""
    return frozenset(_read()["calls"])


@cache
def _validator(call: str) -> Draft202012Validator:
    return Draft202012Validator({**_read()["calls"][call], "$defs": _read()["$defs"]})


def describe_fault(call: str, answer: Any) -> str | None:
    """Say what differs from the specification in an answer in JSON; None for nothing."""
    if call not in specified_calls():
        return None
    fault = best_match(_validator(call).iter_errors(answer))
    return None if fault is None else f"{call}: {fault.json_path}: {fault.message}"
