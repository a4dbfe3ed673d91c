"""The tags of the resources that a filter matches, with counts that a plain reading confirms."""

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from random import Random

import pytest

from penstock.datastore import text
from penstock.datastore.access.access import Budget
from penstock.datastore.errors import Invalid, NotFound
from penstock.datastore.name_search.words import NameFilter
from penstock.datastore.records import TagKey, TagValue
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import ROOT, GroupPath, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.tag_search.tags import tag_map
from tests.datastore.resources.test_listing import by_tags, tagged_pipeline
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    SUPER,
    USA,
    caller,
    create_groups,
    make,
    on_sqlite,
    walk,
)

Keys = list[tuple[str, int | None]]
Values = list[tuple[str, int | None, bool]]


async def count_keys(
    session: Session, listed: ListRequest, size: int = 1, *, backward: bool = False
) -> Keys:
    counted = await session.pipelines.tag_counter.count_keys(listed)
    found: list[TagKey] = await walk(counted.keys, size, backward=backward)
    return [(key.key, key.count) for key in found]


async def count_values(
    session: Session, listed: ListRequest, key: str, parent: str | None = None, size: int = 1
) -> Values:
    counted = await session.pipelines.tag_counter.count_values(listed, key, parent)
    found: list[TagValue] = await walk(partial(counted.values, key), size)
    return [(value.value, value.count, value.has_children) for value in found]


def in_group(group: GroupPath, *, below: bool = False, **terms: str) -> ListRequest:
    return ListRequest(group=group, tags=by_tags(**terms), include_child_groups=below)


async def test_keys_and_values_are_counted_under_a_filter(store: Store) -> None:
    session = await tagged_pipeline(store)
    metal = in_group(NORTHWEST, all="m=a")
    assert await count_keys(session, metal) == [("m", 3), ("n", 2)]
    assert await count_keys(session, metal, backward=True) == [("m", 3), ("n", 2)]
    assert await count_values(session, metal, "n") == [("x", 1, False), ("y", 1, False)]
    assert await count_values(session, metal, "M") == [("a", 3, True)]
    assert await count_values(session, metal, "m", "A") == [("a/b", 2, True)]
    assert await count_values(session, metal, "m", "a/b") == [("a/b/c", 1, False)]
    assert await count_values(session, metal, "absent") == []
    assert await count_keys(session, in_group(NORTHWEST, all="m=zzz")) == []


async def test_child_groups_are_counted_once_and_only_where_they_are_seen(store: Store) -> None:
    session = await tagged_pipeline(store)
    made = await make(session, NORTHWEST, "eight", "m=a")
    for group in (SOUTH, EU):
        await session.pipelines.writing.grant(made.id, group)
    below = in_group(ROOT, below=True, all="m=a")
    assert await count_keys(session, below) == [("m", 6), ("n", 4)]
    assert await count_values(session, below, "n") == [("x", 3, False), ("y", 1, False)]
    south = store.open_session(caller({SOUTH: Role.READER}))
    # The groups above are on one line with theirs, but the northwest is not.
    assert await count_keys(south, in_group(USA, below=True, all="m=a")) == [("m", 4), ("n", 2)]
    everything = in_group(ROOT, below=True)
    assert await count_keys(session, everything) == [("m", 7), ("n", 5)]


async def test_a_stranger_learns_nothing(store: Store) -> None:
    await tagged_pipeline(store)
    stranger = store.open_session(caller({EU: Role.ADMIN}))
    with pytest.raises(NotFound):
        await stranger.pipelines.tag_counter.count_keys(in_group(NORTHWEST, all="m=a"))
    with pytest.raises(NotFound):
        await stranger.pipelines.tag_counter.count_keys(in_group(GroupPath("/gone"), all="m=a"))
    assert await count_keys(stranger, in_group(EU, all="m=a")) == [("m", 1), ("n", 1)]


async def test_what_a_revoke_or_a_delete_took_is_not_counted(store: Store) -> None:
    session = await create_groups(store)
    one = await make(session, USA, "one", "m=a", "n=x")
    two = await make(session, USA, "two", "m=a")
    await session.pipelines.writing.grant(one.id, EU)
    listed = in_group(EU, all="m=a")
    assert await count_keys(session, listed) == [("m", 1), ("n", 1)]
    await session.pipelines.writing.revoke(one.id, EU)
    assert await count_keys(session, listed) == []
    await session.pipelines.deleting.delete(two.id, None)
    assert await count_keys(session, in_group(USA, all="m=a")) == [("m", 1), ("n", 1)]


async def test_a_label_is_that_of_the_earliest_match(store: Store) -> None:
    session = await create_groups(store)
    await make(session, USA, "zero", "MATERIAL=METAL")
    await make(session, USA, "one", "Material=Metal / STEEL", "n=x")
    await make(session, USA, "two", "material=metal/steel", "N=X")
    listed = in_group(USA, all="n=x")
    counted = await session.pipelines.tag_counter.count_keys(listed)
    keys = await counted.keys(Window())
    assert [(one.key, one.label) for _, one in keys.entries] == [
        ("material", "Material"),
        ("n", "n"),
    ]
    values = await session.pipelines.tag_counter.count_values(listed, "MATERIAL", "metal")
    ((_, steel),) = (await values.values("MATERIAL", Window())).entries
    assert (steel.key, steel.value, steel.label) == ("material", "metal/steel", "STEEL")


