"""Lists of a group, of a subtree and of everything, filtered by tags, a page at a time."""

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from penstock.datastore.access.access import Budget
from penstock.datastore.errors import Invalid, LimitExceeded, NotFound
from penstock.datastore.records import Pipeline, State
from penstock.datastore.resources.reading import FILTERED_AT_ONCE, ListRequest
from penstock.datastore.roles import ROOT, GroupPath, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Slice, Window
from penstock.datastore.tag_search.tags import TagFilter
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    SUPER,
    TREE,
    USA,
    caller,
    create_groups,
    make,
    names_in,
    on_sqlite,
    tags,
    walk,
    without_moto,
)

USA2 = GroupPath("/usa2")
CITY = GroupPath("/usa/northwest/city")


async def pages(
    session: Session, listed: ListRequest, size: int = 1, *, backward: bool = False
) -> list[str]:
    found: list[Pipeline] = await walk(
        partial(session.pipelines.listing.page, listed), size, backward=backward
    )
    return [pipeline.name for pipeline in found]


def by_tags(**terms: str) -> TagFilter:
    """A filter from texts like `m=a/b n=c`."""
    parts: dict[str, Any] = {name: tags(*text.split()) for name, text in terms.items()}
    return TagFilter(**parts)


async def tagged_pipeline(store: Store) -> Session:
    session = await create_groups(store)
    for group, name, text in (
        (USA, "one", "m=a/b n=x"),
        (USA, "two", "m=a"),
        (NORTHWEST, "three", "m=a/b/c n=y"),
        (NORTHWEST, "four", "m=ab n=x"),
        (SOUTH, "five", "m=a n=x"),
        (EU, "six", "m=a/b n=x"),
        (USA, "seven", ""),
    ):
        await make(session, group, name, *text.split())
    return session


@pytest.mark.parametrize(
    ("terms", "found"),
    [
        ({}, ["one", "two", "three", "four", "seven"]),
        ({"all": "m=a"}, ["one", "two", "three"]),
        ({"all": "M=A/B"}, ["one", "three"]),
        ({"all": "m=a/b/c"}, ["three"]),
        ({"all": "m=a n=x"}, ["one"]),
        ({"all": "m=a m=a/b"}, ["one", "three"]),
        ({"all": "m=a m=ab"}, []),
        ({"all": "m=zzz"}, []),
        ({"any": "n=x n=y"}, ["one", "three", "four"]),
        ({"any": "m=ab m=a/b"}, ["one", "three", "four"]),
        ({"any": "n=x"}, ["one", "four"]),
        ({"none": "m=a"}, ["four", "seven"]),
        ({"none": "m=a/b n=x"}, ["two", "seven"]),
        ({"all": "m=a", "none": "n=y"}, ["one", "two"]),
        ({"all": "m=a", "any": "n=y n=x"}, ["one", "three"]),
        ({"any": "m=a m=ab", "none": "n=x"}, ["two", "three"]),
        ({"all": "m=a", "any": "n=x n=y", "none": "m=a/b/c"}, ["one"]),
    ],
)
@on_sqlite
async def test_a_filter_finds_what_carries_all_and_any_and_none(
    store: Store, terms: dict[str, str], found: list[str]
) -> None:
    session = await tagged_pipeline(store)
    listed = ListRequest(group=NORTHWEST, tags=by_tags(**terms), newest_first=False)
    for size in (1, 2, 20):
        assert await pages(session, listed, size) == found
        assert await pages(session, listed, size, backward=True) == found
    newest = ListRequest(group=NORTHWEST, tags=by_tags(**terms))
    assert await pages(session, newest) == found[::-1]
    assert await pages(session, newest, backward=True) == found[::-1]


async def test_a_list_by_tags_is_the_same_on_every_store(store: Store) -> None:
    session = await create_groups(store, USA, EU)
    for group, name, text in ((USA, "one", "m=a/b n=x"), (USA, "two", "m=a"), (EU, "three", "m=a")):
        await make(session, group, name, *text.split())
    for terms, found in (
        ({}, ["one", "two"]),
        ({"all": "m=a"}, ["one", "two"]),
        ({"all": "m=a n=x"}, ["one"]),
        ({"none": "n=x"}, ["two"]),
    ):
        listed = ListRequest(group=USA, tags=by_tags(**terms))
        assert await pages(session, listed) == found[::-1]
        assert await pages(session, listed, backward=True) == found[::-1]
    everything = ListRequest(group=ROOT, include_child_groups=True)
    assert await pages(session, everything, 2) == ["three", "two", "one"]


