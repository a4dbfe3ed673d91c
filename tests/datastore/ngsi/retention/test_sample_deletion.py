"""Deletions of samples: of a span or all, what stays, who may, and what was not stored yet."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar
from unittest import mock

import pytest
from msgspec import structs

from penstock.datastore.clock import Clock
from penstock.datastore.errors import Invalid, LimitExceeded, NotFound, NotPermitted, Unavailable
from penstock.datastore.jobs.jobs import Job, JobKind, JobState
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.directory import Entity
from penstock.datastore.ngsi.options import BatchingOptions, DataModel, ItemLayout, Persistence
from penstock.datastore.ngsi.reading.series import ALL_TIMES, TimeSpan
from penstock.datastore.ngsi.retention import sample_deletion
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.roles import GroupPath, Role
from penstock.datastore.store import Store
from penstock.datastore.table.port import Key, Table
from tests.datastore.jobs.sample_subtree import follow
from tests.datastore.ngsi.failing_destinations import (
    FailingDestinations,
    fail_first,
    fail_nothing,
    fail_table,
)
from tests.datastore.ngsi.sample_sinks import LEASE_SECONDS, QUICK, SinkWorld, car
from tests.datastore.ngsi.test_repository import START, notify, speed, texts
from tests.datastore.ngsi.test_sink import accept
from tests.support.consistency_check import contents
from tests.support.patience import until
from tests.support.sample_resources import SUPER, Watch, caller, on_sqlite, without_moto
from tests.support.table_interceptors import InterceptedTable

CAR = Entity("vehicles", "/4wheels", "car1", "car")
SECOND = timedelta(seconds=1)
BUSY = Unavailable("busy")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """A sink and the store of its server, with one clock that tests move."""

    sink: NotificationSink
    store: Store
    watch: Watch

    async def begin(self, span: TimeSpan = ALL_TIMES, of: Entity = CAR) -> Job:
        return await self.store.open_session(SUPER).sample_deletions.begin(of, span)

    async def delete(self, span: TimeSpan = ALL_TIMES, of: Entity = CAR) -> Job:
        """Delete samples; return the job, which is over."""
        job = await self.begin(span, of)
        assert await self.store.run_jobs("w") == 1
        return await follow(self.store, job.id)


@asynccontextmanager
async def open_place(
    world: SinkWorld, failing: FailingDestinations | None = None, watch: Watch | None = None
) -> AsyncIterator[Place]:
    if watch is None:
        watch = Watch()
        watch.move(timedelta(hours=1))
    used = failing or world.context.destinations
    async with world.open_sink(QUICK, destinations=used, clock=Clock(watch)) as sink:
        beside = world.store_beside(sink)
        ingest = replace(beside.ngsi_access, destinations=used)
        yield Place(sink, replace(beside, clock=Clock(watch), ngsi_access=ingest), watch)


async def test_the_samples_of_a_span_go_and_the_others_stay(world: SinkWorld) -> None:
    await notify(world, *range(5))
    async with open_place(world) as place:
        await accept(place.sink, car("car2", speed=9))
        before = await world.wait_until_settled()
        job = await place.delete(TimeSpan(START + SECOND, START + 3 * SECOND))
        assert (job.kind, job.state, job.group) == (
            JobKind.DELETE_SAMPLES,
            JobState.DONE,
            "/vehicles/4wheels",
        )
        assert (job.done, job.total) == (2, None)
        assert await texts(world, await speed(world)) == ["0", "3", "4"]
        assert await world.counts() == before == IngestCounts(received=6, persisted=6, items=6)
        again = await place.delete(TimeSpan(START + SECOND, START + 3 * SECOND))
        assert (again.state, again.done) == (JobState.DONE, 0)
        of = await speed(world)
        assert (await place.delete()).done == 3
        assert await texts(world, of) == []
        (other,) = await world.read_samples()
        assert other["entityId"] == "car2"


@without_moto
async def test_all_samples_go_from_every_table_in_rows_and_in_columns(world: SinkWorld) -> None:
    column = ItemLayout(attr_persistence=Persistence.COLUMN)
    shared = replace(QUICK.naming, data_model=DataModel.BY_SERVICE_PATH)
    async with open_place(world) as place:
        for n, options in enumerate(
            (QUICK, replace(QUICK, layout=column), replace(QUICK, naming=shared))
        ):
            async with world.open_sink(options, clock=Clock(place.watch)) as sink:
                await accept(sink, car("car1", speed=n, oil=n), car("car2", speed=n))
            place.watch.move(SECOND)
        of = await speed(world)
        # Two rows, one item of columns, two rows.
        assert (await place.delete()).done == 5
        assert await texts(world, of) == []
        assert (await place.delete(of=structs.replace(CAR, entity_id="car2"))).done == 3


@without_moto
async def test_a_large_deletion_goes_on_where_it_was_interrupted(world: SinkWorld) -> None:
    await notify(world, *range(60))
    failing = FailingDestinations(world.context.destinations)
    async with open_place(world, failing) as place:
        of = await speed(world)
        job = await place.begin()
        for _ in range(2):
            failing.fails = fail_first(1, BUSY)
            assert await place.store.run_jobs("w") == 0
        assert (await follow(place.store, job.id)).state is JobState.RUNNING
        assert await place.store.run_jobs("w") == 1
        assert await texts(world, of) == []
        # What was deleted by a request that failed half way is not counted.
        assert 10 <= (await follow(place.store, job.id)).done <= 60


@without_moto
async def test_what_arrives_after_the_request_stays(world: SinkWorld) -> None:
    await notify(world, *range(3))
    async with open_place(world) as place:
        job = await place.begin()
        place.watch.move(SECOND)
        # It is late: the time of its event lies among those that are deleted.
        late = {
            "speed": {"type": "Number", "value": 7},
            "TimeInstant": {"type": "DateTime", "value": START.isoformat()},
        }
        await accept(place.sink, {"id": "car1", "type": "car", **late})
        await world.wait_until_settled()
        assert await place.store.run_jobs("w") == 1
        assert (await follow(place.store, job.id)).done == 3
        assert await texts(world, await speed(world)) == ["7"]


@on_sqlite
@pytest.mark.parametrize("shared", [False, True])
async def test_what_was_accepted_and_is_not_stored_yet_goes_when_it_is_stored(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    monkeypatch.setattr(sample_deletion, "POLL_SECONDS", 0.01)
    await notify(world, 1, 2)
    failing = FailingDestinations(world.context.destinations, fail_table("", BUSY))
    batching = BatchingOptions(ttl=-1, retry_intervals=(0.01,))
    watch = Watch()
    watch.move(timedelta(hours=1))
    async with world.open_sink(
        replace(QUICK, batching=batching), destinations=failing, clock=Clock(watch)
    ) as sink:
        store = replace(world.store_beside(sink), clock=Clock(watch))
        if shared:
            # The first segment of a process has a run of its own.
            await accept(sink, car("car2", speed=2))
        await accept(sink, car("car1", speed=3))
        watch.move(SECOND)
        of = await speed(world)
        job = await store.open_session(SUPER).sample_deletions.begin(CAR, ALL_TIMES)
        running = asyncio.create_task(store.run_jobs("w"))

        async def is_begun() -> bool:
            # A write that fails may have taken effect, again and again.
            return "1" not in await texts(world, of)

        await until(is_begun)
        assert not running.done()
        failing.fails = fail_nothing
        assert await running == 1
        assert (await follow(store, job.id)).done >= 3
        stored = 3 + shared
        counts = await world.wait_until_settled()
        assert counts == IngestCounts(received=stored, persisted=stored, items=stored)
        assert await texts(world, of) == []


class StandingTable(InterceptedTable):
    """A table whose calls stand still until they may go, as those of a process that is paused."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.may_go = asyncio.Event()
        self.may_go.set()

    async def request(self, call: Coroutine[Any, Any, T], *, writes: bool) -> T:
        await self.may_go.wait()
        return await call


