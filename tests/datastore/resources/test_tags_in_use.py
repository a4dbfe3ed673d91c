"""The tag keys and values in use, with exact counts."""

import asyncio
from dataclasses import replace
from functools import partial

import pytest

from penstock.datastore.records import TagKey, TagValue
from penstock.datastore.roles import ROOT, GroupPath, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    TREE,
    USA,
    caller,
    create_groups,
    make,
    on_sqlite,
    tags,
    walk,
    without_moto,
)


async def keys(
    session: Session, group: GroupPath, size: int = 1, *, backward: bool = False
) -> list[tuple[str, str, int | None]]:
    found: list[TagKey] = await walk(
        partial(session.pipelines.tags.keys, group), size, backward=backward
    )
    return [(key.key, key.label, key.count) for key in found]


async def values(
    session: Session,
    group: GroupPath,
    key: str,
    parent: str | None = None,
    size: int = 1,
    *,
    backward: bool = False,
) -> list[tuple[str, str, int | None, bool]]:
    found: list[TagValue] = await walk(
        partial(session.pipelines.tags.values, key, parent, group), size, backward=backward
    )
    assert {value.key for value in found} <= {key.strip().lower()}
    return [(value.value, value.label, value.count, value.has_children) for value in found]


async def test_keys_and_values_are_counted_along_the_chain(store: Store) -> None:
    session = await create_groups(store)
    await make(session, USA, "one", "Material=Wood/Oak", "size=10")
    await make(session, NORTHWEST, "two", "material=wood", "Colour=Red")
    await make(session, SOUTH, "three", "material=Wood/Pine")
    assert await keys(session, USA) == [("material", "Material", 1), ("size", "size", 1)]
    assert await keys(session, NORTHWEST) == [
        ("colour", "Colour", 1),
        ("material", "Material", 2),
        ("size", "size", 1),
    ]
    assert await values(session, NORTHWEST, "material") == [("wood", "Wood", 2, True)]
    assert await values(session, NORTHWEST, "Material ", "WOOD") == [("wood/oak", "Oak", 1, False)]
    assert await values(session, SOUTH, "material", "wood") == [
        ("wood/oak", "Oak", 1, False),
        ("wood/pine", "Pine", 1, False),
    ]
    assert await values(session, EU, "material") == []
    assert await keys(session, ROOT) == []
    assert await faults(store.table) == []


@on_sqlite
@pytest.mark.parametrize("size", [1, 2, 3, 100])
async def test_pages_of_any_size_give_the_same_lists_in_both_directions(
    store: Store, size: int
) -> None:
    session = await create_groups(store)
    written = ["z=1", "a:b=1", "a=x/y#z", "a=x/b%c", "ä=1", "m=x"]
    for n, text in enumerate(written):
        await make(session, (ROOT, USA, NORTHWEST)[n % 3], f"n{n}", text)
    expected = [("a", 2), ("a:b", 1), ("m", 1), ("z", 1), ("ä", 1)]
    below = ["x/b%c", "x/y#z"]
    for backward in (False, True):
        found = await keys(session, NORTHWEST, size, backward=backward)
        # Reserved characters are written with `%`, which comes before letters.
        assert [(key, count) for key, _, count in found] == expected
        listed = await values(session, NORTHWEST, "a", "x", size, backward=backward)
        assert [value for value, *_ in listed] == below
        assert await values(session, NORTHWEST, "a:b", None, size) == [("1", "1", 1, False)]


@on_sqlite
async def test_a_key_that_begins_another_is_listed_apart(store: Store) -> None:
    session = await create_groups(store, *TREE, GroupPath("/usa2"))
    await make(session, USA, "one", "a=1", "ab=1", "a b=1")
    await make(session, GroupPath("/usa2"), "two", "a=2", "c=2")
    assert [key for key, *_ in await keys(session, USA)] == ["a", "a b", "ab"]
    assert await values(session, USA, "a") == [("1", "1", 1, False)]
    assert await values(session, USA, "a", "1") == []


@on_sqlite
async def test_a_value_that_begins_another_has_children_of_its_own(store: Store) -> None:
    session = await create_groups(store)
    for n, text in enumerate(["m=wood/oak", "m=wooden/leg", "m=wood%/x", "m=wood:y/z"]):
        await make(session, USA, f"n{n}", text)
    assert await values(session, USA, "m", "wood") == [("wood/oak", "oak", 1, False)]
    assert await values(session, USA, "m", "wooden") == [("wooden/leg", "leg", 1, False)]
    assert await values(session, USA, "m", "woo") == []


@on_sqlite
async def test_a_page_that_holds_all_there_is_says_so(store: Store) -> None:
    session = await create_groups(store)
    await make(session, USA, "one", "a=x", "b=x")
    await make(session, NORTHWEST, "two", "a=y", "c=x")
    lists = session.pipelines.tags
    for backward in (False, True):
        exact = await lists.keys(NORTHWEST, Window(size=3, backward=backward))
        assert (len(exact.entries), exact.more) == (3, False)
        less = await lists.keys(NORTHWEST, Window(size=2, backward=backward))
        assert (len(less.entries), less.more) == (2, True)
        both = await lists.values("a", None, NORTHWEST, Window(size=2, backward=backward))
        assert (len(both.entries), both.more) == (2, False)


