"""Runs: discovered once, changed in one transaction at a time, and only by contributors."""

from collections.abc import Awaitable
from datetime import timedelta
from functools import partial

import pytest

from penstock.datastore.errors import AlreadyLoaded, LeaseHeld, LeaseLost, RunSkipped
from penstock.datastore.manifest.records import Action, ManifestName, RunState
from penstock.datastore.manifest.runs import Discovery
from penstock.datastore.manifest.transitions import (
    Claim,
    Fail,
    Heartbeat,
    MarkLoaded,
    MarkProcessed,
    Skip,
    Unskip,
)
from penstock.datastore.roles import Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Key
from tests.datastore.manifest.sample_runs import (
    LOAD,
    NAME,
    RUN_ID,
    SAVED_TO,
    TRANSFORM,
    TYPES,
    bring_to,
    claim,
    discover,
    events,
    reload_run,
    run_faults,
    run_name,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import USA, Watch, caller, on_sqlite, walk
from tests.support.table_interceptors import TracedTable

NOW = 1660175720
PK = "R:/usa#snowplow:enriched/archive/run=2018-12-11-00-00-00/"
WORKER = caller({USA: Role.CONTRIBUTOR})


async def test_a_run_is_kept_under_the_names_of_the_document(
    session: Session, store: Store
) -> None:
    run = await discover(session, pipeline="snow")
    rows = await contents(store.table)
    assert dict(rows[Key(PK, "R")]) == {
        "pk": PK,
        "sk": "R",
        "RunId": RUN_ID,
        "AddedAt": NOW,
        "AddedBy": "transformer-0.4.1",
        "ToSkip": False,
        "Id": run.id,
        "Group": "/usa",
        "Manifest": "snowplow",
        "State": "NEW",
        "Version": 1,
        "Fence": 0,
        "Attempt": 0,
        "Pipeline": "snow",
        "Shard": run.shard,
    }
    assert run.shard in range(1, 5)
    held = await claim(session, TRANSFORM, seconds=60)
    assert (held.state, held.lease_owner, held.lease_until) == (
        RunState.PROCESSING,
        "worker-1",
        NOW + 60,
    )
    done = MarkProcessed(fence=1, shred_types=(), saved_to="s3a://stage/x", counts={"rows": 12})
    await session.runs.change(NAME, done)
    held = await claim(session, LOAD)
    loaded = await session.runs.change(NAME, MarkLoaded(fence=held.fence, loaded_by="loader-0.4.1"))
    item = dict((await contents(store.table))[Key(PK, "R")])
    assert item == {
        **dict(rows[Key(PK, "R")]),
        "ProcessedAt": NOW,
        "ShredTypes": [],
        "SavedTo": "s3://stage/x/",
        "LoadedAt": NOW,
        "LoadedBy": "loader-0.4.1",
        "State": "LOADED",
        "Version": 5,
        "Fence": 2,
        "Attempt": 1,
        "Counts": {"rows": 12},
    }
    assert await session.runs.one(NAME) == loaded
    assert await run_faults(store.table) == []
    assert await faults(store.table) == []


async def test_a_run_is_discovered_once_whoever_finds_it_again(
    session: Session, store: Store
) -> None:
    first = await discover(session)
    before = await contents(store.table)
    other = Discovery(run_id=RUN_ID, added_by="transformer-9", skip_reason="no")
    assert await session.runs.discover(ManifestName(USA, " SnowPlow "), other) == first
    assert await contents(store.table) == before
    await claim(session, TRANSFORM)
    assert (await discover(session)).state is RunState.PROCESSING


async def test_a_run_may_be_skipped_before_anybody_finds_it(session: Session) -> None:
    run = await discover(session, skip_reason="known to be broken")
    assert (run.state, run.to_skip, run.skip_reason) == (RunState.NEW, True, "known to be broken")
    with pytest.raises(RunSkipped):
        await claim(session, TRANSFORM)


async def test_each_change_is_told_in_the_history_with_who_and_why(
    session: Session, store: Store, watch: Watch
) -> None:
    run = await discover(session)
    ann = store.open_session(WORKER)
    await ann.runs.change(NAME, Skip(reason="bad day"))
    watch.move(timedelta(seconds=1))
    await ann.runs.change(NAME, Unskip(reason="it was not"))
    await claim(ann, TRANSFORM)
    await ann.runs.change(NAME, Heartbeat(fence=1, seconds=30))
    run = await ann.runs.change(NAME, Fail(fence=1, error="disk full\nat last"))
    told = [
        (e.seq, e.action, e.before, e.after, e.by, e.worker, e.reason or e.error, e.fence)
        for e in await events(session, run)
    ]
    new, processing, failed = RunState.NEW, RunState.PROCESSING, RunState.FAILED
    assert told == [
        (6, Action.FAIL, processing, failed, "ann", "worker-1", "disk full\nat last", 1),
        (4, Action.CLAIM, new, processing, "ann", "worker-1", None, 1),
        (3, Action.UNSKIP, new, new, "ann", None, "it was not", 0),
        (2, Action.SKIP, new, new, "ann", None, "bad day", 0),
        (1, Action.DISCOVER, None, new, "super", None, None, 0),
    ]
    assert [e.at for e in await events(session, run)][-2:] == [
        "2022-08-10T23:55:20.322Z",
        "2022-08-10T23:55:20.322Z",
    ]
    whole = await events(session, run)
    history = partial(session.run_lists.history, run)
    for backward in (False, True):
        for size in (1, 2):
            assert await walk(history, size, backward=backward) == whole
    assert await run_faults(store.table) == []


async def test_a_lease_runs_out_and_the_next_claim_fences_off_the_first(
    session: Session, store: Store, watch: Watch
) -> None:
    await discover(session)
    first = await claim(session, TRANSFORM, owner="a", seconds=60)
    with pytest.raises(LeaseHeld, match="a has the run in hand for another 60 s"):
        await claim(session, TRANSFORM, owner="b")
    watch.move(timedelta(seconds=59))
    await session.runs.change(NAME, Heartbeat(fence=first.fence, seconds=60))
    watch.move(timedelta(seconds=59))
    with pytest.raises(LeaseHeld):
        await claim(session, TRANSFORM, owner="b")
    watch.move(timedelta(seconds=1))
    second = await claim(session, TRANSFORM, owner="b")
    assert (second.fence, second.attempt, second.lease_owner) == (2, 2, "b")
    before = await contents(store.table)
    late = MarkProcessed(fence=first.fence, shred_types=TYPES, saved_to=SAVED_TO)
    for ask in (
        late,
        Heartbeat(fence=1),
        Fail(fence=1, error="e"),
        MarkLoaded(fence=1, loaded_by="l"),
    ):
        with pytest.raises(LeaseLost):
            await session.runs.change(NAME, ask)
    assert await contents(store.table) == before
    assert await run_faults(store.table) == []


async def test_a_loaded_run_is_loaded_again_only_by_a_reload(
    session: Session, store: Store
) -> None:
    run = await bring_to(session, RunState.LOADED)
    before = await contents(store.table)
    for ask in (
        Skip(reason="no"),
        Unskip(),
        Claim(stage=LOAD, owner="w"),
        Claim(stage=TRANSFORM, owner="w"),
    ):
        with pytest.raises(AlreadyLoaded) as refused:
            await session.runs.change(NAME, ask)
        assert (refused.value.code, refused.value.state) == ("ALREADY_LOADED", "LOADED")
    assert await contents(store.table) == before
    again = await reload_run(session)
    assert (again.state, again.loaded_at, again.loaded_by, again.saved_to) == (
        RunState.PROCESSED,
        None,
        None,
        run.saved_to,
    )
    assert (await events(session, again))[0].reason == "the table was dropped"
    assert (await claim(session, LOAD)).fence == run.fence + 1
    assert await run_faults(store.table) == []


@on_sqlite
async def test_each_call_costs_as_little_as_it_can(session: Session, store: Store) -> None:
    traced = TracedTable(store.table)
    seen = Store(traced, store.clock, shards=1).open_session(WORKER)

    async def cost(call: Awaitable[object]) -> tuple[int, int, int]:
        traced.start()
        await call
        return traced.seen

    assert await cost(discover(seen)) == (0, 3, 3)
    assert await cost(discover(seen, "other/")) == (0, 1, 1)
    assert await cost(discover(seen)) == (0, 1, 1)
    assert await cost(claim(seen, TRANSFORM)) == (1, 1, 2)
    assert await cost(seen.runs.many([NAME, run_name("other/")])) == (1, 0, 1)
    assert await cost(seen.manifests.page(USA, Window())) == (3, 0, 2)
