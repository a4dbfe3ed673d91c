"""How much one process may hold that is not stored yet; beyond it, senders are told to wait."""

from dataclasses import dataclass
from typing import Final

from penstock.datastore.errors import Unavailable

MAX_BYTES: Final = 64 * 1024 * 1024
RETRY_SECONDS: Final = 5


@dataclass(frozen=True, slots=True)
class Load:
    """A number of events, and the bytes they came in."""

    events: int = 0
    size: int = 0

    def __add__(self, other: "Load") -> "Load":
        return Load(self.events + other.events, self.size + other.size)


@dataclass(slots=True)
class Room:
    """What is held by this process, and the most of it."""

    max_events: int
    max_bytes: int = MAX_BYTES
    held: Load = Load()

    @property
    def is_full(self) -> bool:
        return self.held.events >= self.max_events or self.held.size >= self.max_bytes

    def take(self, load: Load) -> None:
        """Hold more; raises Unavailable where there is no room left, and holds nothing then."""
        if self.is_full:
            raise Unavailable("Too much is waiting to be stored.", RETRY_SECONDS)
        self.add(load)

    def add(self, load: Load) -> None:
        """Hold more, whether there is room or not."""
        self.held += load

    def leave(self, load: Load) -> None:
        """Hold so much less."""
        self.held += Load(-load.events, -load.size)
