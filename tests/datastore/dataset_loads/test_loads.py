"""Loads of large files: the version, its files and the end of the job come together or not."""

import asyncio
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from hashlib import sha256
from itertools import chain, repeat
from typing import Any

import msgspec
import pytest

from penstock.datastore.access.work import worker_units
from penstock.datastore.clock import Clock
from penstock.datastore.dataset_loads.loads import MAX_LOADS, load_dataset
from penstock.datastore.datasets import build_index, large_files
from penstock.datastore.datasets.build_index import IndexBuild
from penstock.datastore.datasets.files import draft_content, key_of_file, key_of_index
from penstock.datastore.datasets.limits import CsvLimits
from penstock.datastore.datasets.staged_files import STAGING_TIME
from penstock.datastore.datasets.table_cache import DatasetTableCache
from penstock.datastore.errors import (
    IllegalState,
    Invalid,
    LimitExceeded,
    NotFound,
    NotPermitted,
    VersionConflict,
)
from penstock.datastore.jobs.jobs import Job, JobKind, JobState
from penstock.datastore.jobs.leases import JobLeaseLost, take_job
from penstock.datastore.objects.port import Files
from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.quotas.quotas import Quotas
from penstock.datastore.quotas.rules import QuotaRules
from penstock.datastore.records import ReferenceDataset, State
from penstock.datastore.roles import Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from tests.datastore.dataset_loads.sample_loads import (
    COLUMNS,
    CSV,
    StuckFiles,
    begin_load,
    index_always,
    upload,
)
from tests.datastore.datasets.sample_datasets import lookup_dataset, update_dataset
from tests.datastore.datasets.test_files import FailingProxy, WriterDied
from tests.datastore.executions.sample_executions import put_file
from tests.support.consistency_check import contents, faults
from tests.support.patience import until
from tests.support.sample_resources import EU, SUPER, USA, Watch, caller, create_groups, on_sqlite

__all__ = ["index_always"]

pytestmark = pytest.mark.usefixtures("index_always")


async def job_of(session: Session, job: Job) -> Job:
    (found,) = await session.jobs.many([job.id])
    assert isinstance(found, Job)
    return found


async def dataset_files(files: Files) -> set[str]:
    return set(await files.list("datasets/"))


async def latest(session: Session, dataset: ReferenceDataset) -> ReferenceDataset:
    return await session.datasets.reading.one(dataset.id)


async def test_a_load_makes_the_next_version_with_an_index(store: Store) -> None:
    session = await create_groups(store)
    first = await lookup_dataset(session, USA, "fuels", gas="2")
    job = await begin_load(session, store, first)
    assert (job.state, job.group) == (JobState.PENDING, USA)
    assert await store.run_jobs("w", [JobKind.LOAD_DATASET]) == 1
    over = await job_of(session, job)
    assert (over.state, over.done, over.total, over.message) == (JobState.DONE, 1, 1, None)
    made = await latest(session, first)
    content = made.content
    assert (made.version, content.row_count, content.size_bytes) == (2, 300, len(CSV))
    assert content.checksum == sha256(CSV).hexdigest()
    assert content.index_bytes > 0
    assert await dataset_files(store.files) == {
        key_of_file(first),
        key_of_file(made),
        key_of_index(made),
    }
    stored = b"".join([chunk async for chunk in store.files.read(key_of_file(made))])
    index = b"".join([chunk async for chunk in store.files.read(key_of_index(made))])
    assert stored == CSV
    assert (len(index), sha256(index).hexdigest()) == (content.index_bytes, content.index_checksum)
    assert made.counted_bytes == first.content.size_bytes + len(CSV) + len(index)
    rows = await DatasetTableCache().rows(store.files, made)
    assert rows.find("key 299", None) == Decimal("299.5")
    assert rows.find("299.5", ("v", "k")) == "key 299"
    assert await faults(store.table) == []
    await session.datasets.deleting.delete(made.id)
    assert await dataset_files(store.files) == set()


