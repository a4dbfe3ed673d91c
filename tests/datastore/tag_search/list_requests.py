"""Lists by tags that tests request, and their cost."""

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.datastore.tag_search.search import SIZES, Budget, Filter, Found, Sizes, Wanted, search
from tests.datastore.tag_search.in_memory_streams import Meter, World

UNLIMITED = 10**9
GROUPS = ("/", "/usa", "/usa/northwest")


@dataclass(frozen=True, slots=True)
class Asked:
    """A list, without the position in it and the size of its pages."""

    wanted: Filter
    groups: tuple[str, ...] = ("/",)
    descending: bool = False
    sizes: Sizes = SIZES


async def page_of(
    world: World, asked: Asked, after: str | None, limit: int, budget: Budget | None = None
) -> Found:
    return await search(
        world.sources(asked.groups, descending=asked.descending),
        asked.wanted,
        after=after,
        limit=limit,
        descending=asked.descending,
        budget=budget or Budget(UNLIMITED, UNLIMITED),
        sizes=asked.sizes,
    )


def expected(world: World, asked: Asked, after: str | None = None) -> list[str]:
    found = sorted(world.matching(asked.wanted, asked.groups), reverse=asked.descending)
    return [one for one in found if beyond(one, after, descending=asked.descending)]


def beyond(one: str, other: str | None, *, descending: bool) -> bool:
    return other is None or (one < other if descending else one > other)


def numbered(number: int) -> str:
    return f"{number:06}"


def world_of(page: int = 3276, /, **lists: Iterable[int]) -> World:
    """A world of one group; the numbers of each list carry the tag `<name>: 1`."""
    world = World(page=page)
    for name, numbers in lists.items():
        for number in numbers:
            one = numbered(number)
            world.put(one, {**world.tags.get(one, {}), name: "1"}, frozenset({"/"}))
    return world


def all_of(*names: str) -> Filter:
    return Filter(all=tuple(Wanted(name, "1") for name in names))


async def cost(
    world: World, asked: Asked, limit: int, after: str | None = None
) -> tuple[Found, Meter]:
    world.meter = Meter()
    found = await page_of(world, asked, after, limit)
    return found, world.meter
