"""Counts of a group's executions by state: those of its lists, within the budget of a page."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from penstock.datastore.access.access import Budget
from penstock.datastore.access.work import INCLUDED_CALLS, READ_ROWS
from penstock.datastore.errors import NotFound
from penstock.datastore.executions.lists.group_listing import GroupExecutions, TimeSpan
from penstock.datastore.executions.records import ExecutionState
from penstock.datastore.records import Pipeline
from penstock.datastore.roles import Caller, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from tests.datastore.executions.sample_executions import begin_execution, finished_execution
from tests.support.sample_resources import EU, NORTHWEST, SUPER, USA, on_sqlite
from tests.support.work_account import Account


async def counts(session: Session, **listed: object) -> dict[ExecutionState, int]:
    wanted = GroupExecutions(**{"group": USA, **listed})  # type: ignore[arg-type]
    found = await session.executions.counting.by_state(wanted)
    assert all(one.is_complete for one in found)
    return {one.state: one.count for one in found if one.count}


async def test_a_group_counts_what_its_list_has(store: Store, pipeline: Pipeline) -> None:
    for _ in range(3):
        await begin_execution(store, pipeline)
    await finished_execution(store, pipeline)
    session = store.open_session(SUPER)
    every = {ExecutionState.WAITING: 3, ExecutionState.SUCCESS: 1}
    assert await counts(session) == every
    assert await counts(session, group=NORTHWEST) == every
    assert await counts(session, group=EU) == {}
    await session.pipelines.writing.grant(pipeline.id, EU)
    assert await counts(session, group=EU) == every
    with pytest.raises(NotFound):
        await counts(store.open_session(Caller("eve", {EU: Role.ADMIN})))


async def test_a_span_that_ends_before_it_begins_counts_none(
    store: Store, pipeline: Pipeline
) -> None:
    await begin_execution(store, pipeline)
    early, late = datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
    session = store.open_session(SUPER)
    assert await counts(session, created=TimeSpan(early, late)) == {ExecutionState.WAITING: 1}
    for backwards in (TimeSpan(late, early), TimeSpan(early, early)):
        for more in ({}, {"include_child_groups": True}, {"pipeline": pipeline.id}):
            assert await counts(session, created=backwards, **more) == {}
    eve = store.open_session(Caller("eve", {EU: Role.ADMIN}))
    with pytest.raises(NotFound):
        await counts(eve, created=TimeSpan(late, early))


@on_sqlite
async def test_counting_ends_where_a_page_may_cost_no_more(
    store: Store, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        await begin_execution(store, pipeline)
    wanted = GroupExecutions(group=USA, states=frozenset({ExecutionState.WAITING}))
    poor = replace(store, list_budget=Budget(units=0)).open_session(SUPER)
    (found,) = await poor.executions.counting.by_state(wanted)
    assert (found.count, found.is_complete) == (0, False)
    monkeypatch.setattr("penstock.datastore.executions.lists.state_counts.MOST_COUNTED", 2)
    (found,) = await store.open_session(SUPER).executions.counting.by_state(wanted)
    assert (found.count, found.is_complete) == (2, False)


@on_sqlite
async def test_a_count_is_a_query_for_each_group_and_state(
    store: Store, pipeline: Pipeline
) -> None:
    await begin_execution(store, pipeline)
    metered = MeteredTable(store.table)
    session = replace(store, table=metered).open_session(SUPER)
    await counts(session, states=frozenset({ExecutionState.WAITING}))
    # The group, the pipelines that two groups share, those being deleted, and the lists of both.
    assert metered.units.calls == 1 + 2 + 1 + 2


@on_sqlite
async def test_the_executions_that_are_counted_are_paid(store: Store, pipeline: Pipeline) -> None:
    for _ in range(90):
        await begin_execution(store, pipeline)
    account = Account()
    assert await counts(store.open_session(SUPER, account)) == {ExecutionState.WAITING: 90}
    assert account.owed >= (90 - INCLUDED_CALLS) // READ_ROWS
