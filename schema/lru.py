"""A mapping that forgets what was used least recently, bounded by count and by weight."""

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Lru(Generic[K, V]):
    """Keeps at most `count` entries of at most `weight` in all; heavier entries are not kept."""

    __slots__ = ("_count", "_entries", "_weight", "weight")

    def __init__(self, count: int, weight: int) -> None:
        self._count = count
        self._weight = weight
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self.weight = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        found = self._entries.get(key)
        if found is None:
            return None
        self._entries.move_to_end(key)
        return found[0]

    def put(self, key: K, value: V, weight: int) -> None:
        found = self._entries.pop(key, None)
        if found is not None:
            self.weight -= found[1]
        if weight > self._weight:
            return
        self._entries[key] = (value, weight)
        self.weight += weight
        while len(self._entries) > self._count or self.weight > self._weight:
            self.weight -= self._entries.popitem(last=False)[1][1]
