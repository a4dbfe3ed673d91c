"""The times of samples: when the event was, as the notification says, or else when it arrived."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from penstock.datastore.ngsi.events import EntityUpdate, Json, NotifiedAttribute

TIME_NAMES: Final = ("TimeInstant", "observedAt", "timestamp")
"""The attributes and metadata that say the time of an event; the first one there counts."""

MAX_AHEAD: Final = 86_400_000
"""The milliseconds by which an event may be later than its arrival; a later time is an error."""

HOUR_MS: Final = 3_600_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d[0-9:.,+Z-]*", re.ASCII)


def read_time(value: Json) -> int | None:
    """Read a time of ISO 8601 in milliseconds since 1970; None if it is none, or before 1970.

    A time without an offset is in UTC.
    """
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    at = (aware - _EPOCH) // timedelta(milliseconds=1)
    return at if at >= 0 else None


def attribute_times(update: EntityUpdate, arrival: int, index: str | None) -> Sequence[int]:
    """The time of each attribute of an update that arrived at a time in milliseconds.

    It is that of the attribute's own metadata, else that of the entity. The name `index`, if it is
    not empty, counts before all others; with None, all times are the time of arrival.
    """
    if index is None or not _says_times(update, _names(index)):
        return [arrival] * len(update.attributes)
    named = {each.name: each.value for each in update.attributes}
    shared = _first_time(named, _names(index), arrival)
    first = _first_time(named, (index,), arrival) if index else None
    otherwise = arrival if shared is None else shared
    own = (_own_time(each, index, first, arrival) for each in update.attributes)
    return [otherwise if at is None else at for at in own]


def update_time(update: EntityUpdate, arrival: int, index: str | None) -> int:
    """The time of a whole update: that of the entity, else the latest of its attributes."""
    if index is None or not _says_times(update, _names(index)):
        return arrival
    named = {each.name: each.value for each in update.attributes}
    for name in _names(index):
        found = _first_time(named, (name,), arrival)
        if found is None:
            found = max(_metadata_times(update.attributes, name, arrival), default=None)
        if found is not None:
            return found
    return arrival


def _names(index: str) -> tuple[str, ...]:
    return (index, *TIME_NAMES) if index else TIME_NAMES


def _says_times(update: EntityUpdate, names: Sequence[str]) -> bool:
    """Whether an attribute of these names, or metadata, may say a time; most updates have none."""
    return any(each.metadata or each.name in names for each in update.attributes)


def _own_time(
    attribute: NotifiedAttribute, index: str, first: int | None, arrival: int
) -> int | None:
    """The time of an attribute by its metadata, unless the entity's `first` comes before them."""
    if not attribute.metadata:
        return first
    named = {each.name: each.value for each in attribute.metadata}
    found = _first_time(named, (index,), arrival) if index else None
    if found is not None or first is not None:
        return first if found is None else found
    return _first_time(named, TIME_NAMES, arrival)


def _metadata_times(
    attributes: Iterable[NotifiedAttribute], name: str, arrival: int
) -> Iterator[int]:
    for attribute in attributes:
        for each in attribute.metadata:
            if each.name == name and (found := _believed_time(each.value, arrival)) is not None:
                yield found


def _first_time(named: Mapping[str, Json], names: Iterable[str], arrival: int) -> int | None:
    for name in names:
        if name in named and (found := _believed_time(named[name], arrival)) is not None:
            return found
    return None


def _believed_time(value: Json, arrival: int) -> int | None:
    found = read_time(value)
    return None if found is None or found > arrival + MAX_AHEAD else found
