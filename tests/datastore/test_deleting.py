"""Deleting with any number of versions, grants and tags, also when it is cut short."""

import asyncio

import pytest

from datastore.errors import NotFound, VersionConflict
from datastore.items import version_item
from datastore.layout import PIPELINE
from datastore.paths import ROOT, GroupPath
from datastore.records import Pipeline
from datastore.resources.listing import Listed
from datastore.slices import Window
from datastore.store import Store, View
from datastore.table import Key, Table, Update
from tests.datastore.recount import contents, faults
from tests.datastore.samples import store as put_all
from tests.datastore.watched import Cut, Died, Interrupted
from tests.datastore.world import (
    EU,
    NORTHWEST,
    SOUTH,
    SUPER,
    USA,
    grow,
    make,
    names_in,
    on_sqlite,
    tags,
    without_moto,
)

GRANTED = [NORTHWEST, SOUTH, EU]


async def aged(store: Store, made: Pipeline, versions: int) -> Pipeline:
    """Give the pipeline so many versions, without the trouble of the updates."""
    items = [
        {**version_item(PIPELINE, made), **PIPELINE.version.item(id=made.id, version=version)}
        | {"version": version}
        for version in range(2, versions + 1)
    ]
    if items:
        await put_all(store.table, items)
    await store.table.transact(
        [Update(key=PIPELINE.latest.key(id=made.id), set={"version": versions})]
    )
    return await store.seen_by(SUPER).pipelines.reading.one(made.id, consistent=True)


async def laden(view: View) -> Pipeline:
    """Make a pipeline whose tags alone are too many for one transaction, a few at a time."""
    made = await make(view, NORTHWEST, "Smelt")
    for n in (12, 24, 32, 38, 42, 44, 45, 46, 47):
        changes = {"tags": tags(*(f"k{m}=a/b" for m in range(n)))}
        made = await view.pipelines.writing.update(made.id, made.version, changes)
    return made


async def spread(view: View) -> Pipeline:
    """Make a pipeline whose grants and tags together are too many for one transaction."""
    made = await make(view, NORTHWEST, "Smelt", *(f"k{n}=a/b" for n in range(7)))
    for group in (SOUTH, EU):
        made, _ = await view.pipelines.writing.grant(made.id, group)
    return made


async def remains(table: Table) -> list[Key]:
    """What is left of resources."""
    return [key for key in await contents(table) if not key.pk.startswith("G:")]


async def assert_gone(view: View, id: str) -> None:
    (found,) = await view.pipelines.reading.many([id], consistent=True)
    assert isinstance(found, NotFound)
    with pytest.raises(NotFound):
        await view.pipelines.versions.one(id, 1)
    with pytest.raises(NotFound):
        await view.pipelines.writing.update(id, 1, {})
    with pytest.raises(NotFound):
        await view.pipelines.deleting.delete(id)
    for group in GRANTED:
        assert await names_in(view, group) == []
    everything = Listed(group=ROOT, include_child_groups=True)
    assert (await view.pipelines.listing.page(everything, Window())).entries == ()


async def test_a_deleted_pipeline_leaves_nothing_behind(store: Store) -> None:
    view = await grow(store)
    made = await make(view, USA, "Smelt", "m=a/b")
    for version in range(1, 4):
        made = await view.pipelines.writing.update(made.id, version, {"tags": tags(f"m={version}")})
    made, _ = await view.pipelines.writing.grant(made.id, EU)
    assert await view.pipelines.deleting.delete(made.id, 4) == made
    await assert_gone(view, made.id)
    assert await remains(store.table) == []
    assert await faults(store.table) == []


@on_sqlite
async def test_deleting_what_a_caller_read_earlier_is_a_conflict(store: Store) -> None:
    view = await grow(store)
    made = await make(view, USA, "Smelt")
    await view.pipelines.writing.update(made.id, 1, {"name": "Forge"})
    before = await contents(store.table)
    with pytest.raises(VersionConflict) as refused:
        await view.pipelines.deleting.delete(made.id, 1)
    assert refused.value.current_version == 2
    assert await contents(store.table) == before


@on_sqlite
async def test_a_delete_that_an_update_overtakes_starts_over(store: Store) -> None:
    view = await grow(store)
    made = await make(view, USA, "Smelt", "k=v")

    async def overtake() -> None:
        await view.pipelines.writing.update(made.id, 1, {"tags": tags("k=w", "l=x")})

    late = Store(Interrupted(store.table, overtake)).seen_by(SUPER)
    assert (await late.pipelines.deleting.delete(made.id)).version == 2
    assert await remains(store.table) == []
    assert await faults(store.table) == []


@on_sqlite
async def test_a_delete_with_a_version_in_mind_that_an_update_overtakes_is_a_conflict(
    store: Store,
) -> None:
    view = await grow(store)
    made = await make(view, USA, "Smelt", "k=v")

    async def overtake() -> None:
        await view.pipelines.writing.update(made.id, 1, {"tags": ()})

    late = Store(Interrupted(store.table, overtake)).seen_by(SUPER)
    with pytest.raises(VersionConflict):
        await late.pipelines.deleting.delete(made.id, 1)
    assert (await view.pipelines.reading.one(made.id)).version == 2
    assert await faults(store.table) == []


