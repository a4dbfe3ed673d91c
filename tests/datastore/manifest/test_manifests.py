"""Manifests are created with their first run, count their runs, and can be deleted when empty."""

from functools import partial

import pytest

from penstock.datastore.errors import IllegalState, NotFound, NotPermitted
from penstock.datastore.manifest.lists import RunListFilter
from penstock.datastore.manifest.records import ManifestName, RunName, RunState
from penstock.datastore.manifest.runs import Discovery
from penstock.datastore.manifest.transitions import Claim, Reload
from penstock.datastore.roles import ROOT, GroupPath, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.datastore.manifest.sample_runs import (
    NAME,
    RUN_ID,
    SNOW,
    TRANSFORM,
    bring_to,
    discover,
    run_faults,
    run_name,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    USA,
    caller,
    create_groups,
    on_sqlite,
    walk,
)

WORKER = caller({USA: Role.CONTRIBUTOR})


async def test_a_manifest_is_made_by_its_first_run_and_counts_them(
    session: Session, store: Store
) -> None:
    await discover(session)
    await discover(session, "other/")
    await session.runs.discover(ManifestName(EU, "Snowplow"), Discovery(run_id="r", added_by="t"))
    (manifest,) = await walk(partial(session.manifests.page, USA))
    assert (manifest.group, manifest.name, manifest.runs) == (USA, "snowplow", 2)
    assert (manifest.created_at, manifest.created_by) == ("2022-08-10T23:55:20.322Z", "super")
    assert await session.manifests.one(ManifestName(USA, "SNOWPLOW")) == manifest
    assert (await session.manifests.one(ManifestName(EU, "snowplow"))).name == "Snowplow"
    with pytest.raises(NotFound, match="no such manifest in /usa"):
        await session.manifests.one(ManifestName(USA, "other"))
    with pytest.raises(IllegalState, match="not empty"):
        await session.groups.delete(EU)
    assert await faults(store.table) == []


async def test_no_manifest_is_made_in_a_group_that_is_not_there(
    session: Session, store: Store
) -> None:
    before = await contents(store.table)
    with pytest.raises(NotFound, match="no group /asia"):
        await session.runs.discover(
            ManifestName(GroupPath("/asia"), "m"), Discovery(run_id="r", added_by="t")
        )
    assert await contents(store.table) == before


@on_sqlite
async def test_who_may_not_know_the_group_finds_nothing_there(
    session: Session, store: Store
) -> None:
    await bring_to(session, RunState.LOADED)
    before = await contents(store.table)
    stranger = store.open_session(caller({EU: Role.ADMIN}))
    told = set()
    for refused in (
        stranger.runs.one(NAME),
        session.runs.one(run_name("absent/")),
        session.runs.one(run_name("s3://odd")),
        session.runs.one(run_name("x" * 2000)),
        session.runs.one(RunName(ManifestName(USA, "x" * 2000), "r")),
        stranger.runs.one(RunName(ManifestName(USA, "absent"), "r")),
    ):
        with pytest.raises(NotFound) as failure:
            await refused
        told.add(failure.value.message)
    assert told == {"There is no such run."}
    for call in (
        stranger.runs.change(NAME, Reload(reason="r", force=True)),
        stranger.runs.discover(SNOW, Discovery(run_id="r", added_by="t")),
        stranger.manifests.one(SNOW),
        stranger.manifests.page(USA, Window()),
        stranger.manifests.delete(SNOW),
    ):
        with pytest.raises(NotFound):
            await call
    assert await contents(store.table) == before


@on_sqlite
@pytest.mark.parametrize("roles", [{USA: Role.READER}, {ROOT: Role.READER, NORTHWEST: Role.ADMIN}])
async def test_readers_look_and_change_nothing(
    session: Session, store: Store, roles: dict[GroupPath, Role]
) -> None:
    run = await discover(session)
    before = await contents(store.table)
    reader = store.open_session(caller(roles))
    assert await reader.runs.one(NAME) == run
    assert [one.runs for one in await walk(partial(reader.manifests.page, USA))] == [1]
    for call in (
        reader.runs.change(NAME, Claim(stage=TRANSFORM, owner="w")),
        reader.runs.discover(SNOW, Discovery(run_id=RUN_ID, added_by="t")),
        reader.manifests.delete(SNOW),
    ):
        with pytest.raises(NotPermitted):
            await call
    contributor = store.open_session(WORKER)
    with pytest.raises(NotPermitted, match="the role ADMIN at /usa"):
        await contributor.manifests.delete(SNOW)
    assert await contents(store.table) == before


@on_sqlite
async def test_a_role_below_a_group_reads_none_of_its_manifests(
    session: Session, store: Store
) -> None:
    await discover(session)
    before = await contents(store.table)
    below = store.open_session(caller({NORTHWEST: Role.ADMIN}))
    listed = RunListFilter()
    for refused in (
        below.runs.one(NAME),
        below.manifests.one(SNOW),
        below.run_lists.page(SNOW, listed, Window()),
        below.run_lists.stale(SNOW, Window()),
    ):
        with pytest.raises(NotFound):
            await refused
    for call in (
        below.manifests.page(USA, Window()),
        below.runs.change(NAME, Claim(stage=TRANSFORM, owner="w")),
        below.manifests.delete(SNOW),
    ):
        with pytest.raises(NotPermitted):
            await call
    assert await contents(store.table) == before


async def test_an_empty_manifest_can_go_and_one_with_runs_cannot(
    session: Session, store: Store
) -> None:
    await discover(session)
    before = await contents(store.table)
    with pytest.raises(IllegalState, match="still has runs") as refused:
        await session.manifests.delete(SNOW)
    assert refused.value.state == "NOT_EMPTY"
    assert await contents(store.table) == before
    await session.run_recovery.delete(NAME, force=True)
    assert (await session.manifests.delete(SNOW)).name == "snowplow"
    with pytest.raises(NotFound):
        await session.manifests.delete(SNOW)
    await session.groups.delete(NORTHWEST)
    assert await faults(store.table) == []
    assert await run_faults(store.table) == []


async def test_a_group_goes_with_its_manifests(store: Store) -> None:
    session = await create_groups(store, USA, EU)
    for n in range(3):
        await bring_to(session, RunState.FAILED, f"r{n}/")
    await session.runs.discover(ManifestName(USA, "b"), Discovery(run_id="r", added_by="t"))
    await session.runs.discover(ManifestName(EU, "b"), Discovery(run_id="r", added_by="t"))
    _, job = await session.group_deletions.delete(USA)
    assert job is not None
    with pytest.raises(NotFound, match="being deleted"):
        await session.runs.discover(ManifestName(USA, "c"), Discovery(run_id="r", added_by="t"))
    assert await store.run_jobs("worker") == 1
    rows = await contents(store.table)
    gone = {(key.pk, key.sk) for key in rows if key.pk.startswith("R:/usa")}
    # The fences of claimed runs are kept.
    assert gone == {(f"R:/usa#snowplow:r{n}/", "RH:0000000001") for n in range(3)}
    assert sorted(key.pk for key in rows if key.pk.startswith(("R:/eu", "RL:", "RM:"))) == [
        "R:/eu#b:r",
        "R:/eu#b:r",
        "RL:/eu#b:ALL",
        "RL:/eu#b:NEW",
        "RM:/eu",
    ]
    assert await faults(store.table) == []
    assert await run_faults(store.table) == []
