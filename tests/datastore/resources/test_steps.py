"""Writes that are too large for one transaction: their steps, cut short at each of them."""

from asyncio import gather
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock.datastore.errors import LimitExceeded, NotFound, VersionConflict
from penstock.datastore.records import Resource
from penstock.datastore.roles import ROOT, GroupPath
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import GRANT, PIPELINE, KindDefinition
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Delete, Item, Key, Put
from penstock.datastore.tag_search.tags import MAX_TAGS, TagFilter
from tests.datastore.resources.large_resources import OF_GROUPS
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    SUPER,
    USA,
    create_groups,
    draft_of,
    each_kind,
    make,
    make_of,
    names_in,
    names_of,
    on_sqlite,
    open_one_shard,
    tags,
    without_moto,
)
from tests.support.stores import TWO
from tests.support.table_interceptors import CutOffTable, TracedTable, dies

FIVE = tuple(GroupPath(f"/g{n}") for n in range(5))
WIDEST = [f"k{n}=a/b/c/d" for n in range(MAX_TAGS)]
WIDE = [f"k{n}=a/b" for n in range(25)]
"""The rows of one group take 130 operations."""

Write = Callable[[Session], Awaitable[object]]


@without_moto
async def test_as_many_tags_as_promised_of_four_levels_in_five_groups_take_every_write(
    store: Store,
) -> None:
    session = await create_groups(store, *FIVE)
    writing = session.pipelines.writing
    made = await writing.create(FIVE[0], draft_of(PIPELINE, "Smelt", *WIDEST), None)
    for group in FIVE[1:]:
        made, _ = await writing.grant(made.id, group)
    assert made.groups == FIVE
    assert await faults(store.table) == []
    changed = [*WIDEST[:-1], "k49=a/b/x"]
    made = await writing.update(made.id, 1, {"tags": tags(*changed)})
    assert await faults(store.table) == []
    for group in FIVE:
        for tag, names in (("k49=a/b/x", ["Smelt"]), ("k49=a/b", ["Smelt"]), ("k49=a/b/c", [])):
            assert await names_in(session, group, tags=TagFilter(all=tags(tag))) == names
    made = await writing.revoke(made.id, FIVE[4])
    assert made.groups == FIVE[:4]
    assert await names_in(session, FIVE[4]) == []
    assert await faults(store.table) == []
    await session.pipelines.deleting.delete(made.id)
    assert await faults(store.table) == []
    for group in FIVE:
        await session.groups.delete(group)


@on_sqlite
async def test_what_fits_a_hundred_operations_is_one_transaction(store: Store) -> None:
    store = await open_one_shard(store)
    session, traced = store.open_session(SUPER), TracedTable(store.table)
    writing = replace(store, table=traced).open_session(SUPER).pipelines.writing
    # Latest, version, claim, marker, list, grant, word, group, quotas, log: 10.
    # Each tag: its key, and two for each level.
    exact = [*(f"k{n}=v" for n in range(27)), "l=a/b/c/d"]
    over = [*(f"k{n}=v" for n in range(28)), "l=a/b/c/d"]
    await writing.create(USA, draft_of(PIPELINE, "one", *exact), None)
    assert traced.seen == (1, 1, 2)
    traced.start()
    made = await writing.create(USA, draft_of(PIPELINE, "two", *over), None)
    # The record with its marker, the marker, 95 operations and the marker's removal.
    assert traced.seen == (2, 2, 4)
    assert await faults(store.table) == []
    traced.start()
    # The record says that it was written in steps: whether any is left is read once more.
    await writing.update(made.id, 1, {"description": "new"})
    assert traced.seen == (3, 1, 4)
    traced.start()
    await writing.update(made.id, 2, {"description": "newer"})
    assert traced.seen == (2, 1, 3)
    assert (await session.pipelines.reading.one(made.id)).version == 3


async def cut_off(store: Store, writes: int, write: Write) -> bool:
    """Write in a process that dies after so many writes; return whether it died."""
    session = replace(store, table=CutOffTable(store.table, writes)).open_session(SUPER)
    return await dies(write(session))


