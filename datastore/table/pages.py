"""Pages of a list, all pages of a query, and the merge of several ranges into one list."""

import re
from asyncio import gather
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from secrets import token_hex
from typing import Final, Generic, Protocol, TypeVar

from penstock.datastore.errors import InvalidCursor
from penstock.datastore.table.items import read_all
from penstock.datastore.table.port import Attributes, Key, Page, Query, Table
from penstock.datastore.text import is_id

_NUMBER: Final = re.compile("[0-9]{1,10}")

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The request for a page: at most `size` entries behind position `after`.

    Without `after` it begins at the start of the list, or at its end if `backward`. A backward page
    holds the entries before the position; they are read nearest first, and `make_slice` restores
    the list's order.
    """

    size: int = 20
    after: str | None = None
    backward: bool = False

    @property
    def after_number(self) -> int | None:
        """The position as a number, in lists whose positions are numbers; None without one."""
        if self.after is None:
            return None
        if _NUMBER.fullmatch(self.after) is None:
            raise InvalidCursor
        return int(self.after)

    @property
    def after_id(self) -> str | None:
        """The position as an id, in lists whose positions are ids; None without one."""
        if self.after is not None and not is_id(self.after):
            raise InvalidCursor
        return self.after


@dataclass(frozen=True, slots=True)
class Slice(Generic[T]):
    """Entries in the list's own order, each with its position.

    `more` says whether further entries follow in the direction of reading. `reached` is the
    position from which the next page continues: the last entry's, unless the work budget ended the
    page early.
    """

    entries: tuple[tuple[str, T], ...]
    more: bool
    reached: str | None

    def with_items(self, items: Sequence[U]) -> "Slice[U]":
        """The same positions with other items."""
        entries = zip((position for position, _ in self.entries), items, strict=True)
        return Slice(tuple(entries), self.more, self.reached)


async def walk_pages(
    read_page: Callable[[Window], Awaitable[Slice[T]]], size: int
) -> AsyncIterator[T]:
    """Yield every record of a list, which is read in pages of `size`."""
    window: Window | None = Window(size=size)
    while window is not None:
        page = await read_page(window)
        for _, record in page.entries:
            yield record
        window = Window(size=size, after=page.reached) if page.more else None


def make_slice(
    found: Sequence[T], window: Window, position: Callable[[T], str], *, more: bool
) -> Slice[T]:
    """Make the slice of items in the direction of reading, of which one may be too many."""
    kept = [(position(item), item) for item in found[: window.size]]
    reached = kept[-1][0] if kept else window.after
    more = more or len(found) > window.size
    return Slice(tuple(reversed(kept)) if window.backward else tuple(kept), more, reached)


def slice_sorted(
    items: Iterable[T], window: Window, position: Callable[[T], str], *, descending: bool = False
) -> Slice[T]:
    """Make the slice of a list that is read whole, in the order of its positions."""
    down = descending is not window.backward
    placed = sorted(items, key=position, reverse=down)
    if (after := window.after) is not None:
        placed = [
            item for item in placed if (position(item) < after if down else position(item) > after)
        ]
    return make_slice(placed, window, position, more=False)


def shuffled_position(order: str, id: str) -> str:
    """The position of a thing in the order of this name, which looks drawn at random."""
    return f"{order}:{sha256(f'{order}:{id}'.encode()).hexdigest()}"


def name_order(seed: str) -> str:
    """The name of the order that a seed draws."""
    return sha256(seed.encode()).hexdigest()[:16]


async def page_of_sorted(
    items: AsyncIterator[T],
    window: Window,
    position: Callable[[T], str],
    *,
    descending: bool = False,
) -> Slice[T]:
    """Read a list whole, as it is stored, and make the slice in the order of its positions.

    Of a long list no more is held and sorted at once than a few pages.
    """
    down, after, most = descending is not window.backward, window.after, window.size + 1
    first: list[tuple[str, T]] = []
    async for item in items:
        place = position(item)
        if after is None or (place < after if down else place > after):
            first.append((place, item))
            if len(first) >= most * 2:
                first = sorted(first, key=_place, reverse=down)[:most]
    found = sorted(first, key=_place, reverse=down)[:most]
    return slice_placed(Records(found, more=False), window)


async def page_of_shuffled(
    items: AsyncIterator[T], window: Window, identify: Callable[[T], str], seed: str | None = None
) -> Slice[T]:
    """Read a list whole, and make the slice in an order drawn by a seed, or else anew.

    The positions name the order, so that the pages of one list belong together.
    """
    if window.after is not None:
        order = window.after.partition(":")[0]
    else:
        order = token_hex(8) if seed is None else name_order(seed)
    return await page_of_sorted(
        items, window, lambda item: shuffled_position(order, identify(item))
    )


SEARCHED: Final = 100
MAX_SEARCHES: Final = 20


def _never() -> bool:
    return False


async def read_existing(
    window: Window,
    read_links: Callable[[Window], Awaitable[Slice[T]]],
    load: Callable[[Sequence[T]], Awaitable[Sequence[U | None]]],
    is_exhausted: Callable[[], bool] = _never,
    *,
    sparse: bool = False,
) -> Slice[U]:
    """One page of the things behind the links of a list; links to deleted things are passed over.

    Where some are passed over, the search goes on until the page is full, and ends early after
    MAX_SEARCHES reads or where a budget `is_exhausted`, even with nothing found; the next page then
    begins behind the last link that was read. `load` gives one answer for each link, None for a
    deleted thing. In a `sparse` list most links lead to nothing, also the last ones.
    """
    page = replace(window, size=max(window.size, SEARCHED)) if sparse else window
    found = list[tuple[str, U]]()
    for _ in range(MAX_SEARCHES):
        links = await read_links(page)
        things = await load([link for _, link in links.entries])
        pairs = zip(links.entries, things, strict=True)
        existing = [(position, thing) for (position, _), thing in pairs if thing is not None]
        ended_early = links.more and not links.entries
        if page is window and len(existing) == len(links.entries) and not ended_early:
            return Slice(tuple(existing), links.more, links.reached)
        found += reversed(existing) if window.backward else existing
        if not links.more or len(found) > window.size or is_exhausted():
            break
        page = Window(size=SEARCHED, after=links.reached, backward=window.backward)
    kept, is_full = found[: window.size], len(found) > window.size
    at_end = sparse and not links.more
    last = kept[-1][0] if kept else window.after
    reached = last if is_full or at_end else links.reached
    ordered = tuple(reversed(kept)) if window.backward else tuple(kept)
    return Slice(ordered, is_full or links.more, reached)


@dataclass(frozen=True, slots=True)
class Records(Generic[T]):
    """The records of a query in its order, at most as many as its limit.

    `more` says whether rows may follow.
    """

    records: Sequence[T]
    more: bool


def slice_placed(found: Records[tuple[str, T]], window: Window) -> Slice[T]:
    """Make the slice of records that were read together with their positions."""
    part = make_slice(found.records, window, _place, more=found.more)
    return part.with_items([record for _, (_, record) in part.entries])


async def read_records(
    table: "Queryable", query: Query, read: Callable[[Attributes], T]
) -> Records[T]:
    """Read the rows of a query as records; those that cannot be read are passed over.

    The query goes on until its limit is full, also where a page of the store ends at 1 MB. Without
    a limit it is one page.
    """
    page = await table.query(query)
    found = read_all(read, page.items)
    size = query.limit
    while size is not None and page.last is not None and len(found) < size:
        # Where rows are passed over there may be many of them.
        rest = max(size - len(found), SEARCHED)
        page = await table.query(replace(query, after=page.last, limit=rest))
        found += read_all(read, page.items)
    is_cut = size is not None and len(found) > size
    return Records(found[:size], page.last is not None or is_cut)


async def each_once(items: AsyncIterator[T]) -> AsyncIterator[T]:
    """Yield items without those that came before."""
    met = set[T]()
    async for item in items:
        if item not in met:
            met.add(item)
            yield item


async def parts_of(items: AsyncIterator[T], size: int) -> AsyncIterator[Sequence[T]]:
    """Yield items in parts of so many, of which the last may have less."""
    part: list[T] = []
    async for item in items:
        part.append(item)
        if len(part) == size:
            yield part
            part = []
    if part:
        yield part


PAGE: Final = 100


class Queryable(Protocol):
    """Anything that answers queries as a table does."""

    async def query(self, query: Query) -> Page: ...


async def query_pages(
    table: Queryable, query: Query, size: int | None = None
) -> AsyncIterator[Sequence[Attributes]]:
    """Yield the items of a query page by page; the next page is read when the caller wants it.

    A page has `size` items, or PAGE.
    """
    after, limit = query.after, PAGE if size is None else size
    while True:
        page = await table.query(replace(query, after=after, limit=limit))
        yield page.items
        if page.last is None:
            return
        after = page.last


async def query_items(table: Table, query: Query) -> AsyncGenerator[Attributes]:
    """Yield the items of a query one by one; a page is read when the caller wants it."""
    async for page in query_pages(table, query):
        for item in page:
            yield item


FILTERED_BATCH = 100
"""The number of items that a filtered range reads at once."""


@dataclass(frozen=True, slots=True)
class QueryRange:
    """A range of one partition; `keep` decides which of its items are wanted."""

    table: Queryable
    query: Query
    keep: Callable[[Attributes], bool] | None = None

    def is_wanted(self, item: Attributes) -> bool:
        return self.keep is None or self.keep(item)

    def query_behind(self, position: str | None) -> "Query | None":
        """The query for items behind a position; None where the whole range lies before it."""
        if position is None:
            return self.query
        wanted = self.query.range
        low = wanted.prefix if wanted.low is None else wanted.low
        within = position.startswith(wanted.prefix) and low <= position
        if within and (wanted.high is None or position <= wanted.high):
            return replace(self.query, after=Key(self.query.partition, position))
        # The position is outside the range, so the range lies wholly before or behind it.
        return self.query if (position < low) is not self.query.descending else None


@dataclass(frozen=True, slots=True)
class _RangePart(Generic[T]):
    """Wanted records of a range, each with its sort key.

    `reached` is the sort key up to which the range was read, None for its end.
    """

    items: Sequence[tuple[str, T]]
    reached: str | None


async def read_merged_page(
    lanes: Sequence[QueryRange], window: Window, rounds: int, read: Callable[[Attributes], T]
) -> Slice[T]:
    """Read one page of the merged ranges, which are all read in the window's direction.

    Positions are sort keys; rows that cannot be read are passed over. No range takes more than
    `rounds` queries; then the page ends early.
    """
    return await read_merged_stages([lanes], window, rounds, read)


async def read_merged_stages(
    stages: Sequence[Sequence[QueryRange]],
    window: Window,
    rounds: int,
    read: Callable[[Attributes], T],
) -> Slice[T]:
    """Read one page of merged ranges as `read_merged_page` does, stage after stage.

    A row that moves from a range to one of a later stage is read there at the latest, and perhaps
    twice.
    """

    def read_placed(item: Attributes) -> tuple[str, T]:
        return str(item["sk"]), read(item)

    parts: list[_RangePart[T]] = []
    for lanes in stages:
        parts += await gather(*(_read_range(lane, window, rounds, read_placed) for lane in lanes))
    descending = any(lane.query.descending for lanes in stages for lane in lanes)
    items = sorted((item for part in parts for item in part.items), key=_place, reverse=descending)
    ends = [part.reached for part in parts if part.reached is not None]
    end = None
    if ends:
        # Items beyond this were not read in every range.
        end = max(ends) if descending else min(ends)
        items = [
            item for item in items if (_place(item) >= end if descending else _place(item) <= end)
        ]
    kept = items[: window.size]
    full = len(items) > window.size
    reached = kept[-1][0] if kept and (full or end is None) else end or window.after
    ordered = tuple(reversed(kept)) if window.backward else tuple(kept)
    return Slice(ordered, full or end is not None, reached)


async def _read_range(
    lane: QueryRange, window: Window, rounds: int, read: Callable[[Attributes], tuple[str, T]]
) -> _RangePart[T]:
    """Read one item more than the window holds, or to the end, or for at most `rounds` queries."""
    items: list[tuple[str, T]] = []
    query = lane.query_behind(window.after)
    for _ in range(rounds):
        if query is None:
            return _RangePart(items, None)
        wanted = window.size + 1 - len(items)
        limit = wanted if lane.keep is None else max(wanted, FILTERED_BATCH)
        page = await lane.table.query(replace(query, limit=limit))
        items += read_all(read, page.items if lane.keep is None else filter(lane.keep, page.items))
        if page.last is None:
            return _RangePart(items, None)
        query = replace(query, after=page.last)
        if len(items) > window.size:
            break
    return _RangePart(items, None if query is None or query.after is None else query.after.sk)


def _place(item: tuple[str, object]) -> str:
    return item[0]
