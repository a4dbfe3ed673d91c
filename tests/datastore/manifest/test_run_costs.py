"""Runs, their consumers, folders and new types cost as much as docs/manifest.md says."""

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.manifest.consumers import ConsumerStart
from penstock.datastore.manifest.records import RunState
from penstock.datastore.manifest.runs import Discovery
from penstock.datastore.manifest.transitions import MarkLoaded, MarkProcessed
from penstock.datastore.objects.port import Files
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.port import Table
from tests.datastore.manifest.sample_runs import (
    LOAD,
    SAVED_TO,
    SNOW,
    TRANSFORM,
    TYPES,
    bring_to,
    claim,
    discover,
    run_name,
)
from tests.datastore.manifest.test_folders import make_folders
from tests.support.sample_resources import SUPER, Watch, create_groups, on_sqlite
from tests.support.work_cost import WorkCost, measure

pytestmark = on_sqlite


@pytest.fixture
def metered(table: Table) -> MeteredTable:
    return MeteredTable(table)


@pytest.fixture
async def session(metered: MeteredTable, files: Files) -> Session:
    """An administrator's session, whose calls are counted; the manifest has a run."""
    store = Store(metered, Clock(now=Watch()), files=files, bucket_name="penstock", shards=1)
    await create_groups(store)
    session = store.open_session(SUPER)
    await discover(session, "first/")
    return session


async def finish(session: Session, run_id: str) -> None:
    """Mark a run as processed that is being transformed, and as loaded."""
    name = run_name(run_id)
    held = (await session.runs.many([name]))[0]
    done = MarkProcessed(fence=held.fence, shred_types=TYPES, saved_to=SAVED_TO)  # type: ignore[union-attr]
    await session.runs.change(name, done)


async def test_each_step_of_a_run_costs_so_much(session: Session, metered: MeteredTable) -> None:
    name, costs = run_name("run=1/"), {}
    costs["discover"] = await measure(metered, discover(session, "run=1/"))
    costs["claim"] = await measure(metered, claim(session, TRANSFORM, name))
    costs["processed"] = await measure(metered, finish(session, "run=1/")) - WorkCost(1, 1, 0)
    held = await claim(session, LOAD, name)
    loaded = MarkLoaded(fence=held.fence, loaded_by="l")
    costs["loaded"] = await measure(metered, session.runs.change(name, loaded))
    assert costs == {
        "discover": WorkCost(1, 0, 10),
        "claim": WorkCost(2, 2, 8),
        "processed": WorkCost(2, 2, 8),
        "loaded": WorkCost(2, 1, 8),
    }


async def test_a_consumer_costs_the_rows_of_its_copy(
    session: Session, metered: MeteredTable
) -> None:
    costs = []
    for number, consumer in enumerate(("one", "two", "three")):
        await bring_to(session, RunState.PROCESSING, f"run={number}/")
        before = await measure(metered, finish(session, f"run={number}/"))
        await session.run_consumers.create(SNOW, consumer, ConsumerStart.NOW)
        await bring_to(session, RunState.PROCESSED, f"opens={number}/")
        await bring_to(session, RunState.PROCESSING, f"again={number}/")
        costs.append(await measure(metered, finish(session, f"again={number}/")) - before)
    assert costs == [WorkCost(0, 0, 10)] * 3


async def test_a_call_that_fills_a_consumer_costs_so_much_for_each_run(
    session: Session, metered: MeteredTable
) -> None:
    costs = []
    for consumer in ("one", "two"):
        for number in range(4):
            await bring_to(session, RunState.PROCESSED, f"{consumer}={number}/")
        made = session.run_consumers.create(SNOW, consumer, ConsumerStart.BEGINNING)
        costs.append(await measure(metered, made))
    few, many = costs
    # Each run is read, and copied by a transaction of its own; and a consumer is named and filled.
    assert many - few == WorkCost(4 * 2, 4 * 1, 4 * 10)
    assert few - (many - few) == WorkCost(12, 7, 28)


async def test_folders_are_compared_by_a_list_and_batches_of_runs(
    session: Session, metered: MeteredTable, files: Files
) -> None:
    await make_folders(files, *(f"arch/run={number}/" for number in range(150)))
    page = session.run_folders.page(SNOW, "arch/")
    assert await measure(metered, page) == WorkCost(2, 150, 0)
    names = [f"arch/run={number}/" for number in range(30)]
    registered = session.run_folders.register(SNOW, names, Discovery(run_id="-", added_by="t"))
    assert await measure(metered, registered) == WorkCost(2, 0, 30 * 8 + 2 * 2)


async def test_a_plan_of_new_types_reads_runs_by_pages(
    session: Session, metered: MeteredTable
) -> None:
    for number in range(3):
        await bring_to(session, RunState.LOADED, f"run={number}/")
    await bring_to(session, RunState.PROCESSED, "waits/")

    assert await measure(metered, session.new_shred_types.plan(SNOW)) == WorkCost(10, 12, 0)
