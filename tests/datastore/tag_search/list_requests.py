"""Lists by tags that tests request, and their cost."""

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.datastore.tag_search.search import (
    DEFAULT_SIZES,
    PageSizes,
    SearchBudget,
    SearchPage,
    search,
)
from penstock.datastore.tag_search.tags import TagTerm, TermFilter
from tests.datastore.tag_search.in_memory_streams import Meter, World

UNLIMITED = 10**9
GROUPS = ("/", "/usa", "/usa/northwest")


@dataclass(frozen=True, slots=True)
class SampleListRequest:
    """A list, without the position in it and the size of its pages."""

    wanted: TermFilter
    groups: tuple[str, ...] = ("/",)
    descending: bool = False
    sizes: PageSizes = DEFAULT_SIZES


async def page_of(
    world: World,
    asked: SampleListRequest,
    after: str | None,
    limit: int,
    budget: SearchBudget | None = None,
) -> SearchPage:
    found = await search(
        world.sources(asked.groups, descending=asked.descending),
        asked.wanted,
        after=after,
        limit=limit,
        descending=asked.descending,
        budget=budget or SearchBudget(UNLIMITED, UNLIMITED),
        sizes=asked.sizes,
    )
    assert all(found.tags[id] == world.tags[id] for id in found.ids if id in found.tags)
    return found._replace(tags={})


def expected_ids(world: World, asked: SampleListRequest, after: str | None = None) -> list[str]:
    found = sorted(world.matching(asked.wanted, asked.groups), reverse=asked.descending)
    return [one for one in found if beyond(one, after, descending=asked.descending)]


def beyond(one: str, other: str | None, *, descending: bool) -> bool:
    return other is None or (one < other if descending else one > other)


def numbered_id(number: int) -> str:
    return f"{number:06}"


def world_of(page: int = 3276, /, **lists: Iterable[int]) -> World:
    """A world of one group; the numbers of each list carry the tag `<name>: 1`."""
    world = World(page=page)
    for name, numbers in lists.items():
        for number in numbers:
            one = numbered_id(number)
            world.put(one, {**world.tags.get(one, {}), name: "1"}, frozenset({"/"}))
    return world


def all_of(*names: str) -> TermFilter:
    return TermFilter(all=tuple(TagTerm(name, "1") for name in names))


async def cost(
    world: World, asked: SampleListRequest, limit: int, after: str | None = None
) -> tuple[SearchPage, Meter]:
    world.meter = Meter()
    found = await page_of(world, asked, after, limit)
    return found, world.meter