async def test_tags_that_no_posting_carries_are_counted(store: Store) -> None:
    session = await create_groups(store)
    many = [f"k{n:02}=v" for n in range(20)]
    await make(session, USA, "many", "m=a", *many)
    await make(session, USA, "few", "m=a", "k00=v")
    found = await count_keys(session, in_group(USA, all="m=a"), 100)
    assert found == [("k00", 2), *((f"k{n:02}", 1) for n in range(1, 20)), ("m", 2)]


@on_sqlite
async def test_a_count_costs_what_the_postings_of_its_matches_cost(store: Store) -> None:
    session = await create_groups(store)
    for number in range(60):
        await make(session, USA, f"p{number}", "m=a", f"n=x{number % 2}")
    reading = store.open_session(SUPER)
    await count_keys(reading, in_group(USA, all="m=a"), 20)
    # Two streams of the chain with 60 small rows in one of them, the group, and one label.
    assert (reading.units.rcu, reading.units.calls) == (3.0, 4)


async def test_a_count_under_a_name_costs_one_grant_of_each_match(store: Store) -> None:
    session = await create_groups(store)
    for number in range(20):
        large = " ".join(f"k{key}=v" for key in range(17)) if number == 3 else "m=a"
        made = await make(session, USA, f"solar plant {number}", *large.split())
        await session.pipelines.writing.grant(made.id, EU)
        await make(session, USA, f"wind {number}", "m=b")
    reading = store.open_session(SUPER)
    named = replace(in_group(ROOT, below=True), name=NameFilter(starts_with="SOLAR"))
    found = await count_keys(reading, named, 50)
    assert found == sorted([("m", 19), *((f"k{key}", 1) for key in range(17))])
    # Half a unit for a grant of each of the 20 matches; the rest finds groups, words and labels.
    assert (reading.units.rcu, reading.units.calls) == (17.0, 12)


async def test_a_name_that_no_row_carries_is_counted_by_its_record(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await create_groups(store)
    with monkeypatch.context() as earlier_release:
        earlier_release.setattr(text, "growth_problem", lambda _: None)
        await make(session, USA, "solar s" + "ﷺ" * 30, "m=a")
    await make(session, USA, "solar short", "m=a", "n=x")
    long = replace(in_group(USA, all="m=a"), name=NameFilter(starts_with="solar s"))
    assert await count_keys(session, long) == [("m", 2), ("n", 1)]
    longer = replace(long, name=NameFilter(starts_with="solar sﷺ"))
    assert await count_keys(session, longer) == [("m", 1)]


@on_sqlite
async def test_where_the_budget_ends_there_are_no_counts(store: Store) -> None:
    session = await create_groups(store)
    for number in range(60):
        await make(session, USA, f"p{number}", "m=a", f"n=x{number % 2}")
    listed = in_group(USA, all="m=a n=x1")
    assert await count_values(session, listed, "n") == [("x1", 30, False)]
    poor = replace(store, list_budget=Budget(rounds=1)).open_session(SUPER)
    counted = await poor.pipelines.tag_counter.count_values(listed, "n", None)
    assert not counted.is_complete
    (entry,) = (await counted.values("n", Window())).entries
    assert (entry[1].value, entry[1].count) == ("x1", None)


@on_sqlite
async def test_bad_filters_and_keys_are_refused(store: Store) -> None:
    session = await create_groups(store)
    counter = session.pipelines.tag_counter
    with pytest.raises(Invalid):
        await counter.count_keys(in_group(USA, all=" ".join(f"k{n}=v" for n in range(21))))
    with pytest.raises(Invalid):
        await counter.count_values(in_group(USA, all="m=a"), "k" * 1_000, None)


TERMS = ("m=a", "m=a/b", "n=b", "n=ab", "o=a")
CHANCE = Random(7)


@on_sqlite
async def test_counts_are_those_of_a_plain_reading(store: Store) -> None:
    session = await create_groups(store)
    for number in range(25):
        keys = CHANCE.sample("mno", CHANCE.randint(0, 3))
        tags = [f"{key}={CHANCE.choice(('a', 'a/b', 'a/b/c', 'ab', 'b'))}" for key in keys]
        made = await make(session, CHANCE.choice((USA, NORTHWEST, SOUTH)), f"p{number}", *tags)
        if CHANCE.random() < 0.3:
            await session.pipelines.writing.grant(made.id, EU)
    names = (None, NameFilter(starts_with="p1"), NameFilter(contains="p2"))
    pairs = [" ".join(terms) for size in range(3) for terms in combinations(TERMS, size)]
    for all, none, name in product(pairs, ("", *TERMS), names):
        group = CHANCE.choice((USA, ROOT))
        listed = replace(in_group(group, below=True, all=all, none=none), name=name)
        matches = await walk(partial(session.pipelines.listing.page, listed), 50)
        sets = [tag_map(one.tags) for one in matches]
        expected = sorted(Counter(key for tags in sets for key in tags).items())
        assert await count_keys(session, listed, 2) == expected
        below = Counter("/".join(tags["m"].split("#")[:2]) for tags in sets if "m" in tags)
        found = await count_values(session, listed, "m", "a")
        assert [(value, count) for value, count, _ in found] == sorted(
            (value, count) for value, count in below.items() if value.startswith("a/")
        )
