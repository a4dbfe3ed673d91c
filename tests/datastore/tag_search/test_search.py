"""Lists by several tags equal set algebra, whatever the store does."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import Unavailable
from penstock.datastore.tag_search.posting_streams import PostingPage
from penstock.datastore.tag_search.search import PageSizes, SearchBudget, SearchPage, search
from penstock.datastore.tag_search.tags import TagTerm, TermFilter
from tests.datastore.tag_search.in_memory_streams import MemorySource, MemoryStream, World
from tests.datastore.tag_search.list_requests import (
    GROUPS,
    UNLIMITED,
    SampleListRequest,
    all_of,
    beyond,
    cost,
    expected_ids,
    numbered_id,
    page_of,
    world_of,
)

KEYS = ("x", "y", "z")
VALUES = ("a", "a#b", "a#b#c", "a2")
TAG_SETS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
GRANTS = st.frozensets(st.sampled_from(GROUPS), min_size=1)
TERMS = st.builds(TagTerm, st.sampled_from(KEYS), st.sampled_from(VALUES))
IDS = st.integers(0, 60).map("{:02}".format)


@st.composite
def filters(draw: st.DrawFn) -> TermFilter:
    parts: dict[str, list[TagTerm]] = {"all": [], "any": [], "none": []}
    for term in draw(st.lists(TERMS, max_size=6)):
        parts[draw(st.sampled_from(["all", "all", "any", "none"]))].append(term)
    every, some, no = (tuple(parts[name]) for name in ("all", "any", "none"))
    without = draw(st.frozensets(st.sampled_from(KEYS), max_size=1))
    return TermFilter(all=every, any=some, none=no, without_keys=without)


ASKED = st.builds(
    SampleListRequest,
    wanted=filters(),
    groups=st.permutations(GROUPS).flatmap(
        lambda groups: st.integers(1, 3).map(lambda n: tuple(groups[:n]))
    ),
    descending=st.booleans(),
    sizes=st.builds(
        PageSizes, block=st.integers(1, 4), first=st.integers(1, 6), cap=st.integers(1, 9)
    ),
)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    world = World(
        page=draw(st.integers(1, 8)),
        end_is_known=draw(st.booleans()),
        bare=draw(st.sampled_from([lambda _: False, lambda _: True, lambda tags: len(tags) > 1])),
        counted=draw(st.sampled_from([lambda n: n, lambda n: 0, lambda n: -n, lambda n: n % 3])),
    )
    for one in draw(st.lists(IDS, max_size=40, unique=True)):
        world.put(one, draw(TAG_SETS), draw(GRANTS))
    return world


@given(worlds(), ASKED, st.integers(1, 50), st.none() | IDS)
async def test_a_page_is_what_set_algebra_says(
    world: World, asked: SampleListRequest, limit: int, after: str | None
) -> None:
    answer = expected_ids(world, asked, after)
    found = await page_of(world, asked, after, limit)
    assert list(found.ids) == answer[:limit]
    assert found.more is (len(answer) > limit)
    if len(found.ids) == limit:
        assert found.examined == found.ids[-1]


@given(worlds(), ASKED, st.integers(1, 4))
async def test_a_walk_in_small_pages_finds_everything_once_and_in_order(
    world: World, asked: SampleListRequest, limit: int
) -> None:
    walked: list[str] = []
    cursor, more = None, True
    while more:
        found = await page_of(world, asked, cursor, limit)
        assert len(found.ids) == limit or not found.more
        walked += found.ids
        cursor, more = found.examined, found.more
    assert walked == expected_ids(world, asked)


@given(worlds(), ASKED, st.integers(1, 5), st.integers(1, 3), st.integers(1, 6))
async def test_a_search_cut_short_by_its_budget_goes_on_where_it_stopped(
    world: World, asked: SampleListRequest, limit: int, rounds: int, reads: int
) -> None:
    walked: list[str] = []
    cursor, more = None, True
    while more:
        found = await page_of(world, asked, cursor, limit, SearchBudget(rounds, reads))
        assert len(found.ids) <= limit
        assert not found.more or beyond(str(found.examined), cursor, descending=asked.descending)
        walked += found.ids
        cursor, more = found.examined, found.more
    assert walked == expected_ids(world, asked)


CHANGES = st.lists(st.lists(st.tuples(IDS, st.none() | st.tuples(TAG_SETS, GRANTS)), max_size=4))


@given(worlds(), ASKED, st.integers(1, 4), st.integers(1, 3), CHANGES)
async def test_what_exists_throughout_is_neither_skipped_nor_repeated_by_changes_between_pages(
    world: World,
    asked: SampleListRequest,
    limit: int,
    rounds: int,
    changes: list[list[tuple[str, tuple[dict[str, str], frozenset[str]] | None]]],
) -> None:
    throughout = ever = world.matching(asked.wanted, asked.groups)
    walked: list[str] = []
    cursor, more = None, True
    while more:
        found = await page_of(world, asked, cursor, limit, SearchBudget(rounds, UNLIMITED))
        walked += found.ids
        cursor, more = found.examined, found.more
        for one, entry in changes.pop(0) if changes else ():
            if entry is not None:
                world.put(one, *entry)
            elif one in world.tags:
                world.remove(one)
            now = world.matching(asked.wanted, asked.groups)
            throughout, ever = throughout & now, ever | now
    assert walked == sorted(set(walked), reverse=asked.descending)
    assert throughout <= set(walked) <= ever


@given(worlds(), ASKED, st.integers(1, 50))
async def test_no_row_is_read_twice_and_requests_of_a_round_go_out_together(
    world: World, asked: SampleListRequest, limit: int
) -> None:
    budget = SearchBudget(UNLIMITED, UNLIMITED)
    await page_of(world, asked, None, limit, budget)
    assert set(world.meter.rows.values()) <= {1}
    assert world.meter.requests == UNLIMITED - budget.reads
    assert world.meter.depth <= UNLIMITED - budget.rounds <= 2 * world.meter.depth
    if not any(map(world.bare, world.tags.values())):
        assert world.meter.depth == UNLIMITED - budget.rounds


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("page", [1, 3, 4, 5, 100])
async def test_a_match_is_found_wherever_it_sits_among_bursts_that_avoid_each_other(
    page: int, *, descending: bool
) -> None:
    asked = SampleListRequest(all_of("x", "y"), descending=descending, sizes=PageSizes(4, 4, 8))
    for match in range(80):
        world = world_of(
            page, x={match, *range(20), *range(40, 60)}, y={match, *range(20, 40), *range(60, 80)}
        )
        found, _ = await cost(world, asked, 1)
        assert found == SearchPage((numbered_id(match),), numbered_id(match), more=False)


class FailingStream(MemoryStream):
    async def read(self, after: str | None, limit: int) -> PostingPage:
        await asyncio.sleep(0)
        raise Unavailable("The store did not answer.")


class HalfFailingSource(MemorySource):
    def tag(self, key: str, value: str) -> MemoryStream:
        kind = FailingStream if key == "y" else MemoryStream
        return kind(self.world, self.group, TagTerm(key, value), self.descending)


async def search_in(source: MemorySource) -> SearchPage:
    return await search(
        [replace(source, group=group) for group in GROUPS],
        all_of("x", "y"),
        after=None,
        limit=5,
        descending=False,
        budget=SearchBudget(UNLIMITED, UNLIMITED),
    )


async def test_a_failing_request_is_raised_as_it_is_and_ends_the_others() -> None:
    world = world_of(x=range(100), y=range(100))
    with pytest.raises(Unavailable):
        await search_in(HalfFailingSource(world, "/", descending=False))
    assert (world.meter.open, world.meter.cancelled) == (0, 3)


async def test_a_search_given_up_leaves_no_request_behind() -> None:
    world = world_of(x=range(100), y=range(100))
    task = asyncio.create_task(search_in(MemorySource(world, "/", descending=False)))
    for _ in range(4):
        await asyncio.sleep(0)
    assert world.meter.open == 6
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (world.meter.open, world.meter.cancelled, world.meter.requests) == (0, 6, 6)
