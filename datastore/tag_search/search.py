"""Which tag sets are wanted, and which postings suffice to find them all.

Postings sorted by id: what a store must offer for a search, and how to ask several at once.

The matches of one group, found by reading as little of its postings as possible.

One page of the ids, over several groups, whose tags match a filter.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, Protocol, TypeVar


class Wanted(NamedTuple):
    """A tag in comparison form; its value `a#b` stands for itself and for everything below it."""

    key: str
    value: str

    def within(self, other: "Wanted") -> bool:
        """Whether every tag set that has this one has the other as well."""
        return other.matches({self.key: self.value})

    def matches(self, tags: Mapping[str, str]) -> bool:
        held = tags.get(self.key)
        return held is not None and (held == self.value or held.startswith(self.value + "#"))


@dataclass(frozen=True, slots=True)
class Filter:
    """Tag sets with all of `all`, at least one of `any` (if there are some) and none of `none`."""

    all: tuple[Wanted, ...] = ()
    any: tuple[Wanted, ...] = ()
    none: tuple[Wanted, ...] = ()

    def matches(self, tags: Mapping[str, str]) -> bool:
        for wanted in self.all:
            if not wanted.matches(tags):
                return False
        for unwanted in self.none:
            if unwanted.matches(tags):
                return False
        return not self.any or any(wanted.matches(tags) for wanted in self.any)

    def drivers(self) -> tuple[tuple[Wanted, ...], ...]:
        """Alternatives, one of which every match satisfies by having all of its tags.

        The postings of any single tag of an alternative hold all matches of that alternative. One
        without tags is satisfied by every member; without alternatives nothing can match.
        """
        needed = self.all if len(self.any) > 1 else self.all + self.any
        if needed:
            narrowest = tuple(one for one in dict.fromkeys(needed) if not _widens(one, needed))
            # A tag set has one value for a key, and no two of these lie on one line.
            possible = len({one.key for one in narrowest}) == len(narrowest)
            return (narrowest,) if possible else ()
        if self.any:
            return tuple((one,) for one in dict.fromkeys(self.any) if not _narrows(one, self.any))
        return ((),)


def _widens(one: Wanted, others: tuple[Wanted, ...]) -> bool:
    return any(other != one and other.within(one) for other in others)


def _narrows(one: Wanted, others: tuple[Wanted, ...]) -> bool:
    return any(other != one and one.within(other) for other in others)


T = TypeVar("T")


class Row(NamedTuple):
    """One posting: an id (UUIDv7 text) and the whole tag set of what it names.

    Tags are in comparison form: a key, and the escaped levels of its value joined by `#`.
    """

    id: str
    tags: Mapping[str, str]


class Rows(NamedTuple):
    """Part of a stream. `last` is the id up to which it is complete, None at the stream's end.

    `last` may be set although nothing follows, as on DynamoDB when exactly the limit was read.
    """

    rows: tuple[Row, ...]
    last: str | None


class Stream(Protocol):
    """Postings in the search's direction of travel, one per id."""

    async def read(self, after: str | None, limit: int) -> Rows:
        """At most `limit` rows strictly beyond `after` (None: from the start), in one request.

        Short answers are welcome; one without rows must be the end or have a `last` beyond `after`.
        """

    async def count(self) -> int:
        """How many rows the whole stream has. A wrong answer costs reads, never results."""


class Source(Protocol):
    """The postings of one group."""

    def tag(self, key: str, value: str) -> Stream:
        """What carries the tag value or one below it."""

    def members(self) -> Stream:
        """Everything that is granted to the group."""


async def at_once(calls: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The answers in the order of the calls; a failure ends the other calls and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


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
