"""Runs as they are kept: discovered once, changed one transaction at a time, and only by some."""

from collections.abc import Awaitable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from datastore.access import Role
from datastore.clock import Clock
from datastore.errors import (
    AlreadyLoaded,
    IllegalState,
    Invalid,
    LeaseHeld,
    LeaseLost,
    LimitExceeded,
    NotFound,
    NotPermitted,
    RunSkipped,
    Unavailable,
)
from datastore.manifest.asks import (
    Ask,
    Claim,
    Fail,
    Heartbeat,
    Loaded,
    Processed,
    Reload,
    Skip,
    Unskip,
)
from datastore.manifest.lists import Listed
from datastore.manifest.records import Action, ManifestName, Run, RunEvent, RunName, RunState
from datastore.manifest.runs import Discovery
from datastore.paths import GroupPath
from datastore.slices import Window
from datastore.store import Store, View
from datastore.table import Key, Table
from tests.datastore.recount import contents, faults
from tests.datastore.runs_world import (
    LOAD,
    NAME,
    RUN_ID,
    SAVED_TO,
    SNOW,
    TRANSFORM,
    TYPES,
    bring_to,
    claim,
    discover,
    named,
    reloaded,
    run_faults,
)
from tests.datastore.watched import Interrupted, Traced, Watched
from tests.datastore.world import EU, NORTHWEST, USA, Watch, caller, grow, on_sqlite, walk

NOW = 1660175720
PK = "R:/usa#snowplow:enriched/archive/run=2018-12-11-00-00-00/"
WORKER = caller({USA: Role.CONTRIBUTOR})


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def store(table: Table, watch: Watch) -> Store:
    return Store(table, Clock(now=watch))


@pytest.fixture
async def view(store: Store) -> View:
    return await grow(store)


async def events(view: View, run: Run, **window: Any) -> list[RunEvent]:
    page = await view.run_lists.history(run, Window(**{"size": 100, **window}))
    assert not page.more
    return [event for _, event in page.entries]


async def test_a_run_is_kept_under_the_names_of_the_document(view: View, store: Store) -> None:
    run = await discover(view, pipeline="snow")
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
    }
    held = await claim(view, TRANSFORM, seconds=60)
    assert (held.state, held.lease_owner, held.lease_until) == (
        RunState.PROCESSING,
        "worker-1",
        NOW + 60,
    )
    done = Processed(fence=1, shred_types=(), saved_to="s3a://stage/x", counts={"rows": 12})
    await view.runs.ask(NAME, done)
    held = await claim(view, LOAD)
    loaded = await view.runs.ask(NAME, Loaded(fence=held.fence, loaded_by="loader-0.4.1"))
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
    assert await view.runs.one(NAME, consistent=True) == loaded
    assert await run_faults(store.table) == []
    assert await faults(store.table) == []


async def test_a_run_is_discovered_once_whoever_finds_it_again(view: View, store: Store) -> None:
    first = await discover(view)
    before = await contents(store.table)
    other = Discovery(run_id=RUN_ID, added_by="transformer-9", skip_reason="no")
    assert await view.runs.discover(ManifestName(USA, " SnowPlow "), other) == first
    assert await contents(store.table) == before
    await claim(view, TRANSFORM)
    assert (await discover(view)).state is RunState.PROCESSING


async def test_a_manifest_is_made_by_its_first_run_and_counts_them(
    view: View, store: Store
) -> None:
    await discover(view)
    await discover(view, "other/")
    await view.runs.discover(ManifestName(EU, "Snowplow"), Discovery(run_id="r", added_by="t"))
    (manifest,) = await walk(partial(view.manifests.page, USA))
    assert (manifest.group, manifest.name, manifest.runs) == (USA, "snowplow", 2)
    assert (manifest.created_at, manifest.created_by) == ("2022-08-10T23:55:20.322Z", "super")
    assert await view.manifests.one(ManifestName(USA, "SNOWPLOW")) == manifest
    assert (await view.manifests.one(ManifestName(EU, "snowplow"))).name == "Snowplow"
    with pytest.raises(NotFound, match="no manifest 'other' in /usa"):
        await view.manifests.one(ManifestName(USA, "other"))
    with pytest.raises(IllegalState, match="not empty"):
        await view.groups.delete(EU)
    assert await faults(store.table) == []


