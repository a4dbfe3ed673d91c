"""Counters in shards stay exact, however the number of shards changes, and in old tables."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastore.errors import IllegalState, NotFound
from penstock.datastore.groups.rows import count_group
from penstock.datastore.records import GroupCounts
from penstock.datastore.roles import GroupPath
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.datastore.table.counters import choose_shard
from penstock.datastore.table.port import Key
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SUPER,
    USA,
    create_groups,
    make,
    on_sqlite,
    tags,
    walk,
    without_moto,
)

UNSHARDED = 0
"""In place of a number of shards: the resource is written as an earlier release wrote it."""

CITIES = ("x", "x-y", "x y", "x/a", "x/a b", "é")


@pytest.fixture
def forget_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a store of `UNSHARDED` write resources as an earlier release did."""
    choose = choose_shard
    monkeypatch.setattr(
        "penstock.datastore.resources.writing.writer.choose_shard",
        lambda made, shards: choose(made, shards) if shards else 0,
    )


async def tag_counts(
    store: Store, size: int, *, backward: bool = False
) -> list[tuple[str, int | None, int]]:
    """Walk the keys, and the values of `m`, in pages of a size."""
    lists = store.open_session(SUPER).pipelines.tags
    keys = await walk(partial(lists.keys, NORTHWEST), size, backward=backward)
    found = [(key.key, key.count, 0) for key in keys]
    for above in (None, "x"):
        values = await walk(partial(lists.values, "m", above, NORTHWEST), size, backward=backward)
        found += [(value.value, value.count, value.deeper) for value in values]
    return found


def test_the_shard_of_an_id_is_always_the_same_and_all_shards_are_used() -> None:
    ids = [f"018f3b6e-0000-7000-8000-{n:012}" for n in range(400)]
    shards = [choose_shard(id, 4) for id in ids]
    assert shards == [choose_shard(id, 4) for id in ids]
    assert {shard: 80 < shards.count(shard) < 120 for shard in shards} == dict.fromkeys(
        range(1, 5), True
    )
    assert choose_shard("018f3b6e-0000-7000-8000-000000000001", 4) == 3


async def test_what_a_resource_added_is_taken_from_its_own_shard(store: Store) -> None:
    session = await create_groups(store)
    made = [await make(session, USA, f"n{n}", "m=x/a", "k=1") for n in range(8)]
    rows = await contents(store.table)
    assert {key.sk for key in rows if key.pk == "GC:/usa"} == {f"GC:{one.shard:02}" for one in made}
    assert Key("TA:/usa:m", f"TA:P:01:x\x01{made[0].shard:02}") in rows
    assert await session.groups.count(USA) == GroupCounts(children=2, grants=8)
    await session.pipelines.writing.grant(made[0].id, EU)
    changed = await session.pipelines.writing.update(made[1].id, 1, {"tags": tags("m=x")})
    assert changed.shard == made[1].shard
    assert await faults(store.table) == []
    for one in made:
        await session.pipelines.deleting.delete(one.id)
    rows = await contents(store.table)
    assert [key for key in rows if key.pk.startswith("TA:")] == []
    assert await session.groups.count(USA) == GroupCounts(children=2, grants=0)
    assert await faults(store.table) == []


@on_sqlite
@pytest.mark.parametrize("size", [1, 2, 3, 100])
async def test_pages_of_any_size_end_between_values_and_never_between_shards(
    store: Store, size: int, forget_shards: None
) -> None:
    await create_groups(store)
    for n in range(40):
        writer = replace(store, shards=(UNSHARDED, 8)[n % 2]).open_session(SUPER)
        await make(writer, (USA, NORTHWEST)[n % 3 == 0], f"n{n}", f"m={CITIES[n % 6]}", "x-y=1")
    expected = [
        ("m", 40, 0),
        ("x-y", 40, 0),
        ("x", 20, 13),
        ("x y", 7, 0),
        ("x-y", 7, 0),
        ("é", 6, 0),
        ("x/a", 7, 0),
        ("x/a b", 6, 0),
    ]
    assert await tag_counts(store, size) == expected
    assert await tag_counts(store, size, backward=True) == expected
    assert await tag_counts(replace(store, shards=1), size) == expected
    assert await faults(store.table) == []


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["create", "delete", "grant", "revoke", "tag"]),
        st.integers(0, 9),
        st.sampled_from([1, 2, 5, 64]),
    ),
    max_size=12,
)


