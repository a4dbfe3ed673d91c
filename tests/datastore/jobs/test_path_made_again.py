"""A group that others make at the path of a deleted one has nothing of it."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.access.access import Access
from penstock.datastore.access.open_uploads import OpenUploads
from penstock.datastore.clock import Clock
from penstock.datastore.errors import NotFound
from penstock.datastore.executions.lists.group_listing import GroupExecutions
from penstock.datastore.executions.records import Execution
from penstock.datastore.quotas.amounts import NOTHING
from penstock.datastore.quotas.usage import sum_group, sum_user
from penstock.datastore.records import GroupCounts, Resource
from penstock.datastore.roles import Caller, GroupPath, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import KINDS, PIPELINE
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Table
from penstock.transform.outcome import RowCounts
from tests.datastore.executions.sample_executions import (
    begin_execution,
    finished_execution,
    pipeline_in,
    ready_execution,
)
from tests.datastore.jobs.sample_subtree import begin_deletion
from tests.datastore.kept_rows.plants import keep_plants, run_file
from tests.datastore.manifest.sample_runs import NAME, SNOW, discover
from tests.support.consistency_check import contents, contents_with_logs, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SUPER,
    USA,
    Watch,
    caller,
    create_groups,
    make_of,
    names_of,
)
from tests.support.stores import open_files

pytestmark = pytest.mark.parametrize("implementation", ["sqlite", "dynoxide"], indirect=True)

ADA = caller({USA: Role.ADMIN}, "ada")
BOB = caller({USA: Role.ADMIN}, "bob")
COUNTS = RowCounts(3, 2, 1, 43, 121)
LOGGED = {"AT", "CL", "J", "JA", "JG"}
"""Rows that name the path for a time: the audit trail, the log of changes, and jobs."""

AMOUNTS = {"QG", "QU", "FU"}
"""Counts of what is kept, which are 0, and places of uploads, which are free."""


@pytest.fixture
async def store(table: Table, tmp_path: Path, watch: Watch) -> AsyncIterator[Store]:
    async with open_files(tmp_path) as files:
        yield Store(table, clock=Clock(watch), files=files)


async def plant_executions(store: Store) -> list[Execution]:
    """Run files of a pipeline of the group in each state, and of one that keeps its rows."""
    trips = await pipeline_in(store, USA, "Trips")
    over = await finished_execution(store, trips, who=ADA)
    kept = await run_file(store, await keep_plants(store), oak=1)
    awaited = await begin_execution(store, trips, ADA)
    ready = await ready_execution(store, trips, b"distance,Fuel type\n1,gas\n", ADA)
    held = await ready_execution(store, trips, b"distance,Fuel type\n2,gas\n", ADA)
    await store.open_session(ADA).executions.external.claim(held.id, "far")
    return [over, awaited, ready, held, kept]


async def plant_resources(store: Store) -> list[tuple[Any, Resource]]:
    """Make one of each kind in the group and below, shared with another group."""
    session = store.open_session(SUPER)
    made = []
    for kind in KINDS:
        for group in (USA, NORTHWEST):
            resource = await make_of(session, kind, group, f"of {group}", "m=a/b")
            await session.repository(kind).writing.grant(resource.id, EU)
            made.append((kind, resource))
    return made


async def make_path_again(store: Store, watch: Watch) -> None:
    """Delete the group and all below it, and let others make groups of the same paths."""
    job = await begin_deletion(store)
    watch.move(timedelta(minutes=1))
    assert await store.run_jobs("w") == 1
    assert job.group == USA
    await create_groups(store, USA, NORTHWEST)


async def remove_remains(store: Store) -> None:
    """Let the sweep remove the executions of deleted pipelines."""
    assert await store.count_pending_deletes() > 0
    await store.finish_deletes()
    assert await store.count_pending_deletes() == 0


async def assert_nothing_there(session: Session, group: GroupPath) -> None:
    for kind in KINDS:
        assert await names_of(session, kind, group, include_child_groups=True) == []
    listed = GroupExecutions(group=group, include_child_groups=True)
    assert (await session.executions.of_groups.page(listed, Window())).entries == ()
    counted = await session.executions.counting.by_state(listed)
    assert {one.state: one.count for one in counted if one.count} == {}
    assert (await session.manifests.page(group, Window())).entries == ()
    assert await session.groups.count(group) == GroupCounts(
        children=1 if group == USA else 0, grants=0
    )


@pytest.mark.parametrize("swept", [False, True], ids=["at once", "after the sweep"])
@pytest.mark.parametrize("who", [ADA, BOB], ids=["of the former group", "of the next"])
async def test_nothing_of_a_deleted_group_belongs_to_the_next_of_its_path(
    store: Store, watch: Watch, who: Caller, swept: bool
) -> None:
    await create_groups(store)
    executions, resources = await plant_executions(store), await plant_resources(store)
    lent = await make_of(store.open_session(SUPER), PIPELINE, EU, "lent", "m=a/b")
    for group in (USA, NORTHWEST):
        await store.open_session(SUPER).pipelines.writing.grant(lent.id, group)
    await discover(store.open_session(SUPER))
    await make_path_again(store, watch)
    if swept:
        await remove_remains(store)
    session = store.open_session(who)
    for group in (USA, NORTHWEST):
        await assert_nothing_there(session, group)
    for kind, resource in [*resources, (PIPELINE, lent)]:
        with pytest.raises(NotFound):
            await session.repository(kind).reading.one(resource.id)
    for call in (session.manifests.one(SNOW), session.runs.one(NAME)):
        with pytest.raises(NotFound):
            await call
    before = await contents(store.table)
    for made in executions:
        await assert_out_of_reach(session, made)
    assert await contents(store.table) == before
    assert (await store.open_session(SUPER).pipelines.reading.one(lent.id)).groups == (EU,)


@pytest.mark.parametrize("emptied", [False, True], ids=["at once", "by a job"])
async def test_open_uploads_of_a_deleted_group_take_no_place_of_the_next(
    store: Store, watch: Watch, emptied: bool
) -> None:
    await create_groups(store)
    ada = store.open_session(ADA)
    uploads = OpenUploads(store.table, store.files, store.clock, "bob", store.upload_limits)
    for _ in range(3):
        await ada.dataset_files.upload(NORTHWEST)
    if emptied:
        await begin_execution(store, await pipeline_in(store, NORTHWEST, "Trips"), ADA)
        assert await uploads.count(NORTHWEST) == 4
        await begin_deletion(store, NORTHWEST)
        with pytest.raises(NotFound):
            await ada.dataset_files.upload(NORTHWEST)
        watch.move(timedelta(minutes=1))
        assert await store.run_jobs("w") == 1
    else:
        assert await uploads.count(NORTHWEST) == 3
        await store.open_session(SUPER).groups.delete(NORTHWEST)
    with pytest.raises(NotFound):
        await ada.dataset_files.upload(NORTHWEST)
    await create_groups(store, NORTHWEST)
    assert await uploads.count(NORTHWEST) == 0


async def test_an_upload_that_meets_the_deletion_of_its_group_takes_no_place_of_the_next(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_groups(store)
    before = Access.require_open_group

    async def delete_behind(access: Access, group: GroupPath) -> None:
        await before(access, group)
        await store.open_session(SUPER).groups.delete(group)

    monkeypatch.setattr(Access, "require_open_group", delete_behind)
    with pytest.raises(NotFound):
        await store.open_session(ADA).dataset_files.upload(NORTHWEST)
    await create_groups(store, NORTHWEST)
    uploads = OpenUploads(store.table, store.files, store.clock, "ada", store.upload_limits)
    assert (await uploads.count(NORTHWEST), await uploads.count()) == (0, 0)


async def assert_out_of_reach(session: Session, made: Execution) -> None:
    """Nobody reads, runs, ends or repeats an execution of the former group."""
    executions = session.executions
    for call in (
        executions.reading.one(made.id),
        executions.uploads.confirm(made.id),
        executions.changing.cancel(made.id),
        executions.changing.retry(made.id),
        executions.external.claim(made.id, "again"),
        executions.external.heartbeat(made.id, 1, COUNTS),
        executions.external.complete(made.id, 1, COUNTS),
    ):
        with pytest.raises(NotFound):
            await call


async def test_only_logs_name_the_path_of_a_deleted_group(store: Store, watch: Watch) -> None:
    await create_groups(store)
    await plant_executions(store)
    await plant_resources(store)
    await discover(store.open_session(SUPER))
    await make_path_again(store, watch)
    await remove_remains(store)
    assert await faults(store.table) == []
    rows = await contents_with_logs(store.table)
    named = {
        key.pk.partition(":")[0]
        for key, row in rows.items()
        # The groups of these paths are new.
        if "/usa" in repr((key, row)) and key.pk.partition(":")[0] not in ("G", "GC")
    }
    assert named - AMOUNTS == LOGGED
    assert await sum_group(store.table, USA) == NOTHING
    assert await sum_user(store.table, "ada") == NOTHING
