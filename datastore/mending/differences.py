"""Differences between the rows of a table and what they should be, found by two scans.

The first scan keeps eight bytes for each row without its counterpart, so that a large table needs
little memory; the second one tells what differs, and forgets what a write had just changed.

What a write in steps has still to write is no difference, as it will be written: a count that is
repaired before would be counted twice.
"""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence, Set
from hashlib import blake2b
from typing import Final, NamedTuple

import msgspec

from penstock.datastore.mending.derivations import (
    Derivation,
    derive,
    is_derived,
    is_own_count,
    source_of,
)
from penstock.datastore.mending.under_way import keys_under_way
from penstock.datastore.recount import CountDifference, Recount
from penstock.datastore.table.port import Attributes, Item, Key, Scan, Table, key_of

_COUNTS: Final = ("below", "count", "durationMs", "size")
_encode = msgspec.json.Encoder(order="sorted", decimal_format="number").encode

Progress = Callable[[int], None]


class RowDifference(NamedTuple):
    """A derived row that is missing (nothing stands), needless (nothing is wanted) or wrong.

    `source` is the row that it should be made of.
    """

    key: Key
    source: Key
    wanted: Item | None
    standing: Item | None


class Differences(NamedTuple):
    """All that differs, in the order of keys. `labels` are the texts of counts that are missing."""

    rows: Sequence[RowDifference]
    counts: Sequence[CountDifference]
    labels: Mapping[Key, Item]
    scanned: int

    @property
    def total(self) -> int:
        return len(self.rows) + len(self.counts)


async def find_differences(table: Table, segments: int, progress: Progress) -> Differences:
    """Scan the table twice; report what differs in both scans. Nothing is changed."""
    first = _FirstLook()
    async for item in scan_table(table, segments, progress):
        first.read(item)
    counts = first.count_differences()
    if not first.unmatched and not counts:
        return Differences((), (), {}, first.scanned)
    second = _SecondLook(first.unmatched, {one.key for one in counts})
    async for item in scan_table(table, segments, progress):
        second.read(item)
    standing = {one.key: one for one in second.count_differences()}
    # Where others came and went the same numbers do not mean that the count is wrong.
    stayed = [
        one
        for one in counts
        if standing.get(one.key) == one and first.sources_of(one.key) == second.sources_of(one.key)
    ]
    under_way = first.under_way | second.under_way
    return Differences(
        [one for one in second.row_differences() if one.key not in under_way],
        [one for one in stayed if one.key not in under_way],
        second.labels,
        first.scanned,
    )


async def scan_table(table: Table, segments: int, progress: Progress) -> AsyncIterator[Attributes]:
    """Yield every row of the table."""
    for segment in range(segments):
        after: Key | None = None
        while True:
            page = await table.scan(Scan(segment=segment, segments=segments, after=after))
            for item in page.items:
                yield item
            progress(len(page.items))
            after = page.last
            if after is None:
                break


class _CountLook:
    """Adds up the counts of names and libraries, and lets `Recount` add up the others."""

    def __init__(self) -> None:
        self.scanned = 0
        self.under_way = set[Key]()
        self._recount = Recount()
        self._wanted: dict[Key, Counter[str]] = defaultdict(Counter)
        self._standing: dict[Key, dict[str, int]] = {}
        self._sources: dict[Key, int] = defaultdict(int)

    def read_counts(self, item: Attributes, derived: Derivation) -> None:
        self.scanned += 1
        self.under_way.update(keys_under_way(item))
        self._recount.read(item)
        key = key_of(item)
        counts = {name: int(str(item[name])) for name in _COUNTS if item.get(name)}
        if counts and is_own_count(key):
            self._standing[key] = counts
        for counter in derived.counters:
            if is_own_count(counter.key):
                self._wanted[counter.key].update(counter.amounts)
                self._sources[counter.key] += hash(key)

    def sources_of(self, key: Key) -> int:
        """A number that tells which rows were counted, the same at each look of this process."""
        return self._sources.get(key, 0) + self._recount.sources_of(key)

    def count_differences(self) -> list[CountDifference]:
        found = self._recount.differences()
        for key in {*self._wanted, *self._standing}:
            wanted = {name: count for name, count in self._wanted[key].items() if count}
            standing = self._standing.get(key, {})
            if wanted != standing:
                found.append(CountDifference(key, wanted, standing))
        return sorted(found, key=lambda one: one.key)


class _FirstLook(_CountLook):
    """Pairs each derived row with the one that should stand, by their digests."""

    def __init__(self) -> None:
        super().__init__()
        self.unmatched: set[bytes] = set()

    def read(self, item: Attributes) -> None:
        derived = derive(item)
        self.read_counts(item, derived)
        if is_derived(item):
            self.unmatched ^= {_digest(item)}
        for row in derived.rows:
            self.unmatched ^= {_digest(row)}


class _Half(NamedTuple):
    """A derived row that stands or is wanted, and its source."""

    source: Key
    item: Item


class _SecondLook(_CountLook):
    """Finds again what had no counterpart at the first look, and the labels of wrong counts."""

    def __init__(self, unmatched: Set[bytes], wrong_counts: Set[Key]) -> None:
        super().__init__()
        self.labels: dict[Key, Item] = {}
        self._unmatched = unmatched
        self._wrong_counts = wrong_counts
        self._wanted_rows: dict[bytes, _Half] = {}
        self._standing_rows: dict[bytes, _Half] = {}

    def read(self, item: Attributes) -> None:
        derived = derive(item)
        self.read_counts(item, derived)
        if is_derived(item) and (digest := _digest(item)) in self._unmatched:
            self._standing_rows[digest] = _Half(source_of(item), dict(item))
        for row in derived.rows:
            digest = _digest(row)
            if digest in self._unmatched:
                self._wanted_rows[digest] = _Half(key_of(item), row)
        for counter in derived.counters:
            if counter.key in self._wrong_counts:
                labels = {**counter.labels, **counter.latest, **counter.spelling}
                self.labels.setdefault(counter.key, labels)

    def row_differences(self) -> list[RowDifference]:
        wanted = _by_key(self._wanted_rows, self._standing_rows)
        standing = _by_key(self._standing_rows, self._wanted_rows)
        return [
            RowDifference(
                key,
                (wanted.get(key) or standing[key]).source,
                wanted[key].item if key in wanted else None,
                standing[key].item if key in standing else None,
            )
            for key in sorted({*wanted, *standing})
        ]


def _by_key(halves: Mapping[bytes, _Half], others: Iterable[bytes]) -> dict[Key, _Half]:
    matched = set(others)
    return {key_of(half.item): half for digest, half in halves.items() if digest not in matched}


def _digest(item: Attributes) -> bytes:
    return blake2b(_encode(dict(item)), digest_size=8).digest()
