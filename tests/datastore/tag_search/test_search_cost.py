"""Lists by several tags: the number of reads, rounds and units they take."""

from functools import cache
from itertools import combinations

from penstock.datastore.tag_search.search import SearchBudget, SearchPage
from penstock.datastore.tag_search.tags import TagTerm, TermFilter
from tests.datastore.tag_search.in_memory_streams import World
from tests.datastore.tag_search.list_requests import (
    GROUPS,
    UNLIMITED,
    SampleListRequest,
    all_of,
    cost,
    expected_ids,
    numbered_id,
    page_of,
    world_of,
)


@cache
def nested_numbers() -> World:
    return world_of(x=range(0, 100_000, 100), y=range(100_000))


async def test_ten_and_a_hundred_thousand_take_one_round_of_two_reads() -> None:
    world = world_of(x=range(0, 10_000, 1_000), y=range(5_000, 105_000))
    found, meter = await cost(world, SampleListRequest(all_of("x", "y")), 20)
    assert found.ids == tuple(map(numbered_id, range(5_000, 10_000, 1_000)))
    assert not found.more
    assert (meter.reads, meter.counts, meter.depth, meter.units) == (2, 0, 1, 1.0)


async def test_a_first_page_of_a_thousand_within_a_hundred_thousand_counts_nothing() -> None:
    world = nested_numbers()
    found, meter = await cost(world, SampleListRequest(all_of("x", "y")), 20)
    assert found.ids == tuple(map(numbered_id, range(0, 2_000, 100)))
    assert (meter.reads, meter.counts, meter.depth, meter.units) == (3, 0, 2, 1.5)


async def test_all_of_a_thousand_within_a_hundred_thousand_is_read_from_the_thousand() -> None:
    world = nested_numbers()
    found, meter = await cost(world, SampleListRequest(all_of("x", "y")), 1_000)
    assert len(found.ids) == 1_000
    assert not found.more
    assert (meter.reads, meter.counts, meter.depth) == (5, 2, 4)
    assert sum(meter.rows.values()) == 12 + 1_000


async def test_the_rarest_by_count_is_read_on_however_far_apart_its_first_rows_are() -> None:
    common = (*range(0, 30_000, 1_000), *range(30_000, 40_000))
    world = world_of(x=common, y=range(1, 40_001, 80))
    found, meter = await cost(world, SampleListRequest(all_of("x", "y")), 1_000)
    assert found.ids == tuple(map(numbered_id, sorted({*common} & {*range(1, 40_001, 80)})))
    assert meter.counts == 2
    assert sum(one == TagTerm("x", "1") for _, one, _ in meter.rows) < 250


async def test_wrong_counts_cost_reads_only() -> None:
    world = world_of(x=range(0, 5_000, 5), y=range(5_000))
    asked = SampleListRequest(all_of("x", "y"))
    right, cheap = await cost(world, asked, 300)
    world.counted = lambda count: -count
    wrong, dear = await cost(world, asked, 300)
    assert wrong == right
    assert (cheap.units, dear.units) == (14.5, 30.5)


async def test_a_single_tag_is_neither_probed_nor_counted() -> None:
    world = world_of(x=range(50_000))
    found, meter = await cost(world, SampleListRequest(all_of("x")), 20)
    assert found == SearchPage(tuple(map(numbered_id, range(20))), numbered_id(19), more=True)
    assert (meter.sizes, meter.counts) == ([24], 0)


async def test_pages_grow_while_matches_are_rare_and_stay_small_while_little_is_needed() -> None:
    world = world_of(x=range(10_000), y=range(0, 10_000, 5_000))
    _, meter = await cost(world, SampleListRequest(TermFilter(none=(TagTerm("x", "1"),))), 20)
    assert meter.sizes == [24, 96, 240, 720, 1536, 1536, 1536, 1536, 1536, 1536]
    _, meter = await cost(world, SampleListRequest(TermFilter(all=(TagTerm("x", "1"),))), 500)
    assert meter.sizes == [504]


async def test_the_lack_of_a_key_costs_what_the_lack_of_a_value_does() -> None:
    world = world_of(x=range(10_000), y=range(10_000, 10_100))
    asked = [TermFilter(without_keys=frozenset("x")), TermFilter(none=(TagTerm("x", "1"),))]
    (without, paid), (none, other) = [
        await cost(world, SampleListRequest(one), 20) for one in asked
    ]
    assert without == none
    assert without.ids == tuple(map(numbered_id, range(10_000, 10_020)))
    assert (paid.sizes, paid.units, paid.counts) == (other.sizes, other.units, other.counts)


