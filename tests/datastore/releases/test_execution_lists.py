"""Executions of earlier releases come into the lists of their groups, and only once."""

import pytest

from penstock.datastore.executions.lists.group_listing import ExecutionOrder, GroupExecutions
from penstock.datastore.executions.records import EventKind, Execution, ExecutionState
from penstock.datastore.executions.rows import TransitionEvent, transition_writes
from penstock.datastore.store import Store
from penstock.datastore.table.commit import StaleRead, commit
from penstock.datastore.table.pages import Window
from penstock.datastore.table.schema_marker import place_marker
from penstock.datastore.upgrades.execution_lists import list_executions
from penstock.datastore.upgrades.upgrade import Page, Step
from tests.datastore.executions.sample_executions import (
    ANN,
    begin_execution,
    current_execution,
    finished_execution,
    pipeline_in,
    plant_pipeline,
)
from tests.support.consistency_check import contents, faults
from tests.support.old_rows import unlist_execution
from tests.support.sample_resources import USA


def ignore(_step: Step, _page: Page) -> None:
    """A report that nobody reads."""


async def listed_ids(store: Store, **more: object) -> list[str]:
    asked = GroupExecutions(**{"group": USA, **more})  # type: ignore[arg-type]
    page = await store.open_session(ANN).executions.of_groups.page(asked, Window(size=100))
    return [id.rpartition(":")[2] for id, _ in page.entries]


async def make_old(store: Store) -> list[Execution]:
    """Make executions, of which all but the last are as earlier releases wrote them."""
    pipeline = await plant_pipeline(store)
    other = await pipeline_in(store, name="other")
    await pipeline_in(store, name="never run")
    over = await finished_execution(store, pipeline)
    waiting = [await begin_execution(store, each) for each in (pipeline, other, other)]
    await unlist_execution(store.table, over)
    await unlist_execution(store.table, waiting[0], "owner")
    await unlist_execution(store.table, waiting[1])
    return [over, *waiting]


async def test_the_upgrade_lists_executions_of_earlier_releases(store: Store) -> None:
    made = await make_old(store)
    assert await listed_ids(store) == [made[-1].id]
    assert await faults(store.table) == []
    await place_marker(store.table)
    await store.upgrade_rows(ignore)
    assert await listed_ids(store) == [one.id for one in made[::-1]]
    ended = await listed_ids(store, order=ExecutionOrder.ENDED_LAST)
    assert ended == [made[0].id]
    assert await faults(store.table) == []
    rows = await contents(store.table)
    access = store._system_access(admin=True)
    pages = [page async for page in list_executions(access, None)]
    assert sum(changed for _, _, changed in pages) == 0
    assert await contents(store.table) == rows


async def test_an_upgrade_goes_on_behind_each_page_that_it_reached(store: Store) -> None:
    await make_old(store)
    access = store._system_access(admin=True)
    cursors = [page[0] async for page in list_executions(access, None)]
    wanted = await contents(store.table)
    for cursor in cursors:
        assert sum([one[2] async for one in list_executions(access, cursor)]) == 0
        assert await contents(store.table) == wanted
    assert await faults(store.table) == []


async def test_a_write_notices_that_an_upgrade_listed_the_execution(store: Store) -> None:
    made = await make_old(store)
    before = await current_execution(store, made[2])
    access = store._system_access(admin=True)
    assert sum([one[2] async for one in list_executions(access, None)]) == 3
    event = TransitionEvent(EventKind.CANCELLED, "ann", store.clock.timestamp())
    with pytest.raises(StaleRead):
        await commit(store.table, transition_writes(before, before, event))
    await store.open_session(ANN).executions.changing.cancel(before.id)
    assert await listed_ids(store, states=frozenset({ExecutionState.CANCELLED})) == [before.id]
    assert await faults(store.table) == []


async def test_an_execution_is_listed_by_its_next_write(store: Store) -> None:
    made = await make_old(store)
    await store.open_session(ANN).executions.changing.cancel(made[2].id)
    assert await listed_ids(store) == [made[3].id, made[2].id]
    assert await faults(store.table) == []
