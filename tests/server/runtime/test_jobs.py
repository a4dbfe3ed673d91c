"""Jobs run with the server: at once, after a crash, and on any server."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Any

import httpx
import pytest

from penstock.datastore.errors import Unavailable
from penstock.datastore.jobs.jobs import JobKind, JobState, new_job
from penstock.datastore.jobs.rows import creation_writes
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.datastore.table.commit import commit
from penstock.datastore.table.layout import JOB
from penstock.datastore.table.port import Table, Update
from penstock.schema.core.relay import parse_global_id
from penstock.server.runtime.maintenance import run_jobs_in_background
from tests.datastore.jobs.sample_subtree import assert_only_the_rest, begin_deletion, follow, plant
from tests.support.consistency_check import contents, faults
from tests.support.patience import HUNG_SECONDS, until, wait_until
from tests.support.penstock_command import Client, client, start_server, token_of
from tests.support.sample_resources import NORTHWEST, SUPER, USA, create_groups, make
from tests.support.server_process import VERIFY_TLS

pytestmark = pytest.mark.runs_together("jobs")

PIPELINES = 500
STEPS = PIPELINES + 2
CASCADE = """mutation { deleteGroup(input: {path: "/usa", cascade: true}) {
  ...on DeleteGroupPayload { job { id state } } } }"""
NOTIFICATION = {
    "subscriptionId": "s",
    "data": [
        {"id": id, "type": "car", "speed": {"type": "Number", "value": 7, "metadata": {}}}
        for id in ("car0", "car1")
    ],
}
STORED = """{ ngsiService(name: "vehicles") { counts { persisted } } }"""
DELETE_SAMPLES = """mutation { deleteNgsiSamples(input: {
  service: "vehicles", servicePath: "/4w", entityId: "car0", entityType: "car" }) {
  ...on DeleteNgsiSamplesPayload { job { id } } } }"""
JOB_STATE = "query($id: ID!) { job(id: $id) { state done total } }"
COUNT = """{ tagKeys(kind: PIPELINE, group: "/usa", first: 1) { nodes { count } } }"""


async def is_job_over(store: Store, id: str) -> bool:
    return (await follow(store, id)).is_over


async def test_a_job_that_is_begun_runs_at_once(store: Store) -> None:
    await plant(store)
    async with run_jobs_in_background(store, seconds=3600) as served:
        await asyncio.sleep(0.05)  # by now it has looked for jobs, and waits
        job = await begin_deletion(served)
        await until(lambda: is_job_over(store, job.id))
    await assert_only_the_rest(store)


async def test_a_job_that_waits_runs_when_the_server_starts(store: Store) -> None:
    await plant(store)
    job = await begin_deletion(store)
    async with run_jobs_in_background(store, seconds=3600):
        await until(lambda: is_job_over(store, job.id))
    await assert_only_the_rest(store)


async def test_a_job_that_was_begun_elsewhere_is_found(store: Store) -> None:
    await plant(store)
    async with run_jobs_in_background(store, seconds=0.05):
        await asyncio.sleep(0.02)
        job = await begin_deletion(store)
        await until(lambda: is_job_over(store, job.id))
    await assert_only_the_rest(store)


async def test_a_store_that_does_not_answer_ends_nothing(
    store: Store, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    await plant(store)
    failures: list[Exception] = [Unavailable("The store is away."), ZeroDivisionError("a slip")]
    run = Store.run_jobs

    async def failing(self: Store, worker: str, kinds: Collection[JobKind]) -> int:
        if failures:
            raise failures.pop(0)
        return await run(self, worker, kinds)

    monkeypatch.setattr(Store, "run_jobs", failing)
    job = await begin_deletion(store)
    async with run_jobs_in_background(store, seconds=0.01):
        await until(lambda: is_job_over(store, job.id))
    assert "The store is away." in caplog.text
    assert "a slip" in caplog.text
    await assert_only_the_rest(store)


async def test_a_deletion_does_not_wait_for_imports(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await plant(store)
    begun, held = asyncio.Event(), asyncio.Event()

    async def import_slowly(_self: Store, _access: object, _lease: object) -> None:
        begun.set()
        await held.wait()

    monkeypatch.setattr(Store, "_import_audio", import_slowly)
    access = store.open_session(SUPER).groups.access
    importing = new_job(access, JobKind.IMPORT_AUDIO, prefix="audio/super/uploads/")
    await commit(store.table, creation_writes(importing))
    async with run_jobs_in_background(store, seconds=0.05):
        await begun.wait()
        job = await begin_deletion(store)
        await until(lambda: is_job_over(store, job.id))
        held.set()
        await until(lambda: is_job_over(store, importing.id))
    await assert_only_the_rest(store)


async def test_a_job_amid_which_the_server_stops_goes_on_in_the_next_one(store: Store) -> None:
    session = await create_groups(store)
    for n in range(60):
        await make(session, NORTHWEST, f"n{n}")
    job = await begin_deletion(store)
    async with run_jobs_in_background(store, seconds=3600):
        await until(lambda: _has_begun_to_delete(store))
    stopped = await follow(store, job.id)
    assert stopped.state is JobState.RUNNING
    async with run_jobs_in_background(store, seconds=3600):
        await until(lambda: is_job_over(store, job.id))
    ended = await follow(store, job.id)
    assert (ended.state, ended.done, ended.total) == (JobState.DONE, 63, 63)
    assert await faults(store.table) == []


async def _has_begun_to_delete(store: Store) -> bool:
    return await _count_left(store.table) < 60


async def _count_left(table: Table) -> int:
    return sum(key.sk == "PV:latest" for key in await contents(table))


async def with_table(data_dir: Path, act: Callable[[Table], Awaitable[Any]]) -> Any:
    """Do something with the data file of stopped or not yet started servers."""
    table = SqliteTable.open(data_dir / "penstock.db")
    try:
        await table.create()
        return await act(table)
    finally:
        await table.close()


async def fill(table: Table) -> None:
    session = await create_groups(Store(table), USA, NORTHWEST)
    for n in range(PIPELINES):
        await make(session, USA if n % 10 else NORTHWEST, f"n{n}", "a=b/c")


def is_over(one: Client, id: str) -> bool:
    return one.ask(JOB_STATE, id=id)["state"] in ("DONE", "FAILED")


def has_lost_some(one: Client) -> bool:
    (key,) = one.ask(COUNT)["nodes"]
    return bool(key["count"] < PIPELINES * 0.8)


def test_a_cascade_amid_which_the_server_is_killed_is_finished_after_a_restart(
    tmp_path: Path,
) -> None:
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    asyncio.run(with_table(data_dir, fill))
    options = ("--port", "0", "--data-dir", str(data_dir), "--no-seed")
    with (
        start_server(tmp_path / "one", *options) as first,
        client(first, data_dir, "/=admin") as one,
    ):
        id = one.ask(CASCADE)["job"]["id"]
        wait_until(lambda: has_lost_some(one))
        assert first.end(signal.SIGKILL) == -signal.SIGKILL
    key = parse_global_id(id)
    assert key is not None
    left = asyncio.run(with_table(data_dir, lambda table: expire_lease(table, key.key)))
    assert 0 < left < PIPELINES
    with (
        start_server(tmp_path / "two", *options) as second,
        start_server(tmp_path / "three", *options) as third,
        client(third, data_dir, "/=admin") as one,
    ):
        wait_until(lambda: is_over(one, id))
        ended = one.ask(JOB_STATE, id=id)
        assert ended == {"state": "DONE", "done": STEPS, "total": STEPS}
        assert [second.end(), third.end()] == [0, 0]
    assert asyncio.run(with_table(data_dir, _count_left)) == 0
    assert asyncio.run(with_table(data_dir, faults)) == []


async def expire_lease(table: Table, id: str) -> int:
    """Let the lease expire; returns the number of remaining pipelines."""
    assert await faults(table) == []
    assert not (await follow(Store(table), id)).is_over
    assert await Store(table).run_jobs("somebody else") == 0
    past = "2022-08-10T23:55:20.322Z"
    await table.transact([Update(key=JOB.key(id=id), set={"heldUntil": past})])
    return await _count_left(table)


def has_stored(one: Client, samples: int) -> bool:
    service = one.ask(STORED)
    return service is not None and service["counts"]["persisted"] == samples


def test_a_server_ends_a_deletion_of_samples(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    options = ("--port", "0", "--data-dir", str(data_dir), "--no-seed")
    with (
        start_server(tmp_path / "log", *options, PENSTOCK_NGSI_BATCH_TIMEOUT="0.1") as server,
        client(server, data_dir, "/=admin") as one,
    ):
        headers = {
            "authorization": f"Bearer {token_of(data_dir, '/=admin')}",
            "fiware-service": "vehicles",
            "fiware-servicepath": "/4w",
        }
        answer = httpx.post(
            f"{server.url}/v2/notify",
            json=NOTIFICATION,
            headers=headers,
            timeout=HUNG_SECONDS,
            verify=VERIFY_TLS,
        )
        assert answer.status_code == 200, answer.text
        wait_until(lambda: has_stored(one, 2))
        id = one.ask(DELETE_SAMPLES)["job"]["id"]
        wait_until(lambda: is_over(one, id))
        assert one.ask(JOB_STATE, id=id) == {"state": "DONE", "done": 1, "total": None}
        assert server.end() == 0