async def test_no_manifest_is_made_in_a_group_that_is_not_there(view: View, store: Store) -> None:
    before = await contents(store.table)
    with pytest.raises(NotFound, match="no group /asia"):
        await view.runs.discover(
            ManifestName(GroupPath("/asia"), "m"), Discovery(run_id="r", added_by="t")
        )
    assert await contents(store.table) == before


async def test_a_run_may_be_skipped_before_anybody_finds_it(view: View) -> None:
    run = await discover(view, skip_reason="known to be broken")
    assert (run.state, run.to_skip, run.skip_reason) == (
        RunState.NEW,
        True,
        "known to be broken",
    )
    with pytest.raises(RunSkipped):
        await claim(view, TRANSFORM)


async def test_each_change_is_told_in_the_history_with_who_and_why(
    view: View, store: Store, watch: Watch
) -> None:
    run = await discover(view)
    ann = store.seen_by(WORKER)
    await ann.runs.ask(NAME, Skip(reason="bad day"))
    watch.move(timedelta(seconds=1))
    await ann.runs.ask(NAME, Unskip(reason="it was not"))
    await claim(ann, TRANSFORM)
    await ann.runs.ask(NAME, Heartbeat(fence=1, seconds=30))
    run = await ann.runs.ask(NAME, Fail(fence=1, error="disk full\nat last"))
    told = [
        (e.seq, e.action, e.before, e.after, e.by, e.worker, e.reason or e.error, e.fence)
        for e in await events(view, run)
    ]
    new, processing, failed = RunState.NEW, RunState.PROCESSING, RunState.FAILED
    assert told == [
        (6, Action.FAIL, processing, failed, "ann", "worker-1", "disk full\nat last", 1),
        (4, Action.CLAIM, new, processing, "ann", "worker-1", None, 1),
        (3, Action.UNSKIP, new, new, "ann", None, "it was not", 0),
        (2, Action.SKIP, new, new, "ann", None, "bad day", 0),
        (1, Action.DISCOVER, None, new, "super", None, None, 0),
    ]
    assert [e.at for e in await events(view, run)][-2:] == [
        "2022-08-10T23:55:20.322Z",
        "2022-08-10T23:55:20.322Z",
    ]
    whole = await events(view, run)
    history = partial(view.run_lists.history, run)
    for backward in (False, True):
        for size in (1, 2):
            assert await walk(history, size, backward=backward) == whole
    assert await run_faults(store.table) == []


async def test_a_lease_runs_out_and_the_next_claim_fences_off_the_first(
    view: View, store: Store, watch: Watch
) -> None:
    await discover(view)
    first = await claim(view, TRANSFORM, owner="a", seconds=60)
    with pytest.raises(LeaseHeld, match="a has the run in hand for another 60 s"):
        await claim(view, TRANSFORM, owner="b")
    watch.move(timedelta(seconds=59))
    await view.runs.ask(NAME, Heartbeat(fence=first.fence, seconds=60))
    watch.move(timedelta(seconds=59))
    with pytest.raises(LeaseHeld):
        await claim(view, TRANSFORM, owner="b")
    watch.move(timedelta(seconds=1))
    second = await claim(view, TRANSFORM, owner="b")
    assert (second.fence, second.attempt, second.lease_owner) == (2, 2, "b")
    before = await contents(store.table)
    late = Processed(fence=first.fence, shred_types=TYPES, saved_to=SAVED_TO)
    for ask in (late, Heartbeat(fence=1), Fail(fence=1, error="e"), Loaded(fence=1, loaded_by="l")):
        with pytest.raises(LeaseLost):
            await view.runs.ask(NAME, ask)
    assert await contents(store.table) == before
    assert await run_faults(store.table) == []


