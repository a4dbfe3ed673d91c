"""The creators of jobs take turns, whatever one of them has waiting."""

from penstock.datastore.access.access import Access
from penstock.datastore.jobs.jobs import JobKind, new_job
from penstock.datastore.jobs.leases import JobLease, JobPaused
from penstock.datastore.jobs.rows import creation_writes
from penstock.datastore.jobs.runner import JobWorker
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.datastore.table.commit import commit


async def begin(store: Store, user: str) -> str:
    access = Access(store.table, Caller(user, {}), store.clock, store.list_budget)
    job = new_job(access, JobKind.IMPORT_AUDIO, prefix=store.clock.new_id())
    await commit(store.table, creation_writes(job))
    return job.id


class Recorder:
    """A function of jobs that notes whose turn it is; `late` begins a job amid the first turn."""

    def __init__(self, store: Store, late: str | None = None, paused: bool = False) -> None:
        self.users: list[str] = []
        self._store = store
        self._late = late
        self._paused = paused

    async def run(self, _access: Access, lease: JobLease) -> None:
        self.users.append(lease.job.created_by)
        if self._late is not None:
            late, self._late = self._late, None
            await begin(self._store, late)
        if self._paused:
            raise JobPaused


def worker_of(store: Store, recorder: Recorder) -> JobWorker:
    access = Access(store.table, Caller("", {}), store.clock, store.list_budget)
    return JobWorker(access, "w", {JobKind.IMPORT_AUDIO: recorder.run})


async def test_each_creator_has_a_turn_before_anybody_has_a_second(store: Store) -> None:
    for user in ("ann", "ann", "ann", "bob", "bob", "cyd"):
        await begin(store, user)
    recorder = Recorder(store)
    assert await worker_of(store, recorder).run() == 6
    assert recorder.users == ["ann", "bob", "cyd", "ann", "bob", "ann"]


async def test_a_job_that_is_begun_meanwhile_is_next(store: Store) -> None:
    for _ in range(3):
        await begin(store, "ann")
    recorder = Recorder(store, late="bob")
    assert await worker_of(store, recorder).run() == 4
    assert recorder.users == ["ann", "bob", "ann", "ann"]


async def test_a_job_that_pauses_has_one_turn_in_a_run(store: Store) -> None:
    for user in ("ann", "bob"):
        await begin(store, user)
    recorder = Recorder(store, paused=True)
    assert await worker_of(store, recorder).run() == 0
    assert recorder.users == ["ann", "bob"]


async def test_jobs_of_other_kinds_are_left_alone(store: Store) -> None:
    await begin(store, "ann")
    access = Access(store.table, Caller("", {}), store.clock, store.list_budget)
    assert await JobWorker(access, "w", kinds=[JobKind.DELETE_GROUP]).run() == 0
