"""A second reading of manifest items by the document's rules, independent of the product's.

Items are as DynamoDB writes them. All problems of an item are reported together, and attributes
that the document does not have are ignored.
"""

from decimal import Decimal
from typing import Any

Raw = dict[str, Any]

TYPES = {
    "RunId": "S",
    "AddedAt": "N",
    "AddedBy": "S",
    "ToSkip": "BOOL",
    "ProcessedAt": "N",
    "ShredTypes": "L",
    "SavedTo": "S",
    "LoadedAt": "N",
    "LoadedBy": "S",
}


def parse(item: Raw) -> tuple[str | None, list[str]]:
    """The state of an item, or None with all its problems."""
    errors = [
        f"{name}: not {letter}"
        for name, letter in TYPES.items()
        if name in item and list(item[name]) != [letter]
    ]
    errors += [
        f"{name}: missing" for name in ("RunId", "AddedAt", "AddedBy", "ToSkip") if name not in item
    ]
    if errors:
        return None, errors
    for name in ("AddedAt", "ProcessedAt", "LoadedAt"):
        if name in item and not _plain(item[name]["N"]).isdecimal():
            errors.append(f"{name}: no whole number of seconds")
    if any(list(entry) != ["S"] for entry in item.get("ShredTypes", {}).get("L", [])):
        errors.append("ShredTypes: not all strings")
    if "SavedTo" in item and not _is_folder(item["SavedTo"]["S"]):
        errors.append("SavedTo: no folder of S3")
    state = _state(item)
    if state is None:
        errors.append("Invalid state")
    return (None, errors) if errors else (state, [])


def _is_folder(text: str) -> bool:
    return text.startswith(("s3://", "s3n://", "s3a://")) and len(text) <= 1024


def _state(item: Raw) -> str | None:
    processed = [name in item for name in ("ProcessedAt", "ShredTypes", "SavedTo")]
    loaded = [name in item for name in ("LoadedAt", "LoadedBy")]
    if not any(processed + loaded):
        return "NEW"
    if all(processed) and not any(loaded):
        return "PROCESSED"
    if all(processed + loaded) and item["ToSkip"] == {"BOOL": False}:
        return "LOADED"
    return None


def _plain(number: str) -> str:
    """The number as DynamoDB returns it, in whatever form it was sent."""
    return f"{Decimal(number).normalize():f}"
