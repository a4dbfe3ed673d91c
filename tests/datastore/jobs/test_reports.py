"""Reports: each change of a job is told once, and the number of jobs costs one query."""

from dataclasses import replace
from datetime import timedelta

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import RequestRefused, Unavailable
from penstock.datastore.jobs.jobs import COUNTED, JobKind, JobQueue
from penstock.datastore.jobs.leases import JobLease
from penstock.datastore.jobs.runner import JobFunction, JobWorker
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.layout import JOB
from penstock.datastore.table.port import Put, Table
from penstock.datastore.work_reports import JobReport
from tests.datastore.jobs.sample_subtree import STEPS, begin_deletion, plant
from tests.support.sample_resources import Watch, on_sqlite

MINUTE = timedelta(minutes=1)

pytestmark = on_sqlite


@pytest.fixture
def told() -> list[JobReport]:
    return []


@pytest.fixture
def watched(table: Table, told: list[JobReport], watch: Watch) -> Store:
    return Store(table, clock=Clock(watch), watch_job=told.append)


def changes(told: list[JobReport]) -> list[tuple[str, str | None]]:
    return [(one.change.value, one.reason) for one in told]


async def test_a_job_is_told_from_its_creation_to_its_end(
    watched: Store, told: list[JobReport], watch: Watch
) -> None:
    await plant(watched)
    job = await begin_deletion(watched)
    watch.move(MINUTE)
    assert await watched.run_jobs("w") == 1
    assert changes(told) == [("created", None), ("started", None), ("done", None)]
    assert {(one.id, one.kind) for one in told} == {(job.id, "delete_group")}
    created, started, done = told
    assert (started.waited, started.at - created.at) == (60.0, 60.0)
    assert (created.seconds, done.seconds, done.steps) == (None, 0.0, STEPS)


async def test_a_deletion_that_goes_on_already_is_told_once(
    watched: Store, told: list[JobReport]
) -> None:
    await plant(watched)
    assert (await begin_deletion(watched)).id == (await begin_deletion(watched)).id
    assert changes(told) == [("created", None)]


async def test_a_job_that_fails_is_told_with_a_code_and_without_its_message(
    watched: Store, told: list[JobReport], caplog: pytest.LogCaptureFixture
) -> None:
    await plant(watched)
    await begin_deletion(watched)

    async def fail(*_: object) -> None:
        raise RuntimeError("s3cr3t")

    await job_worker(watched, {JobKind.DELETE_GROUP: fail}).run()
    assert changes(told)[1:] == [("started", None), ("failed", "INTERNAL_SERVER_ERROR")]
    assert "s3cr3t" not in repr(told)
    assert "s3cr3t" in caplog.text


@pytest.mark.parametrize(
    "error",
    [
        Unavailable("The store did not answer."),
        RequestRefused("GetItem", "AccessDeniedException", "no"),
    ],
    ids=["unavailable", "refused"],
)
async def test_a_job_that_waits_for_the_store_is_continued_and_not_started_again(
    watched: Store, told: list[JobReport], watch: Watch, error: Exception
) -> None:
    await plant(watched)
    await begin_deletion(watched)

    async def wait(_: object, lease: JobLease) -> None:
        raise error

    assert await job_worker(watched, {JobKind.DELETE_GROUP: wait}).run() == 0
    watch.move(MINUTE)
    assert await watched.run_jobs("w") == 1
    assert changes(told)[1:] == [("started", None), ("continued", None), ("done", None)]
    assert told[-1].seconds == 60.0


async def test_a_lease_that_another_worker_took_is_told(
    watched: Store, told: list[JobReport], watch: Watch
) -> None:
    await plant(watched)
    await begin_deletion(watched)

    async def oversleep(_: object, lease: JobLease) -> None:
        watch.move(MINUTE)
        assert await watched.run_jobs("other") == 1
        await lease.advance(1)

    assert await job_worker(watched, {JobKind.DELETE_GROUP: oversleep}).run() == 0
    found = [name for name, _ in changes(told)]
    assert found == ["created", "started", "continued", "done", "lease_lost"]


async def test_unfinished_jobs_are_counted_for_one_query(watched: Store, watch: Watch) -> None:
    none = dict.fromkeys(JobKind, 0)
    assert (await watched.read_queues())[1] == JobQueue(none, 0.0)
    await plant(watched)
    await begin_deletion(watched)
    watch.move(MINUTE)
    one = {**none, JobKind.DELETE_GROUP: 1}
    assert (await watched.read_queues())[1] == JobQueue(one, 60.0)
    assert await watched.run_jobs("w") == 1
    assert (await watched.read_queues())[1] == JobQueue(none, 0.0)


async def test_many_jobs_cost_no_more_than_the_counted_ones(watched: Store, watch: Watch) -> None:
    for number in range(2 * COUNTED):
        row = JOB.item(id=f"0197f000-0000-7000-8000-{number:012x}")
        about = {"kind": "import_audio", "createdAt": watched.clock.timestamp()}
        await watched.table.write([Put({**row, **about, "cursor": "k" * 300})])
    metered = MeteredTable(watched.table)
    _, jobs = await replace(watched, table=metered).read_queues()
    assert jobs.unfinished[JobKind.IMPORT_AUDIO] == COUNTED
    assert metered.units.rcu == 8 * 0.5 + 5.5


def job_worker(store: Store, functions: dict[JobKind, JobFunction]) -> JobWorker:
    return JobWorker(store._system_access(), "first", functions, watch=store.watch_job)