@settings(max_examples=25)
@given(STEPS)
def test_growing_and_shrinking_the_number_of_shards_drifts_no_count(
    steps: Sequence[tuple[str, int, int]],
) -> None:
    async def run() -> None:
        with TemporaryDirectory() as folder:
            table = SqliteTable.open(Path(folder) / "table.sqlite")
            await table.create()
            store = Store(table)
            await create_groups(store, USA, EU)
            held: list[str] = []
            for number, (step, which, shards) in enumerate(steps):
                await take_step(replace(store, shards=shards), held, f"n{number}", step, which)
            assert await faults(table) == []
            assert (await count_group(table, USA)).grants == len(held)
            await table.close()

    asyncio.run(run())


async def take_step(store: Store, held: list[str], name: str, step: str, which: int) -> None:
    """Make one write with a store of so many shards; `held` are the ids of the resources."""
    session = store.open_session(SUPER)
    if step == "create" or not held:
        held.append((await make(session, USA, name, "m=a/b")).id)
        return
    id = held[which % len(held)]
    now = await session.pipelines.reading.one(id)
    if step == "delete":
        await session.pipelines.deleting.delete(id)
        held.remove(id)
    elif step == "grant":
        await session.pipelines.writing.grant(id, EU)
    elif step == "revoke" and EU in now.groups:
        await session.pipelines.writing.revoke(id, EU)
    elif step == "tag":
        await session.pipelines.writing.update(id, now.version, {"tags": tags(f"m=t{which}")})


async def test_resources_of_an_earlier_release_keep_exact_counts(
    store: Store, forget_shards: None
) -> None:
    earlier = await create_groups(replace(store, shards=UNSHARDED))
    old = [await make(earlier, USA, f"old{n}", "m=x/a") for n in range(3)]
    rows = await contents(store.table)
    assert rows[Key("G:/", "G:/usa")]["grants"] == 3
    assert rows[Key("TA:/usa:m", "TA:P:01:x")]["count"] == 3
    assert [key for key in rows if key.pk.startswith("GC:") or "\x01" in key.sk] == []
    session = store.open_session(SUPER)
    new = [await make(session, USA, f"new{n}", "m=x/a") for n in range(3)]
    assert await session.groups.count(USA) == GroupCounts(children=2, grants=6)
    assert await tag_counts(store, 1) == [("m", 6, 0), ("x", 6, 6), ("x/a", 6, 0)]
    await session.pipelines.writing.grant(old[0].id, EU)
    await session.pipelines.writing.update(old[1].id, 1, {"tags": tags("m=y")})
    assert await faults(store.table) == []
    for one in (*old, *new):
        await session.pipelines.deleting.delete(one.id)
    assert await tag_counts(store, 1) == []
    await session.groups.delete(EU)
    assert await faults(store.table) == []


@on_sqlite
async def test_a_group_with_anything_in_any_shard_is_not_empty(store: Store) -> None:
    session = await create_groups(replace(store, shards=16), EU)
    made = [await make(session, EU, f"n{n}") for n in range(6)]
    for one in made:
        before = await contents(store.table)
        with pytest.raises(IllegalState, match="is not empty"):
            await session.groups.delete(EU)
        assert await contents(store.table) == before
        await session.pipelines.deleting.delete(one.id)
    await session.groups.delete(EU)
    rows = await contents(store.table)
    assert [key for key in rows if key.pk == "GC:/eu" or key.sk == "G:/eu"] == []
    with pytest.raises(NotFound, match="There is no group /eu"):
        await make(session, EU, "late")
    assert await contents(store.table) == rows


@without_moto
@pytest.mark.parametrize("round", range(6))
async def test_creation_and_deletion_of_a_group_end_in_one_of_two_outcomes(
    store: Store, round: int
) -> None:
    session = await create_groups(store)
    group = GroupPath("/eu/raced")
    await session.groups.create(group, None)
    if round % 2:
        # Half of the time the group has shards already.
        for n in range(4):
            gone = await make(session, group, f"gone{n}")
            await session.pipelines.deleting.delete(gone.id)
    calls = [make(session, group, f"n{n}") for n in range(6)]
    outcomes = await asyncio.gather(
        *calls[: round + 1],
        session.groups.delete(group),
        *calls[round + 1 :],
        return_exceptions=True,
    )
    deleted = outcomes.pop(min(round + 1, 6))
    failures = [one for one in outcomes if isinstance(one, BaseException)]
    if isinstance(deleted, BaseException):
        assert isinstance(deleted, IllegalState)
        assert (await session.groups.count(group)).grants == 6 - len(failures)
        assert failures == []
    else:
        assert {type(one) for one in failures} == {NotFound}
        assert len(failures) == 6
    assert await faults(store.table) == []
