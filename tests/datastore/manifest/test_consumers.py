"""Consumers of a manifest: each gets every processed run once, and goes its own way."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import IllegalState, Invalid, LimitExceeded, NotFound, NotPermitted
from penstock.datastore.manifest import consumers
from penstock.datastore.manifest.consumers import ConsumerStart
from penstock.datastore.manifest.import_runs import SourceItem
from penstock.datastore.manifest.lists import RunListFilter
from penstock.datastore.manifest.records import Action, ManifestName, Run, RunName, RunState
from penstock.datastore.manifest.runs import Discovery
from penstock.datastore.manifest.transitions import Fail, MarkLoaded, MarkProcessed, Retry
from penstock.datastore.records import Tag
from penstock.datastore.roles import ROOT, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Operation, Table
from tests.datastore.manifest.sample_runs import (
    LOAD,
    LOADED_ITEM,
    NAME,
    NEW_ITEM,
    PROCESSED_ITEM,
    RUN_ID,
    SAVED_TO,
    SNOW,
    TRANSFORM,
    TYPES,
    bring_to,
    claim,
    discover,
    events,
    run_faults,
    run_name,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import USA, Watch, caller, on_sqlite
from tests.support.table_interceptors import InterceptedTable, TracedTable

LAKE = ManifestName(USA, "Lake")
BEGINNING, NOW = ConsumerStart.BEGINNING, ConsumerStart.NOW


@pytest.fixture
def store(table: Table) -> Store:
    return Store(table, Clock(now=Watch()))


async def runs_of(session: Session, manifest: ManifestName = LAKE) -> list[Run]:
    page = await session.run_lists.page(manifest, RunListFilter(), Window(size=100))
    assert not page.more
    return [run for _, run in page.entries]


async def ids_of(session: Session, manifest: ManifestName = LAKE) -> list[str]:
    return sorted(run.run_id for run in await runs_of(session, manifest))


async def is_whole(store: Store) -> bool:
    return (await run_faults(store.table), await faults(store.table)) == ([], [])


async def test_a_consumer_gets_each_run_when_it_is_processed(
    session: Session, store: Store
) -> None:
    await discover(session, "before/")
    lake = await session.run_consumers.create(SNOW, "Lake", NOW)
    assert (lake.consumes, lake.is_filled, lake.runs) == ("snowplow", True, 0)
    assert (await session.manifests.one(SNOW)).consumers == ("Lake",)
    labels: dict[str, Any] = {"tags": (Tag(key="country", value="de"),), "batch": "today"}
    await discover(session, **labels)
    run = await bring_to(session, RunState.PROCESSED)
    (copy,) = await runs_of(session)
    assert (copy.run_id, copy.state, copy.saved_to) == (RUN_ID, RunState.PROCESSED, SAVED_TO)
    assert (copy.shred_types, copy.batch, copy.tags) == (TYPES, "today", run.tags)
    assert (copy.fence, copy.attempt, copy.version) == (0, 0, 1)
    assert copy.id != run.id
    assert [event.action for event in await events(session, copy)] == [Action.COPY]
    assert (await session.manifests.one(LAKE)).runs == 1
    assert await is_whole(store)


async def test_consumers_and_the_loader_go_their_own_ways(session: Session, store: Store) -> None:
    await bring_to(session, RunState.PROCESSED)
    for name in ("lake", "archive"):
        await session.run_consumers.create(SNOW, name, BEGINNING)
    in_lake, in_archive = RunName(LAKE, RUN_ID), RunName(ManifestName(USA, "archive"), RUN_ID)
    held = await claim(session, LOAD, in_lake)
    await session.runs.change(in_lake, Fail(fence=held.fence, error="no warehouse"))
    held = await claim(session, LOAD, in_archive)
    await session.runs.change(in_archive, MarkLoaded(fence=held.fence, loaded_by="archive-1"))
    found = await session.runs.many([NAME, in_lake, in_archive])
    states = [run.state for run in found if isinstance(run, Run)]
    assert states == [RunState.PROCESSED, RunState.FAILED, RunState.LOADED]
    await session.runs.change(in_lake, Retry())
    assert await is_whole(store)


async def test_a_consumer_from_the_beginning_gets_what_was_processed_before(
    session: Session, store: Store
) -> None:
    for n in range(30):
        await bring_to(session, RunState.LOADED if n % 2 else RunState.NEW, f"r{n:02}/")
    await session.run_consumers.create(SNOW, "lake", BEGINNING)
    copies = await runs_of(session)
    assert [run.run_id for run in copies] == [f"r{n:02}/" for n in range(1, 30, 2)]
    assert {(run.state, run.loaded_at) for run in copies} == {(RunState.PROCESSED, None)}
    before = await contents(store.table)
    assert (await session.run_consumers.create(SNOW, "LAKE", BEGINNING)).runs == 15
    assert await contents(store.table) == before
    await bring_to(session, RunState.PROCESSED, "r00/")
    assert len(await runs_of(session)) == 16
    assert await is_whole(store)


async def test_a_call_copies_some_runs_and_the_next_goes_on_where_it_stopped(
    session: Session, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "PAGES", 1)
    for n in range(60):
        await bring_to(session, RunState.PROCESSED, f"r{n:02}/")
    sizes = []
    for _ in range(4):
        lake = await session.run_consumers.create(SNOW, "lake", BEGINNING)
        sizes.append((lake.runs, lake.is_filled))
    assert sizes == [(25, False), (50, False), (60, True), (60, True)]
    assert await is_whole(store)


class Overtaken(TracedTable):
    """A table in which something happens just before the first transaction that marks a run."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.meanwhile: Session | None = None

    async def transact(self, operations: Sequence[Operation]) -> float:
        session, self.meanwhile = self.meanwhile, None
        if session is not None:
            await session.run_consumers.create(SNOW, "lake", BEGINNING)
        return await super().transact(operations)