@on_sqlite
async def test_labels_are_kept_as_first_given_until_the_count_is_zero(store: Store) -> None:
    session = await create_groups(replace(store, shards=1))
    first = await make(session, USA, "one", "Material=Wood/Oak")
    await make(session, USA, "two", "MATERIAL=WOOD/OAK")
    assert await keys(session, USA) == [("material", "Material", 2)]
    assert await values(session, USA, "material", "wood") == [("wood/oak", "Oak", 2, False)]
    await session.pipelines.deleting.delete(first.id)
    assert await keys(session, USA) == [("material", "Material", 1)]
    second = await session.pipelines.reading.by_name("two", USA)
    await session.pipelines.writing.update(second.id, 1, {"tags": ()})
    assert await keys(session, USA) == []
    await session.pipelines.writing.update(second.id, 2, {"tags": tags("mateRIAL=x")})
    assert await keys(session, USA) == [("material", "mateRIAL", 1)]
    assert await faults(store.table) == []


async def test_the_label_of_many_shards_is_the_first_given_of_those_in_use(store: Store) -> None:
    session = await create_groups(replace(store, shards=8))
    spellings = ["Wood", "WOOD", "wOOd", "wooD", "WooD", "woOD"]
    places = [*zip([USA, NORTHWEST] * 3, spellings, strict=True)]
    made = [
        await make(session, group, f"p{n}", f"{spelling}={spelling}/Oak")
        for n, (group, spelling) in enumerate(places)
    ]
    for backward in (False, True):
        assert await keys(session, NORTHWEST, backward=backward) == [("wood", "Wood", 6)]
    rows = [(group, one.shard) for one, (group, _) in zip(made, places, strict=True)]
    givers = {row: n for n, row in [*enumerate(rows)][::-1]}
    for gone, one in enumerate(made[:-1]):
        await session.pipelines.deleting.delete(one.id)
        label = spellings[min(givers[row] for row in rows[gone + 1 :])]
        left = len(made) - gone - 1
        assert await keys(session, NORTHWEST) == [("wood", label, left)]
        assert await values(session, NORTHWEST, "wood") == [("wood", label, left, True)]
    assert await faults(store.table) == []


async def test_counts_follow_every_change_and_vanish_at_zero(store: Store) -> None:
    session = await create_groups(store)
    one = await make(session, USA, "one", "m=a/b")
    two = await make(session, USA, "two", "m=a")
    assert await values(session, USA, "m") == [("a", "a", 2, True)]
    await session.pipelines.writing.update(one.id, 1, {"tags": tags("m=a")})
    assert await values(session, USA, "m") == [("a", "a", 2, False)]
    assert await values(session, USA, "m", "a") == []
    assert await faults(store.table) == []
    await session.pipelines.writing.update(one.id, 2, {"tags": tags("m=a/c", "n=x")})
    await session.pipelines.writing.grant(two.id, EU)
    assert await values(session, EU, "m") == [("a", "a", 1, False)]
    assert await faults(store.table) == []
    await session.pipelines.writing.revoke(two.id, EU)
    assert await keys(session, EU) == []
    for pipeline in (one, two):
        await session.pipelines.deleting.delete(pipeline.id)
        assert await faults(store.table) == []
    assert [key for key in await contents(store.table) if key.pk.startswith("T")] == []


@on_sqlite
async def test_the_root_counts_only_what_is_granted_to_the_root(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "one", "m=a")
    assert await keys(session, ROOT) == []
    await session.pipelines.writing.grant(made.id, ROOT)
    assert await keys(session, ROOT) == await keys(session, EU) == [("m", "m", 1)]


@on_sqlite
async def test_a_page_goes_on_behind_a_key_that_is_gone_by_then(store: Store) -> None:
    session = await create_groups(store)
    made = [await make(session, USA, f"n{n}", f"k{n}=v") for n in range(4)]
    first = await session.pipelines.tags.keys(USA, Window(size=2))
    await session.pipelines.deleting.delete(made[1].id)
    await make(session, USA, "new", "k0a=v", "k2a=v")
    rest = await session.pipelines.tags.keys(USA, Window(size=5, after=first.reached))
    assert [key.key for _, key in rest.entries] == ["k2", "k2a", "k3"]
    assert not rest.more


@on_sqlite
async def test_a_reader_below_sees_the_counts_of_the_groups_above(store: Store) -> None:
    session = await create_groups(store)
    await make(session, USA, "one", "m=a")
    reader = store.open_session(caller({NORTHWEST: Role.READER}))
    assert await keys(reader, NORTHWEST) == await keys(reader, USA) == [("m", "m", 1)]


@without_moto
async def test_concurrent_changes_of_tags_keep_the_counts_exact(store: Store) -> None:
    session = await create_groups(store, USA)
    made = [await make(session, USA, f"n{n}", "m=a/b", f"k=v{n}") for n in range(4)]
    writing = session.pipelines.writing
    await asyncio.gather(
        writing.update(made[0].id, 1, {"tags": ()}),
        writing.update(made[1].id, 1, {"tags": tags("m=a")}),
        writing.update(made[2].id, 1, {"tags": tags("m=b", "k=v3")}),
        session.pipelines.deleting.delete(made[3].id),
    )
    assert await values(session, USA, "m") == [("a", "a", 1, False), ("b", "b", 1, False)]
    assert await faults(store.table) == []
