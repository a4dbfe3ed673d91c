"""A deleted run leaves its lists, its manifest and its history; only its fence is kept."""

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import LeaseHeld, LeaseLost, NotFound
from penstock.datastore.manifest.import_runs import SourceItem
from penstock.datastore.manifest.records import RunState
from penstock.datastore.manifest.recovery import OutputLocation
from penstock.datastore.manifest.transitions import Claim, Fail, Heartbeat
from penstock.datastore.objects.port import Files
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Item, Key, Table
from tests.datastore.manifest.sample_runs import (
    NAME,
    RUN_ID,
    SNOW,
    TRANSFORM,
    bring_to,
    claim,
    discover,
    run_faults,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import Watch, on_sqlite
from tests.support.table_interceptors import InterruptedTable

NOW = 1660175720
AT_STAGE = OutputLocation(stage="s3://stage/snow")
GRAVE = "RH:0000000001"


@pytest.fixture
def store(table: Table, watch: Watch, files: Files) -> Store:
    return Store(table, Clock(now=watch), files=files, bucket_name="stage")


async def test_a_deleted_run_leaves_no_more_than_its_fence_and_can_be_discovered_anew(
    session: Session, store: Store, watch: Watch
) -> None:
    empty = await contents(store.table)
    first = await bring_to(session, RunState.FAILED)
    assert await session.run_recovery.delete(NAME, AT_STAGE, force=False) == first
    left = await contents(store.table)
    manifest, grave = Key("RM:/usa", "RM:snowplow"), Key(f"R:/usa#snowplow:{RUN_ID}", GRAVE)
    shard = Key("RC:/usa#snowplow", f"RC:{first.shard:02}")
    assert {key for key in left if key not in empty} == {manifest, shard, grave}
    assert (left[manifest]["runs"], left[shard]["runs"]) == (0, 0)
    assert {name: left[grave][name] for name in left[grave] if name not in {"pk", "sk"}} == {
        "fence": 1,
        "expiresAt": NOW + 30 * 24 * 3600,
    }
    with pytest.raises(NotFound):
        await session.run_recovery.delete(NAME, force=True)
    second = await discover(session)
    assert (second.fence, second.version) == (1, 1)
    held = await claim(session, TRANSFORM)
    assert (held.fence, held.idempotency_key) == (2, f"{second.id}-2")
    with pytest.raises(LeaseLost):
        await session.runs.change(NAME, Heartbeat(fence=first.fence))
    assert await run_faults(store.table) == []
    assert await faults(store.table) == []


async def test_a_run_that_nobody_claimed_is_deleted_and_discovered_as_often_as_one_likes(
    session: Session, store: Store
) -> None:
    for _ in range(3):
        assert (await discover(session)).fence == 0
        deleted = await session.run_recovery.delete(NAME, force=True)
        assert (await session.run_lists.history(deleted, Window())).entries == ()
    assert await run_faults(store.table) == []


async def test_a_deleted_run_is_imported_anew(session: Session, store: Store) -> None:
    await bring_to(session, RunState.FAILED)
    await session.run_recovery.delete(NAME, force=True)
    item: Item = {"RunId": RUN_ID, "AddedAt": 5, "AddedBy": "t", "ToSkip": False}
    imported = await session.run_importer.batch(SNOW, [SourceItem("line 1", item)])
    assert (imported.entered, (await session.runs.one(NAME)).fence) == (1, 1)
    assert await run_faults(store.table) == []


@on_sqlite
async def test_a_long_history_goes_with_its_run(session: Session, store: Store) -> None:
    await discover(session)
    for n in range(130):
        held = await session.runs.change(NAME, Claim(stage=TRANSFORM, owner=f"w{n}"))
        await session.runs.change(NAME, Heartbeat(fence=held.fence))
        await session.runs.change(NAME, Fail(fence=held.fence, error="again"))
    await session.run_recovery.delete(NAME, force=True)
    left = [key.sk for key in await contents(store.table) if key.pk.startswith(("R:", "RL:"))]
    assert left == [GRAVE]


@on_sqlite
async def test_a_run_that_is_claimed_meanwhile_is_not_deleted(
    session: Session, store: Store
) -> None:
    await discover(session)

    async def thief() -> None:
        await claim(session, TRANSFORM, owner="thief")

    late = Store(InterruptedTable(store.table, thief), store.clock).open_session(session.caller)
    with pytest.raises(LeaseHeld):
        await late.run_recovery.delete(NAME, force=True)
    assert (await session.runs.one(NAME)).lease_owner == "thief"
    assert await run_faults(store.table) == []
