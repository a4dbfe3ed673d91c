"""The tag keys and values in use along a chain of groups, with exact counts.

Along a chain at most one grant of a resource applies, so the groups' counts add up.
"""

from asyncio import gather
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from penstock.datastore.access.access import Access
from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.records import TagKey, TagValue
from penstock.datastore.roles import GroupPath, ancestors
from penstock.datastore.table.items import read_all
from penstock.datastore.table.keys import MAX_SHARD, KeyPart, join_levels, split_levels
from penstock.datastore.table.layout import TAG_KEY_COUNT, TAG_VALUE_COUNT
from penstock.datastore.table.pages import Slice, Window, make_slice
from penstock.datastore.table.port import Attributes, Query, Range
from penstock.datastore.tag_search.tags import MAX_LENGTH, MAX_VALUE, value_levels
from penstock.datastore.text import comparison_form, normalisation_problem, unescape

T = TypeVar("T")


@dataclass(slots=True)
class _TagTotal:
    """The sum of the counters of one key or value over the groups of the chain.

    The label is that of the earliest resource; `since` is the id of who gave it, empty in rows of
    earlier releases.
    """

    label: str
    since: str
    count: int = 0
    deeper: int = 0

    @classmethod
    def of(cls, item: Attributes) -> "_TagTotal":
        """The counters in the row of one group."""
        since, deeper = str(item.get("since", "")), int(str(item.get("deeper", 0)))
        return cls(str(item["label"]), since, int(str(item["count"])), deeper)

    def add(self, other: "_TagTotal") -> None:
        if other.since < self.since:
            self.label, self.since = other.label, other.since
        self.count += other.count
        self.deeper += other.deeper


@dataclass(frozen=True, slots=True)
class TagLists:
    """The tags of resources of one kind (its letter) that the caller sees."""

    kind: str
    access: Access

    async def keys(self, group: GroupPath | None, window: Window) -> Slice[TagKey]:
        """List tag keys: `siKey1 = TA:<group>:<kind>` of each group of the chain, merged by key."""
        return await self._read_chain(group, lambda chain: self.keys_of(chain, window))

    async def keys_of(self, chain: Sequence[str], window: Window) -> Slice[TagKey]:
        """List tag keys of groups that the caller may see, or of partitions like them."""
        row = TAG_KEY_COUNT

        def query(above: str) -> Query:
            after = None if window.after is None else unescape(window.after)
            return Query(
                partition=row.index_partition(group=above, kind=self.kind),
                index=True,
                range=Range(row.pk.prefix({"group": above})),
                after=None
                if after is None
                else row.key(group=above, key=after, kind=self.kind, shard=_last_shard(window)),
                descending=window.backward,
                limit=(window.size + 1) * self.access.shards,
            )

        found = await self._merge_pages(
            chain, query, lambda item: row.pk.parse(str(item["pk"]))["key"], window
        )
        return found.with_items(
            [
                TagKey(key=unescape(key), label=total.label, count=total.count)
                for key, total in found.entries
            ]
        )

    async def values(
        self, key: str, parent: str | None, group: GroupPath | None, window: Window
    ) -> Slice[TagValue]:
        """List values of a key: `TA:<kind>:<depth>:<a#b#>` of each group of the chain, merged.

        Without a parent the top level is listed, with one the level below it.
        """
        return await self._read_chain(
            group, lambda chain: self.values_of(chain, key, parent, window)
        )

    async def values_of(
        self, chain: Sequence[str], key: str, parent: str | None, window: Window
    ) -> Slice[TagValue]:
        """List tag values of groups that the caller may see, or of partitions like them."""
        check_lengths(key, parent)
        row, key = TAG_VALUE_COUNT, comparison_form(key)
        above_value = () if parent is None else value_levels(parent)
        placed: dict[str, KeyPart] = {"kind": self.kind, "depth": len(above_value) + 1}
        prefix = row.sk.prefix(placed) + (join_levels(above_value) + "#" if above_value else "")

        def query(above: str) -> Query:
            after = None if window.after is None else split_levels(window.after)
            return Query(
                partition=row.pk.fill({"group": above, "key": key}),
                range=Range(prefix),
                after=None
                if after is None
                else row.key(
                    group=above, key=key, value=after, shard=_last_shard(window), **placed
                ),
                descending=window.backward,
                limit=(window.size + 1) * self.access.shards,
            )

        found = await self._merge_pages(
            chain, query, lambda item: row.sk.parse(str(item["sk"]))["value"], window
        )
        return found.with_items(
            [
                TagValue(
                    key=key,
                    value="/".join(split_levels(value)),
                    label=total.label,
                    count=total.count,
                    deeper=total.deeper,
                )
                for value, total in found.entries
            ]
        )

    async def _read_chain(
        self, group: GroupPath | None, read: Callable[[Sequence[GroupPath]], Awaitable[Slice[T]]]
    ) -> Slice[T]:
        """Read along the chain of a group that exists and that the caller sees."""
        group = self.access.require_visible_group(group)
        found, _ = await gather(read(ancestors(group)), self.access.require_group(group))
        return found

    async def _merge_pages(
        self,
        chain: Sequence[str],
        query: Callable[[str], Query],
        position: Callable[[Attributes], str],
        window: Window,
    ) -> Slice[_TagTotal]:
        """Merge a page of the whole chain; the position is the key text that its rows end with."""
        groups = await gather(
            *(self._read_shards(query(above), position, window) for above in chain)
        )
        totals: dict[str, _TagTotal] = {}
        for place, total in (entry for entries in groups for entry in entries):
            totals.setdefault(place, _TagTotal(total.label, total.since)).add(total)
        travelled = sorted(totals.items(), reverse=window.backward)
        found = make_slice(travelled, window, lambda entry: entry[0], more=False)
        return found.with_items([total for _, (_, total) in found.entries])

    async def _read_shards(
        self, query: Query, position: Callable[[Attributes], str], window: Window
    ) -> list[tuple[str, _TagTotal]]:
        """Read all counters of the window's positions and, where there is one, of the next one.

        Only the last position may lack rows, because the rows of one position lie together.
        """
        found: list[tuple[str, _TagTotal]] = []

        def read_placed(item: Attributes) -> tuple[str, _TagTotal]:
            return position(item), _TagTotal.of(item)

        while True:
            page = await self.access.paid_rows.query(query)
            found += read_all(read_placed, page.items)
            if page.last is None or len({place for place, _ in found}) > window.size:
                return found
            query = replace(query, after=page.last)


def _last_shard(window: Window) -> int:
    """The shard of a position that is read last in the direction of the window."""
    return 0 if window.backward else MAX_SHARD


def check_lengths(key: str, parent: str | None) -> None:
    """Raise Invalid for texts that are longer than any tag."""
    found = (
        ("key", normalisation_problem(key, MAX_LENGTH)),
        ("parent", normalisation_problem(parent or "", MAX_VALUE)),
    )
    if problems := [FieldProblem([field], message) for field, message in found if message]:
        raise Invalid(problems)
