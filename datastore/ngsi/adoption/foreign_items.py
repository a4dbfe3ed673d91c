"""Items of other programs' tables, turned into samples: their fields stay, keys of ours come in.

Cygnus writes the fields that we write too, under the hash key `ID`. A column item of an older
Penstock may lie in such a table as well; it already has our keys, and keeps them.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from penstock.datastore.dynamodb.wire import Raw, decode_item
from penstock.datastore.errors import PenstockError
from penstock.datastore.ngsi.catalog import EntityName, guard_names
from penstock.datastore.ngsi.entities import UnreadableEntity, read_type, require_identifier
from penstock.datastore.ngsi.events import identity_digest
from penstock.datastore.ngsi.large_values import divide_item, stored_values
from penstock.datastore.ngsi.notification import check_path
from penstock.datastore.ngsi.options import Persistence
from penstock.datastore.ngsi.rows import (
    COLLISIONS_FIELD,
    COLUMN_SERIES,
    FILES_FIELD,
    FIXED_FIELDS,
    METADATA_SUFFIX,
    RESERVED_FIELDS,
    ROW_SERIES,
    arrival_of,
    key_end_of,
)
from penstock.datastore.table import limits
from penstock.datastore.table.keys import SEPARATOR
from penstock.datastore.table.port import Item, Put

NO_METADATA: Final = "[]"
DAY_MS: Final = 86_400_000
DAYS: Final = 100_000
"""The days from 1970 on whose samples are kept in the order of their times, to the year 2243."""

_ID_DIGITS = 16
_LONG_ID_DIGITS = 32
"""The digits by which no two samples are mistaken for each other, not on purpose either."""

_MAX_LABEL = 200


class UnreadableItem(Exception):
    """The item is no sample; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class AdoptedSample:
    """A sample of another program's table, with our keys, and what the directory lists of it.

    `files` are the contents of the files that the item names: values that do not fit into it.
    `label` names the other program's item for people, and `digest` is one of all that it holds.
    """

    path: str
    entity: str
    type: str
    persistence: Persistence
    attributes: Mapping[str, str]
    item: Item
    files: Mapping[str, bytes]
    label: str
    digest: str

    def under_long_key(self) -> "AdoptedSample | None":
        """The sample under a key that no other has; None if its files, too, are another's."""
        if stored_values(self.item):
            return None
        return replace(self, item=_with_long_key(self.item, self.digest))


def read_foreign_item(service: str, table: str, raw: Raw) -> AdoptedSample:
    """Read an item; raises UnreadableItem. The same item always gives the same keys."""
    try:
        found = decode_item(raw)
        row = isinstance(found.get("attrName"), str) and "attrValue" in found
        series = {
            "service": service,
            "path": check_path(_path_of(found)),
            "entity": require_identifier(found.get("entityId"), "entityId"),
            "type": read_type(found.get("entityType"), "entityType") or "",
        }
        named = {**series, "attribute": found["attrName"]} if row else series
        # The raw item holds the foreign keys, so that equal samples stay apart.
        digest = identity_digest(table, json.dumps(raw, sort_keys=True))
        template = ROW_SERIES if row else COLUMN_SERIES
        keys = template.item(**named, at=_time_of(found), id=digest[:_ID_DIGITS])
        item = found if _has_our_keys(found, keys) else {**_fields_of(found, row), **keys}
        if limits.item_size(item) > limits.ITEM_BYTES:
            # Its file has the same key, and says nothing of its content.
            item = _with_long_key(item, digest)
        small, files = divide_item(item)
        limits.guard_write([Put(small)])
        attributes = _row_names(found) if row else _column_names(item)
        guard_names(EntityName(**series), attributes)
    except (ValueError, TypeError, KeyError, PenstockError, UnreadableEntity) as error:
        raise UnreadableItem(str(error)) from None
    return AdoptedSample(
        series["path"],
        series["entity"],
        series["type"],
        Persistence.ROW if row else Persistence.COLUMN,
        attributes,
        small,
        files,
        label_of(raw),
        digest,
    )


def label_of(raw: Raw) -> str:
    """The `ID` of another program's item, or what it holds, for people."""
    return json.dumps(raw.get("ID", raw))[:_MAX_LABEL]


def _with_long_key(item: Item, digest: str) -> Item:
    at = str(item["sk"]).partition(SEPARATOR)[0]
    return {**item, "sk": f"{at}{SEPARATOR}{digest[:_LONG_ID_DIGITS]}"}


def _path_of(found: Item) -> str:
    path = found.get("fiwareServicePath")
    if not isinstance(path, str):
        raise ValueError("fiwareServicePath is missing or not a text.")
    return path


def _time_of(found: Item) -> int:
    """The time of arrival, which is that of the sample; raises ValueError."""
    at = arrival_of(found)
    if not 0 <= at < DAYS * DAY_MS:
        raise ValueError("recvTime is not between the years 1970 and 2243.")
    return at


def _has_our_keys(found: Item, keys: Item) -> bool:
    """Whether an older Penstock made the item, at the time that it says.

    Only then it keeps its keys: two items of another program may say the same ones.
    """
    at = str(keys["sk"]).partition(SEPARATOR)[0]
    sample_id = found.get("ID")
    return (
        isinstance(sample_id, int)
        and found.get("pk") == keys["pk"]
        and found.get("sk") == f"{at}{SEPARATOR}{key_end_of(sample_id)}"
    )


def _fields_of(found: Item, row: bool) -> Item:
    """The fields of an item without our keys; attributes named like fields of ours stand aside."""
    if row:
        fields = {name: value for name, value in found.items() if name != FILES_FIELD}
        return {"attrMd": NO_METADATA, **fields}
    taken = [name for name in found if name in RESERVED_FIELDS and name not in FIXED_FIELDS]
    fields = {name: value for name, value in found.items() if name not in taken}
    aside: Item = {}
    for name in taken:
        aside[name] = found[name]
        aside[name + METADATA_SUFFIX] = fields.pop(name + METADATA_SUFFIX, NO_METADATA)
    for name in list(fields):
        if name not in FIXED_FIELDS and not _is_metadata(name, fields):
            fields.setdefault(name + METADATA_SUFFIX, NO_METADATA)
    return {**fields, COLLISIONS_FIELD: aside} if aside else fields


def _is_metadata(name: str, fields: Iterable[str]) -> bool:
    return name.endswith(METADATA_SUFFIX) and name.removesuffix(METADATA_SUFFIX) in fields


def _row_names(found: Item) -> Mapping[str, str]:
    name = require_identifier(found.get("attrName"), "attrName")
    return {name: read_type(found.get("attrType"), "attrType") or ""}


def _column_names(item: Item) -> Mapping[str, str]:
    """The attributes that a reader finds in a column item; their types are not known."""
    aside = item.get(COLLISIONS_FIELD)
    fields = [name for name in item if name not in RESERVED_FIELDS]
    maps = (fields, list(aside) if isinstance(aside, dict) else [])
    named = [name for held in maps for name in held if name + METADATA_SUFFIX in held]
    return {require_identifier(name, "The name of an attribute"): "" for name in named}