async def make_wide(session: Session, kind: KindDefinition[Any]) -> Any:
    """Make a resource in two groups whose rows take three transactions."""
    made = await make_of(session, kind, NORTHWEST, "Smelt", *WIDE)
    made, _ = await session.repository(kind).writing.grant(made.id, EU)
    return made


def revoke(kind: KindDefinition[Any], made: Resource, group: GroupPath = EU) -> Write:
    return lambda session: session.repository(kind).writing.revoke(made.id, group)


async def found_by(
    session: Session, kind: KindDefinition[Any], group: GroupPath, *tagged: str
) -> list[str]:
    listing = {"tags": TagFilter(all=tags(*tagged))}
    return await names_of(session, kind, group, **listing)


@each_kind
@without_moto
async def test_a_revoke_ends_access_with_its_first_transaction(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store)
    made = await make_wide(session, kind)
    assert await cut_off(store, 1, revoke(kind, made))
    now = await session.repository(kind).reading.one(made.id)
    assert now.groups == (NORTHWEST,)
    for listed in ({}, {"include_child_groups": True}):
        assert await names_of(session, kind, EU, **listed) == []
    for tagged in (["k0=a"], ["k0=a", "k1=a/b"]):
        assert await found_by(session, kind, EU, *tagged) == []
        assert await found_by(session, kind, NORTHWEST, *tagged) == ["Smelt"]
    with pytest.raises(NotFound):
        await session.repository(kind).reading.by_name("Smelt", EU)
    # The name is free there, and another resource may have it.
    await make_of(session, kind, EU, "Smelt", "k0=a")
    assert await found_by(session, kind, EU, "k0=a") == ["Smelt"]
    keys = await session.repository(kind).tags.keys(EU, Window(size=50))
    assert (len(keys.entries), keys.entries[0][1].count) == (25, 2)
    assert await store.count_pending_deletes() == 1
    assert await store.finish_deletes() == 1
    assert await store.count_pending_deletes() == 0
    assert await faults(store.table) == []
    keys = await session.repository(kind).tags.keys(EU, Window(size=50))
    assert [(entry.key, entry.count) for _, entry in keys.entries] == [("k0", 1)]


def new_tags(kind: KindDefinition[Any], made: Resource) -> Write:
    changed = tags(*(f"k{n}=x/y" for n in range(20, 45)))
    return lambda session: session.repository(kind).writing.update(
        made.id, made.version, {"tags": changed}
    )


WRITES: dict[str, Callable[[KindDefinition[Any], Any], Write]] = {
    "create": lambda kind, _: lambda session: make_of(session, kind, SOUTH, "New", *WIDE),
    "update": new_tags,
    "grant": lambda kind, made: (
        lambda session: session.repository(kind).writing.grant(made.id, SOUTH)
    ),
    "revoke": lambda kind, made: (
        lambda session: session.repository(kind).writing.revoke(made.id, EU)
    ),
    "delete": lambda kind, made: lambda session: session.repository(kind).deleting.delete(made.id),
}


@pytest.mark.parametrize(
    ("name", "implementation"),
    [*((name, "sqlite") for name in WRITES), ("update", TWO[1])],
    indirect=["implementation"],
)
async def test_a_write_that_is_cut_off_anywhere_is_finished_or_never_happened(
    store: Store, name: str
) -> None:
    store = await open_one_shard(store)
    session, kind = store.open_session(SUPER), PIPELINE
    deaths = 0
    while True:
        made = await make_wide(session, kind)
        before = await contents(store.table)
        if not await cut_off(store, deaths, WRITES[name](kind, made)):
            break
        if deaths == 0:
            assert await contents(store.table) == before
        assert await store.finish_deletes() == min(deaths, 1)
        assert await faults(store.table) == []
        assert await store.finish_deletes() == 0
        await delete_all(store)
        deaths += 1
    assert await faults(store.table) == []
    assert deaths >= 3


async def keys_beside_groups(store: Store) -> list[Key]:
    return [key for key in await contents(store.table) if not key.pk.startswith(OF_GROUPS)]


