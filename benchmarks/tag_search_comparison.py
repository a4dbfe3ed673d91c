"""Compares both ways of answering a filter of several tags over the same carriers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import cast

from benchmarks.documented_tag_search import documents_way
from benchmarks.postings_table import PostingsTable
from benchmarks.read_cost import Cost, CostMeteredTable
from benchmarks.tag_tables import KIND, World, bare_range, covering_range
from penstock.datastore.roles import ROOT, GroupPath
from penstock.datastore.table.port import Table
from penstock.datastore.tag_search.postings import GroupPostings, ScanParams
from penstock.datastore.tag_search.search import SearchBudget, search
from penstock.datastore.tag_search.tags import TagTerm, TermFilter

COPIES = 4
WHOLE = 10_000_000
PAGE = 20

_UNLIMITED = 10**9


@dataclass(frozen=True, slots=True)
class Answer:
    """The number of matches, and the costs of finding them by the document's way and by ours.

    `document` is the document's way over our rows, `bare` over rows as small as the document's.
    """

    matches: int
    document: Cost
    bare: Cost
    ours: Cost


@dataclass(frozen=True, slots=True)
class Comparison:
    """A combination of lists, given by their lengths: the whole answer and its first page of 20."""

    distribution: str
    sizes: tuple[int, ...]
    whole: Answer
    page: Answer

    @property
    def name(self) -> str:
        return " × ".join(f"{size:,}" for size in self.sizes)


async def compare(world: World, tags: Sequence[TagTerm], limit: int) -> Answer:
    """Find the newest `limit` carriers of all tags both ways; AssertionError if they differ."""
    found, ours = await search_our_way(world.covering, tags, limit)
    covering, bare = CostMeteredTable(world.covering), CostMeteredTable(world.bare)
    on_ours = await documents_way(covering, [covering_range(tag) for tag in tags], limit)
    on_bare = await documents_way(bare, [bare_range(tag) for tag in tags], limit)
    assert found == on_ours == on_bare, "the ways give different answers"
    return Answer(len(found), covering.cost, bare.cost, ours)


async def search_our_way(
    table: PostingsTable, tags: Sequence[TagTerm], limit: int, groups: Sequence[GroupPath] = (ROOT,)
) -> tuple[list[str], Cost]:
    """The newest `limit` ids with all tags in the groups, and the cost of the search."""
    measured = CostMeteredTable(table)
    # A search only calls the read methods, which are all that this table has.
    travel = ScanParams(cast("Table", measured), KIND, descending=True)
    found = await search(
        [GroupPostings(travel, group) for group in groups],
        TermFilter(all=tuple(tags)),
        after=None,
        limit=limit,
        descending=True,
        budget=SearchBudget(_UNLIMITED, _UNLIMITED),
    )
    return list(found.ids), measured.cost


def combinations(sizes: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Two to four lists of these lengths, with repetitions: their lengths and their numbers.

    There are four lists of each length; those of the first length come first.
    """
    for count in (2, 3, 4):
        for chosen in combinations_with_replacement(range(len(sizes)), count):
            numbers = tuple(COPIES * one + chosen[:n].count(one) for n, one in enumerate(chosen))
            yield tuple(sizes[one] for one in chosen), numbers


async def compare_all(world: World, distribution: str, sizes: Sequence[int]) -> list[Comparison]:
    """Compare every combination in a world with four lists of each length."""
    compared: list[Comparison] = []
    for lengths, numbers in combinations(sizes):
        tags = [world.tags[number] for number in numbers]
        whole = await compare(world, tags, WHOLE)
        page = await compare(world, tags, PAGE)
        compared.append(Comparison(distribution, lengths, whole, page))
    return compared