async def test_a_run_that_is_processed_while_a_consumer_is_made_is_not_missed(
    session: Session, store: Store
) -> None:
    await discover(session)
    held = await claim(session, TRANSFORM)
    table = Overtaken(store.table)
    worker = Store(table, store.clock).open_session(caller({USA: Role.CONTRIBUTOR}))
    table.meanwhile = session
    done = MarkProcessed(fence=held.fence, shred_types=TYPES, saved_to=SAVED_TO)
    assert (await worker.runs.change(NAME, done)).state is RunState.PROCESSED
    assert await ids_of(session) == [RUN_ID]
    assert await is_whole(store)


async def test_what_a_consumer_has_already_stays_as_it_is(session: Session, store: Store) -> None:
    await discover(session)
    for name in ("lake", "other"):
        await session.run_consumers.create(SNOW, name, NOW)
    run = await bring_to(session, RunState.PROCESSED)
    in_lake = RunName(LAKE, RUN_ID)
    held = await claim(session, LOAD, in_lake)
    loaded = await session.runs.change(in_lake, MarkLoaded(fence=held.fence, loaded_by="l"))
    held = await claim(session, LOAD)
    await session.runs.change(NAME, Fail(fence=held.fence, error="no warehouse"))
    await session.run_recovery.reset(NAME, force=True)
    other = RunName(ManifestName(USA, "other"), RUN_ID)
    held = await claim(session, LOAD, other)
    await session.runs.change(other, Fail(fence=held.fence, error="gone"))
    await session.run_recovery.delete(other, force=True)
    held = await claim(session, TRANSFORM)
    again = MarkProcessed(fence=held.fence, shred_types=(), saved_to="s3://stage/second/")
    assert (await session.runs.change(NAME, again)).id == run.id
    assert await session.runs.one(in_lake) == loaded
    new = await session.runs.one(other)
    # The copy was deleted under fence 1, which none of its workers may use again.
    assert (new.saved_to, new.fence, new.state) == ("s3://stage/second/", 1, RunState.PROCESSED)
    assert await is_whole(store)


async def test_a_consumer_that_is_removed_gets_no_more_and_keeps_its_runs(
    session: Session, store: Store
) -> None:
    await bring_to(session, RunState.PROCESSED, "first/")
    await session.run_consumers.create(SNOW, "lake", BEGINNING)
    for name in (SNOW, LAKE):
        with pytest.raises(IllegalState, match="is a consumer, or has consumers"):
            await session.manifests.delete(name)
    removed = await session.run_consumers.remove(SNOW, "LAKE")
    assert (removed.consumes, removed.runs) == (None, 1)
    await bring_to(session, RunState.PROCESSED, "second/")
    assert await ids_of(session) == ["first/"]
    assert (await session.manifests.one(SNOW)).consumers == ()
    with pytest.raises(NotFound, match="no such consumer"):
        await session.run_consumers.remove(SNOW, "lake")
    assert await is_whole(store)