async def delete_all(store: Store) -> None:
    session = store.open_session(SUPER)
    for key in await contents(store.table):
        if key.sk == PIPELINE.latest.sk.fill({}):
            await session.pipelines.deleting.delete(key.pk.partition(":")[2])
    assert [key for key in await contents(store.table) if not key.pk.startswith(OF_GROUPS)] == []


@on_sqlite
async def test_an_update_never_hides_what_matches_before_and_after(store: Store) -> None:
    session = await create_groups(store)
    made = await make_wide(session, PIPELINE)
    update = new_tags(PIPELINE, made)
    either = TagFilter(any=tags("k3=a", "k40=x"))
    gone, none = TagFilter(all=tags("k3=a")), TagFilter(none=tags("k40=x"))
    assert await names_in(session, EU, tags=either) == ["Smelt"]
    assert await names_in(session, EU, tags=none) == ["Smelt"]
    for writes in range(1, 9):
        died = await cut_off(store, writes, update)
        assert await names_in(session, EU, tags=either) == ["Smelt"]
        assert await names_in(session, EU, tags=gone) == []
        assert await names_in(session, EU, tags=none) == []
        assert await names_in(session, EU) == ["Smelt"]
        if not died:
            return
        await store.finish_deletes()
        assert await found_by(session, PIPELINE, EU, "k40=x/y", "k41=x") == ["Smelt"]
        now = await session.pipelines.reading.one(made.id)
        back = await session.pipelines.writing.update(made.id, now.version, {"tags": tags(*WIDE)})
        update = new_tags(PIPELINE, back)
    raise AssertionError("the update has no end")


@on_sqlite
async def test_a_revoke_above_the_owner_never_hides_what_the_owner_keeps(store: Store) -> None:
    session = await create_groups(store)
    made = await make_of(session, PIPELINE, NORTHWEST, "Smelt", *WIDE)
    await session.pipelines.writing.grant(made.id, USA)
    for writes in range(1, 9):
        died = await cut_off(store, writes, revoke(PIPELINE, made, USA))
        assert await found_by(session, PIPELINE, NORTHWEST, "k0=a", "k1=a") == ["Smelt"]
        assert await found_by(session, PIPELINE, NORTHWEST, "k0=a", "k1=b") == []
        assert await found_by(session, PIPELINE, USA, "k0=a", "k1=a") == []
        if not died:
            return
        await store.finish_deletes()
        assert await faults(store.table) == []
        await session.pipelines.writing.grant(made.id, USA)
    raise AssertionError("the revoke has no end")


@on_sqlite
async def test_writes_queue_behind_an_unfinished_one_and_a_revoke_does_not_wait(
    store: Store,
) -> None:
    session = await create_groups(store)
    made = await make_wide(session, PIPELINE)
    assert await cut_off(store, 2, new_tags(PIPELINE, made))
    assert await cut_off(store, 1, revoke(PIPELINE, made))
    assert await names_in(session, EU) == []
    assert await store.count_pending_deletes() == 2
    with pytest.raises(VersionConflict):
        await session.pipelines.writing.update(made.id, 1, {"tags": ()})
    # A write that leaves no postings or counts to change has no steps of its own.
    assert await cut_off(
        store, 1, lambda each: each.pipelines.writing.update(made.id, 2, {"description": "new"})
    )
    assert await store.count_pending_deletes() == 2
    now = await session.pipelines.writing.update(made.id, 3, {"tags": tags("k0=a")})
    assert (now.version, now.groups, now.description) == (4, (NORTHWEST,), "new")
    assert await store.count_pending_deletes() == 0
    assert await faults(store.table) == []
    assert await found_by(session, PIPELINE, NORTHWEST, "k0=a") == ["Smelt"]


@each_kind
@on_sqlite
async def test_a_delete_behind_an_unfinished_write_hides_at_once_and_leaves_nothing(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store)
    made = await make_wide(session, kind)
    assert await cut_off(store, 2, new_tags(kind, made))
    assert await cut_off(store, 1, lambda each: each.repository(kind).deleting.delete(made.id))
    with pytest.raises(NotFound):
        await session.repository(kind).reading.one(made.id)
    for group in (NORTHWEST, EU):
        assert await names_of(session, kind, group) == []
    assert await store.finish_deletes() == 2
    assert await faults(store.table) == []
    assert [key for key in await contents(store.table) if not key.pk.startswith(OF_GROUPS)] == []


