"""Deletion of a group with everything in it: its extent, its permissions, and late writes."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from penstock.datastore.errors import IllegalState, NotFound, NotPermitted
from penstock.datastore.jobs.jobs import JobKind, JobState
from penstock.datastore.records import GroupCounts
from penstock.datastore.roles import ROOT, GroupPath, Role
from penstock.datastore.store import Store
from penstock.datastore.table.layout import KINDS, PIPELINE, KindDefinition
from tests.datastore.jobs.sample_subtree import (
    CITY,
    STEPS,
    WITHIN,
    assert_only_the_rest,
    begin_deletion,
    follow,
    plant,
)
from tests.datastore.resources.large_resources import cut_short, make_widely_granted
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    SUPER,
    USA,
    caller,
    create_groups,
    each_kind,
    make,
    make_of,
    names_in,
    on_sqlite,
)
from tests.support.table_interceptors import CutOffTable, InterruptedTable, ProcessDied

ANN = caller({USA: Role.ADMIN})
LATE = GroupPath(f"{CITY}/late")
CLOSING = 8
"""The writes after which the subtree is closed: the job taken, three groups marked and their shards
closed, the plan."""


async def test_a_cascade_takes_the_subtree_away_and_leaves_the_rest(store: Store) -> None:
    await plant(store)
    group, job = await store.open_session(ANN).group_deletions.delete(USA)
    assert group.path == USA
    assert await store.open_session(ANN).groups.count(USA) == GroupCounts(children=2, grants=2)
    assert job is not None
    assert (job.kind, job.state, job.group) == (JobKind.DELETE_GROUP, JobState.PENDING, USA)
    assert (job.created_by, job.done, job.total) == ("ann", 0, None)
    assert await faults(store.table) == []
    assert await store.run_jobs("w") == 1
    await assert_only_the_rest(store)
    over = await follow(store, job.id)
    assert (over.state, over.done, over.total) == (JobState.DONE, STEPS, STEPS)
    assert over.started_at is not None
    assert over.finished_at is not None
    assert job.created_at <= over.started_at <= over.finished_at
    assert await store.run_jobs("w") == 0


async def test_an_empty_group_goes_at_once_and_without_a_job(store: Store) -> None:
    session = await create_groups(store)
    group, job = await session.group_deletions.delete(EU)
    assert (group.path, job) == (EU, None)
    with pytest.raises(NotFound):
        await session.groups.one(EU)
    assert [key for key in await contents(store.table) if key.pk.startswith("J:")] == []
    assert await faults(store.table) == []


@pytest.mark.parametrize(
    ("roles", "group", "failure"),
    [
        ({USA: Role.CONTRIBUTOR}, USA, NotPermitted),
        ({USA: Role.ADMIN, CITY: Role.CONTRIBUTOR}, USA, NotPermitted),
        ({NORTHWEST: Role.ADMIN}, USA, NotPermitted),
        ({EU: Role.ADMIN}, USA, NotFound),
        ({ROOT: Role.ADMIN}, ROOT, IllegalState),
        ({ROOT: Role.ADMIN}, GroupPath("/nowhere"), NotFound),
    ],
)
@on_sqlite
async def test_a_cascade_needs_an_admin_of_the_group_and_wherever_below_they_have_a_role(
    store: Store, roles: dict[GroupPath, Role], group: GroupPath, failure: type[Exception]
) -> None:
    await plant(store)
    before = await contents(store.table)
    with pytest.raises(failure):
        await store.open_session(caller(roles)).group_deletions.delete(group)
    assert await contents(store.table) == before


async def assert_closed(
    store: Store, group: GroupPath, foreign: str, kind: KindDefinition[Any] = PIPELINE
) -> None:
    """Nothing can be created in the group or below it, or granted to it."""
    session = store.open_session(SUPER)
    before = await contents(store.table)
    for refused in (
        *(make_of(session, each, group, "late") for each in KINDS),
        session.groups.create(GroupPath(f"{group}/late"), None),
        session.repository(kind).writing.grant(foreign, group),
    ):
        with pytest.raises(NotFound, match=f"The group {group} is being deleted"):
            await refused
    assert await contents(store.table) == before


async def test_nothing_is_let_into_a_group_once_its_deletion_was_acknowledged(store: Store) -> None:
    made = await plant(store)
    await begin_deletion(store)
    await assert_closed(store, USA, made["at eu"].id)
    assert (await store.open_session(SUPER).groups.count(USA)).grants == 2


@on_sqlite
async def test_nothing_is_let_into_the_groups_below_once_they_are_closed(store: Store) -> None:
    made = await plant(store)
    await begin_deletion(store)

    async def come_late() -> None:
        for group in WITHIN:
            await assert_closed(store, group, made["at eu"].id)

    interrupted = InterruptedTable(store.table, come_late, writes=CLOSING)
    assert await replace(store, table=interrupted).run_jobs("w") == 1
    assert interrupted.other is None
    await assert_only_the_rest(store)


@pytest.mark.parametrize(
    ("writes", "expected"),
    [
        (0, [CITY, SOUTH, LATE]),
        (1, [CITY, SOUTH, LATE]),
        (3, [CITY, SOUTH, LATE]),
        (4, [CITY, SOUTH, LATE]),
        (5, [CITY, LATE]),
        (6, [CITY]),
        (7, []),
    ],
)
@on_sqlite
async def test_what_comes_into_a_group_before_it_is_closed_goes_with_it(
    store: Store, writes: int, expected: list[GroupPath]
) -> None:
    store = replace(store, shards=1)
    made = await plant(store)
    await begin_deletion(store)
    session = store.open_session(SUPER)
    came: list[GroupPath] = []

    async def come() -> None:
        for group, coming in (
            (CITY, make(session, CITY, "late")),
            (SOUTH, session.pipelines.writing.grant(made["at eu"].id, SOUTH)),
            (LATE, session.groups.create(LATE, None)),
        ):
            with suppress(NotFound):
                await coming
                came.append(group)

    assert (
        await replace(store, table=InterruptedTable(store.table, come, writes=writes)).run_jobs("w")
        == 1
    )
    assert came == expected
    await assert_only_the_rest(store)


@on_sqlite
async def test_a_second_wish_follows_the_job_that_is_at_it(store: Store) -> None:
    await plant(store)
    job = await begin_deletion(store)
    assert await begin_deletion(store) == job
    below = await begin_deletion(store, NORTHWEST)
    assert below.id != job.id
    assert await store.run_jobs("w") == 2
    assert (await follow(store, below.id)).state is JobState.DONE
    await assert_only_the_rest(store)


@on_sqlite
async def test_a_wish_for_a_group_below_follows_the_job_that_closed_it(store: Store) -> None:
    await plant(store)
    job = await begin_deletion(store)

    async def wish() -> None:
        assert (await begin_deletion(store, NORTHWEST)).id == job.id

    interrupted = InterruptedTable(store.table, wish, writes=CLOSING)
    assert await replace(store, table=interrupted).run_jobs("w") == 1
    assert interrupted.other is None
    await assert_only_the_rest(store)


@on_sqlite
async def test_a_wish_for_a_group_above_takes_in_the_job_below(store: Store) -> None:
    await plant(store)
    jobs = [await begin_deletion(store, group) for group in (NORTHWEST, USA)]
    assert await store.run_jobs("w") == 2
    assert [(await follow(store, job.id)).state for job in jobs] == [JobState.DONE] * 2
    await assert_only_the_rest(store)


@on_sqlite
async def test_a_later_group_of_the_path_is_left_alone(store: Store) -> None:
    session = await create_groups(store)
    held = await make(session, EU, "held")
    job = await begin_deletion(store, EU)
    await session.pipelines.deleting.delete(held.id)
    await session.groups.delete(EU)
    await session.groups.create(EU, "New")
    await make(session, EU, "kept")
    assert await store.run_jobs("w") == 1
    assert (await follow(store, job.id)).state is JobState.DONE
    assert await names_in(session, EU) == ["kept"]
    assert await faults(store.table) == []


@on_sqlite
async def test_deletes_that_were_cut_short_in_the_subtree_are_finished(store: Store) -> None:
    session = await create_groups(store)
    for kind in KINDS:
        assert await cut_short(store, kind, await make_widely_granted(session, kind), 2)
    assert await store.count_pending_deletes() == len(KINDS)
    await begin_deletion(store)
    assert await store.run_jobs("w") == 1
    assert await store.count_pending_deletes() == 0
    assert (await session.groups.count(EU)).grants == 0
    assert await faults(store.table) == []


@each_kind
@on_sqlite
async def test_a_grant_of_more_rows_than_a_transaction_takes_is_revoked(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store)
    made = await make_of(session, kind, EU, "heavy", *(f"k{n}=a/b" for n in range(30)))
    await session.repository(kind).writing.grant(made.id, SOUTH)
    job = await begin_deletion(store)
    assert await store.run_jobs("w") == 1
    over = await follow(store, job.id)
    assert (over.state, over.done, over.total) == (JobState.DONE, 4, 4)
    assert (await session.repository(kind).reading.one(made.id)).groups == (EU,)
    with pytest.raises(NotFound):
        await session.groups.one(USA)
    assert await faults(store.table) == []


@each_kind
@on_sqlite
async def test_a_revoke_that_was_cut_short_is_finished_before_its_group_goes(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store)
    made = await make_of(session, kind, EU, "heavy", *(f"k{n}=a/b" for n in range(30)))
    await session.repository(kind).writing.grant(made.id, SOUTH)
    dying = replace(store, table=CutOffTable(store.table, 1)).open_session(SUPER)
    with pytest.raises(ProcessDied):
        await dying.repository(kind).writing.revoke(made.id, SOUTH)
    # The group counts what is still there in rows.
    with pytest.raises(IllegalState):
        await session.groups.delete(SOUTH)
    await begin_deletion(store)
    assert await store.run_jobs("w") == 1
    with pytest.raises(NotFound):
        await session.groups.one(USA)
    assert await faults(store.table) == []
