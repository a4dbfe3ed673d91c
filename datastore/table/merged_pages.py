"""Pages of several ranges of rows, merged in the order of their sort keys."""

from asyncio import gather
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from penstock.datastore.table.items import read_all
from penstock.datastore.table.pages import Queryable, Slice, Window, place_of
from penstock.datastore.table.port import Attributes, Key, Query

T = TypeVar("T")

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
    items = sorted(
        (item for part in parts for item in part.items), key=place_of, reverse=descending
    )
    ends = [part.reached for part in parts if part.reached is not None]
    end = None
    if ends:
        # Items beyond this were not read in every range.
        end = max(ends) if descending else min(ends)
        items = [
            item
            for item in items
            if (place_of(item) >= end if descending else place_of(item) <= end)
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