async def test_a_loaded_run_is_loaded_again_only_by_a_reload(view: View, store: Store) -> None:
    run = await bring_to(view, RunState.LOADED)
    before = await contents(store.table)
    for ask in (
        Skip(reason="no"),
        Unskip(),
        Claim(stage=LOAD, owner="w"),
        Claim(stage=TRANSFORM, owner="w"),
    ):
        with pytest.raises(AlreadyLoaded) as refused:
            await view.runs.ask(NAME, ask)
        assert (refused.value.code, refused.value.state) == ("ALREADY_LOADED", "LOADED")
    assert await contents(store.table) == before
    again = await reloaded(view)
    assert (again.state, again.loaded_at, again.loaded_by, again.saved_to) == (
        RunState.PROCESSED,
        None,
        None,
        run.saved_to,
    )
    assert (await events(view, again))[0].reason == "the table was dropped"
    assert (await claim(view, LOAD)).fence == run.fence + 1
    assert await run_faults(store.table) == []


@on_sqlite
async def test_what_was_done_before_writes_nothing(view: View, store: Store) -> None:
    run = await bring_to(view, RunState.PROCESSED)
    before = await contents(store.table)
    said = Processed(fence=run.fence, shred_types=TYPES, saved_to=SAVED_TO)
    assert await view.runs.ask(NAME, said) == run
    assert await view.runs.ask(NAME, Unskip()) == run
    assert await contents(store.table) == before


LONG = "x" * 8193


@on_sqlite
@pytest.mark.parametrize(
    ("ask", "fields"),
    [
        (Claim(stage=TRANSFORM, owner=" ", seconds=0), ["owner", "leaseSeconds"]),
        (Claim(stage=TRANSFORM, owner="x" * 129, seconds=86_401), ["owner", "leaseSeconds"]),
        (Heartbeat(fence=-1, seconds=-1), ["fence", "leaseSeconds"]),
        (
            Processed(fence=0, shred_types=("",), saved_to="stage", counts={"": 1}),
            ["shredTypes", "savedTo", "counts"],
        ),
        (
            Processed(
                fence=0,
                shred_types=("t",) * 1001,
                saved_to="s3://bucket/" + "x" * 1012,
                counts={"n": -1},
            ),
            ["shredTypes", "savedTo", "counts"],
        ),
        (
            Processed(
                fence=2**63,
                shred_types=("a\0",),
                saved_to="s3://b/",
                counts={str(n): n for n in range(51)},
            ),
            ["fence", "shredTypes", "savedTo", "counts"],
        ),
        (Loaded(fence=0, loaded_by="", counts={"n": 2**63}), ["loadedBy", "counts"]),
        (Fail(fence=0, error=LONG), ["error"]),
        (Fail(fence=0, error=""), ["error"]),
        (Skip(reason=" "), ["reason"]),
        (Unskip(reason=LONG), ["reason"]),
        (Reload(reason=""), ["reason"]),
    ],
)
async def test_an_ask_that_breaks_rules_is_told_all_of_them(
    view: View, store: Store, ask: Ask, fields: list[str]
) -> None:
    await discover(view)
    before = await contents(store.table)
    with pytest.raises(Invalid) as refused:
        await view.runs.ask(NAME, ask)
    assert [problem.path for problem in refused.value.problems] == [[field] for field in fields]
    assert await contents(store.table) == before


@on_sqlite
@pytest.mark.parametrize(
    ("more", "fields"),
    [
        ({"run_id": "", "added_by": ""}, ["runId", "addedBy"]),
        ({"run_id": "s3://bucket/run=1/"}, ["runId"]),
        ({"run_id": "é" * 513}, ["runId"]),
        (
            {"run_id": "a\nb", "pipeline": " ", "skip_reason": ""},
            ["runId", "pipeline", "skipReason"],
        ),
    ],
)
async def test_a_discovery_that_breaks_rules_is_told_all_of_them(
    view: View, store: Store, more: dict[str, str], fields: list[str]
) -> None:
    before = await contents(store.table)
    with pytest.raises(Invalid) as refused:
        await view.runs.discover(SNOW, Discovery(**{"run_id": "r", "added_by": "t", **more}))
    assert [problem.path for problem in refused.value.problems] == [[field] for field in fields]
    with pytest.raises(Invalid) as refused:
        await view.runs.discover(ManifestName(USA, ""), Discovery(run_id="r", added_by="t"))
    assert [problem.path for problem in refused.value.problems] == [["manifest"]]
    assert await contents(store.table) == before