@on_sqlite
@pytest.mark.parametrize("shared", [False, True])
async def test_a_server_that_was_paused_stores_nothing_that_was_deleted_meanwhile(
    world: SinkWorld, shared: bool
) -> None:
    watch = Watch()
    watch.move(timedelta(hours=1))
    table = StandingTable(world.context.table)
    async with world.open_sink(table=table, clock=Clock(watch)) as paused:
        if shared:
            # The first segment of a process has a run of its own.
            await accept(paused, car("car2", speed=2))
        await accept(paused, car("car1", speed=3))
        table.may_go.clear()
        watch.move(timedelta(seconds=LEASE_SECONDS + 1))
        async with open_place(world, watch=watch) as place:
            await world.wait_until_settled()
            of = await speed(world)
            assert await texts(world, of) == ["3"]
            assert (await place.delete()).state is JobState.DONE
            assert await texts(world, of) == []
            table.may_go.set()
            await until(lambda: not paused.loader.open_runs)
            assert await texts(world, of) == []
    stored = 1 + shared
    counts = IngestCounts(received=stored, persisted=stored, items=stored)
    assert await world.counts() == counts


@on_sqlite
async def test_only_admins_of_the_service_path_delete(world: SinkWorld) -> None:
    await notify(world, 1)
    async with open_place(world) as place:
        before = await contents(world.context.table)
        group = GroupPath("/vehicles")
        for user, error in (
            (caller({group: Role.CONTRIBUTOR}), NotPermitted),
            (caller({GroupPath("/rooms"): Role.ADMIN}), NotFound),
        ):
            with pytest.raises(error):
                await place.store.open_session(user).sample_deletions.begin(CAR, ALL_TIMES)
        with pytest.raises(Invalid):
            await place.begin(TimeSpan(START, START))
        assert await contents(world.context.table) == before
        admin = place.store.open_session(caller({group: Role.ADMIN}))
        await admin.sample_deletions.begin(CAR, ALL_TIMES)


@on_sqlite
async def test_a_user_has_so_many_deletions_at_a_time_and_can_cancel_them(world: SinkWorld) -> None:
    await notify(world, 1)
    async with open_place(world) as place:
        begun = [place.begin() for _ in range(sample_deletion.MAX_DELETIONS + 2)]
        ended = await asyncio.gather(*begun, return_exceptions=True)
        jobs = [each for each in ended if isinstance(each, Job)]
        assert len(jobs) == sample_deletion.MAX_DELETIONS
        with pytest.raises(LimitExceeded, match="unfinished deletions of samples"):
            await place.begin()
        for job in jobs:
            await place.store.open_session(SUPER).jobs.cancel(job.id)
        assert await place.store.run_jobs("w") == 0
        assert await texts(world, await speed(world)) == ["1"]
        assert (await place.delete()).done == 1


@on_sqlite
async def test_a_deletion_reads_pages_and_deletes_25_at_a_time(world: SinkWorld) -> None:
    await notify(world, *range(60))
    sizes: list[int] = []
    failing = FailingDestinations(world.context.destinations)
    async with open_place(world, failing) as place:
        real = failing.inner.delete

        async def record_size(table: str, keys: Sequence[Key]) -> None:
            sizes.append(len(keys))
            await real(table, keys)

        with mock.patch.object(FailingDestinations, "delete", staticmethod(record_size)):
            assert (await place.delete()).done == 60
    assert sizes == [25, 25, 10]
