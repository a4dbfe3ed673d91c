"""The search for one page of ids, over several groups, whose tags match a filter.

It reads streams of postings sorted by id, and as few postings as possible.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from types import MappingProxyType
from typing import NamedTuple

from penstock.datastore.tag_search.posting_scan import (
    DEFAULT_SIZES,
    PageSizes,
    PostingScan,
    ScanOrder,
)
from penstock.datastore.tag_search.posting_streams import PostingSource, PostingStream
from penstock.datastore.tag_search.tags import TermFilter
from penstock.datastore.task_groups import run_together


class SearchPage(NamedTuple):
    """The result of a search: distinct ids in its order, at most as many as the limit.

    `examined` is the cursor: everything up to it is decided, and the next page begins strictly
    beyond it. It is the last of `ids` where the page is full. Without `more` no match lies beyond;
    with `more` at least one does, unless the budget ended the search. `tags` are the tag sets of
    those of `ids` whose postings carry them, or that had to be read for the search.
    """

    ids: tuple[str, ...]
    examined: str | None
    more: bool
    tags: Mapping[str, Mapping[str, str]] = MappingProxyType({})


def _never_stop() -> bool:
    return False


@dataclass(slots=True)
class SearchBudget:
    """The rest of a search's allowance: consecutive round trips, and requests.

    `stop` is an additional test of the caller, such as units. All are tested between rounds: the
    first round always happens, and a round that was begun is finished.
    """

    rounds: int
    reads: int
    stop: Callable[[], bool] = _never_stop

    @property
    def exhausted(self) -> bool:
        return self.rounds <= 0 or self.reads <= 0 or self.stop()


async def search(  # noqa: PLR0913 - all of it describes one page
    sources: Iterable[PostingSource],
    wanted: TermFilter,
    *,
    after: str | None,
    limit: int,
    descending: bool,
    budget: SearchBudget,
    sizes: PageSizes = DEFAULT_SIZES,
    named: Iterable[PostingStream] = (),
) -> SearchPage:
    """Find the first `limit` (1 or more) matches beyond `after`, newest first if `descending`.

    The streams of the sources must run in the same direction. An id that several sources have is
    found once. A resource that exists from the first page to the last is neither skipped nor
    repeated. The streams of `named` hold the resources of further groups that have the wanted name.
    """
    order = ScanOrder(descending)
    scans = [
        PostingScan(
            [source.tag(*term) for term in terms] or [source.members()], wanted, order, after, sizes
        )
        for source in sources
        for terms in wanted.scan_alternatives()
    ]
    tagged = replace(wanted, name=None)
    scans += [PostingScan([stream], tagged, order, after, sizes) for stream in named]
    merge = _ScanMerge(scans, order, limit)
    reading = scans
    while reading:
        need = merge.missing_matches()
        costs = await run_together(scan.advance(need) for scan in reading)
        budget.rounds -= max(cost.trips for cost in costs)
        budget.reads -= sum(cost.requests for cost in costs)
        reading = [] if budget.exhausted else merge.scans_to_continue()
    return merge.page(after)


class _ScanMerge:
    """The matches of all scans as one list, of which the first `limit` and one more are needed."""

    __slots__ = ("_limit", "_order", "_scans")

    def __init__(self, scans: Sequence[PostingScan], order: ScanOrder, limit: int) -> None:
        self._scans = scans
        self._order = order
        self._limit = limit

    def missing_matches(self) -> int:
        """The number of matches still needed to fill the page and to know whether more follow."""
        return self._limit + 1 - len(self._decided_matches())

    def scans_to_continue(self) -> list[PostingScan]:
        """The scans to read on; none once the page is certain.

        With one match more than the page takes, only its last match must be certain: scans beyond
        it wait. So does a scan whose latest page begins ahead of another scan, which may well find
        enough before.
        """
        known = self._known_matches()
        behind = (
            [scan for scan in self._scans if not scan.has_decided(known[self._limit - 1])]
            if len(known) > self._limit
            else [scan for scan in self._scans if not scan.ended]
        )
        rearmost = self._rearmost_position(behind)
        return [scan for scan in behind if not self._order.is_ahead(scan.page_start, rearmost)]

    def page(self, after: str | None) -> SearchPage:
        decided = self._decided_matches()
        ids = tuple(decided[: self._limit])
        unfinished = [scan for scan in self._scans if not scan.ended]
        examined = ids[-1] if ids else after
        if unfinished and len(ids) < self._limit:
            examined = self._rearmost_position(unfinished)
        more = bool(unfinished) or len(decided) > self._limit
        return SearchPage(ids, examined, more, self._known_tags())

    def _known_tags(self) -> Mapping[str, Mapping[str, str]]:
        known: dict[str, Mapping[str, str]] = {}
        for scan in reversed(self._scans):
            known |= scan.tags
        return known

    def _known_matches(self) -> list[str]:
        matches = {match for scan in self._scans for match in scan.matches}
        return sorted(matches, reverse=self._order.descending)

    def _decided_matches(self) -> list[str]:
        """The first matches between which no further match can be found."""
        first = self._known_matches()[: self._limit + 1]
        unfinished = [scan for scan in self._scans if not scan.ended]
        if not unfinished:
            return first
        decided_to = self._rearmost_position(unfinished)
        return [match for match in first if not self._order.is_ahead(match, decided_to)]

    def _rearmost_position(self, scans: Sequence[PostingScan]) -> str | None:
        positions = [scan.position for scan in scans]
        return reduce(self._earlier, positions) if positions else None

    def _earlier(self, one: str | None, other: str | None) -> str | None:
        return other if self._order.is_ahead(one, other) else one
