"""The search for one page of ids, over several groups, whose tags match a filter.

It reads streams of postings sorted by id, and as few postings as possible.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from penstock.datastore.table.items import in_turns
from penstock.datastore.tag_search.posting_streams import (
    TAGS_IN_ONE_READ,
    Posting,
    PostingPage,
    PostingSource,
    PostingStream,
)
from penstock.datastore.tag_search.tags import TermFilter

T = TypeVar("T")


async def run_together(calls: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run the calls concurrently; the first failure cancels the others and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


@dataclass(frozen=True, slots=True)
class PageSizes:
    """The sizes of pages in rows; a row is assumed to have 320 bytes.

    `block` rows are the smallest read that is charged (4 KB). `first` bounds a page while little is
    known of the stream, `cap` bounds every page, and `bare` those of a stream with postings
    whose tags have to be read.
    """

    block: int = 12
    first: int = 96
    cap: int = 1536
    bare: int = 96


@dataclass(frozen=True, slots=True)
class ScanOrder:
    """The direction of the search over ids; None is the start, which lies before every id."""

    descending: bool

    def is_ahead(self, one: str | None, other: str | None) -> bool:
        """Whether `one` comes strictly later than `other` in this direction."""
        if one is None or other is None:
            return one is not None
        return one < other if self.descending else one > other


class RoundCost(NamedTuple):
    """The requests of a round, how many of them waited for one another, and the rows compared."""

    requests: int
    trips: int
    rows: int


class PostingScan:
    """A scan of streams that each contain every match, so a page of any one decides its range.

    The choice of the stream changes only the cost, never the result:

    1. A block of every stream is read. The stream that gets furthest decides the most and becomes
       the driver; a stream that ends decides everything.
    2. The driver is read on in growing pages. Once this takes long, the streams are counted, and
       the one with the lowest count becomes the driver.
    3. After a page without a match another stream may have a gap here. Again a block of every
       stream is read, and the scan continues beyond the furthest.

    Each read begins behind all earlier ones: no row is read twice. Where a posting does not carry
    its resource's tags, they are read, unless the posting alone proves the match.

    Everything up to and including `position` is decided, and everything at all once the scan has
    `ended`. The `matches` are in the order of the search. `page_start` is the first id of the
    latest page.
    """

    __slots__ = (
        "_driver",
        "_found",
        "_order",
        "_probe_rounds_left",
        "_ranked",
        "_seen",
        "_sizes",
        "_streams",
        "_tag_reads",
        "_wanted",
        "ended",
        "matches",
        "page_start",
        "position",
        "tags",
    )

    def __init__(
        self,
        streams: Sequence[PostingStream],
        wanted: TermFilter,
        order: ScanOrder,
        after: str | None,
        sizes: PageSizes,
    ) -> None:
        self.position = self.page_start = after
        self.ended = False
        self.matches: list[str] = []
        self.tags: dict[str, Mapping[str, str]] = {}
        self._streams = streams
        self._wanted = wanted
        self._order = order
        self._sizes = sizes
        self._driver = 0
        self._probe_rounds_left = int(len(streams) > 1)
        self._ranked = len(streams) == 1
        self._seen = self._found = self._tag_reads = 0

    def has_decided(self, match: str) -> bool:
        """Whether no further match at or before this id can be found by this scan."""
        return self.ended or not self._order.is_ahead(match, self.position)

    async def advance(self, need: int) -> RoundCost:
        """Make one round of requests for `need` more matches; return its cost."""
        tag_reads, seen = self._tag_reads, self._seen
        requests = await self._make_round(need)
        tag_reads = self._tag_reads - tag_reads
        return RoundCost(requests + tag_reads, 2 if tag_reads else 1, self._seen - seen)

    async def _make_round(self, need: int) -> int:
        if self._probe_rounds_left:
            await self._probe_streams()
            return len(self._streams)
        size = (
            self._page_size(need) if self._ranked else min(self._page_size(need), self._sizes.first)
        )
        # A count costs as much as a block: many searches end before it could save that.
        if self._ranked or self._seen < self._sizes.first:
            await self._read_driver(size)
            return 1
        await run_together((self._read_driver(size), self._rank_streams()))
        return 1 + len(self._streams)

    async def _probe_streams(self) -> None:
        pages = await run_together(
            stream.read(self.position, self._sizes.block) for stream in self._streams
        )
        furthest = self._furthest_page(pages)
        if not self._ranked:
            self._driver = furthest
        # Where streams skip each other's rows, the driver is read in every other round: hence two.
        more = 2 if self._skips(pages) else self._probe_rounds_left - 1
        found = await self._take_page(self._streams[furthest], pages[furthest])
        self._probe_rounds_left = 0 if found else more

    async def _read_driver(self, size: int) -> None:
        driver = self._streams[self._driver]
        found = await self._take_page(driver, await driver.read(self.position, size))
        self._probe_rounds_left = int(not found and len(self._streams) > 1)

    async def _rank_streams(self) -> None:
        counts = await run_together(stream.count() for stream in self._streams)
        self._driver = counts.index(min(counts))
        self._ranked = True

    def _page_size(self, need: int) -> int:
        """The rows to read: as many as `need` requires at the rate so far, in growing pages."""
        expected = -(-need * (self._seen + 1) // (self._found + 1))
        cap = self._sizes.bare if self._tag_reads else self._sizes.cap
        rows = min(expected, max(need, self._sizes.first, 2 * self._seen), cap)
        return -(-rows // self._sizes.block) * self._sizes.block

    def _furthest_page(self, pages: Sequence[PostingPage]) -> int:
        best = 0
        for index, page in enumerate(pages):
            if page.last is None:
                return index
            if self._order.is_ahead(page.last, pages[best].last):
                best = index
        return best

    def _skips(self, pages: Sequence[PostingPage]) -> bool:
        """Whether some stream has no row in the range of the driver's page."""
        passed = pages[self._driver].last
        return any(page.rows and self._order.is_ahead(page.rows[0].id, passed) for page in pages)

    async def _take_page(self, stream: PostingStream, page: PostingPage) -> bool:
        """Decide everything up to the page's end; return whether it has a match."""
        found = await self._find_matches(stream, page.rows)
        self.matches += found
        self._seen += len(page.rows)
        self._found += len(found)
        self.page_start = page.rows[0].id if page.rows else self.position
        self.ended = page.last is None
        self.position = page.last or (page.rows[-1].id if page.rows else self.position)
        return bool(found)

    async def _find_matches(self, stream: PostingStream, rows: Sequence[Posting]) -> list[str]:
        wanted = self._wanted
        bare = [row.id for row in rows if row.tags is None or wanted.leaves_open(row.tags)]
        known: Mapping[str, Mapping[str, str]] = {}
        proved = not wanted.restricts or (stream.proves_tag and wanted.is_proved_by_posting)
        if bare and not proved:
            self._tag_reads += -(-len(bare) // TAGS_IN_ONE_READ)
            known = await stream.read_tags(bare)

        def is_match(row: Posting) -> bool:
            tags = known.get(row.id, row.tags)
            # A resource that left the group may be in another one: its record decides.
            if tags is None:
                return True
            is_wanted = wanted.matches(tags)
            if is_wanted:
                self.tags[row.id] = tags
            return is_wanted

        found: list[str] = []
        async for part in in_turns(rows):
            found += [row.id for row in part if is_match(row)]
        return found


DEFAULT_SIZES = PageSizes()


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


def _note_nothing(_rows: int) -> None:
    return None


@dataclass(slots=True)
class SearchBudget:
    """The rest of a search's allowance: consecutive round trips, and requests.

    `stop` is an additional test of the caller, such as units. All are tested between rounds: the
    first round always happens, and a round that was begun is finished. `note_rows` is told how many
    rows of each round were compared with the filter.
    """

    rounds: int
    reads: int
    stop: Callable[[], bool] = _never_stop
    note_rows: Callable[[int], None] = _note_nothing

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
        budget.note_rows(sum(cost.rows for cost in costs))
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