@on_sqlite
async def test_several_may_finish_one_write_together(store: Store) -> None:
    session = await create_groups(store)
    made = await make_wide(session, PIPELINE)
    assert await cut_off(store, 1, new_tags(PIPELINE, made))
    await gather(*(Store(store.table).finish_deletes() for _ in range(4)))
    assert await store.count_pending_deletes() == 0
    assert await faults(store.table) == []


@without_moto
async def test_of_large_writes_at_once_each_is_whole_or_refused(store: Store) -> None:
    session = await create_groups(store)
    made = await make_wide(session, PIPELINE)
    answers = await gather(
        *(new_tags(PIPELINE, made)(Store(store.table).open_session(SUPER)) for _ in range(3)),
        session.pipelines.writing.grant(made.id, SOUTH),
        session.pipelines.writing.revoke(made.id, EU),
        return_exceptions=True,
    )
    assert sum(isinstance(answer, VersionConflict) for answer in answers) == 2
    assert sum(isinstance(answer, Exception) for answer in answers) == 2
    now = await session.pipelines.reading.one(made.id)
    assert (now.version, {*now.groups}) == (2, {NORTHWEST, SOUTH})
    assert await faults(store.table) == []


@on_sqlite
async def test_a_page_is_full_although_what_was_revoked_is_still_posted(store: Store) -> None:
    session = await create_groups(store)
    kept = [await make(session, EU, f"kept {n}", "k0=a") for n in range(2)]
    for n in range(3):
        made = await make_of(session, PIPELINE, NORTHWEST, f"gone {n}", *WIDE)
        await session.pipelines.writing.grant(made.id, EU)
        assert await cut_off(store, 1, revoke(PIPELINE, made))
    last = await make(session, EU, "kept 2", "k0=a")
    assert await names_in(session, EU, tags=TagFilter(all=tags("k0=a"))) == [
        *(one.name for one in kept),
        last.name,
    ]


@on_sqlite
async def test_a_grant_that_replaces_too_many_is_refused_as_a_whole(store: Store) -> None:
    below = [GroupPath(f"/usa/g{n}") for n in range(50)]
    session = await create_groups(store, USA, *below)
    made = await make(session, below[0], "Smelt", "k=v")
    for group in below[1:]:
        await session.pipelines.writing.grant(made.id, group)
    before = await contents(store.table)
    with pytest.raises(LimitExceeded) as refused:
        await session.pipelines.writing.grant(made.id, USA)
    assert (refused.value.limit, refused.value.maximum) == ("operations of a transaction", 100)
    assert await contents(store.table) == before


@on_sqlite
async def test_tags_of_an_earlier_release_on_too_many_postings_are_not_trusted(
    store: Store,
) -> None:
    session = await create_groups(store)
    made = await make(session, EU, "Smelt", *(f"k{n}=a" for n in range(17)))
    stale: Item = {"tags": {f"k{n}": "a" for n in range(1, 18)}}
    rows = await contents(store.table)
    old = [{**row, **stale} for key, row in rows.items() if key.pk.startswith("T:")]
    await store.table.write([Put(row) for row in old])
    assert await found_by(session, PIPELINE, EU, "k0=a", "k1=a") == ["Smelt"]
    assert await found_by(session, PIPELINE, EU, "k1=a", "k17=a") == []
    both = TagFilter(all=tags("k0=a"), none=tags("k1=a"))
    assert await names_of(session, PIPELINE, ROOT, tags=both, include_child_groups=True) == []
    # Where the grant went after its posting was read, the record decides.
    await store.table.transact([Delete(GRANT.key(kind="P", id=made.id, group=EU))])
    assert await found_by(session, PIPELINE, EU, "k0=a", "k1=a") == ["Smelt"]
    assert await found_by(session, PIPELINE, EU, "k0=a", "k17=a") == []
