"""The items of an update: exactly the documented fields, and the keys that find them.

Row persistence makes one item for each attribute. Column persistence makes one for the whole
update, and one more for each time that the update repeats an attribute. An item's `pk` is its
series. The series contains the notified service and path, so that no mapping can mix items of
different tenants. Its `sk` begins with the time of the event, so that a range of times is a range
of keys; `recvTime` is the time of arrival.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from penstock.datastore.ngsi.event_times import attribute_times, update_time
from penstock.datastore.ngsi.events import (
    EntityUpdate,
    Json,
    NotifiedAttribute,
    SegmentStruct,
    identity_digest,
    native_value,
    text_of,
    write_json,
)
from penstock.datastore.ngsi.options import Compat, ItemLayout, Persistence, ValueFormat
from penstock.datastore.table.keys import SEPARATOR, Template
from penstock.datastore.table.layout import Row
from penstock.datastore.table.port import INDEX_HASH, TTL, Attributes, Item, Value
from penstock.datastore.text import escape

ROW_SERIES: Final = Row(
    Template("{service}:{path}:{entity}:{type}:{attribute}"), Template("{at.15}:{id}")
)
COLUMN_SERIES: Final = Row(Template("{service}:{path}:{entity}:{type}"), Template("{at.15}:{id}"))
METADATA_SUFFIX: Final = "_md"
COLLISIONS_FIELD: Final = "attrs"
"""The field in which column persistence keeps attributes whose names collide with fields."""

FILES_FIELD: Final = "attrValueFiles"
"""The field that names the files of values that are too large for the item."""

FIXED_FIELDS = ("ID", "recvTime", "fiwareServicePath", "entityId", "entityType")
RESERVED_FIELDS: Final = frozenset(
    (*FIXED_FIELDS, "pk", "sk", INDEX_HASH, TTL, COLLISIONS_FIELD, FILES_FIELD)
)
"""The names of fields that no attribute may overwrite."""

_COLLIDING: Final = RESERVED_FIELDS | {
    name.removesuffix(METADATA_SUFFIX) for name in RESERVED_FIELDS if name.endswith(METADATA_SUFFIX)
}
"""The names of attributes of whose fields one is reserved: that of the value or the metadata."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.(\d{1,3}))?Z", re.ASCII)
_SECONDS_END = 10**11
"""A smaller number is in seconds, as Cygnus writes `recvTimeTs`; a larger one in milliseconds."""

_ID_BITS = 122
_ID_DIGITS = 16


class Event(SegmentStruct, frozen=True, array_like=True):
    """An accepted update with its destination.

    `at` is its time of arrival, in milliseconds since 1970; `identity` is unique to it. With a
    `time_index` its samples have the time that it says, the attribute of this name first; events
    of older releases have none.
    """

    service: str
    path: str
    at: int
    identity: str
    table: str
    persistence: Persistence
    update: EntityUpdate
    time_index: str | None = None


def items_of(event: Event, layout: ItemLayout) -> list[Item]:
    """The items that store an update; the same event always gives the same items."""
    column = event.persistence is Persistence.COLUMN
    items = list(_column_items(event, layout) if column else _row_items(event, layout))
    expiry = layout.lifetimes.expiry(event.service, event.path, event.at)
    return items if expiry is None else [{**item, TTL: expiry} for item in items]


def is_row_item(item: Attributes) -> bool:
    """Whether an item holds one attribute, as its key says."""
    return str(item["pk"]).count(SEPARATOR) == ROW_SERIES.pk.text.count(SEPARATOR)


def sample_times(event: Event) -> Sequence[int]:
    """The times of the samples of an event, in milliseconds since 1970."""
    if event.persistence is Persistence.COLUMN:
        return (update_time(event.update, event.at, event.time_index),)
    return attribute_times(event.update, event.at, event.time_index)


def latest_keys(event: Event) -> dict[str, str]:
    """The sort key of the latest sample of each attribute of an event, by the attribute's name."""
    column = event.persistence is Persistence.COLUMN
    found: dict[str, str] = {}
    for name, key in _column_keys(event) if column else _row_keys(event):
        if key > found.get(name, ""):
            found[name] = key
    return found


def item_count(event: Event) -> int:
    """The number of items that store an event."""
    attributes = event.update.attributes
    return (
        len(_place_columns(attributes))
        if event.persistence is Persistence.COLUMN
        else len(attributes)
    )


