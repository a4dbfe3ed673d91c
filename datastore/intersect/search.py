"""One page of the ids, over several groups, whose tags match a filter."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from penstock.datastore.intersect.filters import Filter
from penstock.datastore.intersect.lane import Lane, Order, Sizes
from penstock.datastore.intersect.streams import Source, at_once

SIZES = Sizes()


class Found(NamedTuple):
    """Distinct ids in the order of travel, at most as many as were asked for.

    `examined` is the cursor: everything up to it is decided, and the next page begins strictly
    beyond it. It is the last of `ids` where the page is full. Without `more` no match lies beyond;
    with `more` at least one does, unless the budget ended the search.
    """

    ids: tuple[str, ...]
    examined: str | None
    more: bool


def _never() -> bool:
    return False


@dataclass(slots=True)
class Budget:
    """What is left of a search's allowance: round trips one after another, and requests.

    `stop` is a measure of the caller's own, such as units. All are looked at between rounds: the
    first round always happens, and a round that was begun is finished.
    """

    rounds: int
    reads: int
    stop: Callable[[], bool] = _never

    @property
    def exhausted(self) -> bool:
        return self.rounds <= 0 or self.reads <= 0 or self.stop()


async def search(  # noqa: PLR0913 - all of it describes one page
    sources: Iterable[Source],
    wanted: Filter,
    *,
    after: str | None,
    limit: int,
    descending: bool,
    budget: Budget,
    sizes: Sizes = SIZES,
) -> Found:
    """Find the first `limit` (1 or more) matches beyond `after`, newest first when `descending`.

    The streams of the sources must run in the same direction. An id that several sources have is
    found once. What existed from the first page to the last is neither skipped nor repeated.
    """
    order = Order(descending)
    lanes = [
        Lane(
            [source.tag(*tag) for tag in tags] or [source.members()],
            wanted.matches,
            order,
            after,
            sizes,
        )
        for source in sources
        for tags in wanted.drivers()
    ]
    merge = _Merge(lanes, order, limit)
    reading = lanes
    while reading:
        need = merge.need()
        budget.rounds -= 1
        budget.reads -= sum(await at_once(lane.advance(need) for lane in reading))
        reading = [] if budget.exhausted else merge.lagging()
    return merge.found(after)


class _Merge:
    """The lanes' matches as one list, of which the first `limit` and one more are needed."""

    __slots__ = ("_lanes", "_limit", "_order")

    def __init__(self, lanes: Sequence[Lane], order: Order, limit: int) -> None:
        self._lanes = lanes
        self._order = order
        self._limit = limit

    def need(self) -> int:
        """How many matches are missing until the page, and whether more follows, is certain."""
        return self._limit + 1 - len(self._decided())

    def lagging(self) -> list[Lane]:
        """The lanes to read on: none once the page is certain.

        With one match more than the page takes, only its last has to be certain: lanes that passed
        it wait. So does a lane whose latest page begins ahead of another lane, which may well find
        enough before.
        """
        known = self._known()
        behind = (
            [lane for lane in self._lanes if not lane.has_decided(known[self._limit - 1])]
            if len(known) > self._limit
            else [lane for lane in self._lanes if not lane.ended]
        )
        hindmost = self._hindmost(behind)
        return [lane for lane in behind if not self._order.ahead(lane.since, hindmost)]

    def found(self, after: str | None) -> Found:
        decided = self._decided()
        ids = tuple(decided[: self._limit])
        unfinished = [lane for lane in self._lanes if not lane.ended]
        examined = ids[-1] if ids else after
        if unfinished and len(ids) < self._limit:
            examined = self._hindmost(unfinished)
        return Found(ids, examined, more=bool(unfinished) or len(decided) > self._limit)

    def _known(self) -> list[str]:
        matches = {match for lane in self._lanes for match in lane.matches}
        return sorted(matches, reverse=self._order.descending)

    def _decided(self) -> list[str]:
        """The first matches of all that are certain to have no further one among them."""
        return [
            match
            for match in self._known()[: self._limit + 1]
            if all(lane.has_decided(match) for lane in self._lanes)
        ]

    def _hindmost(self, lanes: Sequence[Lane]) -> str | None:
        positions = [lane.position for lane in lanes]
        return reduce(self._earlier, positions) if positions else None

    def _earlier(self, one: str | None, other: str | None) -> str | None:
        return other if self._order.ahead(one, other) else one
