"""A bounded memory of what was computed last."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Keeps the values used last while their weights sum to at most `max_weight`.

    A failure to compute is not kept. Two threads may compute the same value at the same time.
    """

    def __init__(self, max_weight: int) -> None:
        self.max_weight = max_weight
        self.weight = 0
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K, compute: Callable[[], V], weigh: Callable[[V], int]) -> V:
        """Return the value of the key, computed if it is not kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        value = compute()
        self._keep(key, value, max(1, weigh(value)))
        return value

    def _keep(self, key: K, value: V, weight: int) -> None:
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = (value, weight)
            self.weight += weight
            while self.weight > self.max_weight:
                _, (_, freed) = self._kept.popitem(last=False)
                self.weight -= freed
