"""The runs of a manifest are counted in shards, and stay exact beside those of earlier releases."""

import asyncio
from dataclasses import replace
from functools import partial

import pytest

from penstock.datastore.errors import IllegalState, NotFound
from penstock.datastore.manifest.counts import run_counts
from penstock.datastore.manifest.delete import delete_manifest, delete_runs
from penstock.datastore.manifest.records import Run
from penstock.datastore.manifest.rows import key_of_run
from penstock.datastore.recount import CountDifference, Recount
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.port import Key, Table, Update
from tests.datastore.manifest.sample_runs import SNOW, discover, run_faults, run_name
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import USA, on_sqlite, walk, without_moto

MANIFEST = Key("RM:/usa", "RM:snowplow")
SHARDS = "RC:/usa#snowplow"


async def recount(table: Table) -> list[CountDifference]:
    counted = Recount()
    for item in (await contents(table)).values():
        counted.read(item)
    return counted.differences()


async def forget_shard(table: Table, run: Run) -> None:
    """Count a run as an earlier release did: in the row of its manifest."""
    counts = run_counts(SNOW)
    await table.transact(
        [
            Update(key=key_of_run(run.name), remove=("Shard",)),
            Update(key=counts.own, add={"runs": 1}),
            Update(key=counts.key(run.shard), add={"runs": -1}),
        ]
    )


async def test_each_run_counts_in_its_own_shard_as_long_as_it_is_there(
    store: Store, session: Session
) -> None:
    made = [await discover(session, f"r{n}/") for n in range(12)]
    rows = await contents(store.table)
    shards = {run.shard for run in made}
    assert len(shards) > 1
    assert {key.sk: row["runs"] for key, row in rows.items() if key.pk == SHARDS} == {
        f"RC:{shard:02}": sum(run.shard == shard for run in made) for shard in shards
    }
    assert (rows[MANIFEST]["runs"], rows[MANIFEST]["shards"]) == (0, len(shards))
    for size in (1, 100):
        (manifest,) = await walk(partial(session.manifests.page, USA), size)
        assert manifest.runs == 12
    narrow = replace(store, shards=1).open_session(session.caller)
    await narrow.run_recovery.delete(run_name("r0/"), force=True)
    await delete_runs(session.runs.access, made[1:4])
    assert (await session.manifests.one(SNOW)).runs == 8
    assert await run_faults(store.table) == []
    assert await recount(store.table) == []


async def test_a_manifest_with_a_run_in_any_shard_is_not_empty(
    store: Store, session: Session
) -> None:
    for n in range(5):
        await discover(session, f"r{n}/")
    for n in range(5):
        before = await contents(store.table)
        with pytest.raises(IllegalState, match="still has runs"):
            await session.manifests.delete(SNOW)
        assert await contents(store.table) == before
        await session.run_recovery.delete(run_name(f"r{n}/"), force=True)
    assert (await session.manifests.delete(SNOW)).runs == 0
    rows = await contents(store.table)
    assert [key for key in rows if key == MANIFEST or key.pk == SHARDS] == []
    with pytest.raises(NotFound):
        await session.manifests.one(SNOW)
    assert await faults(store.table) == []


async def test_runs_of_an_earlier_release_count_in_the_row_of_the_manifest(
    store: Store, session: Session
) -> None:
    for n in range(4):
        await forget_shard(store.table, await discover(session, f"old{n}/"))
    assert await run_faults(store.table) == []
    assert await recount(store.table) == []
    await discover(session, "new/")
    assert (await session.manifests.one(SNOW)).runs == 5
    assert (await contents(store.table))[MANIFEST]["runs"] == 4
    await session.run_recovery.delete(run_name("old0/"), force=True)
    with pytest.raises(IllegalState, match="still has runs"):
        await session.manifests.delete(SNOW)
    await delete_manifest(
        session.runs.access, (await contents(store.table))[MANIFEST], partial(asyncio.sleep, 0)
    )
    assert [key for key in await contents(store.table) if key.pk.startswith("R")] == []
    assert await faults(store.table) == []


@without_moto
@pytest.mark.parametrize("round", range(4))
async def test_no_run_enters_a_manifest_that_is_deleted_meanwhile(
    store: Store, session: Session, round: int
) -> None:
    for n in range(round):
        await discover(session, f"first{n}/")
    calls = [discover(session, f"r{n}/") for n in range(6)]
    manifest = (await contents(store.table)).get(MANIFEST)
    gone = (
        asyncio.sleep(0)
        if manifest is None
        else delete_manifest(session.runs.access, manifest, partial(asyncio.sleep, 0))
    )
    outcomes = await asyncio.gather(*calls[:round], gone, *calls[round:], return_exceptions=True)
    assert {type(one) for one in outcomes if isinstance(one, BaseException)} <= {NotFound}
    assert await run_faults(store.table) == []
    assert await faults(store.table) == []


@on_sqlite
async def test_a_recount_finds_wrong_counts_of_runs(store: Store, session: Session) -> None:
    only = replace(store, shards=1).open_session(session.caller)
    await discover(only, "r/")
    shard = Key(SHARDS, "RC:01")
    await store.table.transact([Update(key=shard, add={"runs": 2})])
    await store.table.transact([Update(key=MANIFEST, add={"shards": 1, "runs": 3})])
    assert await recount(store.table) == [
        CountDifference(shard, {"runs": 1}, {"runs": 3}),
        CountDifference(MANIFEST, {"shards": 1}, {"shards": 2, "runs": 3}),
    ]
