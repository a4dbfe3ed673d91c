"""Tagged resources in memory, as streams that count the cost of reading them."""

import asyncio
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.datastore.tag_search.posting_streams import Posting, PostingPage
from penstock.datastore.tag_search.tags import TagTerm, TermFilter

ROW_BYTES = 320
BLOCK_BYTES = 4096


def units(rows: int) -> float:
    """The read units of one eventually consistent read of so many rows."""
    return 0.5 * max(1, -(-rows * ROW_BYTES // BLOCK_BYTES))


@dataclass(slots=True)
class Meter:
    """The cost of a search; `depth` is the longest chain of requests that waited for each other."""

    reads: int = 0
    counts: int = 0
    units: float = 0.0
    depth: int = 0
    sizes: list[int] = field(default_factory=list)
    rows: Counter[tuple[str, TagTerm | None, str]] = field(default_factory=Counter)
    open: int = 0
    cancelled: int = 0

    @property
    def requests(self) -> int:
        return self.reads + self.counts

    async def wait(self) -> None:
        """Wait as long as any other request, so that concurrent requests end together."""
        depth = self.depth + 1
        self.open += 1
        try:
            for _ in range(5):
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.open -= 1
        self.depth = max(self.depth, depth)


def honest(count: int) -> int:
    return count


class World:
    """Resources by id: the groups they are granted to, and their tags."""

    def __init__(
        self,
        *,
        page: int = 3276,
        end_is_known: bool = False,
        bare: Callable[[Mapping[str, str]], bool] = lambda _: False,
        counted: Callable[[int], int] = honest,
    ) -> None:
        self.page = page
        self.end_is_known = end_is_known
        self.bare = bare
        self.counted = counted
        self.meter = Meter()
        self.tags: dict[str, Mapping[str, str]] = {}
        self.groups: dict[str, frozenset[str]] = {}
        self._streams: dict[tuple[str, TagTerm | None], list[str]] = {}
        self._carriers: dict[TagTerm, set[str]] = {}

    def put(self, id: str, tags: Mapping[str, str], groups: frozenset[str]) -> None:
        self.tags[id], self.groups[id] = tags, groups
        self._streams.clear()
        self._carriers.clear()

    def remove(self, id: str) -> None:
        del self.tags[id], self.groups[id]
        self._streams.clear()
        self._carriers.clear()

    def sources(self, groups: tuple[str, ...], *, descending: bool) -> list["MemorySource"]:
        return [MemorySource(self, group, descending) for group in groups]

    def ids(self, group: str, wanted: TagTerm | None) -> list[str]:
        """One stream, ascending."""
        if (group, wanted) not in self._streams:
            carriers = set(self.tags) if wanted is None else self.carriers(wanted)
            self._streams[group, wanted] = sorted(
                carrier for carrier in carriers if group in self.groups[carrier]
            )
        return self._streams[group, wanted]

    def carriers(self, wanted: TagTerm) -> set[str]:
        if wanted not in self._carriers:
            key, levels = wanted.key, wanted.value.split("#")
            self._carriers[wanted] = {
                carrier
                for carrier, tags in self.tags.items()
                if key in tags and tags[key].split("#")[: len(levels)] == levels
            }
        return self._carriers[wanted]

    def matching(self, wanted: TermFilter, groups: tuple[str, ...]) -> set[str]:
        """The answer by set algebra."""
        found = {one for one, held in self.groups.items() if held.intersection(groups)}
        found = found.intersection(*map(self.carriers, wanted.all))
        if wanted.any:
            found &= set().union(*map(self.carriers, wanted.any))
        found = found.difference(*map(self.carriers, wanted.none))
        return {one for one in found if not wanted.without_keys & self.tags[one].keys()}

    def units_of_reading_all(self, wanted: TermFilter, groups: tuple[str, ...]) -> float:
        """The units of the simple way: every page of every wanted tag."""
        return sum(
            sum(
                units(min(self.page, length - read)) for read in range(0, max(1, length), self.page)
            )
            for group in groups
            for length in (len(self.ids(group, one)) for one in wanted.all)
        )


@dataclass(frozen=True, slots=True)
class MemorySource:
    world: World
    group: str
    descending: bool

    def tag(self, key: str, value: str) -> "MemoryStream":
        return MemoryStream(self.world, self.group, TagTerm(key, value), self.descending)

    def members(self) -> "MemoryStream":
        return MemoryStream(self.world, self.group, None, self.descending)


@dataclass(frozen=True, slots=True)
class MemoryStream:
    world: World
    group: str
    wanted: TagTerm | None
    descending: bool

    @property
    def proves_tag(self) -> bool:
        return self.wanted is not None

    async def read(self, after: str | None, limit: int) -> PostingPage:
        world, meter = self.world, self.world.meter
        meter.reads += 1
        meter.sizes.append(limit)
        await meter.wait()
        ids = world.ids(self.group, self.wanted)
        size = min(limit, world.page)
        if self.descending:
            end = len(ids) if after is None else bisect_left(ids, after)
            beyond, page = end, ids[max(0, end - size) : end][::-1]
        else:
            start = 0 if after is None else bisect_right(ids, after)
            beyond, page = len(ids) - start, ids[start : start + size]
        meter.rows.update((self.group, self.wanted, one) for one in page)
        meter.units += units(len(page))
        ended = len(page) < size or (world.end_is_known and len(page) == beyond)
        return PostingPage(
            tuple(Posting(one, self.tags_of_row(one)) for one in page), None if ended else page[-1]
        )

    def tags_of_row(self, id: str) -> Mapping[str, str] | None:
        tags = self.world.tags[id]
        return None if self.wanted is not None and self.world.bare(tags) else tags

    async def read_tags(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        world, meter = self.world, self.world.meter
        meter.reads += -(-len(ids) // 100)
        meter.units += 0.5 * len(ids)
        await meter.wait()
        there = [id for id in ids if self.group in world.groups.get(id, frozenset())]
        return {id: world.tags[id] for id in there}

    async def count(self) -> int:
        self.world.meter.counts += 1
        self.world.meter.units += 0.5
        await self.world.meter.wait()
        return self.world.counted(len(self.world.ids(self.group, self.wanted)))