async def test_imported_runs_reach_the_consumers_also_by_a_repeated_import(
    session: Session, store: Store
) -> None:
    await discover(session, "own/")
    await session.run_consumers.create(SNOW, "lake", NOW)
    items = [
        SourceItem(f"line {n}", item)
        for n, item in enumerate((NEW_ITEM, PROCESSED_ITEM, LOADED_ITEM))
    ]
    await session.run_importer.batch(SNOW, items)
    processed = [str(PROCESSED_ITEM["RunId"]), str(LOADED_ITEM["RunId"])]
    assert await ids_of(session) == processed
    await session.run_importer.batch(SNOW, items)
    assert await ids_of(session) == processed
    assert await is_whole(store)


async def test_consumers_that_make_no_sense_are_refused_and_change_nothing(
    session: Session, store: Store
) -> None:
    await discover(session)
    await session.run_consumers.create(SNOW, "lake", NOW)
    super_session = await session_at_root(store)
    before = await contents(store.table)
    for of, consumer in (
        (LAKE, "second"),
        (SNOW, "snowplow"),
        (SNOW, " "),
        (ManifestName(ROOT, "ngsi"), "copy"),
    ):
        with pytest.raises(Invalid):
            await super_session.run_consumers.create(of, consumer, NOW)
    with pytest.raises(NotFound):
        await session.run_consumers.create(ManifestName(USA, "absent"), "x", NOW)
    worker = store.open_session(caller({USA: Role.CONTRIBUTOR}))
    for call in (
        worker.run_consumers.create(SNOW, "mine", NOW),
        worker.run_consumers.remove(SNOW, "lake"),
    ):
        with pytest.raises(NotPermitted):
            await call
    assert await contents(store.table) == before
    for name in ("second", "third"):
        await session.run_consumers.create(SNOW, name, NOW)
    before = await contents(store.table)
    with pytest.raises(LimitExceeded):
        await session.run_consumers.create(SNOW, "fourth", NOW)
    assert await contents(store.table) == before


class RacedTable(InterceptedTable):
    """A table whose next write comes after a call of somebody else."""

    before: Callable[[], Awaitable[object]] | None = None

    async def transact(self, operations: Sequence[Operation]) -> float:
        if self.before is not None:
            first, self.before = self.before, None
            await first()
        return await self._table.transact(operations)


async def raced_session(session: Session, store: Store, first: str) -> Session:
    """A session whose next consumer comes after that of another call."""
    table = RacedTable(store.table)
    table.before = lambda: session.run_consumers.create(SNOW, first, NOW)
    return Store(table, store.clock).open_session(session.caller)


async def test_consumers_that_are_made_at_the_same_time_are_as_few_as_others(
    session: Session, store: Store
) -> None:
    await discover(session)
    for name in ("lake", "second"):
        await session.run_consumers.create(SNOW, name, NOW)
    raced = await raced_session(session, store, "third")
    with pytest.raises(LimitExceeded):
        await raced.run_consumers.create(SNOW, "fourth", NOW)
    assert (await session.manifests.one(SNOW)).consumers == ("lake", "second", "third")
    with pytest.raises(NotFound):
        await session.manifests.one(ManifestName(USA, "fourth"))
    assert await is_whole(store)


async def test_a_consumer_that_two_make_at_the_same_time_is_one(
    session: Session, store: Store
) -> None:
    await discover(session)
    raced = await raced_session(session, store, "lake")
    assert (await raced.run_consumers.create(SNOW, "lake", NOW)).consumes == SNOW.name
    assert (await session.manifests.one(SNOW)).consumers == ("lake",)
    assert await is_whole(store)


async def session_at_root(store: Store) -> Session:
    """A session of an admin of everything, with a manifest of the name of the sink's."""
    session = store.open_session(caller({ROOT: Role.ADMIN}))
    await session.runs.discover(ManifestName(ROOT, "ngsi"), Discovery(run_id="a/", added_by="t"))
    return session


@on_sqlite
async def test_consumers_cost_no_round_trip(session: Session, store: Store) -> None:
    await discover(session)
    held = await claim(session, TRANSFORM)
    one_shard = Store(store.table, store.clock, shards=1).open_session(session.caller)
    await one_shard.run_consumers.create(SNOW, "lake", NOW)
    await bring_to(one_shard, RunState.PROCESSED, "opens the shard/")
    traced = TracedTable(store.table)
    worker = Store(traced, store.clock, shards=1).open_session(caller({USA: Role.CONTRIBUTOR}))
    traced.start()
    done = MarkProcessed(fence=held.fence, shred_types=TYPES, saved_to=SAVED_TO)
    await worker.runs.change(run_name(RUN_ID), done)
    assert traced.seen == (1, 1, 2)
    assert len(await runs_of(session)) == 2
