"""Answers of the JSON protocol: a body as it is, and what a failure says."""

from collections.abc import Mapping

import orjson
from botocore.parsers import ResponseParserError

from datastore.dynamodb.wire import Raw

FAILURES = 300
"""The first status that is one; nothing is looked for elsewhere."""


def read(status: int, headers: Mapping[str, str], body: bytes) -> Raw:
    """Read the object, with botocore's `ResponseMetadata` and, in a failure, `Error`."""
    failed = status >= FAILURES
    parsed = _object(body, lenient=failed)
    if failed:
        parsed["Error"] = _error(parsed, status, headers)
    parsed["ResponseMetadata"] = {"HTTPStatusCode": status, "HTTPHeaders": headers}
    return parsed


def _object(body: bytes, *, lenient: bool) -> Raw:
    """Read the object; a failure may carry anything, such as the page of a load balancer."""
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if lenient:
            return {}
        raise ResponseParserError(f"an answer that is not JSON: {error}") from error
    if not isinstance(parsed, dict) and not lenient:
        raise ResponseParserError("an answer that is not an object")
    return parsed if isinstance(parsed, dict) else {}


def _error(body: Raw, status: int, headers: Mapping[str, str]) -> Raw:
    named = body.get("__type") or headers.get("x-amzn-errortype", "")
    code = named.rpartition("#")[2].partition(":")[0]
    return {
        "Code": code or str(status),
        "Message": body.get("message") or body.get("Message") or "",
    }