@on_sqlite
async def test_a_group_lists_what_it_inherits_and_not_what_lies_beside_or_below(
    store: Store,
) -> None:
    session = await create_groups(store, *TREE, USA2, CITY)
    for group, name in ((ROOT, "r"), (USA, "u"), (USA2, "u2"), (NORTHWEST, "n"), (CITY, "c")):
        await make(session, group, name)
    assert await names_in(session, ROOT) == ["r"]
    assert await names_in(session, USA) == ["r", "u"]
    assert await names_in(session, USA2) == ["r", "u2"]
    assert await names_in(session, CITY) == ["r", "u", "n", "c"]
    assert await names_in(session, SOUTH) == ["r", "u"]


@on_sqlite
async def test_child_groups_are_included_without_repeating_what_several_grant(store: Store) -> None:
    session = await tagged_pipeline(store)
    made = await make(session, NORTHWEST, "eight", "m=a/b")
    for group in (SOUTH, EU):
        await session.pipelines.writing.grant(made.id, group)
    usa = ["one", "two", "three", "four", "five", "seven", "eight"]
    for size in (1, 3, 50):
        for backward in (False, True):
            listed = ListRequest(group=USA, include_child_groups=True, newest_first=False)
            assert await pages(session, listed, size, backward=backward) == usa
            ab = ListRequest(
                group=ROOT, include_child_groups=True, newest_first=False, tags=by_tags(all="m=a/b")
            )
            found = await pages(session, ab, size, backward=backward)
            assert found == ["one", "three", "six", "eight"]


@on_sqlite
async def test_readers_of_the_root_list_all_whatever_it_is_granted_to(store: Store) -> None:
    session = await tagged_pipeline(store)
    gone = await make(session, EU, "gone")
    await session.pipelines.deleting.delete(gone.id)
    listed = ListRequest(group=ROOT, include_child_groups=True, newest_first=False)
    reader = store.open_session(caller({ROOT: Role.READER}))
    whole = ["one", "two", "three", "four", "five", "six", "seven"]
    for size in (1, 20):
        for backward in (False, True):
            assert await pages(reader, listed, size, backward=backward) == whole
    unwanted = ListRequest(
        group=ROOT, include_child_groups=True, newest_first=False, tags=by_tags(none="m=a/b")
    )
    assert await pages(reader, unwanted) == ["two", "four", "five", "seven"]


@on_sqlite
async def test_listing_all_spans_any_number_of_groups_but_a_subtree_does_not(store: Store) -> None:
    await tagged_pipeline(store)
    session = Store(store.table, list_budget=Budget(groups=2)).open_session(SUPER)
    assert len(await pages(session, ListRequest(group=ROOT, include_child_groups=True), 20)) == 7
    with pytest.raises(LimitExceeded) as refused:
        await pages(session, ListRequest(group=USA, include_child_groups=True))
    assert refused.value.path == ["group"]


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        ({"all": "m=a"}, ["one", "two", "three", "five", "six"]),
        ({"all": "m=a/b n=x"}, ["one", "six"]),
        ({"any": "n=x n=y", "none": "m=a/b/c"}, ["one", "four", "five", "six"]),
        ({"none": "m=a"}, ["four", "seven"]),
    ],
)
@on_sqlite
async def test_tags_find_resources_of_more_groups_than_one_list_spans(
    store: Store, terms: dict[str, str], names: list[str]
) -> None:
    await tagged_pipeline(store)
    session = Store(store.table, list_budget=Budget(groups=2)).open_session(SUPER)
    listed = ListRequest(
        group=ROOT, include_child_groups=True, tags=by_tags(**terms), newest_first=False
    )
    for size in (1, 20):
        assert await pages(session, listed, size) == names
        assert await pages(session, listed, size, backward=True) == names


