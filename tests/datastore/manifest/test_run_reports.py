"""Reports of the work on runs, after it was committed."""

from datetime import timedelta

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import RunGivenUp
from penstock.datastore.manifest.records import RunState
from penstock.datastore.manifest.retry_rules import RetryRules
from penstock.datastore.manifest.transitions import Fail, Recover, Reset, Retry, Transition
from penstock.datastore.records import Tag
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from penstock.datastore.work_reports import RunChange, RunReport, RunSubject
from tests.datastore.manifest.sample_runs import (
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
)
from tests.support.sample_resources import Watch, create_groups, on_sqlite


async def test_what_workers_do_is_reported_once_it_is_committed(table: Table) -> None:
    watch = Watch()
    reports: list[RunReport] = []
    store = Store(table, Clock(now=watch), watch_run=reports.append)
    session = await create_groups(store)
    rules = RetryRules(max_attempts=2, first_delay=0, longest_delay=0)
    await discover(session)
    await session.manifests.set_retries(SNOW, rules)
    first = await claim(session, TRANSFORM)
    await claim(session, TRANSFORM)
    await session.runs.change(NAME, Fail(fence=first.fence, error="disk full"))
    await claim(session, TRANSFORM)
    watch.move(timedelta(seconds=301))
    with pytest.raises(RunGivenUp):
        await claim(session, TRANSFORM)
    await session.runs.change(NAME, Retry())
    loaded = await bring_to(session, RunState.LOADED)
    told = [(each.change, each.stage, each.attempt) for each in reports]
    assert told == [
        (RunChange.CLAIMED, "transform", 1),
        (RunChange.FAILED, "transform", 1),
        (RunChange.CLAIMED, "transform", 2),
        (RunChange.GIVEN_UP, "transform", 2),
        (RunChange.CLAIMED, "transform", 1),
        (RunChange.PROCESSED, "transform", 1),
        (RunChange.CLAIMED, "load", 1),
        (RunChange.LOADED, "load", 1),
    ]
    assert {each.id for each in reports} == {first.id}
    assert (reports[0].claim, reports[-1].claim) == (f"{first.id}-1", loaded.idempotency_key)
    assert reports[3].at == watch().timestamp()


@on_sqlite
@pytest.mark.parametrize(
    ("transition", "told"),
    [
        (None, [(RunChange.CLAIM_LOST, 1), (RunChange.CLAIMED, 2)]),
        (Reset(), [(RunChange.CLAIM_LOST, 1)]),
        (Recover(shred_types=TYPES, saved_to=SAVED_TO), [(RunChange.PROCESSED, 1)]),
    ],
)
async def test_a_claim_without_a_result_is_reported_when_the_run_goes_on_without_it(
    table: Table, transition: Transition | None, told: list[tuple[RunChange, int]]
) -> None:
    watch = Watch()
    reports: list[RunReport] = []
    session = await create_groups(Store(table, Clock(now=watch), watch_run=reports.append))
    run = await bring_to(session, RunState.PROCESSING)
    watch.move(timedelta(hours=1))
    reports.clear()
    if transition is None:
        await claim(session, TRANSFORM, owner="worker-2")
    else:
        await session.runs.change(NAME, transition)
    found = [(each.change, each.claim, each.stage) for each in reports]
    assert found == [(change, f"{run.id}-{fence}", "transform") for change, fence in told]


@on_sqlite
async def test_an_output_that_is_recovered_after_a_failure_is_no_work_of_a_claim(
    table: Table,
) -> None:
    reports: list[RunReport] = []
    session = await create_groups(Store(table, watch_run=reports.append))
    await bring_to(session, RunState.FAILED)
    reports.clear()
    await session.runs.change(NAME, Recover(shred_types=TYPES, saved_to=SAVED_TO))
    assert reports == []


@on_sqlite
async def test_a_report_says_what_the_run_is_about(table: Table) -> None:
    reports: list[RunReport] = []
    session = await create_groups(Store(table, watch_run=reports.append))
    await discover(session, tags=(Tag(key="country", value="de"),), batch="day", pipeline="snow")
    await bring_to(session, RunState.LOADING)
    run = await session.runs.one(NAME)
    await session.runs.change(NAME, Fail(fence=run.fence, error="disk full"))
    assert reports[-1].subject == RunSubject(
        group=SNOW.group,
        manifest=SNOW.name,
        folder=RUN_ID,
        fence=2,
        pipeline="snow",
        saved_to=SAVED_TO,
        types=TYPES,
        tags=(("country", "de"),),
        batch="day",
        error="disk full",
    )
    assert (reports[-1].stage, reports[0].subject.saved_to) == (LOAD, None)
