"""Jobs: who may read them, how long they are kept, and the handling of failures."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import NotFound
from penstock.datastore.jobs.jobs import Job, JobState
from penstock.datastore.roles import GroupPath, Role
from penstock.datastore.store import Store
from penstock.datastore.table.layout import JOB
from penstock.datastore.table.port import Page, Query, Table
from tests.datastore.jobs.sample_subtree import (
    CITY,
    STEPS,
    assert_only_the_rest,
    begin_deletion,
    follow,
    plant,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SUPER,
    USA,
    Watch,
    caller,
    create_groups,
    make,
    on_sqlite,
)
from tests.support.table_interceptors import InterceptedTable

T = TypeVar("T")

pytestmark = on_sqlite

WEEK = 7 * 24 * 60 * 60


class LaggingTable(InterceptedTable):
    """A table whose index lists nothing yet."""

    async def query(self, query: Query) -> Page:
        page = await self._table.query(query)
        return Page((), None, 0.0) if query.index and query.partition[0] in "GO" else page


async def test_what_the_index_does_not_show_yet_is_waited_for(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    await plant(store)
    job = await begin_deletion(store)
    assert await Store(LaggingTable(store.table)).run_jobs("w") == 0
    assert "1 resources in /usa/northwest/city are not listed yet" in caplog.text
    waiting = await follow(store, job.id)
    assert (waiting.state, waiting.done, waiting.total) == (JobState.RUNNING, 0, STEPS)
    assert await faults(store.table) == []
    assert await store.run_jobs("w") == 1
    await assert_only_the_rest(store)


class StuckTable(InterceptedTable):
    """A table whose writes wait for ever after so many of them."""

    def __init__(self, table: Table, writes: int) -> None:
        super().__init__(table)
        self.left = writes
        self.reached = asyncio.Event()

    async def request(self, call: Coroutine[Any, Any, T], *, writes: bool) -> T:
        if writes and self.left == 0:
            self.left = -1
            self.reached.set()
            try:
                await asyncio.Event().wait()
            finally:
                call.close()
        self.left -= writes
        return await call


async def test_a_worker_that_is_stopped_hands_its_job_on_at_once(store: Store) -> None:
    await plant(store)
    job = await begin_deletion(store)
    stuck = StuckTable(store.table, 10)
    working = asyncio.create_task(Store(stuck).run_jobs("first"))
    await stuck.reached.wait()
    working.cancel()
    await asyncio.wait([working])
    assert working.cancelled()
    assert (await follow(store, job.id)).state is JobState.RUNNING
    assert await store.run_jobs("second") == 1
    await assert_only_the_rest(store)


class BrokenTable(InterceptedTable):
    """A table that answers queries with nonsense."""

    async def query(self, query: Query) -> Page:
        if query.partition == "G:/usa":
            raise ZeroDivisionError("what nobody is to be told")
        return await self._table.query(query)


async def test_what_nobody_foresaw_fails_the_job_and_is_logged_and_not_told(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    await plant(store)
    job = await begin_deletion(store)
    with caplog.at_level(logging.ERROR, "penstock.jobs"):
        assert await Store(BrokenTable(store.table)).run_jobs("w") == 1
    assert "what nobody is to be told" in caplog.text
    failed = await follow(store, job.id)
    assert failed.state is JobState.FAILED
    assert failed.message is not None
    assert "nobody" not in failed.message
    assert (await begin_deletion(store)).id != job.id
    assert await store.run_jobs("w") == 1
    await assert_only_the_rest(store)


async def test_a_job_that_is_over_is_kept_for_a_week(store: Store) -> None:
    session = await create_groups(store)
    await make(session, EU, "one")
    watch = Watch()
    store = Store(store.table, clock=Clock(watch))
    job = await begin_deletion(store, EU)
    key = JOB.key(id=job.id)
    assert "expiresAt" not in (await contents(store.table))[key]
    assert await store.run_jobs("w") == 1
    row = (await contents(store.table))[key]
    assert row["expiresAt"] == int(watch.time.timestamp()) + WEEK
    assert not {"siKey1", "worker", "heldUntil"} & row.keys()


async def test_a_job_about_a_group_is_followed_by_who_may_know_the_group(
    store: Store,
) -> None:
    await plant(store)
    ann = caller({NORTHWEST: Role.ADMIN})
    _, job = await store.open_session(ann).group_deletions.delete(NORTHWEST)
    assert job is not None
    for who, sees in (
        (SUPER, True),
        (caller({CITY: Role.READER}, "bob"), True),
        (caller({USA: Role.READER}, "bob"), True),
        (caller({}, "ann"), False),
        (caller({EU: Role.ADMIN}, "bob"), False),
        (caller({GroupPath("/usa/south"): Role.ADMIN}, "bob"), False),
        (caller({}, "bob"), False),
    ):
        asked = [job.id, "nonsense", job.id.upper()]
        found, *others = await store.open_session(who).jobs.many(asked)
        assert isinstance(found, Job) == sees
        assert isinstance(found, NotFound) != sees
        assert all(isinstance(other, NotFound) for other in others)
