"""Answers of DynamoDB's JSON protocol: the decoded body, and the error of a failure."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
import orjson
from botocore.parsers import ResponseParserError

from penstock.datastore.dynamodb.wire import Raw
from penstock.datastore.unreadable_json import JSON_ERRORS

FIRST_FAILURE_STATUS = 300
"""The first HTTP status of a failure; redirects count as failures."""


class _BatchGetItem(msgspec.Struct):
    Responses: dict[str, list[msgspec.Raw]]
    UnprocessedKeys: dict[str, Any] = {}


_decode_fields: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_items: Final = msgspec.json.Decoder(_BatchGetItem).decode

_OF_FAILURES: Final = frozenset({"__type", "message", "Message"})
"""Fields that no success has: a gateway may say with status 200 that it failed."""

_ALWAYS: Final[Mapping[str, str]] = {"Query": "Count", "Scan": "Count"}
"""A field that each success of these operations has."""

_SHAPES: Final[Mapping[str, type]] = {"Items": list, "LastEvaluatedKey": dict}
"""Fields of a page, which have no other shapes."""


def _read_item(body: bytes) -> Raw:
    fields = _decode_fields(body)
    _require_success("GetItem", fields)
    return {"Item": fields["Item"]} if "Item" in fields else {}


def _read_items(body: bytes) -> Raw:
    found = _decode_items(body)
    return {"Responses": found.Responses, "UnprocessedKeys": found.UnprocessedKeys}


def _require_success(operation: str, fields: Mapping[str, Any]) -> None:
    """Raise ResponseParserError for an object that no success of the operation is."""
    lacks_field = _ALWAYS.get(operation, "") not in ("", *fields)
    is_page = all(isinstance(fields.get(name, of()), of) for name, of in _SHAPES.items())
    if lacks_field or not is_page or not _OF_FAILURES.isdisjoint(fields):
        raise ResponseParserError("an answer that is not one of DynamoDB")


_DECODERS: Final[Mapping[str, Callable[[bytes], Any]]] = {
    "GetItem": _read_item,
    "BatchGetItem": _read_items,
}
"""The decoders of operations whose items stay encoded."""


def parse_answer(operation: str, status: int, headers: Mapping[str, str], body: bytes) -> Raw:
    """Decode the object, with botocore's `ResponseMetadata` and, in a failure, `Error`.

    Items of `GetItem` and `BatchGetItem` stay texts, which are decoded when they are read.
    """
    failed = status >= FIRST_FAILURE_STATUS
    loads = orjson.loads if failed else _DECODERS.get(operation, orjson.loads)
    parsed = _decode_object(body, loads, lenient=failed)
    if failed:
        parsed["Error"] = _read_error(parsed, status, headers)
    elif operation not in _DECODERS:
        _require_success(operation, parsed)
    parsed["ResponseMetadata"] = {"HTTPStatusCode": status, "HTTPHeaders": headers}
    return parsed


def _decode_object(body: bytes, loads: Callable[[bytes], Any], *, lenient: bool) -> Raw:
    """Decode the object; a failure may carry anything, such as the page of a load balancer."""
    try:
        parsed = loads(body)
    except (orjson.JSONDecodeError, *JSON_ERRORS) as error:
        if lenient:
            return {}
        raise ResponseParserError(f"an answer that cannot be read: {error}") from error
    if not isinstance(parsed, dict) and not lenient:
        raise ResponseParserError("an answer that is not an object")
    return parsed if isinstance(parsed, dict) else {}


def _read_error(body: Raw, status: int, headers: Mapping[str, str]) -> Raw:
    named = body.get("__type") or headers.get("x-amzn-errortype", "")
    code = named.rpartition("#")[2].partition(":")[0]
    return {
        "Code": code or str(status),
        "Message": body.get("message") or body.get("Message") or "",
    }