async def test_a_key_that_is_lacked_is_no_beginning_of_another() -> None:
    world = World()
    for number, tags in enumerate(({"x": "a"}, {"x": "b#c"}, {"xy": "a"}, {}, {"y": "x"})):
        world.put(numbered_id(number), tags, frozenset({"/"}))
    asked = SampleListRequest(TermFilter(without_keys=frozenset({"x"})))
    found, _ = await cost(world, asked, 20)
    assert found.ids == tuple(map(numbered_id, (2, 3, 4)))


async def test_one_way_to_have_any_is_a_tag_like_all_others() -> None:
    world = world_of(x=range(10_000), y=range(0, 10_000, 2_000))
    wanted = TermFilter(all=(TagTerm("x", "1"),), any=(TagTerm("y", "1"),))
    found, meter = await cost(world, SampleListRequest(wanted), 20)
    assert found == SearchPage(
        tuple(map(numbered_id, range(0, 10_000, 2_000))), numbered_id(8_000), more=False
    )
    assert (meter.reads, meter.depth) == (2, 1)


async def test_a_value_means_itself_and_what_is_below_it_and_not_what_begins_alike() -> None:
    world = World()
    for number, value in enumerate(("a", "a#b", "a#b#c", "a2", "a b", "b#a")):
        world.put(numbered_id(number), {"x": value}, frozenset({"/"}))
    found, _ = await cost(world, SampleListRequest(TermFilter(none=(TagTerm("x", "a"),))), 20)
    assert found.ids == tuple(map(numbered_id, (3, 4, 5)))
    found, _ = await cost(world, SampleListRequest(TermFilter(none=(TagTerm("x", "a#b"),))), 20)
    assert found.ids == tuple(map(numbered_id, (0, 3, 4, 5)))


async def test_a_tag_and_one_below_it_are_one_condition() -> None:
    world = World()
    for number in range(100):
        world.put(numbered_id(number), {"x": "a#b" if number % 2 else "a"}, frozenset({"/"}))
    both = TermFilter(all=(TagTerm("x", "a"), TagTerm("x", "a#b")))
    found, meter = await cost(world, SampleListRequest(both), 3)
    assert found.ids == tuple(map(numbered_id, (1, 3, 5)))
    assert [one for _, one, _ in meter.rows] == [TagTerm("x", "a#b")] * 12
    either = TermFilter(any=(TagTerm("x", "a#b"), TagTerm("x", "a"), TagTerm("x", "a")))
    found, meter = await cost(world, SampleListRequest(either), 3)
    assert found.ids == tuple(map(numbered_id, range(3)))
    assert meter.reads == 1


async def test_two_values_of_one_key_are_known_to_exclude_each_other() -> None:
    world = world_of(x=range(1_000))
    impossible = TermFilter(all=(TagTerm("x", "1"), TagTerm("x", "2")))
    found, meter = await cost(world, SampleListRequest(impossible), 20, after=numbered_id(7))
    assert found == SearchPage((), numbered_id(7), more=False)
    assert meter.requests == 0


async def test_any_of_several_tags_reads_each_and_lists_common_carriers_once() -> None:
    world = world_of(x=range(0, 3_000, 2), y=range(0, 3_000, 3))
    either = TermFilter(any=(TagTerm("x", "1"), TagTerm("y", "1")))
    found, meter = await cost(world, SampleListRequest(either), 20)
    assert found.ids == tuple(
        map(numbered_id, [n for n in range(100) if n % 2 == 0 or n % 3 == 0][:20])
    )
    assert (meter.reads, meter.counts, meter.depth) == (2, 0, 1)


async def test_a_group_without_a_filter_is_read_once_whether_or_not_more_follows() -> None:
    world = world_of(x=range(21))
    for limit, more in ((20, True), (21, False), (22, False)):
        found, meter = await cost(world, SampleListRequest(TermFilter()), limit)
        assert (len(found.ids), found.more) == (min(limit, 21), more)
        assert meter.requests == 1


def bursts(start: int) -> list[int]:
    """Six thousand numbers below 60,000, in bursts of 200; another start gives other numbers."""
    return [base + n for base in range(start, 60_000, 2_000) for n in range(200)]