def recv_time(at: int, compat: Compat = Compat.DOCUMENTED) -> str:
    """The time in ISO 8601 with milliseconds; Cygnus writes these without leading zeros."""
    moment = (_EPOCH + timedelta(milliseconds=at)).replace(tzinfo=None)
    if compat is Compat.CYGNUS:
        return f"{moment.isoformat(timespec='seconds')}.{at % 1000}Z"
    return f"{moment.isoformat(timespec='milliseconds')}Z"


def arrival_of(found: Attributes) -> int:
    """The time of arrival of an item in milliseconds; raises ValueError if it says none.

    `15.5Z` of Cygnus is 5 ms after the second.
    """
    text = found.get("recvTime")
    if isinstance(text, str) and (parts := _TIME.fullmatch(text)):
        moment = datetime.fromisoformat(parts[1]).replace(tzinfo=UTC)
        return (moment - _EPOCH) // timedelta(milliseconds=1) + int(parts[2] or 0)
    stamp = found.get("recvTimeTs")
    if isinstance(stamp, int) and not isinstance(stamp, bool) and 0 <= stamp < 10**15:
        return stamp * 1000 if stamp < _SECONDS_END else stamp
    raise ValueError("recvTime and recvTimeTs say no time.")


def metadata_text(attribute: NotifiedAttribute, compat: Compat = Compat.DOCUMENTED) -> str:
    """The metadata as a JSON array of `{name, type, value}`; `[]` if there is none."""
    if not attribute.metadata:
        return "[]"
    found = [
        {"name": each.name, "type": each.type, "value": _metadata_value(each.value, compat)}
        for each in attribute.metadata
    ]
    return write_json(found).decode()


class _RowSample(NamedTuple):
    """An attribute of an update, with the sort key and the `ID` of its sample."""

    attribute: NotifiedAttribute
    key: str
    number: int


def _row_samples(event: Event) -> Iterator[_RowSample]:
    update, seen = event.update, Counter[str]()
    times = attribute_times(update, event.at, event.time_index)
    for attribute, at in zip(update.attributes, times, strict=True):
        occurrence = seen[attribute.name]
        seen[attribute.name] += 1
        end, number = _sample_identity(event, attribute.name, str(occurrence))
        yield _RowSample(attribute, ROW_SERIES.sk.prefix({"at": at}) + end, number)


def _row_keys(event: Event) -> Iterator[tuple[str, str]]:
    """The name of each attribute of an update, and the sort key of its sample."""
    for sample in _row_samples(event):
        yield sample.attribute.name, sample.key


def _row_items(event: Event, layout: ItemLayout) -> Iterator[Item]:
    series = ROW_SERIES.pk.prefix(_series_values(event))
    shared = _common_fields(event, layout)
    for attribute, key, number in _row_samples(event):
        yield {
            "pk": series + escape(attribute.name),
            "sk": key,
            "ID": number,
            **shared,
            "attrName": attribute.name,
            "attrType": attribute.type,
            "attrValue": _stored_value(attribute.value, layout),
            "attrMd": metadata_text(attribute, layout.compat),
        }


def _common_fields(event: Event, layout: ItemLayout) -> Item:
    """The fields that all row items of an update have in common."""
    cygnus = layout.compat is Compat.CYGNUS
    return {
        "recvTimeTs": event.at // 1000 if cygnus else event.at,
        "recvTime": recv_time(event.at, layout.compat),
        "fiwareServicePath": event.path,
        "entityId": event.update.entity_id,
        "entityType": event.update.entity_type,
    }


class _ColumnSample(NamedTuple):
    """Attributes of an update that share an item, with its sort key and its `ID`."""

    placed: "_ColumnPlaces"
    key: str
    number: int


def _column_samples(event: Event) -> Iterator[_ColumnSample]:
    at = update_time(event.update, event.at, event.time_index)
    for position, placed in enumerate(_place_columns(event.update.attributes)):
        # The first item has the key of an update without duplicates.
        end, number = _sample_identity(event, *(("", str(position)) if position else ()))
        yield _ColumnSample(placed, COLUMN_SERIES.sk.prefix({"at": at}) + end, number)


def _column_keys(event: Event) -> Iterator[tuple[str, str]]:
    """The name of each attribute of an update, and the sort key of each item that holds it."""
    for placed, key, _ in _column_samples(event):
        for name in (*placed.fields, *placed.aside):
            yield name, key


