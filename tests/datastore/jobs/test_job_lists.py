"""Jobs are listed for their user and for the groups that they are about, and imports cancelled."""

import asyncio
from functools import partial

import pytest

from penstock.datastore.access.access import Access
from penstock.datastore.clock import Clock
from penstock.datastore.errors import IllegalState, NotFound, NotPermitted
from penstock.datastore.jobs.jobs import Job, JobKind, JobState, new_job
from penstock.datastore.jobs.leases import JobLease
from penstock.datastore.jobs.rows import JOB_RETENTION, creation_writes
from penstock.datastore.jobs.runner import JobWorker
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.datastore.store import Store
from penstock.datastore.table.commit import commit
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.layout import JOB, JOB_OF_GROUP, JOB_OF_USER
from penstock.datastore.table.pages import Slice, Window
from penstock.datastore.table.port import TTL
from tests.datastore.jobs.sample_subtree import begin_deletion, plant
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    SUPER,
    USA,
    Watch,
    caller,
    create_groups,
    on_sqlite,
    walk,
)

ANN = Caller("ann", {})
BOB = Caller("bob", {})


async def begin_import(store: Store, user: Caller) -> Job:
    access = store.open_session(user).jobs.access
    job = new_job(access, JobKind.IMPORT_AUDIO, prefix=store.clock.new_id())
    await commit(store.table, creation_writes(job))
    return job


async def ids_of(
    store: Store, user: Caller, group: GroupPath | None = None, *states: JobState, size: int = 1
) -> list[str]:
    jobs = store.open_session(user).jobs
    found: list[Job] = await walk(partial(jobs.page, group, frozenset(states)), size)
    backward: list[Job] = await walk(
        partial(jobs.page, group, frozenset(states)), size, backward=True
    )
    assert found == backward
    return [job.id for job in found]


async def test_a_user_lists_their_own_jobs_and_no_others(store: Store) -> None:
    first, second, third = [await begin_import(store, user) for user in (ANN, BOB, ANN)]
    assert await ids_of(store, ANN) == [third.id, first.id]
    assert await ids_of(store, BOB) == [second.id]
    assert await ids_of(store, SUPER) == []
    await store.open_session(ANN).jobs.cancel(first.id)
    assert await ids_of(store, ANN, None, JobState.CANCELLED) == [first.id]
    assert await ids_of(store, ANN, None, JobState.PENDING, JobState.RUNNING) == [third.id]


async def test_the_job_of_a_group_is_listed_there_and_above_for_those_who_may_know_it(
    store: Store,
) -> None:
    await plant(store)
    job = await begin_deletion(store)
    assert job.group == USA
    for group in (ROOT, USA):
        assert await ids_of(store, SUPER, group) == [job.id]
    assert await ids_of(store, SUPER, EU) == []
    assert await ids_of(store, caller({NORTHWEST: Role.READER}), USA) == [job.id]
    assert await ids_of(store, caller({EU: Role.ADMIN}), ROOT) == []
    with pytest.raises(NotFound):
        await ids_of(store, caller({EU: Role.ADMIN}), USA)
    assert await store.run_jobs("w") == 1
    assert await ids_of(store, SUPER, ROOT, JobState.DONE) == [job.id]
    assert await ids_of(store, SUPER) == [job.id]
    assert await faults(store.table) == []


async def begin_load(store: Store, group: GroupPath, user: Caller = SUPER) -> Job:
    """Begin a job about a group, which leaves the group as it is."""
    access = store.open_session(user).jobs.access
    job = new_job(access, JobKind.LOAD_DATASET, group=group)
    await commit(store.table, creation_writes(job))
    return job


async def test_a_list_tells_nothing_of_hidden_jobs(store: Store) -> None:
    await create_groups(store)
    below = caller({NORTHWEST: Role.READER, EU: Role.READER}, "below")

    async def look(group: GroupPath) -> tuple[Slice[Job], float, int]:
        metered = MeteredTable(store.table)
        jobs = Store(metered, store.clock).open_session(below).jobs
        page = await jobs.page(group, frozenset(), Window(size=20))
        return page, metered.units.rcu, metered.units.calls

    before = [await look(group) for group in (ROOT, USA)]
    for _ in range(25):
        await begin_load(store, SOUTH)
    assert [await look(group) for group in (ROOT, USA)] == before
    assert [page.reached for page, _, _ in before] == [None, None]


