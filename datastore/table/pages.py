"""Pages of a list, all pages of a query, and the merge of several ranges into one list."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from secrets import token_hex
from typing import Final, Generic, Protocol, TypeVar

from penstock.datastore.errors import InvalidCursor
from penstock.datastore.table.items import read_all
from penstock.datastore.table.port import Attributes, Page, Query, Table
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
                first = sorted(first, key=place_of, reverse=down)[:most]
    found = sorted(first, key=place_of, reverse=down)[:most]
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
    thing that is deleted, or hidden: the position where the list ends tells of no such link. In a
    `sparse` list most links lead to nothing.
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
    last = kept[-1][0] if kept else window.after
    reached = last if is_full or not links.more else links.reached
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
    part = make_slice(found.records, window, place_of, more=found.more)
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


def place_of(item: tuple[str, object]) -> str:
    return item[0]