async def test_bursts_that_avoid_each_other_are_skipped() -> None:
    world = world_of(x=bursts(0), y=bursts(1_000))
    found, meter = await cost(world, SampleListRequest(all_of("x", "y")), 20)
    assert found == SearchPage((), found.examined, more=False)
    assert meter.units == 69.0
    assert world.units_of_reading_all(all_of("x"), ("/",)) == 234.5


def scattered_numbers(count: int, step: int) -> list[int]:
    return [n * step % 200_003 for n in range(count)]


async def test_no_combination_of_sizes_costs_more_than_reading_every_tag() -> None:
    lists = {
        "a": scattered_numbers(10, 7_919),
        "b": scattered_numbers(10, 104_729),
        "c": scattered_numbers(1_000, 7_919),
        "d": scattered_numbers(1_000, 15_485),
        "e": scattered_numbers(20_000, 99_991),
        "f": scattered_numbers(20_000, 31_337),
    }
    world = world_of(**lists)
    for names in (names for n in (2, 3, 4) for names in combinations(lists, n)):
        wanted = all_of(*names)
        for limit in (20, 1_000):
            found, meter = await cost(world, SampleListRequest(wanted), limit)
            assert list(found.ids) == expected_ids(world, SampleListRequest(wanted))[:limit]
            plain = world.units_of_reading_all(wanted, ("/",))
            assert meter.units <= plain, (names, limit)
            if names[0] == "a" and names[-1] in "ef":
                assert meter.units * 50 <= plain, (names, limit)


async def test_carriers_in_other_groups_change_nothing() -> None:
    world = world_of(x=range(0, 1_000, 10), y=range(1_000))
    alone = await cost(world, SampleListRequest(all_of("x", "y")), 20)
    for number in range(2_000, 4_000):
        world.put(numbered_id(number), {"x": "1", "y": "1"}, frozenset({"/usa"}))
    together = await cost(world, SampleListRequest(all_of("x", "y")), 20)
    assert alone == together


async def test_a_group_that_is_far_ahead_waits_for_the_others() -> None:
    world = World()
    for number in range(2_000):
        world.put(numbered_id(number), {"x": "1"} if number % 50 == 0 else {}, frozenset({"/usa"}))
    for number in range(5_000, 25_000):
        world.put(numbered_id(number), {"x": "1"}, frozenset({"/"}))
    unwanted = TermFilter(none=(TagTerm("x", "1"), TagTerm("y", "1")))
    found, meter = await cost(world, SampleListRequest(unwanted, groups=("/", "/usa")), 1_000)
    assert len(found.ids) == 1_000
    read = [group for group, _, _ in meter.rows]
    assert read.count("/usa") < 1_100
    assert read.count("/") == 1_008


async def test_a_group_read_past_the_last_match_of_the_page_waits() -> None:
    world = World()
    for number in range(100):
        world.put(numbered_id(100 * number), {}, frozenset({"/"}))
        world.put(numbered_id(1_950 + number - 23), {"x": "1"}, frozenset({"/usa"}))
    asked = SampleListRequest(TermFilter(none=(TagTerm("x", "1"),)), groups=("/", "/usa"))
    found, meter = await cost(world, asked, 20)
    assert found == SearchPage(
        tuple(map(numbered_id, range(0, 2_000, 100))), numbered_id(1_900), more=True
    )
    assert meter.sizes == [24, 24]


async def test_groups_are_read_in_the_same_rounds() -> None:
    world = World()
    for number in range(3_000):
        world.put(numbered_id(number), {}, frozenset({GROUPS[number % 3]}))
    found, meter = await cost(world, SampleListRequest(TermFilter(), groups=GROUPS), 20)
    assert found.ids == tuple(map(numbered_id, range(20)))
    assert (meter.reads, meter.depth) == (3, 1)


async def test_the_callers_own_measure_ends_a_search_between_rounds() -> None:
    world = world_of(x=range(0, 5_000, 2), y=range(1, 5_000, 2))
    budget = SearchBudget(UNLIMITED, UNLIMITED, stop=lambda: world.meter.units >= 3.0)
    found = await page_of(world, SampleListRequest(all_of("x", "y")), None, 20, budget)
    assert found.ids == ()
    assert found.more
    assert numbered_id(0) < str(found.examined) < numbered_id(1_000)
    assert world.meter.depth == 2
