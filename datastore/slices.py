"""Pages of a list: what is asked for, and what comes back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """At most `size` entries behind position `after`, or from the start of the direction of travel.

    Travelling `backward` gives the entries that come before, nearest first; `sliced` turns them
    round again.
    """

    size: int = 20
    after: str | None = None
    backward: bool = False


@dataclass(frozen=True, slots=True)
class Slice(Generic[T]):
    """Entries in the list's own order, each with its position.

    `more` says whether the list goes on in the direction of travel; `reached` is the position from
    which it does, the last entry's unless the work budget ended the page early.
    """

    entries: tuple[tuple[str, T], ...]
    more: bool
    reached: str | None

    def map(self, items: Sequence[U]) -> "Slice[U]":
        """The same slice with other items."""
        entries = zip((position for position, _ in self.entries), items, strict=True)
        return Slice(tuple(entries), self.more, self.reached)


def sliced(
    found: Sequence[T], window: Window, position: Callable[[T], str], *, more: bool
) -> Slice[T]:
    """The slice for entries found in the direction of travel, of which one may be too many."""
    kept = [(position(item), item) for item in found[: window.size]]
    reached = kept[-1][0] if kept else window.after
    more = more or len(found) > window.size
    return Slice(tuple(reversed(kept)) if window.backward else tuple(kept), more, reached)
