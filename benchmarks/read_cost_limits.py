"""The limits that the tag search promises for its cost, and the cases that exceed them."""

from collections.abc import Sequence

from benchmarks.documented_tag_search import documents_way
from benchmarks.id_distributions import DISTRIBUTIONS, draw
from benchmarks.read_cost import CostMeteredTable
from benchmarks.tag_search_comparison import (
    COPIES,
    PAGE,
    Comparison,
    combinations,
    compare_all,
    search_our_way,
)
from benchmarks.tag_tables import MANY_TAGS, covering_range, join_tables, world_of
from penstock.datastore.roles import GroupPath, ancestors

SIZES = (10, 1_000, 100_000)
SMALLER_SIZES = (10, 1_000, 10_000)
TIMES_FEWER = 50
OTHER_GROUP = GroupPath("/other")
CHAIN = ancestors(GroupPath("/usa/northwest"))


def broken_promises(compared: Sequence[Comparison]) -> list[str]:
    """Sentences about cases where our way reads more than the document's, or not 50 times less."""
    sentences: list[str] = []
    for one in compared:
        extremes = (min(one.sizes), max(one.sizes)) == (SIZES[0], SIZES[-1])
        for part, answer in (("whole list", one.whole), (f"first {PAGE}", one.page)):
            least = answer.ours.units * (TIMES_FEWER if extremes else 1)
            if least > answer.document.units:
                where = f"{one.distribution}, {one.name}, {part}"
                costs = f"ours {answer.ours}, the document's {answer.document}"
                sentences.append(f"{where}: {costs}")
    return sentences


async def broken_for_other_rows() -> list[str]:
    """The same for the smallest possible rows and for large ones, with shorter lists."""
    sentences: list[str] = []
    for name, other_tags in (("no other tags", {}), ("many other tags", MANY_TAGS)):
        for distribution in DISTRIBUTIONS:
            world = world_of(_lists(distribution, SMALLER_SIZES), other_tags=other_tags)
            compared = await compare_all(world, distribution, SMALLER_SIZES)
            sentences += [f"{name}: {sentence}" for sentence in broken_promises(compared)]
    return sentences


async def broken_by_other_groups(sizes: Sequence[int] = SIZES) -> list[str]:
    """Sentences about searches that cost more when another group has carriers of the same tags."""
    lists = _lists("independent", sizes)
    world = world_of(lists)
    crowded = join_tables(world.covering, world_of(lists, group=OTHER_GROUP).covering)
    sentences: list[str] = []
    for lengths, numbers in combinations(sizes):
        tags = [world.tags[number] for number in numbers]
        alone = await search_our_way(world.covering, tags, PAGE)
        together = await search_our_way(crowded, tags, PAGE)
        if alone != together:
            sentences.append(f"{lengths}: {alone[1]} alone, {together[1]} among other groups")
    return sentences


async def broken_along_a_chain(sizes: Sequence[int] = SMALLER_SIZES) -> list[str]:
    """Sentences about searches over three groups that read more than the document's way in each."""
    sentences: list[str] = []
    for distribution in DISTRIBUTIONS:
        lists = _lists(distribution, sizes)
        shares = [[ids[n :: len(CHAIN)] for ids in lists] for n in range(len(CHAIN))]
        worlds = [world_of(share, group=group) for share, group in zip(shares, CHAIN, strict=True)]
        table = join_tables(join_tables(worlds[0].covering, worlds[1].covering), worlds[2].covering)
        for lengths, numbers in combinations(sizes):
            tags = [worlds[0].tags[number] for number in numbers]
            _, ours = await search_our_way(table, tags, PAGE, CHAIN)
            measured = CostMeteredTable(table)
            for group in CHAIN:
                await documents_way(measured, [covering_range(tag, group) for tag in tags], PAGE)
            if ours.units > measured.cost.units:
                sentences.append(f"{distribution}, {lengths}: {ours} over a chain of groups")
    return sentences


def _lists(distribution: str, sizes: Sequence[int]) -> list[list[str]]:
    return draw(distribution, [size for size in sizes for _ in range(COPIES)])