@on_sqlite
async def test_a_small_file_is_stored_as_if_it_were_sent(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    session = await create_groups(store)
    first = await lookup_dataset(session, USA, "fuels", gas="2")
    await begin_load(session, store, first)
    assert await store.run_jobs("w") == 1
    made = await latest(session, first)
    assert (made.version, made.content.row_count, made.content.is_indexed) == (2, 300, False)
    assert await dataset_files(store.files) == {key_of_file(first), key_of_file(made)}
    assert (await DatasetTableCache().rows(store.files, made)).find("key 7", None) == Decimal("7.5")


@on_sqlite
async def test_a_broken_file_ends_the_job_with_its_problems(store: Store) -> None:
    session = await create_groups(store)
    first = await lookup_dataset(session, USA, "fuels", gas="2")
    job = await begin_load(session, store, first, b"k,v\na,1\nb,x\nc,2,3\n")
    assert await store.run_jobs("w") == 1
    over = await job_of(session, job)
    assert over.state is JobState.FAILED
    assert [(one.code, one.line, one.column) for one in over.problems] == [
        ("INVALID_VALUE", 3, 2),
        ("WRONG_WIDTH", 4, 1),
    ]
    assert over.message == over.problems[0].message
    assert (await latest(session, first)).version == 1
    held = {name for name in await dataset_files(store.files) if "uploads" not in name}
    assert held == {key_of_file(first)}
    assert await faults(store.table) == []


async def in_state(session: Session, dataset: ReferenceDataset, state: State) -> ReferenceDataset:
    return await session.datasets.writing.update(dataset.id, dataset.version, {"state": state})


@on_sqlite
async def test_who_may_not_update_a_dataset_cannot_load_it(store: Store) -> None:
    session = await create_groups(store)
    dataset = await lookup_dataset(session, USA, "fuels", gas="2")
    id = await upload(session, store, CSV)
    frozen = await lookup_dataset(session, EU, "frozen", gas="2")
    frozen = await in_state(session, frozen, State.FROZEN)
    content = draft_content(COLUMNS, None)
    rows = await contents(store.table)

    async def begin(as_: Session, of: ReferenceDataset = dataset, **more: Any) -> Job:
        order = {"expected_version": of.version, "content": content, "upload": id, **more}
        return await as_.dataset_loads.begin(of.id, **order)

    stranger = store.open_session(caller({EU: Role.ADMIN}))
    reader = store.open_session(caller({USA: Role.READER}))
    other = store.open_session(caller({USA: Role.CONTRIBUTOR}))
    with pytest.raises(NotFound):
        await begin(stranger)
    with pytest.raises(NotPermitted):
        await begin(reader)
    with pytest.raises(VersionConflict):
        await begin(session, expected_version=2)
    with pytest.raises(IllegalState):
        await begin(session, frozen)
    with pytest.raises(Invalid, match="there is no such file"):
        await begin(other)  # only its uploader can use an upload
    with pytest.raises(Invalid, match="there is no column 'w'"):
        await begin(session, content=draft_content(COLUMNS, ["w"]))
    small = replace(store, dataset_limits=CsvLimits(10, 1, 1)).open_session(SUPER)
    with pytest.raises(Invalid, match="is larger than 10 bytes"):
        await begin(small)
    with pytest.raises(LimitExceeded, match="bytes of a dataset"):
        await small.dataset_files.upload(USA, 5 * 2**20)
    assert await contents(store.table) == rows


@on_sqlite
async def test_a_user_has_few_loads_at_a_time(store: Store) -> None:
    session = await create_groups(store)
    dataset = await lookup_dataset(session, USA, "fuels", gas="2")
    begun = [begin_load(session, store, dataset) for _ in range(MAX_LOADS + 3)]
    ended = await asyncio.gather(*begun, return_exceptions=True)
    refused = [each for each in ended if isinstance(each, BaseException)]
    assert [type(each) for each in refused] == [LimitExceeded] * 3
    with pytest.raises(LimitExceeded, match="unfinished loads"):
        await begin_load(session, store, dataset)


@on_sqlite
async def test_a_content_that_its_creator_did_not_see_is_not_replaced(store: Store) -> None:
    session = await create_groups(store)
    first = await lookup_dataset(session, USA, "fuels", gas="2")
    job = await begin_load(session, store, first)
    renamed = await session.datasets.writing.update(first.id, 1, {"name": "renamed"})
    another = await begin_load(session, store, renamed)
    newer = await update_dataset(session, renamed, gas="3")
    assert await store.run_jobs("w") == 2
    for one in (job, another):
        over = await job_of(session, one)
        assert (over.state, over.message) == (JobState.FAILED, "The current version is 3.")
    assert await latest(session, first) == newer
    indexes = [key for key in await dataset_files(store.files) if key.endswith(".rows")]
    assert indexes == []
    third = await begin_load(session, store, newer)
    await session.datasets.writing.update(first.id, 3, {"name": "renamed again"})
    assert await store.run_jobs("w") == 1
    assert (await job_of(session, third)).state is JobState.DONE
    made = await latest(session, first)
    assert (made.version, made.name, made.content.row_count) == (5, "renamed again", 300)


@on_sqlite
async def test_a_dataset_that_is_deleted_meanwhile_gets_no_version(store: Store) -> None:
    session = await create_groups(store)
    first = await lookup_dataset(session, USA, "fuels", gas="2")
    job = await begin_load(session, store, first)
    await session.datasets.deleting.delete(first.id)
    assert await store.run_jobs("w") == 1
    assert (await job_of(session, job)).state is JobState.FAILED
    held = {name for name in await dataset_files(store.files) if "uploads" not in name}
    assert held == set()
    assert await faults(store.table) == []


@on_sqlite
async def test_a_quota_counts_the_index_and_refuses_the_version(store: Store) -> None:
    session = await create_groups(store)
    first = await lookup_dataset(session, USA, "fuels", gas="2")
    job = await begin_load(session, store, first)
    quotas = Quotas(QuotaRules(per_group=Amounts(bytes=len(CSV) + 1_000)))
    assert await replace(store, quotas=quotas).run_jobs("w") == 1
    over = await job_of(session, job)
    assert over.state is JobState.FAILED
    # Whoever sees the group sees the job, also those who may not know what the group keeps.
    assert over.message == "bytes: the group /usa with all below it has no room left."
    assert (await latest(session, first)).version == 1
    held = {name for name in await dataset_files(store.files) if "uploads" not in name}
    assert held == {key_of_file(first)}


DEATHS = {
    "before any file": ({}, {"write": 0}),
    "between file and index": ({}, {"write": 1}),
    "before the version": ({"transact": 4}, {}),
}


@on_sqlite
@pytest.mark.parametrize("death", DEATHS)
async def test_a_worker_that_dies_leaves_nothing_and_the_next_one_loads(
    death: str, store: Store
) -> None:
    watch = Watch()
    store = replace(store, clock=Clock(now=watch))
    session = await create_groups(store)
    first = await lookup_dataset(session, USA, "fuels", gas="2")
    job = await begin_load(session, store, first)
    calls, writes = DEATHS[death]
    dying = replace(
        store, table=FailingProxy(store.table, **calls), files=FailingProxy(store.files, **writes)
    )
    with pytest.raises(WriterDied):
        await dying.run_jobs("first")
    assert (await latest(session, first)).version == 1
    watch.move(timedelta(minutes=1))
    assert await store.run_jobs("second") == 1
    made = await latest(session, first)
    assert ((await job_of(session, job)).state, made.version) == (JobState.DONE, 2)
    watch.move(STAGING_TIME)
    await store.sweep_files()
    assert await dataset_files(store.files) == {
        key_of_file(first),
        key_of_file(made),
        key_of_index(made),
    }
    assert [key for key in await contents(store.table) if key.pk.startswith("F:")] == []
    assert await faults(store.table) == []


@on_sqlite
@pytest.mark.parametrize("end", ["cancelled", "taken"])
async def test_a_load_that_lost_its_job_makes_no_version(
    end: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch()
    store = replace(store, clock=Clock(now=watch))
    session = await create_groups(store)
    first = await lookup_dataset(session, USA, "fuels", gas="2")
    job = await begin_load(session, store, first)
    access = session.dataset_files.access
    lease = await take_job(store.table, store.clock, "w", job.id)
    assert lease is not None
    run: Callable[[IndexBuild], int] = IndexBuild.run
    loop = asyncio.get_running_loop()

    async def end_job() -> None:
        if end == "cancelled":
            await session.jobs.cancel(job.id)
        else:
            watch.move(timedelta(minutes=1))
            assert await take_job(store.table, store.clock, "other", job.id) is not None

    def run_after_the_end(build: IndexBuild) -> int:
        asyncio.run_coroutine_threadsafe(end_job(), loop).result()
        return run(build)

    monkeypatch.setattr(IndexBuild, "run", run_after_the_end)
    with pytest.raises(JobLeaseLost):
        await load_dataset(access, lease, store.dataset_limits, store.work_debts)
    assert (await latest(session, first)).version == 1
    held = {name for name in await dataset_files(store.files) if "uploads" not in name}
    assert held == {key_of_file(first)}
    assert await faults(store.table) == []


@on_sqlite
@pytest.mark.parametrize("number", [0, 1])
async def test_a_load_that_is_cancelled_while_it_stores_leaves_nothing_that_does_not_count(
    number: int, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_files, "FOLLOW_SECONDS", 0.01)
    watch = Watch()
    stuck = StuckFiles(store.files)
    store = replace(store, clock=Clock(now=watch), files=stuck)
    session = await create_groups(store)
    first = await lookup_dataset(session, USA, "fuels", gas="2")
    job = await begin_load(session, store, first)
    stuck.left = number
    loading = asyncio.create_task(store.run_jobs("w"))
    await stuck.is_stuck.wait()
    await session.jobs.cancel(job.id)
    watch.move(timedelta(seconds=2))
    assert await loading == 0
    await until(stuck.has_deleted_all)
    held = {name for name in await dataset_files(store.files) if "uploads" not in name}
    assert (held, (await latest(session, first)).version) == ({key_of_file(first)}, 1)
    # What the store carries out late is swept.
    await put_file(stuck.files, stuck.stored[-1], b"late")
    watch.move(STAGING_TIME)
    await store.sweep_files()
    assert {name for name in await dataset_files(store.files) if "uploads" not in name} == held
    assert [key for key in await contents(store.table) if key.pk.startswith("F:")] == []
    assert await faults(store.table) == []


@on_sqlite
async def test_a_version_brought_back_has_its_index_again_and_is_not_counted_twice(
    store: Store,
) -> None:
    session = await create_groups(store)
    first = await lookup_dataset(session, USA, "fuels", gas="2")
    await begin_load(session, store, first)
    await store.run_jobs("w")
    loaded = await latest(session, first)
    await update_dataset(session, loaded, gas="3")
    back = await session.datasets.writing.restore(first.id, 2, 3)
    assert back.content == loaded.content
    assert back.counted_bytes == loaded.counted_bytes + len("k,v\ngas,3\n")
    assert msgspec.structs.replace(back.content, file="") != loaded.content
    assert await faults(store.table) == []


@on_sqlite
async def test_the_processor_time_is_known_before_the_index_is_made(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, seen = chain([10.0], repeat(12.0)), list[float]()
    monkeypatch.setattr(build_index, "thread_time", lambda: next(clock))
    index_keys = IndexBuild._index_keys

    def note_seconds(build: IndexBuild, connection: sqlite3.Connection) -> None:
        seen.append(build.seconds)
        index_keys(build, connection)

    monkeypatch.setattr(IndexBuild, "_index_keys", note_seconds)
    session = await create_groups(store)
    await begin_load(session, store, await lookup_dataset(session, USA, "fuels", gas="2"))
    assert await store.run_jobs("w") == 1
    assert seen == [2.0]


@on_sqlite
@pytest.mark.parametrize("data", [CSV, CSV + b"key 1,2\n"], ids=["a file", "a broken file"])
async def test_the_creator_owes_the_processor_time(
    data: bytes, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = chain([10.0], repeat(12.0))
    monkeypatch.setattr(build_index, "thread_time", lambda: next(clock))
    session = await create_groups(store)
    first = await lookup_dataset(session, USA, "fuels", gas="2")
    await begin_load(session, store, first, data)
    assert await store.run_jobs("w") == 1
    owed = dict[str, int]()
    await store.work_debts.take_all(owed.__setitem__)
    assert owed == {"super": worker_units(2.0)}
