"""Dry runs answer what a change would do, or why it would do nothing, and write nothing."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from penstock.datastore.clock import Clock
from penstock.datastore.errors import (
    IllegalState,
    Invalid,
    LeaseHeld,
    LeaseLost,
    LimitExceeded,
    NotFound,
    NotPermitted,
    OutputMissing,
    RunGivenUp,
)
from penstock.datastore.manifest.consumers import ConsumerStart
from penstock.datastore.manifest.records import ManifestName, RunState
from penstock.datastore.manifest.recovery import OutputLocation
from penstock.datastore.manifest.retry_rules import RetryRules
from penstock.datastore.manifest.runs import Discovery
from penstock.datastore.manifest.transitions import (
    Claim,
    Fail,
    Heartbeat,
    MarkLoaded,
    MarkProcessed,
    Reload,
    Retry,
    SetLabels,
    Skip,
    Transition,
    Unskip,
)
from penstock.datastore.objects.port import Files
from penstock.datastore.records import Tag
from penstock.datastore.roles import GroupPath, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from penstock.datastore.work_reports import RunReport
from tests.datastore.manifest.sample_runs import (
    NAME,
    RUN_ID,
    SNOW,
    TRANSFORM,
    TYPES,
    bring_to,
    claim,
    discover,
    one_chunk,
)
from tests.support.consistency_check import contents
from tests.support.sample_resources import USA, Watch, caller, on_sqlite

SAVED_TO = "s3://penstock/snow/run=1/"
THERE = OutputLocation(saved_to=SAVED_TO)
FOUND = Discovery(run_id=RUN_ID, added_by="t", tags=(Tag(key="country", value="de"),))


@pytest.fixture
def reports() -> list[RunReport]:
    return []


@pytest.fixture
def store(table: Table, files: Files, watch: Watch, reports: list[RunReport]) -> Store:
    clock = Clock(now=watch)
    return Store(
        table, clock, files=files, bucket_name="penstock", shards=1, watch_run=reports.append
    )


CHANGES: list[tuple[RunState, Transition]] = [
    (RunState.NEW, Claim(stage=TRANSFORM, owner="w")),
    (RunState.PROCESSING, Heartbeat(fence=1, seconds=999)),
    (RunState.PROCESSING, MarkProcessed(fence=1, shred_types=TYPES, saved_to=SAVED_TO)),
    (RunState.PROCESSING, Fail(fence=1, error="disk full")),
    (RunState.LOADING, MarkLoaded(fence=2, loaded_by="l", counts={"rows": 3})),
    (RunState.FAILED, Retry()),
    (RunState.NEW, Skip(reason="broken")),
    (RunState.NEW, Unskip()),
    (RunState.LOADED, Reload(reason="dropped", force=True)),
    (RunState.LOADED, SetLabels(tags=FOUND.tags, batch="day")),
]


@on_sqlite
@pytest.mark.parametrize(("state", "transition"), CHANGES)
async def test_a_change_is_answered_as_it_would_be_and_not_made(
    session: Session, store: Store, state: RunState, transition: Transition, reports: list[Any]
) -> None:
    await bring_to(session, state)
    before, told = await contents(store.table), len(reports)
    dry = await session.runs.preview(NAME, transition)
    assert await contents(store.table) == before
    assert len(reports) == told
    assert dry == await session.runs.change(NAME, transition)


async def test_a_refusal_is_that_of_the_change_and_gives_no_run_up(
    session: Session, store: Store, watch: Watch
) -> None:
    await discover(session)
    await session.manifests.set_retries(
        SNOW, RetryRules(max_attempts=1, first_delay=0, longest_delay=0)
    )
    await claim(session, TRANSFORM)
    before = await contents(store.table)
    preview = session.runs.preview
    with pytest.raises(LeaseHeld):
        await preview(NAME, Claim(stage=TRANSFORM, owner="another"))
    with pytest.raises(LeaseLost):
        await preview(NAME, Heartbeat(fence=7))
    with pytest.raises(Invalid):
        await preview(NAME, Skip(reason=""))
    watch.move(timedelta(hours=1))
    with pytest.raises(RunGivenUp):
        await preview(NAME, Claim(stage=TRANSFORM, owner="another"))
    assert await contents(store.table) == before


@on_sqlite
async def test_who_may_not_change_a_run_may_not_try_to(session: Session, store: Store) -> None:
    await discover(session)
    reader = store.open_session(caller({USA: Role.READER}, "reed"))
    for call in (
        reader.runs.preview(NAME, Skip(reason="r")),
        reader.runs.preview_discovery(SNOW, FOUND),
        reader.run_recovery.reset(NAME, force=True, dry_run=True),
    ):
        with pytest.raises(NotPermitted):
            await call


@on_sqlite
async def test_a_run_is_answered_as_it_would_be_discovered(session: Session, store: Store) -> None:
    before = await contents(store.table)
    dry = await session.runs.preview_discovery(SNOW, FOUND)
    long = ManifestName(USA, "\N{GRINNING FACE}" * 128)
    with pytest.raises(LimitExceeded):
        await session.runs.preview_discovery(long, Discovery(run_id="f" * 900, added_by="t"))
    assert await contents(store.table) == before
    with pytest.raises(NotFound):
        await session.runs.one(NAME)
    made = await session.runs.discover(SNOW, FOUND)
    assert replace(dry, id=made.id) == made
    assert (
        await session.runs.preview_discovery(SNOW, Discovery(run_id=RUN_ID, added_by="x")) == made
    )


@on_sqlite
async def test_a_run_whose_name_was_deleted_is_answered_with_the_fence_that_it_would_have(
    session: Session, store: Store
) -> None:
    assert (await bring_to(session, RunState.FAILED)).fence == 1
    await session.run_recovery.delete(NAME, force=True)
    before = await contents(store.table)
    dry = await session.runs.preview_discovery(SNOW, FOUND)
    assert (dry.fence, await contents(store.table)) == (1, before)
    assert (await session.runs.discover(SNOW, FOUND)).fence == 1


@on_sqlite
async def test_nothing_is_promised_in_a_group_that_is_not_there(
    session: Session, store: Store
) -> None:
    before = await contents(store.table)
    nowhere = ManifestName(GroupPath("/usa/nowhere"), "Snowplow")
    with pytest.raises(NotFound, match="/usa/nowhere"):
        await session.runs.preview_discovery(nowhere, FOUND)
    with pytest.raises(NotFound, match="/usa/nowhere"):
        await session.run_importer.batch(nowhere, [], dry_run=True)
    with pytest.raises(NotFound, match="/usa/nowhere"):
        await session.runs.discover(nowhere, FOUND)
    assert await contents(store.table) == before


@on_sqlite
async def test_recovery_reset_and_deletion_look_into_the_folder_and_change_nothing(
    session: Session, store: Store, files: Files
) -> None:
    run, recovery = await discover(session), session.run_recovery
    before = await contents(store.table)
    with pytest.raises(OutputMissing):
        await recovery.recover(NAME, TYPES, THERE, dry_run=True)
    assert await recovery.delete(NAME, THERE, force=False, dry_run=True) == run
    assert (await recovery.reset(NAME, THERE, force=False, dry_run=True)).state is RunState.NEW
    await files.write("snow/run=1/_SUCCESS", one_chunk(b""), content_type="text/plain")
    dry = await recovery.recover(NAME, TYPES, THERE, dry_run=True)
    assert (dry.state, dry.saved_to) == (RunState.PROCESSED, SAVED_TO)
    assert await contents(store.table) == before
    assert await recovery.recover(NAME, TYPES, THERE) == dry


LAKE = ManifestName(USA, "Lake")
RULES = RetryRules(max_attempts=2, first_delay=1, longest_delay=9)


async def test_a_change_of_a_manifest_is_answered_as_it_would_be_and_not_made(
    session: Session, store: Store
) -> None:
    await bring_to(session, RunState.PROCESSED)
    manifests, consumers = session.manifests, session.run_consumers
    for rules in (RULES, None):
        before = await contents(store.table)
        dry = await manifests.set_retries(SNOW, rules, dry_run=True)
        assert await contents(store.table) == before
        assert dry == await manifests.set_retries(SNOW, rules)
    for start, filled in ((ConsumerStart.NOW, True), (ConsumerStart.BEGINNING, False)):
        before = await contents(store.table)
        dry = await consumers.create(SNOW, LAKE.name, start, dry_run=True)
        assert await contents(store.table) == before
        assert (dry.full_name, dry.consumes, dry.runs, dry.is_filled) == (
            LAKE,
            "snowplow",
            0,
            filled,
        )
    made = await consumers.create(SNOW, LAKE.name, ConsumerStart.BEGINNING)
    assert made == replace(dry, runs=made.runs, shards=made.shards, filled=None)
    before = await contents(store.table)
    again = await consumers.create(SNOW, LAKE.name, ConsumerStart.NOW, dry_run=True)
    dry = await consumers.remove(SNOW, LAKE.name, dry_run=True)
    assert await contents(store.table) == before
    assert (again, dry) == (made, await consumers.remove(SNOW, LAKE.name))


async def test_a_deletion_of_a_manifest_is_tried_without_deleting_it(
    session: Session, store: Store
) -> None:
    await discover(session)
    before = await contents(store.table)
    with pytest.raises(IllegalState, match="still has runs"):
        await session.manifests.delete(SNOW, dry_run=True)
    assert await contents(store.table) == before
    await session.run_recovery.delete(NAME, THERE, force=True)
    before = await contents(store.table)
    dry = await session.manifests.delete(SNOW, dry_run=True)
    assert await contents(store.table) == before
    assert dry == await session.manifests.delete(SNOW)


async def test_a_refused_change_of_a_manifest_is_refused_when_it_is_tried(
    session: Session, store: Store
) -> None:
    await discover(session)
    missing, here = ManifestName(USA, "x"), store.open_session(caller({USA: Role.CONTRIBUTOR}))
    before = await contents(store.table)
    for name, failure, who in ((missing, NotFound, session), (SNOW, NotPermitted, here)):
        with pytest.raises(failure):
            await who.manifests.set_retries(name, RULES, dry_run=True)
        with pytest.raises(failure):
            await who.manifests.delete(name, dry_run=True)
        with pytest.raises(failure):
            await who.run_consumers.create(name, "Lake", ConsumerStart.NOW, dry_run=True)
        with pytest.raises(failure):
            await who.run_consumers.remove(name, "Lake", dry_run=True)
    with pytest.raises(Invalid):
        await session.manifests.set_retries(SNOW, replace(RULES, max_attempts=0), dry_run=True)
    await session.runs.discover(LAKE, FOUND)
    taken = await contents(store.table)
    with pytest.raises(Invalid, match="name of a manifest that exists"):
        await session.run_consumers.create(SNOW, "Lake", ConsumerStart.NOW, dry_run=True)
    assert await contents(store.table) == taken
    assert before != taken