@pytest.mark.parametrize("child_groups", [False, True])
@on_sqlite
async def test_a_caller_lists_from_above_only_what_lies_on_their_own_lines(
    store: Store, child_groups: bool
) -> None:
    session = await tagged_pipeline(store)
    await make(session, ROOT, "root")
    below = store.open_session(caller({SOUTH: Role.READER}))
    listed = ListRequest(group=USA, include_child_groups=child_groups, newest_first=False)
    inherited = ["one", "two", "five", "seven", "root"]
    expected = inherited if child_groups else [name for name in inherited if name != "five"]
    assert await pages(below, listed) == expected
    whole = ListRequest(group=ROOT, include_child_groups=True, newest_first=False)
    assert await pages(below, whole) == inherited
    first = await below.pipelines.listing.page(whole, Window(size=3))
    assert [pipeline.name for _, pipeline in first.entries] == inherited[:3]


@pytest.mark.parametrize("child_groups", [False, True])
@on_sqlite
async def test_a_group_that_is_not_there_or_not_to_be_known_is_not_found(
    store: Store, child_groups: bool
) -> None:
    session = await tagged_pipeline(store)
    page = session.pipelines.listing.page
    with pytest.raises(NotFound, match="There is no group /xyz"):
        await page(
            ListRequest(group=GroupPath("/xyz"), include_child_groups=child_groups), Window()
        )
    stranger = store.open_session(caller({EU: Role.ADMIN})).pipelines.listing.page
    with pytest.raises(NotFound, match="There is no group /usa"):
        await stranger(ListRequest(group=USA, include_child_groups=child_groups), Window())


@on_sqlite
async def test_a_filter_that_no_tag_could_match_is_refused(store: Store) -> None:
    session = await tagged_pipeline(store)
    with pytest.raises(Invalid):
        await pages(session, ListRequest(group=USA, tags=by_tags(all="m=a//b")))


@on_sqlite
async def test_cursors_survive_what_is_made_and_deleted_between_pages(store: Store) -> None:
    session = await create_groups(store)
    made = [await make(session, (USA, NORTHWEST)[n % 2], f"n{n}", "m=a") for n in range(8)]
    listed = ListRequest(group=NORTHWEST, tags=by_tags(all="m=a"), newest_first=False)
    page = session.pipelines.listing.page
    first = await page(listed, Window(size=3))
    assert [pipeline.name for _, pipeline in first.entries] == ["n0", "n1", "n2"]
    for gone in (made[2], made[3]):
        await session.pipelines.deleting.delete(gone.id)
    await session.pipelines.writing.update(made[4].id, 1, {"tags": ()})
    await make(session, USA, "new", "m=a")
    rest = await page(listed, Window(size=9, after=first.reached))
    assert [pipeline.name for _, pipeline in rest.entries] == ["n5", "n6", "n7", "new"]
    back = await page(listed, Window(size=9, after=first.reached, backward=True))
    assert [pipeline.name for _, pipeline in back.entries] == ["n0", "n1"]


BUDGETS = [Budget(rounds=1), Budget(reads=1), Budget(units=0.5)]


