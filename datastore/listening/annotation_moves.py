"""The annotations of a thing that gets another name, or becomes one with another thing.

The row of the old name goes only as it was read, also without what it did not have: a rating or a
play that comes in between makes the move begin anew.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import fields

from penstock.datastore.access.access import Access
from penstock.datastore.listening.annotations import Annotations, ThingKey
from penstock.datastore.listening.favourites import FAVOURITE_AT, favourite_key
from penstock.datastore.listening.plays import LAST_PLAYED_AT, PLAY_COUNT
from penstock.datastore.listening.records import Annotation
from penstock.datastore.table.commit import Write
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.port import (
    AllOf,
    Attributes,
    Check,
    Compare,
    Condition,
    Delete,
    Exists,
    Key,
    Missing,
    Put,
    Update,
    Value,
)

_KEYS: Final = frozenset({"pk", "sk"})
_NAMES: Final = frozenset(
    field.encode_name for field in fields(Annotation) if field.name not in {"kind", "id"}
)


def _sum(one: Value, other: Value) -> Value:
    return int(str(one)) + int(str(other))


def _later(one: Value, other: Value) -> Value:
    return max(str(one), str(other))


_MERGED: Final[Mapping[str, Callable[[Value, Value], Value]]] = {
    PLAY_COUNT: _sum,
    LAST_PLAYED_AT: _later,
}
"""The attributes of which both things have a part; of all others the second thing's own stays."""


@dataclass(frozen=True, slots=True)
class AnnotationMover:
    """Moves of the caller's annotations from thing to thing."""

    access: Access

    async def list_writes(self, source: ThingKey, target: ThingKey) -> list[Write]:
        """The writes that give the annotation of a thing to another one, for one transaction.

        They are of the rows `AN:<kind>:<id>` and `FV:<kind>:<at>:<id>`, and fail with StaleRead.
        Plays are added up; a favourite or a rating of the target stays.
        """
        annotations = Annotations(self.access)
        old, new = annotations.key(source), annotations.key(target)
        rows = await read_rows(self.access.table, [old, new], consistent=True)
        if old not in rows:
            return [Write(Check(old, Missing()))]
        given, held = rows[old], rows.get(new, {})
        merged = {name: _merge(name, given, held) for name in given if name not in _KEYS}
        writes = [Write(Delete(old, _unchanged_condition(given, _NAMES | merged.keys())))]
        if merged:
            moved = Update(key=new, set=merged, condition=_unchanged_condition(held, merged))
            writes.append(Write(moved))
        if FAVOURITE_AT in given:
            at = str(given[FAVOURITE_AT])
            writes.append(Write(Delete(self._favourite(source, at))))
            if FAVOURITE_AT not in held:
                writes.append(Write(Put({**self._favourite(target, at)._asdict()})))
        return writes

    def _favourite(self, thing: ThingKey, at: str) -> Key:
        return favourite_key(self.access.caller.user_id, thing, at)


def _merge(name: str, given: Attributes, held: Attributes) -> Value:
    if name not in held:
        return given[name]
    merge = _MERGED.get(name)
    return held[name] if merge is None else merge(given[name], held[name])


def _unchanged_condition(row: Attributes, names: Iterable[str]) -> Condition:
    """The condition that these attributes are as they were read."""
    return AllOf(tuple(_is_still(name, row.get(name)) for name in names))


def _is_still(name: str, value: Value) -> Condition:
    if value is None:
        return Missing(name)
    # A list can only be there or not; none of this release's attributes is one.
    return Exists(name) if isinstance(value, list | dict) else Compare(name, "=", value)
