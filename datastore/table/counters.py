"""Exact counters: a counter changes in the transaction that changes the things it counts.

A counter that reaches zero is deleted. A counter that many writes change lies in shards: rows that
a read adds up. The shard of a resource is chosen when the resource is created and kept in it, so
what it added is taken from the same row, whatever the number of shards is by then. Shard 0 is the
one row of resources that earlier releases created.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

from penstock.datastore.table.commit import Write
from penstock.datastore.table.port import Compare, Delete, Exists, Item, Key, Update, Value

SHARDS: Final = 4
"""The number of shards of each counter, unless a setting says otherwise."""


def choose_shard(id: str, shards: int) -> int:
    """The shard, from 1 to `shards`, of a new resource; always the same for one id."""
    return crc32(id.encode()) % shards + 1


class CounterDrift(RuntimeError):
    """A counter is lower than the number of things it counts; only a bug can cause that."""


@dataclass(frozen=True, slots=True)
class Counter:
    """The amounts that one resource adds to the counter under `key`.

    `amounts` holds one number per attribute, `count` among them. `labels` are written when the
    counter is created; of several resources' labels the earliest count, by the id in `since`.
    `latest` is written whenever a resource brings another value, and `spelling` when the counter
    is created or a resource that it counts corrects its own value.
    """

    key: Key
    amounts: Mapping[str, int]
    labels: Mapping[str, Value] = field(default_factory=dict)
    latest: Mapping[str, Value] = field(default_factory=dict)
    spelling: Mapping[str, Value] = field(default_factory=dict)


def sum_counters(counters: Iterable[Counter]) -> dict[Key, Counter]:
    """Add up the counters of several resources, key by key."""
    total: dict[Key, Counter] = {}
    for more in counters:
        held = total.get(more.key)
        total[more.key] = more if held is None else _add_counters(held, more)
    return total


def _add_counters(one: Counter, other: Counter) -> Counter:
    names = {**one.amounts, **other.amounts}
    amounts = {name: one.amounts.get(name, 0) + other.amounts.get(name, 0) for name in names}
    labels = min(one.labels, other.labels, key=lambda given: str(given.get("since", "")))
    return Counter(one.key, amounts, labels, {**one.latest, **other.latest}, spelling=one.spelling)


def change_counter(old: Counter | None, new: Counter | None) -> Write | None:
    """The write that subtracts the amounts of `old` and adds those of `new`; None if equal."""
    some = new or old
    if some is None:
        return None
    before, after = (old.amounts if old else {}), (new.amounts if new else {})
    names = {**before, **after}
    steps = {name: after.get(name, 0) - before.get(name, 0) for name in names}
    steps = {name: step for name, step in steps.items() if step}
    news = _changed_latest(old, new)
    if not steps and not news:
        return None
    if steps.get("count", 0) < 0:
        return _lower_or_delete(some, steps)
    guard = Exists() if old else None
    first = {**some.labels, **some.spelling}
    labels = {name: value for name, value in first.items() if name not in news}
    raised = Update(key=some.key, add=steps, default=labels, set=news, condition=guard)
    return Write(raised, _counter_drift)


def _changed_latest(old: Counter | None, new: Counter | None) -> dict[str, Value]:
    if new is None:
        return {}
    known = old.latest if old else {}
    found = {name: value for name, value in new.latest.items() if known.get(name) != value}
    if old is None:
        return found
    corrected = new.spelling.items() - old.spelling.items()
    return {**found, **dict(corrected)}


def _lower_or_delete(counter: Counter, steps: Mapping[str, int]) -> Write:
    """Lower a counter that stays above zero; delete one that would reach zero."""
    taken = -steps["count"]
    lowered = Update(key=counter.key, add=steps, condition=Compare("count", ">", taken))
    return Write(lowered, lambda item: _delete_empty(counter, steps, item))


def _delete_empty(
    counter: Counter, steps: Mapping[str, int], item: Item | None
) -> Write | Exception:
    if item is None or item.get("count") != -steps["count"]:
        return _counter_drift(item)
    removed = Delete(counter.key, Compare("count", "=", -steps["count"]))
    return Write(removed, lambda _: _lower_or_delete(counter, steps))


def _counter_drift(item: Item | None) -> Exception:
    return CounterDrift(f"counter is {item}")