@pytest.mark.parametrize("budget", BUDGETS, ids=["rounds", "reads", "units"])
@pytest.mark.parametrize(
    "terms", [{"all": "m=a n=a"}, {"none": "far=no"}, {"any": "m=a n=a", "none": "far=no"}]
)
@on_sqlite
async def test_a_page_cut_short_by_its_budget_goes_on_without_loss(
    store: Store, budget: Budget, terms: dict[str, str]
) -> None:
    session = await create_groups(store)
    for n in range(90):
        # Those wanted lie at both ends; between them no tag alone tells that there are none.
        between = ("m=a" if n % 2 else "n=a", "far=no")
        carried = ("m=a", "n=a") if n in (0, 1, 88, 89) else between
        await make(session, (USA, NORTHWEST)[n % 4 // 2], f"n{n}", *carried)
    limited = Store(store.table, list_budget=budget).open_session(SUPER).pipelines.listing.page
    listed = ListRequest(group=NORTHWEST, tags=by_tags(**terms), newest_first=False)
    short = 0

    async def count_query(window: Window) -> Slice[Pipeline]:
        nonlocal short
        page = await limited(listed, window)
        short += page.more and len(page.entries) < window.size
        return page

    for size in (1, 3, 4):
        for backward in (False, True):
            found = await walk(count_query, size, backward=backward)
            assert [pipeline.name for pipeline in found] == ["n0", "n1", "n88", "n89"]
    assert short > 0


@without_moto
async def test_a_list_longer_than_any_page_read_is_whole(store: Store) -> None:
    session = await create_groups(store, USA)
    names = [f"n{n:02}" for n in range(30)]
    for name in names:
        await make(session, USA, name, "m=a")
    for terms in ({}, {"all": "m=a"}):
        listed = ListRequest(group=USA, tags=by_tags(**terms))
        assert await pages(session, listed, 7) == names[::-1]
        assert await pages(session, listed, 30, backward=True) == names[::-1]


async def test_lists_are_narrowed_by_state_and_owner(store: Store) -> None:
    session = await tagged_pipeline(store)
    ids = {one.name: one.id for one in await everything(session)}
    for name, state in (("two", State.FROZEN), ("three", State.FROZEN), ("six", State.DISABLED)):
        await session.pipelines.writing.update(ids[name], 1, {"state": state})
    below = ListRequest(group=ROOT, include_child_groups=True, newest_first=False)
    cases: tuple[tuple[dict[str, Any], list[str]], ...] = (
        ({"states": (State.FROZEN,)}, ["two", "three"]),
        ({"states": (State.DISABLED, State.FROZEN)}, ["two", "three", "six"]),
        ({"owner": NORTHWEST}, ["three", "four"]),
        ({"owner": USA, "states": (State.ENABLED,)}, ["one", "seven"]),
        ({"owner": CITY}, []),
        ({"owner": USA, "tags": by_tags(all="m=a")}, ["one", "two"]),
        ({"states": (State.FROZEN,), "tags": by_tags(none="n=y")}, ["two"]),
        ({"tags": TagFilter(without_keys=(" N ",))}, ["two", "seven"]),
        ({"tags": TagFilter(all=tags("m=a"), without_keys=("n",))}, ["two"]),
        ({"tags": TagFilter(without_keys=("m", "n"))}, ["seven"]),
        (
            {"group": NORTHWEST, "include_child_groups": False, "owner": USA},
            ["one", "two", "seven"],
        ),
    )
    for wanted, found in cases:
        listed = replace(below, **wanted)
        for size in (1, 2, 10):
            for backward in (False, True):
                assert await pages(session, listed, size, backward=backward) == found, wanted
        counted = await session.pipelines.tag_counter.count_keys(listed)
        keys = [key for _, key in (await counted.keys(Window(size=10))).entries]
        tagged = [one for one in await everything(session) if one.name in found]
        expected = Counter(tag.key for one in tagged for tag in one.tags)
        assert {tag.key: tag.count for tag in keys} == expected, wanted
    reader = store.open_session(caller({EU: Role.READER}))
    assert await pages(reader, ListRequest(group=EU, owner=USA)) == []
    with pytest.raises(NotFound):
        await pages(reader, replace(below, group=USA, owner=USA))


async def everything(session: Session) -> list[Pipeline]:
    listed = ListRequest(group=ROOT, include_child_groups=True)
    return await walk(partial(session.pipelines.listing.page, listed), 10)


@on_sqlite
async def test_a_rare_owner_is_found_within_the_budget_of_each_page(store: Store) -> None:
    session = await create_groups(store)
    await make(session, EU, "rare")
    for number in range(FILTERED_AT_ONCE + 5):
        await make(session, USA, f"p{number}")
    tight = Store(store.table, files=store.files, list_budget=Budget(units=3)).open_session(SUPER)
    listed = ListRequest(group=ROOT, include_child_groups=True, owner=EU)
    assert await pages(tight, listed) == ["rare"]
    page = await tight.pipelines.listing.page(listed, Window(size=1))
    assert (page.entries, page.more) == ((), True)
