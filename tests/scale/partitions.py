"""The limits of AWS on items and partitions: what meets is refused, and so is what is too much."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from penstock.datastore.table.limits import ItemFootprint, write_units
from penstock.datastore.table.port import INDEX_HASH, Key
from tests.support.dynamodb_upstream import Body

_ASSIGNED: Final = r"{0} = (?:if_not_exists\({0}, )?(:\d+)"

TableKey: TypeAlias = tuple[str, Key]
"""The name of a table, and the key of one of its items."""


class Partition(NamedTuple):
    """All items of a table, or of its index, with one partition key."""

    table: str
    of: Literal["table", "index"]
    key: str


class PlannedWrite(NamedTuple):
    """A write of a request: the item's key, its size and index before and after.

    A check writes nothing (`same`), and costs as a write that leaves the index alone.
    """

    at: TableKey
    old: ItemFootprint | None
    new: ItemFootprint | None
    same: bool = False


class HeldItems:
    """The items that transactions hold."""

    def __init__(self) -> None:
        self._held: set[TableKey] = set()

    def find_conflicts(self, keys: Iterable[TableKey]) -> list[TableKey]:
        """Return those of the items that another transaction holds."""
        return [key for key in keys if key in self._held]

    @contextmanager
    def hold(self, keys: Iterable[TableKey]) -> Iterator[None]:
        keys = list(keys)
        self._held.update(keys)
        try:
            yield
        finally:
            self._held.difference_update(keys)


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class Capacity:
    """Write units for each partition: `rate` a second, of which those of one second are kept."""

    def __init__(self, rate: float, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets: dict[Partition, _Bucket] = {}

    def take(self, wanted: Mapping[Partition, float]) -> Partition | None:
        """Take the units of all partitions, or none; return one that has too few left."""
        for partition, units in wanted.items():
            if self._refill(partition).left < units:
                return partition
        for partition, units in wanted.items():
            self._buckets[partition].left -= units
        return None

    def _refill(self, partition: Partition) -> _Bucket:
        now = self._clock()
        bucket = self._buckets.setdefault(partition, _Bucket(self._rate, now))
        bucket.left = min(self._rate, bucket.left + (now - bucket.at) * self._rate)
        bucket.at = now
        return bucket


@dataclass(slots=True)
class Counts:
    """The counts of a proxy, so that hot items and partitions can be named."""

    requests: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    succeeded: int = 0
    conflicts: dict[Key, int] = field(default_factory=lambda: defaultdict(int))
    throttles: dict[Partition, int] = field(default_factory=lambda: defaultdict(int))
    units: dict[Partition, float] = field(default_factory=lambda: defaultdict(float))
    item_units: dict[Key, float] = field(default_factory=lambda: defaultdict(float))
    cancelled: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Cancelled transactions by the reason."""


class Footprints:
    """The sizes and index keys of items, as far as the writes that passed tell them."""

    def __init__(self) -> None:
        self._known: dict[TableKey, ItemFootprint] = {}

    def plan(self, table: str, kind: str, body: Body) -> PlannedWrite:
        """Return what a write of a request does to the size of its item."""
        raw = body["Item"] if kind == "Put" else body["Key"]
        at = (table, Key(raw["pk"]["S"], raw["sk"]["S"]))
        old = self._known.get(at)
        match kind:
            case "Put":
                index = raw.get(INDEX_HASH)
                new = ItemFootprint(raw_size(raw), index and index["S"])
            case "Delete":
                return PlannedWrite(at, old, None)
            case "Update":
                new = _update_footprint(old, body)
            case _:
                return PlannedWrite(at, old, old, same=True)
        return PlannedWrite(at, old, new)

    def note(self, writes: Iterable[PlannedWrite]) -> None:
        """Remember the writes, which succeeded."""
        for at, _, new, _ in writes:
            self._known.pop(at, None)
            if new is not None:
                self._known[at] = new


def _update_footprint(old: ItemFootprint | None, body: Body) -> ItemFootprint:
    values = body.get("ExpressionAttributeValues", {})
    names = body.get("ExpressionAttributeNames", {})
    index = old.index_hash if old else None
    for alias, name in names.items():
        assigned = _ASSIGNED.format(alias)
        if name == INDEX_HASH and (found := re.search(assigned, body["UpdateExpression"])):
            index = values[found[1]]["S"]
    named = sum(len(name) for name in names.values())
    size = raw_size(body["Key"]) + named + sum(map(_value_size, values.values()))
    return ItemFootprint(max(size, old.size if old else 0), index)


def units_of(
    writes: Iterable[PlannedWrite], *, transactional: bool
) -> tuple[dict[Partition, float], dict[Key, float]]:
    """Return the write units of each partition, and of each item without the index."""
    partitions: dict[Partition, float] = defaultdict(float)
    items: dict[Key, float] = defaultdict(float)
    for (table, key), old, new, same in writes:
        whole = write_units(old, new, transactional=transactional, same=same)
        own = write_units(old, new, transactional=transactional, same=True)
        partitions[Partition(table, "table", key.pk)] += own
        items[key] += own
        hashes = {each.index_hash for each in (old, new) if each and each.index_hash}
        for index_hash in hashes:
            partitions[Partition(table, "index", index_hash)] += (whole - own) / len(hashes)
    return partitions, items


def raw_size(item: Body) -> int:
    """Return about the bytes of an item in DynamoDB's JSON."""
    return sum(len(name) + _value_size(value) for name, value in item.items())


def _value_size(value: Mapping[str, Any]) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return len(content) // 2 + 2
        case "M":
            return 3 + raw_size(content)
        case "L":
            return 3 + sum(1 + _value_size(each) for each in content)
        case _:
            return 1
