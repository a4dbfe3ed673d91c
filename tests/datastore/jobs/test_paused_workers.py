"""A worker that was paused, at any call, changes nothing that is newer than the end of its job."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.jobs.leases import LEASE_TIME
from penstock.datastore.roles import GroupPath, Role
from penstock.datastore.store import Store
from penstock.datastore.table.layout import CALCULATION, PIPELINE
from penstock.datastore.table.port import Attributes, Key, Table
from tests.datastore.jobs.sample_subtree import begin_deletion
from tests.datastore.manifest.sample_runs import discover
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import EU, SUPER, USA, Watch, caller, create_groups, make_of
from tests.support.stores import TWO, open_files, open_table
from tests.support.table_interceptors import PausedTable

CITY: Final = GroupPath("/usa/city")
ADA: Final = caller({USA: Role.ADMIN}, "ada")


@asynccontextmanager
async def open_store(name: str, tmp_path: Path, watch: Watch) -> AsyncIterator[Store]:
    async with open_table(name, tmp_path) as table, open_files(tmp_path) as files:
        yield Store(table, clock=Clock(watch), files=files)


async def fill(store: Store, round: str) -> None:
    """Make the groups, with resources, one of another group, a run and an open upload in them."""
    await create_groups(store, USA, CITY)
    session = store.open_session(SUPER)
    await make_of(session, PIPELINE, CITY, f"in the city {round}", "m=a")
    await make_of(session, CALCULATION, USA, f"at the top {round}")
    lent = await make_of(session, PIPELINE, EU, f"lent {round}")
    await session.pipelines.writing.grant(lent.id, USA)
    await discover(session)
    await store.open_session(ADA).dataset_files.upload(USA)


async def pause_deletion(store: Store, watch: Watch, calls: int) -> bool:
    """Pause a deletion of groups behind so many calls, while others make and fill them again.

    Returns False if it did not make as many.
    """
    await create_groups(store, EU)
    await fill(store, "before")
    await begin_deletion(store)
    made: dict[Key, Attributes] = {}

    async def make_again() -> None:
        watch.move(LEASE_TIME + timedelta(seconds=1))
        await store.run_jobs("second")
        await fill(store, "after")
        made.update(await standing_rows(store.table))

    paused = PausedTable(store.table, make_again, calls=calls)
    await replace(store, table=paused).run_jobs("first")
    if paused.left >= 0:
        return False
    assert await standing_rows(store.table) == made, f"after {calls} calls"
    assert await faults(store.table) == []
    return True


async def standing_rows(table: Table) -> dict[Key, Attributes]:
    """All rows but those of jobs, and counts of a deleted group that are zero."""
    return {
        key: row
        for key, row in (await contents(table)).items()
        if not key.pk.startswith(("J:", "JA:", "JG:", "JU:"))
        if not key.pk.startswith(("QG:", "QU:"))
    }


@pytest.mark.parametrize(("name", "step"), [(TWO[0], 1), (TWO[1], 5)])
async def test_a_paused_deletion_of_a_group_takes_nothing_of_the_next_group_of_its_path(
    name: str, step: int, tmp_path: Path
) -> None:
    for calls in count(step=step):
        watch = Watch()
        async with open_store(name, tmp_path, watch) as store:
            if not await pause_deletion(store, watch, calls):
                break
    assert calls > 40
