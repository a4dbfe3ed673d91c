"""Deleting with any number of versions, grants and tags, also when it is interrupted."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from penstock.datastore.errors import NotFound, VersionConflict
from penstock.datastore.roles import GroupPath
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import KindDefinition
from tests.datastore.resources.large_resources import (
    add_versions,
    assert_gone,
    cut_short,
    make_tag_laden,
    make_widely_granted,
    own_rows,
    remaining_rows,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    SOUTH,
    SUPER,
    USA,
    create_groups,
    each_kind,
    make_of,
    on_sqlite,
    tags,
    without_moto,
)
from tests.support.table_interceptors import CutOffTable, InterruptedTable, ProcessDied


@each_kind
async def test_what_is_deleted_leaves_nothing_behind(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store)
    made = await make_of(session, kind, USA, "Smelt", "m=a/b")
    for version in range(1, 4):
        made = await session.repository(kind).writing.update(
            made.id, version, {"tags": tags(f"m={version}")}
        )
    made, _ = await session.repository(kind).writing.grant(made.id, EU)
    assert await session.repository(kind).deleting.delete(made.id, 4) == made
    await assert_gone(session, kind, made.id)
    assert await remaining_rows(store.table) == []
    assert await faults(store.table) == []


@each_kind
@on_sqlite
async def test_deleting_what_a_caller_read_earlier_is_a_conflict(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store)
    made = await make_of(session, kind, USA, "Smelt")
    await session.repository(kind).writing.update(made.id, 1, {"name": "Forge"})
    before = await contents(store.table)
    with pytest.raises(VersionConflict) as refused:
        await session.repository(kind).deleting.delete(made.id, 1)
    assert refused.value.current_version == 2
    assert await contents(store.table) == before


@each_kind
@on_sqlite
async def test_a_delete_that_an_update_overtakes_starts_over(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store)
    made = await make_of(session, kind, USA, "Smelt", "k=v")

    async def overtake() -> None:
        await session.repository(kind).writing.update(made.id, 1, {"tags": tags("k=w", "l=x")})

    late = replace(store, table=InterruptedTable(store.table, overtake)).open_session(SUPER)
    assert (await late.repository(kind).deleting.delete(made.id)).version == 2
    assert await remaining_rows(store.table) == []
    assert await faults(store.table) == []


@each_kind
@on_sqlite
async def test_a_delete_with_a_version_in_mind_that_an_update_overtakes_is_a_conflict(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store)
    made = await make_of(session, kind, USA, "Smelt", "k=v")

    async def overtake() -> None:
        await session.repository(kind).writing.update(made.id, 1, {"tags": ()})

    late = replace(store, table=InterruptedTable(store.table, overtake)).open_session(SUPER)
    with pytest.raises(VersionConflict):
        await late.repository(kind).deleting.delete(made.id, 1)
    assert (await session.repository(kind).reading.one(made.id)).version == 2
    assert await faults(store.table) == []


@each_kind
@pytest.mark.parametrize("versions", [1, 40, 93, 94, 95, 96, 1000])
@on_sqlite
async def test_any_number_of_versions_is_deleted(
    store: Store, kind: KindDefinition[Any], versions: int
) -> None:
    session = await create_groups(store)
    made = await add_versions(store, kind, await make_of(session, kind, USA, "Smelt"), versions)
    other = await make_of(session, kind, USA, "Cast", "k=v")
    assert made.version == versions
    assert await faults(store.table) == []
    assert await session.repository(kind).deleting.delete(made.id) == made
    gone, there = await session.repository(kind).reading.many([made.id, other.id])
    assert isinstance(gone, NotFound)
    assert there == other
    assert await own_rows(store.table, kind) == {f"{kind.letter}:{other.id}"}
    assert await faults(store.table) == []


@each_kind
@without_moto
async def test_more_than_a_transaction_holds_is_deleted_behind_a_tombstone(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store)
    made = await make_widely_granted(session, kind)
    assert len(made.groups) == 3
    await session.repository(kind).deleting.delete(made.id)
    await assert_gone(session, kind, made.id)
    assert await remaining_rows(store.table) == []
    assert await faults(store.table) == []


@each_kind
@on_sqlite
async def test_a_single_grant_with_more_tags_than_a_transaction_holds_is_deleted(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store)
    made = await make_tag_laden(session, kind)
    assert len(made.tags) == 47
    await session.repository(kind).deleting.delete(made.id)
    assert await remaining_rows(store.table) == []
    assert await faults(store.table) == []


async def assert_name_is_free(session: Session, kind: KindDefinition[Any]) -> None:
    for group in (USA, EU):
        renamed = await make_of(session, kind, group, "Smelt")
        assert await session.repository(kind).reading.by_name("Smelt", group) == renamed
        await session.repository(kind).deleting.delete(renamed.id)


@each_kind
@on_sqlite
async def test_a_delete_cut_short_anywhere_is_finished_later_and_hides_the_rest_at_once(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store)
    unfinished = []
    for writes in range(20):
        made = await add_versions(store, kind, await make_widely_granted(session, kind), 60)
        before = await contents(store.table)
        if not await cut_short(store, kind, made, writes):
            break
        if await contents(store.table) == before:
            assert await store.finish_deletes() == 0
            await session.repository(kind).deleting.delete(made.id)
        else:
            unfinished.append(writes)
            await assert_gone(session, kind, made.id)
            await assert_name_is_free(session, kind)
            assert await store.finish_deletes() == 1
        assert await remaining_rows(store.table) == []
        assert await faults(store.table) == []
        assert await store.finish_deletes() == 0
    # Two burials, each tried twice as counters reach zero, three batches of versions, the tomb.
    assert writes == 8
    assert unfinished == [2, 3, 4, 5, 6, 7]


@each_kind
@on_sqlite
async def test_a_sweep_cut_short_again_and_again_gets_to_the_end(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store)
    made = await add_versions(store, kind, await make_widely_granted(session, kind), 60)
    assert await cut_short(store, kind, made, 2)
    for _ in range(3):
        try:
            assert await replace(store, table=CutOffTable(store.table, 4)).finish_deletes() == 1
        except ProcessDied:
            await assert_gone(session, kind, made.id)
        else:
            break
    assert await remaining_rows(store.table) == []
    assert await faults(store.table) == []


@each_kind
@without_moto
async def test_two_sweeps_at_once_take_everything_away_once(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store)
    other = await make_of(session, kind, SOUTH, "Cast", "k0=a/b")
    for writes in (2, 4):
        made = await add_versions(store, kind, await make_widely_granted(session, kind), 30)
        assert await cut_short(store, kind, made, writes)
        await asyncio.gather(*(replace(store).finish_deletes() for _ in range(3)))
        await store.finish_deletes()
        assert await own_rows(store.table, kind) == {f"{kind.letter}:{other.id}"}
        assert await faults(store.table) == []


@each_kind
@without_moto
async def test_what_several_delete_at_once_is_deleted_once(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store)
    made = await make_widely_granted(session, kind)
    outcomes = await asyncio.gather(
        *(store.open_session(SUPER).repository(kind).deleting.delete(made.id) for _ in range(4)),
        return_exceptions=True,
    )
    assert [outcome for outcome in outcomes if isinstance(outcome, kind.record)] == [made]
    assert sum(isinstance(outcome, NotFound) for outcome in outcomes) == 3
    assert await remaining_rows(store.table) == []
    assert await faults(store.table) == []


@each_kind
@on_sqlite
async def test_what_has_a_hundred_names_is_deleted(store: Store, kind: KindDefinition[Any]) -> None:
    groups = [GroupPath(f"/g{n:03}") for n in range(100)]
    session = await create_groups(store, *groups)
    made = await make_of(session, kind, groups[0], "Smelt")
    for group in groups[1:]:
        made, _ = await session.repository(kind).writing.grant(made.id, group)
    assert await faults(store.table) == []
    await session.repository(kind).deleting.delete(made.id)
    assert await remaining_rows(store.table) == []
    assert await faults(store.table) == []