async def test_a_caller_lists_the_jobs_of_each_group_on_their_lines(store: Store) -> None:
    await create_groups(store)
    root, _, usa, north, eu = [
        await begin_load(store, group) for group in (ROOT, SOUTH, USA, NORTHWEST, EU)
    ]
    both = caller({NORTHWEST: Role.READER, EU: Role.READER}, "both")
    assert await ids_of(store, both, ROOT) == [eu.id, north.id, usa.id, root.id]
    assert await ids_of(store, both, USA, size=2) == [north.id, usa.id]
    assert await ids_of(store, both, NORTHWEST) == [north.id]
    deeper = caller({USA: Role.READER, NORTHWEST: Role.ADMIN}, "deeper")
    assert await ids_of(store, deeper, NORTHWEST) == [north.id]
    assert len(await ids_of(store, deeper, ROOT)) == 4


@on_sqlite
async def test_the_lists_of_a_job_expire_with_it(store: Store) -> None:
    watch = Watch()
    store = Store(store.table, clock=Clock(watch))
    job = await begin_import(store, ANN)
    keys = [JOB.key(id=job.id), JOB_OF_USER.key(user="ann", id=job.id)]
    before = await contents(store.table)
    assert not any(TTL in before[key] for key in keys)
    ended = await store.open_session(ANN).jobs.cancel(job.id)
    after = await contents(store.table)
    seconds = int((watch() + JOB_RETENTION).timestamp())
    assert {after[key][TTL] for key in keys} == {seconds}
    assert ended.state is JobState.CANCELLED
    assert not any(key.pk.startswith(JOB_OF_GROUP.pk.prefix({})) for key in after)


async def test_only_its_user_cancels_an_import_and_only_before_its_end(store: Store) -> None:
    await plant(store)
    job = await begin_import(store, ANN)
    deletion = await begin_deletion(store)
    before = await contents(store.table)
    for user, id, failure in (
        (BOB, job.id, NotFound),
        (SUPER, job.id, NotFound),
        (ANN, deletion.id, NotFound),
        (caller({USA: Role.ADMIN}), deletion.id, NotPermitted),
        (SUPER, deletion.id, IllegalState),
        (ANN, "no id", NotFound),
    ):
        with pytest.raises(failure):
            await store.open_session(user).jobs.cancel(id)
    assert await contents(store.table) == before
    first = await store.open_session(ANN).jobs.cancel(job.id)
    assert (first.state, first.finished_at is not None) == (JobState.CANCELLED, True)
    after = await contents(store.table)
    assert await store.open_session(ANN).jobs.cancel(job.id) == first
    assert await contents(store.table) == after


async def test_a_user_who_calls_with_fewer_roles_neither_sees_nor_cancels_their_jobs(
    store: Store,
) -> None:
    await plant(store)
    contributor = Caller("ann", {USA: Role.CONTRIBUTOR})
    job = await begin_load(store, USA, contributor)
    before = await contents(store.table)
    for roles, failure in (({USA: Role.READER}, NotPermitted), ({EU: Role.ADMIN}, NotFound)):
        user = Caller("ann", roles)
        with pytest.raises(failure):
            await store.open_session(user).jobs.cancel(job.id)
        assert await ids_of(store, user) == ([job.id] if USA in roles else [])
    assert await contents(store.table) == before
    ended = await store.open_session(contributor).jobs.cancel(job.id)
    assert ended.state is JobState.CANCELLED


async def test_the_worker_of_a_cancelled_job_stops_and_says_nothing_of_its_end(
    store: Store,
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def work(_: Access, lease: JobLease) -> None:
        begun.set()
        await go_on.wait()
        await lease.set_steps_left(3)
        raise AssertionError("the job went on")

    job = await begin_import(store, ANN)
    access = store.open_session(SUPER).jobs.access
    running = asyncio.create_task(JobWorker(access, "w", {JobKind.IMPORT_AUDIO: work}).run())
    await begun.wait()
    cancelled = await store.open_session(ANN).jobs.cancel(job.id)
    go_on.set()
    assert await running == 0
    (found,) = await store.open_session(ANN).jobs.many([job.id])
    assert found == cancelled
    assert await store.run_jobs("other") == 0


async def test_a_job_that_ends_first_is_not_cancelled(store: Store) -> None:
    async def work(_: Access, lease: JobLease) -> None:
        await lease.set_steps_left(0)

    job = await begin_import(store, ANN)
    access = store.open_session(SUPER).jobs.access
    assert await JobWorker(access, "w", {JobKind.IMPORT_AUDIO: work}).run() == 1
    with pytest.raises(IllegalState) as refused:
        await store.open_session(ANN).jobs.cancel(job.id)
    assert refused.value.state == "DONE"
