"""Tag rows in memory, with the units that the embedded table and DynamoDB would charge."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from penstock.datastore.table.limits import (
    PAGE_BYTES,
    batch_units,
    guard_get,
    guard_query,
    item_size,
    page_units,
)
from penstock.datastore.table.port import Batch, Item, Key, Page, Query


@dataclass(frozen=True)
class Partition:
    """Rows under one `pk`: ascending sort keys, and each row's attributes besides its key.

    Keys are ASCII, so Python's order of texts is the table's.
    """

    pk: str
    sks: Sequence[str]
    contents: Sequence[Item]

    def row(self, position: int) -> Item:
        return {"pk": self.pk, "sk": self.sks[position], **self.contents[position]}

    @cached_property
    def sizes(self) -> list[int]:
        """Bytes of each row; contents shared by rows are measured once."""
        shared = {id(content): content for content in self.contents}
        measured = {each: item_size(content) for each, content in shared.items()}
        keys = item_size({"pk": self.pk, "sk": ""})
        return [
            keys + len(sk) + measured[id(content)]
            for sk, content in zip(self.sks, self.contents, strict=True)
        ]

    @cached_property
    def ends(self) -> list[int]:
        """Bytes of all rows before each position, and of all rows together."""
        return list(accumulate(self.sizes, initial=0))


@dataclass(frozen=True)
class PostingsTable:
    """The read methods of the table port, over partitions and single items, without an index."""

    partitions: Mapping[str, Partition]
    items: Mapping[Key, Item] = field(default_factory=dict)

    async def get(self, keys: Sequence[Key], *, consistent: bool = False) -> Batch:
        guard_get(keys)
        found = {key: self.items[key] for key in keys if key in self.items}
        sizes = (item_size(self.items.get(key, {})) for key in keys)
        return Batch(found, batch_units(sizes, consistent=consistent))

    async def query(self, query: Query) -> Page:
        guard_query(query)
        partition = self.partitions.get(query.partition) or Partition(query.partition, (), ())
        low, high = _range_bounds(partition.sks, query)
        if query.descending:
            start, stopped = _descending_page(partition.ends, low, high, query.limit)
            positions, used = range(high - 1, start - 1, -1), (start, high)
        else:
            stop, stopped = _ascending_page(partition.ends, low, high, query.limit)
            positions, used = range(low, stop), (low, stop)
        rows = tuple(partition.row(position) for position in positions)
        last = Key(query.partition, partition.sks[positions[-1]]) if stopped else None
        size = partition.ends[used[1]] - partition.ends[used[0]]
        return Page(rows, last, page_units((size,), index=False, consistent=query.consistent))


def _range_bounds(sks: Sequence[str], query: Query) -> tuple[int, int]:
    """The positions of the first row of the range and of the first row after it."""
    wanted = query.range
    low = bisect_left(sks, wanted.prefix if wanted.low is None else wanted.low)
    if wanted.high is not None:
        high = bisect_right(sks, wanted.high)
    else:
        high = bisect_left(sks, wanted.prefix + chr(0x7F)) if wanted.prefix else len(sks)
    if query.after is None:
        return low, high
    if query.descending:
        return low, bisect_left(sks, query.after.sk)
    return bisect_right(sks, query.after.sk), high


def _ascending_page(
    ends: Sequence[int], low: int, high: int, limit: int | None
) -> tuple[int, bool]:
    """The end of an ascending page from `low`, and whether a limit ended it."""
    full = bisect_right(ends, ends[low] + PAGE_BYTES) - 1
    stop = min(high, full, high if limit is None else low + limit)
    return stop, stop < high or stop - low == limit


def _descending_page(
    ends: Sequence[int], low: int, high: int, limit: int | None
) -> tuple[int, bool]:
    """The start of a descending page from `high`, and whether a limit ended it."""
    full = bisect_left(ends, ends[high] - PAGE_BYTES)
    start = max(low, full, low if limit is None else high - limit)
    return start, start > low or high - start == limit