def _column_items(event: Event, layout: ItemLayout) -> Iterator[Item]:
    series = COLUMN_SERIES.pk.fill(_series_values(event))
    for placed, key, number in _column_samples(event):
        item: Item = {
            "pk": series,
            "sk": key,
            "ID": number,
            "recvTime": recv_time(event.at, layout.compat),
            "fiwareServicePath": event.path,
            "entityId": event.update.entity_id,
            "entityType": event.update.entity_type,
            **_columns(placed.fields, layout),
        }
        if placed.aside:
            item[COLLISIONS_FIELD] = _columns(placed.aside, layout)
        yield item


@dataclass(slots=True)
class _ColumnPlaces:
    """The attributes of one column item by name: in fields of its own, and in the map aside."""

    fields: dict[str, NotifiedAttribute] = field(default_factory=dict)
    aside: dict[str, NotifiedAttribute] = field(default_factory=dict)

    def place(self, attribute: NotifiedAttribute) -> bool:
        """Place the attribute, unless this item holds its name already or has no place for it."""
        name = attribute.name
        if name in self.fields or name in self.aside:
            return False
        reserved = name in _COLLIDING
        for held in (self.aside,) if reserved else (self.fields, self.aside):
            if not _is_ambiguous(name, held):
                held[name] = attribute
                return True
        return False


def _is_ambiguous(name: str, held: Mapping[str, NotifiedAttribute]) -> bool:
    """Whether a column of the attribute is also one of its neighbours', or reads like theirs.

    Two columns hold an attribute: `<name>` and `<name>_md`. Whoever finds both takes them for it.
    """
    stem = name.removesuffix(METADATA_SUFFIX)
    before = (stem, stem.removesuffix(METADATA_SUFFIX)) if stem != name else ()
    near = (*before, name + METADATA_SUFFIX, name + 2 * METADATA_SUFFIX)
    return any(each in held for each in near)


def _place_columns(attributes: Sequence[NotifiedAttribute]) -> list[_ColumnPlaces]:
    """Divide attributes into items, one item unless some cannot be held beside the others."""
    named = {attribute.name: attribute for attribute in attributes}
    plain = len(named) == len(attributes) and named.keys().isdisjoint(_COLLIDING)
    if plain and not any(name.endswith(METADATA_SUFFIX) for name in named):
        return [_ColumnPlaces(named)]
    items = [_ColumnPlaces()]
    following: dict[str, int] = {}
    for attribute in attributes:
        # No item before this one can hold the name once more.
        at = following.get(attribute.name, 0)
        while at < len(items) and not items[at].place(attribute):
            at += 1
        if at == len(items):
            items.append(_ColumnPlaces())
            items[at].place(attribute)
        following[attribute.name] = at + 1
    return items


def _columns(held: Mapping[str, NotifiedAttribute], layout: ItemLayout) -> dict[str, Value]:
    columns: dict[str, Value] = {}
    for name, attribute in held.items():
        columns[name] = _column_value(attribute.value, layout)
        columns[name + METADATA_SUFFIX] = metadata_text(attribute, layout.compat)
    return columns


def _series_values(event: Event) -> dict[str, str]:
    return {
        "service": event.service,
        "path": event.path,
        "entity": event.update.entity_id,
        "type": event.update.entity_type,
    }


def _sample_identity(event: Event, *parts: str) -> tuple[str, int]:
    """The end of the sort key and the `ID` of a sample, both derived from its identity."""
    digest = identity_digest(event.identity, *parts)
    return digest[:_ID_DIGITS], int(digest, 16) >> (4 * len(digest) - _ID_BITS)


def key_end_of(sample_id: int) -> str:
    """The end of the sort key of a sample of ours with this `ID`."""
    return f"{sample_id >> (_ID_BITS - 4 * _ID_DIGITS):0{_ID_DIGITS}x}"


def _stored_value(value: Json, layout: ItemLayout) -> Value:
    return native_value(value) if layout.value_format is ValueFormat.TYPED else text_of(value)


def _column_value(value: Json, layout: ItemLayout) -> Value:
    if layout.compat is Compat.CYGNUS:
        return _quote_value(value)
    return _stored_value(value, layout)


def _metadata_value(value: Json, compat: Compat) -> Json:
    if compat is Compat.DOCUMENTED or isinstance(value, dict | list):
        return value
    return "null" if value is None else text_of(value)


def _quote_value(value: Json) -> str | None:
    """A value in quotes as Cygnus writes it, without escapes; objects and arrays get no quotes."""
    text = text_of(value)
    return text if text is None or isinstance(value, dict | list) else f'"{text}"'
