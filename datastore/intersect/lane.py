"""The matches of one group, found by reading as little of its postings as possible."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.datastore.intersect.streams import Rows, Stream, at_once


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many rows to ask for at once, counting 320 bytes a row.

    `block` rows are the smallest read that is paid for (4 KB). `first` bounds a page as long as
    little is known of the stream, `cap` bounds every page.
    """

    block: int = 12
    first: int = 96
    cap: int = 1536


@dataclass(frozen=True, slots=True)
class Order:
    """The direction of travel over ids; None is the start, which lies behind every id."""

    descending: bool

    def ahead(self, one: str | None, other: str | None) -> bool:
        """Whether `one` comes strictly later than `other`."""
        if one is None or other is None:
            return one is not None
        return one < other if self.descending else one > other


class Lane:
    """Streams each of which holds every match, so that a page of any one decides all it passes.

    Which stream is read never matters to the answer, only to how far a page gets. First a block
    of every stream is read: the one that gets furthest decides the most, one that ends decides
    everything. That one is read on in growing pages, and once this takes long, the one that counts
    say is rarest. After a page without a match another stream may have a gap here: again a block
    of every stream is read, and reading goes on beyond the furthest. Each read begins where all
    earlier ones had passed: no row is read twice.

    Up to and including `position` all is decided, and everything once the lane has `ended`. The
    `matches` are in the order of travel. `since` is where the latest page's rows begin.
    """

    __slots__ = (
        "_driver",
        "_found",
        "_keeps",
        "_order",
        "_probes",
        "_ranked",
        "_seen",
        "_sizes",
        "_streams",
        "ended",
        "matches",
        "position",
        "since",
    )

    def __init__(
        self,
        streams: Sequence[Stream],
        keeps: Callable[[Mapping[str, str]], bool],
        order: Order,
        after: str | None,
        sizes: Sizes,
    ) -> None:
        self.position = self.since = after
        self.ended = False
        self.matches: list[str] = []
        self._streams = streams
        self._keeps = keeps
        self._order = order
        self._sizes = sizes
        self._driver = 0
        self._probes = int(len(streams) > 1)
        self._ranked = len(streams) == 1
        self._seen = self._found = 0

    def has_decided(self, match: str) -> bool:
        """Whether no match at or before this id can be found here any more."""
        return self.ended or not self._order.ahead(match, self.position)

    async def advance(self, need: int) -> int:
        """Make one round of requests towards `need` more matches; return how many it took."""
        if self._probes:
            await self._probe()
            return len(self._streams)
        size = self._size(need) if self._ranked else min(self._size(need), self._sizes.first)
        # A count is paid for like a block: many a search is over before it could save that much.
        if self._ranked or self._seen < self._sizes.first:
            await self._drive(size)
            return 1
        await at_once((self._drive(size), self._rank()))
        return 1 + len(self._streams)

    async def _probe(self) -> None:
        pages = await at_once(
            stream.read(self.position, self._sizes.block) for stream in self._streams
        )
        furthest = self._furthest(pages)
        if not self._ranked:
            self._driver = furthest
        # Where streams leap over each other the driver takes every other turn, hence two.
        more = 2 if self._skips(pages) else self._probes - 1
        self._probes = 0 if self._take(pages[furthest]) else more

    async def _drive(self, size: int) -> None:
        found = self._take(await self._streams[self._driver].read(self.position, size))
        self._probes = int(not found and len(self._streams) > 1)

    async def _rank(self) -> None:
        counts = await at_once(stream.count() for stream in self._streams)
        self._driver = counts.index(min(counts))
        self._ranked = True

    def _size(self, need: int) -> int:
        """Rows to ask for: as many as `need` takes at the rate so far, in pages that grow."""
        expected = -(-need * (self._seen + 1) // (self._found + 1))
        rows = min(expected, max(need, self._sizes.first, 2 * self._seen), self._sizes.cap)
        return -(-rows // self._sizes.block) * self._sizes.block

    def _furthest(self, pages: Sequence[Rows]) -> int:
        best = 0
        for index, page in enumerate(pages):
            if page.last is None:
                return index
            if self._order.ahead(page.last, pages[best].last):
                best = index
        return best

    def _skips(self, pages: Sequence[Rows]) -> bool:
        """Whether some stream has nothing in all of the range that the driver's page covers."""
        passed = pages[self._driver].last
        return any(page.rows and self._order.ahead(page.rows[0].id, passed) for page in pages)

    def _take(self, page: Rows) -> bool:
        """Decide everything up to the page's end; return whether there was a match."""
        found = [row.id for row in page.rows if self._keeps(row.tags)]
        self.matches += found
        self._seen += len(page.rows)
        self._found += len(found)
        self.since = page.rows[0].id if page.rows else self.position
        self.ended = page.last is None
        self.position = page.last or (page.rows[-1].id if page.rows else self.position)
        return bool(found)
