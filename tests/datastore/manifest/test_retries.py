"""Runs that failed are tried again later and later, and at last given up."""

from collections.abc import Awaitable
from datetime import datetime, timedelta
from typing import Any

import pytest

from penstock.datastore.errors import (
    IllegalState,
    Invalid,
    NotFound,
    NotPermitted,
    RetryLater,
    RunGivenUp,
)
from penstock.datastore.manifest.lists import RunListFilter
from penstock.datastore.manifest.records import Action, ManifestName, Run, RunState
from penstock.datastore.manifest.retry_rules import RetryRules
from penstock.datastore.manifest.transitions import Fail, Retry, Skip, Unskip
from penstock.datastore.roles import Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.datastore.manifest.sample_runs import (
    LOAD,
    NAME,
    RUN_ID,
    SNOW,
    TRANSFORM,
    bring_to,
    claim,
    discover,
    events,
    run_faults,
    run_name,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import USA, Watch, caller, on_sqlite
from tests.support.table_interceptors import TracedTable

RULES = RetryRules(max_attempts=3, first_delay=60, longest_delay=100)
KEY = "018f3b6e-0000-7000-8000-000000000001-1"


async def fail(session: Session, run: Run, error: str = "disk full") -> Run:
    return await session.runs.change(run.name, Fail(fence=run.fence, error=error))


async def make_ruled(session: Session, rules: RetryRules = RULES) -> Run:
    """A new run of a manifest with rules of retries."""
    run = await discover(session)
    await session.manifests.set_retries(SNOW, rules)
    return run


def seconds_from(start: datetime, run: Run) -> int:
    return (run.retry_at or 0) - int(start.timestamp())


def test_delays_double_up_to_the_longest_and_the_claim_takes_off_up_to_half() -> None:
    rules = RetryRules(first_delay=60, longest_delay=3600)
    assert [rules.delay(attempt, KEY) for attempt in range(1, 9)] == [
        *(45, 89, 177, 353, 706, 1411),
        *(2646, 2646),
    ]
    assert rules.delay(10_000, KEY) == 2646
    others = {rules.delay(7, f"{KEY}{n}") for n in range(1000)}
    assert min(others) in range(1801, 1900)
    assert max(others) in range(3500, 3601)
    assert RetryRules(first_delay=0, longest_delay=0).delay(3, KEY) == 0


async def test_without_rules_a_failed_run_is_claimed_at_once_and_without_end(
    session: Session,
) -> None:
    run = await bring_to(session, RunState.FAILED)
    for attempt in range(2, 30):
        run = await claim(session, TRANSFORM)
        assert (run.attempt, run.retry_at) == (attempt, None)
        assert (await fail(session, run)).state is RunState.FAILED


async def test_a_failed_run_waits_longer_each_time_and_is_given_up_at_last(
    session: Session, store: Store, watch: Watch
) -> None:
    await make_ruled(session)
    for attempt, longest in ((1, 60), (2, 100)):
        run = await fail(session, await claim(session, TRANSFORM))
        assert run.retry_at is not None
        wait = seconds_from(watch(), run)
        assert wait == RULES.delay(attempt, run.idempotency_key)
        assert longest / 2 <= wait <= longest
        before = await contents(store.table)
        watch.move(timedelta(seconds=wait - 1))
        with pytest.raises(RetryLater, match="may be tried again in 1 s") as refused:
            await claim(session, TRANSFORM)
        assert (refused.value.code.value, refused.value.state) == ("RETRY_LATER", "FAILED")
        assert await contents(store.table) == before
        watch.move(timedelta(seconds=1))
    run = await fail(session, await claim(session, TRANSFORM))
    assert (run.state, run.attempt, run.retry_at) == (RunState.GIVEN_UP, 3, None)
    assert run.last_error == "disk full"
    before = await contents(store.table)
    watch.move(timedelta(days=365))
    for stage in (TRANSFORM, LOAD):
        with pytest.raises(RunGivenUp, match="`retryRun` lets workers try it again"):
            await claim(session, stage)
    assert await contents(store.table) == before
    assert await run_faults(store.table) == []
    assert await faults(store.table) == []


async def test_a_repeated_report_of_a_failure_changes_nothing(
    session: Session, store: Store, watch: Watch
) -> None:
    await make_ruled(session, RetryRules(max_attempts=2, first_delay=0, longest_delay=0))
    for state in (RunState.FAILED, RunState.GIVEN_UP):
        held = await claim(session, TRANSFORM)
        failed = await fail(session, held)
        assert failed.state is state
        before = await contents(store.table)
        watch.move(timedelta(seconds=5))
        assert await fail(session, held) == failed
        assert await contents(store.table) == before


async def test_the_last_attempt_is_given_up_when_its_lease_ended(
    session: Session, store: Store, watch: Watch
) -> None:
    await make_ruled(session, RetryRules(max_attempts=2))
    await claim(session, TRANSFORM)
    watch.move(timedelta(seconds=301))
    assert (await claim(session, TRANSFORM, owner="worker-2")).attempt == 2
    watch.move(timedelta(seconds=301))
    with pytest.raises(RunGivenUp, match="All 2 attempts were made") as refused:
        await claim(session, TRANSFORM, owner="worker-3")
    assert refused.value.state == "GIVEN_UP"
    run = await session.runs.one(NAME)
    assert (run.state, run.fence, run.lease_owner) == (RunState.GIVEN_UP, 2, None)
    assert run.last_error == "The lease of worker-2 ended without a result."
    assert [event.action for event in await events(session, run)][:2] == [
        Action.GIVE_UP,
        Action.CLAIM,
    ]
    assert await run_faults(store.table) == []


async def test_a_person_lets_workers_try_again_and_attempts_count_from_none(
    session: Session, store: Store
) -> None:
    await make_ruled(session, RetryRules(max_attempts=1))
    await fail(session, await claim(session, TRANSFORM))
    asked = Retry(reason="the disk was emptied")
    run = await session.runs.change(NAME, asked)
    assert (run.state, run.attempt, run.last_error) == (RunState.FAILED, 0, "disk full")
    assert await session.runs.change(NAME, asked) == run
    assert (await events(session, run))[0].reason == "the disk was emptied"
    assert (await claim(session, TRANSFORM)).attempt == 1
    with pytest.raises(IllegalState, match="A run that is PROCESSING takes no `retry`"):
        await session.runs.change(NAME, asked)
    assert await run_faults(store.table) == []


async def test_a_person_need_not_wait(session: Session, store: Store) -> None:
    await make_ruled(session)
    await fail(session, await claim(session, TRANSFORM))
    await session.runs.change(NAME, Retry())
    assert (await claim(session, TRANSFORM)).attempt == 1
    assert await run_faults(store.table) == []


async def test_each_stage_has_its_own_attempts(session: Session, watch: Watch) -> None:
    await make_ruled(session, RetryRules(max_attempts=1))
    await bring_to(session, RunState.PROCESSED)
    failed = await fail(session, await claim(session, LOAD))
    assert (failed.state, failed.attempt) == (RunState.GIVEN_UP, 1)
    assert failed.saved_to is not None


async def test_due_runs_are_listed_without_reading_those_that_wait(
    session: Session, store: Store, watch: Watch
) -> None:
    await make_ruled(session)
    for n in range(5):
        await discover(session, f"r{n}/")
        await fail(session, await claim(session, TRANSFORM, run_name(f"r{n}/")))
    failed = RunListFilter(state=RunState.FAILED)

    async def list_due(due: bool, **more: Any) -> list[str]:
        listed = RunListFilter(due=due, **{"state": RunState.FAILED, **more})
        page = await session.run_lists.page(SNOW, listed, Window())
        return [run.run_id for _, run in page.entries]

    assert len((await session.run_lists.page(SNOW, failed, Window())).entries) == 5
    assert (await list_due(True), len(await list_due(False))) == ([], 5)
    await session.runs.change(run_name("r3/"), Retry())
    assert (await list_due(True), len(await list_due(False))) == (["r3/"], 4)
    assert await list_due(True, state=None) == [RUN_ID, "r3/"]
    await session.runs.change(run_name("r2/"), Skip(reason="broken"))
    assert await list_due(False, to_skip=True) == ["r2/"]
    await session.runs.change(run_name("r2/"), Unskip())
    watch.move(timedelta(seconds=60))
    assert await list_due(True) == [f"r{n}/" for n in range(5)]
    assert await run_faults(store.table) == []


@on_sqlite
async def test_rules_cost_no_round_trip_and_lists_of_due_runs_read_no_run_that_waits(
    session: Session, store: Store
) -> None:
    await make_ruled(session)
    traced = TracedTable(store.table)
    worker = Store(traced, store.clock, shards=1).open_session(caller({USA: Role.CONTRIBUTOR}))

    async def cost(call: Awaitable[object]) -> tuple[tuple[int, int, int], float]:
        traced.start()
        before = worker.units.rcu
        await call
        return traced.seen, worker.units.rcu - before

    # One batch gets the run and the manifest: a read, a transaction, and two read units.
    assert await cost(claim(worker, TRANSFORM)) == ((1, 1, 2), 2.0)
    held = await session.runs.one(NAME)
    assert await cost(fail(worker, held)) == ((1, 1, 2), 2.0)
    due = RunListFilter(state=RunState.FAILED, due=True)
    # The list and the manifest, at once; the run that waits is not read.
    assert await cost(worker.run_lists.page(SNOW, due, Window())) == ((2, 0, 1), 2.0)


async def test_rules_are_set_by_admins_and_kept_by_other_writes(
    session: Session, store: Store
) -> None:
    await discover(session)
    worker = store.open_session(caller({USA: Role.CONTRIBUTOR}))
    before = await contents(store.table)
    with pytest.raises(NotPermitted):
        await worker.manifests.set_retries(SNOW, RULES)
    with pytest.raises(NotFound, match="no such manifest"):
        await session.manifests.set_retries(ManifestName(USA, "absent"), RULES)
    assert await contents(store.table) == before
    assert (await session.manifests.set_retries(SNOW, RULES)).retries == RULES
    await discover(session, "other/")
    manifest = await session.manifests.one(SNOW)
    assert (manifest.retries, manifest.runs) == (RULES, 2)
    assert (await session.manifests.set_retries(SNOW, None)).retries is None
    assert (await session.manifests.one(SNOW)).runs == 2


@pytest.mark.parametrize(
    ("rules", "fields"),
    [
        (RetryRules(max_attempts=0), ["maxAttempts"]),
        (RetryRules(max_attempts=1001, first_delay=-1), ["maxAttempts", "firstDelaySeconds"]),
        (RetryRules(first_delay=61, longest_delay=60), ["longestDelaySeconds"]),
        (RetryRules(longest_delay=604_801), ["longestDelaySeconds"]),
    ],
)
async def test_rules_that_make_no_sense_are_refused_and_change_nothing(
    session: Session, store: Store, rules: RetryRules, fields: list[str]
) -> None:
    await make_ruled(session)
    before = await contents(store.table)
    with pytest.raises(Invalid) as refused:
        await session.manifests.set_retries(SNOW, rules)
    assert [each.path for each in refused.value.problems] == [["retries", one] for one in fields]
    assert await contents(store.table) == before