async def test_the_longest_names_have_room_and_longer_ones_are_refused(
    view: View, store: Store
) -> None:
    deep = ManifestName(USA, "%" * 128)
    longest = "x" * (1024 - len("R:/usa#:") - 3 * 128)
    await view.runs.discover(deep, Discovery(run_id=longest, added_by="t"))
    held = await claim(view, TRANSFORM, RunName(deep, longest))
    assert held.run_id == longest
    before = await contents(store.table)
    with pytest.raises(LimitExceeded) as refused:
        await view.runs.discover(deep, Discovery(run_id=longest + "x", added_by="t"))
    assert (refused.value.maximum, refused.value.actual, refused.value.path) == (
        1024,
        1025,
        ["runId"],
    )
    with pytest.raises(NotFound):
        await view.runs.one(RunName(deep, longest + "x"))
    assert await contents(store.table) == before
    odd = "a:b#c%d/ü=1/"
    await discover(view, odd)
    assert (await view.runs.one(named(odd), consistent=True)).run_id == odd
    new = Listed(state=RunState.NEW)
    found = await walk(lambda window: view.run_lists.page(SNOW, new, window))
    assert [run.run_id for run in found] == [odd]


@on_sqlite
async def test_who_may_not_know_the_group_finds_nothing_there(view: View, store: Store) -> None:
    await bring_to(view, RunState.LOADED)
    before = await contents(store.table)
    stranger = store.seen_by(caller({EU: Role.ADMIN}))
    told = set()
    for refused in (
        stranger.runs.one(NAME),
        view.runs.one(named("absent/")),
        view.runs.one(named("s3://odd")),
        view.runs.one(named("x" * 2000)),
        view.runs.one(RunName(ManifestName(USA, "x" * 2000), "r")),
        stranger.runs.one(RunName(ManifestName(USA, "absent"), "r")),
    ):
        with pytest.raises(NotFound) as failure:
            await refused
        told.add(failure.value.message)
    assert told == {"There is no such run."}
    for call in (
        stranger.runs.ask(NAME, Reload(reason="r")),
        stranger.runs.discover(SNOW, Discovery(run_id="r", added_by="t")),
        stranger.manifests.one(SNOW),
        stranger.manifests.page(USA, Window()),
        stranger.manifests.delete(SNOW),
    ):
        with pytest.raises(NotFound):
            await call
    assert await contents(store.table) == before


@on_sqlite
async def test_readers_look_and_change_nothing(view: View, store: Store) -> None:
    run = await discover(view)
    before = await contents(store.table)
    # Whoever reads below reads what lies above.
    for roles in ({USA: Role.READER}, {NORTHWEST: Role.ADMIN}):
        reader = store.seen_by(caller(roles))
        assert await reader.runs.one(NAME) == run
        assert [one.runs for one in await walk(partial(reader.manifests.page, USA))] == [1]
        for call in (
            reader.runs.ask(NAME, Claim(stage=TRANSFORM, owner="w")),
            reader.runs.discover(SNOW, Discovery(run_id=RUN_ID, added_by="t")),
            reader.manifests.delete(SNOW),
        ):
            with pytest.raises(NotPermitted):
                await call
    contributor = store.seen_by(WORKER)
    with pytest.raises(NotPermitted, match="the role ADMIN at /usa"):
        await contributor.manifests.delete(SNOW)
    assert await contents(store.table) == before


async def test_of_two_claims_at_once_one_is_granted(view: View, store: Store) -> None:
    await discover(view)

    async def thief() -> None:
        await claim(view, TRANSFORM, owner="thief")

    late = Store(Interrupted(store.table, thief), store.clock).seen_by(WORKER)
    with pytest.raises(LeaseHeld, match="thief has"):
        await claim(late, TRANSFORM, owner="late")
    assert (await view.runs.one(NAME, consistent=True)).lease_owner == "thief"
    assert await run_faults(store.table) == []


