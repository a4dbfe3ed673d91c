"""Manifest tables as lines of JSON: plain, as DynamoDB writes items, or as it exports them."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import msgspec

from penstock.datastore.dynamodb.wire import decode
from penstock.datastore.manifest.importing import Found
from penstock.datastore.manifest.legacy import ATTRIBUTES
from penstock.datastore.table import Value

MAX_LINE = 2**20

_decoder = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)


def read_lines(lines: Iterable[bytes]) -> Iterator[Found]:
    """The items of a file, each with its line; lines without any text are left out."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _read(f"line {number}", line)


def read_typed(place: str, raw: Mapping[str, Any]) -> Found:
    """An item whose values name their types, like `{"AddedAt": {"N": "1544529600"}}`."""
    values: dict[str, Value] = {}
    reasons = []
    for name in ATTRIBUTES.keys() & raw.keys():
        try:
            values[name] = decode(raw[name])
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
            reasons.append(f"{name} has no value that is known")
    return Found(place, None, sorted(reasons)) if reasons else Found(place, values)


def _read(place: str, line: bytes) -> Found:
    if len(line) > MAX_LINE:
        return Found(place, None, [f"it is longer than {MAX_LINE} bytes"])
    try:
        item = _decoder.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        return Found(place, None, [f"it is no JSON object: {error}"])
    whole = item.get("Item")
    if isinstance(whole, dict):
        item = whole
    if _is_typed(item):
        return read_typed(place, item)
    return Found(place, {name: item[name] for name in ATTRIBUTES.keys() & item.keys()})


def _is_typed(item: Mapping[str, Any]) -> bool:
    return any(isinstance(item.get(name), dict) for name in ATTRIBUTES)
