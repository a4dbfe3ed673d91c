"""Exact counters: added to in the transaction of what they count, and gone when they reach zero."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from datastore.commit import Write
from datastore.table import Compare, Delete, Exists, Item, Key, Update, Value


class Drifted(RuntimeError):
    """A counter is lower than what it counts; no sequence of our own writes leads there."""


@dataclass(frozen=True, slots=True)
class Counter:
    """How much one resource adds to the counter under `key`.

    `amounts` holds one number per attribute, `count` among them; `labels` are written when the
    counter comes into being. An absent `index` leaves the counter out of the index.
    """

    key: Key
    amounts: Mapping[str, int]
    labels: Mapping[str, Value] = field(default_factory=dict)


def change(old: Counter | None, new: Counter | None) -> Write | None:
    """The write that takes away what `old` added and adds what `new` does, if they differ."""
    some = new or old
    if some is None:
        return None
    before, after = (old.amounts if old else {}), (new.amounts if new else {})
    names = {**before, **after}
    steps = {name: after.get(name, 0) - before.get(name, 0) for name in names}
    steps = {name: step for name, step in steps.items() if step}
    if not steps:
        return None
    if steps.get("count", 0) < 0:
        return _taken(some, steps)
    guard = Exists() if old else None
    return Write(
        Update(key=some.key, add=steps, default=dict(some.labels), condition=guard), _drifted
    )


def _taken(counter: Counter, steps: Mapping[str, int]) -> Write:
    """Lower a counter that stays above zero; where it would not, remove it instead."""
    taken = -steps["count"]
    lowered = Update(key=counter.key, add=steps, condition=Compare("count", ">", taken))
    return Write(lowered, lambda item: _emptied(counter, steps, item))


def _emptied(counter: Counter, steps: Mapping[str, int], item: Item | None) -> Write | Exception:
    if item is None or item.get("count") != -steps["count"]:
        return _drifted(item)
    removed = Delete(counter.key, Compare("count", "=", -steps["count"]))
    return Write(removed, lambda _: _taken(counter, steps))


def _drifted(item: Item | None) -> Exception:
    return Drifted(f"counter is {item}")