class Twice(Watched):
    """Sends every write twice, as where an answer is lost and the store forgot the token."""

    async def request(self, call: Any, *, writes: bool) -> Any:
        return await call

    async def transact(self, operations: Any) -> float:
        await self.table.transact(operations)
        return await self.table.transact(operations)


@on_sqlite
async def test_a_change_whose_answer_was_lost_happens_once(view: View, store: Store) -> None:
    twice = Store(Twice(store.table), store.clock).seen_by(WORKER)
    run = await bring_to(twice, RunState.LOADED)
    assert (run.version, run.fence) == (5, 2)
    await reloaded(twice)
    assert await view.runs.one(NAME, consistent=True) == await twice.runs.one(NAME)
    assert len(await events(view, run)) == 6
    assert await run_faults(store.table) == []
    assert await faults(store.table) == []


@on_sqlite
async def test_a_run_that_others_write_all_the_time_is_given_up(view: View, store: Store) -> None:
    run = await discover(view)

    class Busy(Watched):
        """Lets somebody else skip the run before every write."""

        times = 0

        async def request(self, call: Any, *, writes: bool) -> Any:
            if writes:
                self.times += 1
                await view.runs.ask(NAME, Skip(reason=f"{self.times}"))
                await view.runs.ask(NAME, Unskip())
            return await call

    late = Store(Busy(store.table), store.clock).seen_by(WORKER)
    with pytest.raises(Unavailable):
        await late.runs.ask(NAME, Claim(stage=TRANSFORM, owner="w"))
    assert (await view.runs.one(NAME)).state is run.state


@on_sqlite
async def test_each_call_costs_as_little_as_it_can(view: View, store: Store) -> None:
    traced = Traced(store.table)
    seen = Store(traced, store.clock).seen_by(WORKER)

    async def cost(call: Awaitable[object]) -> tuple[int, int, int]:
        traced.start()
        await call
        return traced.seen

    assert await cost(discover(seen)) == (0, 2, 2)
    assert await cost(discover(seen, "other/")) == (0, 1, 1)
    assert await cost(discover(seen)) == (0, 1, 1)
    assert await cost(claim(seen, TRANSFORM)) == (1, 1, 2)
    assert await cost(seen.runs.many([NAME, named("other/")])) == (1, 0, 1)
    assert await cost(seen.manifests.page(USA, Window())) == (2, 0, 1)


async def test_an_empty_manifest_can_go_and_one_with_runs_cannot(view: View, store: Store) -> None:
    await discover(view)
    before = await contents(store.table)
    with pytest.raises(IllegalState, match="still has runs") as refused:
        await view.manifests.delete(SNOW)
    assert refused.value.state == "NOT_EMPTY"
    assert await contents(store.table) == before
    await view.recovery.delete(NAME, force=True)
    assert (await view.manifests.delete(SNOW)).name == "snowplow"
    with pytest.raises(NotFound):
        await view.manifests.delete(SNOW)
    await view.groups.delete(NORTHWEST)
    assert await faults(store.table) == []
    assert await run_faults(store.table) == []


async def test_a_group_goes_with_its_manifests(store: Store) -> None:
    view = await grow(store, USA, EU)
    for n in range(3):
        await bring_to(view, RunState.FAILED, f"r{n}/")
    await view.runs.discover(ManifestName(USA, "b"), Discovery(run_id="r", added_by="t"))
    await view.runs.discover(ManifestName(EU, "b"), Discovery(run_id="r", added_by="t"))
    _, job = await view.cascades.delete(USA)
    assert job is not None
    with pytest.raises(NotFound, match="being deleted"):
        await view.runs.discover(ManifestName(USA, "c"), Discovery(run_id="r", added_by="t"))
    assert await store.run_jobs("worker") == 1
    rows = await contents(store.table)
    assert sorted(key.pk for key in rows if key.pk.startswith(("R:", "RL:", "RM:"))) == [
        "R:/eu#b:r",
        "R:/eu#b:r",
        "RL:/eu#b:ALL",
        "RL:/eu#b:NEW",
        "RM:/eu",
    ]
    assert await faults(store.table) == []
    assert await run_faults(store.table) == []