@pytest.mark.parametrize("versions", [1, 40, 93, 94, 95, 96, 1000])
@on_sqlite
async def test_any_number_of_versions_is_deleted(store: Store, versions: int) -> None:
    view = await grow(store)
    made = await aged(store, await make(view, USA, "Smelt"), versions)
    other = await make(view, USA, "Cast", "k=v")
    assert made.version == versions
    assert await faults(store.table) == []
    assert await view.pipelines.deleting.delete(made.id) == made
    gone, there = await view.pipelines.reading.many([made.id, other.id])
    assert isinstance(gone, NotFound)
    assert there == other
    assert {key.pk for key in await remains(store.table) if key.pk[:2] == "P:"} == {f"P:{other.id}"}
    assert await faults(store.table) == []


@without_moto
async def test_more_than_a_transaction_holds_is_deleted_behind_a_tombstone(store: Store) -> None:
    view = await grow(store)
    made = await spread(view)
    assert len(made.groups) == 3
    await view.pipelines.deleting.delete(made.id)
    await assert_gone(view, made.id)
    assert await remains(store.table) == []
    assert await faults(store.table) == []


@on_sqlite
async def test_a_single_grant_with_more_tags_than_a_transaction_holds_is_deleted(
    store: Store,
) -> None:
    view = await grow(store)
    made = await laden(view)
    assert len(made.tags) == 47
    await view.pipelines.deleting.delete(made.id)
    assert await remains(store.table) == []
    assert await faults(store.table) == []


async def cut_short(store: Store, made: Pipeline, writes: int) -> bool:
    """Delete in a process that dies after so many writes; whether it did."""
    try:
        await Store(Cut(store.table, writes)).seen_by(SUPER).pipelines.deleting.delete(made.id)
    except Died:
        return True
    return False


async def assert_name_is_free(view: View) -> None:
    for group in (USA, EU):
        renamed = await make(view, group, "Smelt")
        assert await view.pipelines.reading.by_name("Smelt", group) == renamed
        await view.pipelines.deleting.delete(renamed.id)


@on_sqlite
async def test_a_delete_cut_short_anywhere_is_finished_later_and_hides_the_rest_at_once(
    store: Store,
) -> None:
    view = await grow(store)
    unfinished = []
    for writes in range(20):
        made = await aged(store, await spread(view), 60)
        before = await contents(store.table)
        if not await cut_short(store, made, writes):
            break
        if await contents(store.table) == before:
            assert await store.finish_deletes() == 0
            await view.pipelines.deleting.delete(made.id)
        else:
            unfinished.append(writes)
            await assert_gone(view, made.id)
            await assert_name_is_free(view)
            assert await store.finish_deletes() == 1
        assert await remains(store.table) == []
        assert await faults(store.table) == []
        assert await store.finish_deletes() == 0
    # Two burials, each tried twice as counters reach zero, three batches of versions, the tomb.
    assert writes == 8
    assert unfinished == [2, 3, 4, 5, 6, 7]


@on_sqlite
async def test_a_sweep_cut_short_again_and_again_gets_to_the_end(store: Store) -> None:
    view = await grow(store)
    made = await aged(store, await spread(view), 60)
    assert await cut_short(store, made, 2)
    for _ in range(3):
        try:
            assert await Store(Cut(store.table, 4)).finish_deletes() == 1
        except Died:
            await assert_gone(view, made.id)
        else:
            break
    assert await remains(store.table) == []
    assert await faults(store.table) == []


@without_moto
async def test_two_sweeps_at_once_take_everything_away_once(store: Store) -> None:
    view = await grow(store)
    other = await make(view, SOUTH, "Cast", "k0=a/b")
    for writes in (2, 4):
        made = await aged(store, await spread(view), 30)
        assert await cut_short(store, made, writes)
        await asyncio.gather(*(Store(store.table).finish_deletes() for _ in range(3)))
        await store.finish_deletes()
        assert {key.pk for key in await remains(store.table) if key.pk[:2] == "P:"} == {
            f"P:{other.id}"
        }
        assert await faults(store.table) == []


@without_moto
async def test_a_pipeline_deleted_by_several_at_once_is_deleted_once(store: Store) -> None:
    view = await grow(store)
    made = await spread(view)
    outcomes = await asyncio.gather(
        *(store.seen_by(SUPER).pipelines.deleting.delete(made.id) for _ in range(4)),
        return_exceptions=True,
    )
    assert [outcome for outcome in outcomes if isinstance(outcome, Pipeline)] == [made]
    assert sum(isinstance(outcome, NotFound) for outcome in outcomes) == 3
    assert await remains(store.table) == []
    assert await faults(store.table) == []


@on_sqlite
async def test_a_pipeline_with_a_hundred_names_is_deleted(store: Store) -> None:
    groups = [GroupPath(f"/g{n:03}") for n in range(100)]
    view = await grow(store, *groups)
    made = await make(view, groups[0], "Smelt")
    for group in groups[1:]:
        made, _ = await view.pipelines.writing.grant(made.id, group)
    assert await faults(store.table) == []
    await view.pipelines.deleting.delete(made.id)
    assert await remains(store.table) == []
    assert await faults(store.table) == []
