"""Concurrent and repeated changes of runs."""

from typing import Any

import pytest

from penstock.datastore.errors import LeaseHeld, LeaseLost, Unavailable
from penstock.datastore.manifest.records import RunState
from penstock.datastore.manifest.transitions import (
    Claim,
    Fail,
    Heartbeat,
    MarkLoaded,
    MarkProcessed,
    Skip,
    Unskip,
)
from penstock.datastore.roles import Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from tests.datastore.manifest.sample_runs import (
    LOAD,
    NAME,
    SAVED_TO,
    TRANSFORM,
    TYPES,
    bring_to,
    claim,
    discover,
    events,
    reload_run,
    run_faults,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import USA, Watch, caller, on_sqlite
from tests.support.table_interceptors import InterceptedTable, InterruptedTable

WORKER = caller({USA: Role.CONTRIBUTOR})


@on_sqlite
async def test_what_was_done_before_writes_nothing(session: Session, store: Store) -> None:
    run = await bring_to(session, RunState.PROCESSED)
    before = await contents(store.table)
    said = MarkProcessed(fence=run.fence, shred_types=TYPES, saved_to=SAVED_TO)
    assert await session.runs.change(NAME, said) == run
    assert await session.runs.change(NAME, Unskip()) == run
    assert await contents(store.table) == before


async def test_of_two_claims_at_once_one_is_granted(session: Session, store: Store) -> None:
    await discover(session)

    async def thief() -> None:
        await claim(session, TRANSFORM, owner="thief")

    late = Store(InterruptedTable(store.table, thief), store.clock).open_session(WORKER)
    with pytest.raises(LeaseHeld, match="thief has"):
        await claim(late, TRANSFORM, owner="late")
    assert (await session.runs.one(NAME)).lease_owner == "thief"
    assert await run_faults(store.table) == []


class RepeatingTable(InterceptedTable):
    """A table that gets every write twice, as after a lost answer without a request token."""

    async def transact(self, operations: Any) -> float:
        await self._table.transact(operations)
        return await self._table.transact(operations)


@on_sqlite
async def test_a_change_whose_answer_was_lost_happens_once(session: Session, store: Store) -> None:
    twice = Store(RepeatingTable(store.table), store.clock).open_session(WORKER)
    run = await bring_to(twice, RunState.LOADED)
    assert (run.version, run.fence) == (5, 2)
    await reload_run(twice)
    assert await session.runs.one(NAME) == await twice.runs.one(NAME)
    assert len(await events(session, run)) == 6
    assert await run_faults(store.table) == []
    assert await faults(store.table) == []


@on_sqlite
async def test_a_result_whose_answer_was_lost_may_be_said_again_though_others_went_on(
    session: Session, store: Store, watch: Watch
) -> None:
    held = await bring_to(session, RunState.PROCESSING)
    done = MarkProcessed(fence=held.fence, shred_types=TYPES, saved_to=SAVED_TO)
    await session.runs.change(NAME, done)
    loading = await claim(session, LOAD, owner="loader")
    failure = Fail(fence=loading.fence, error="no warehouse")
    await session.runs.change(NAME, failure)
    again = await claim(session, LOAD, owner="another")
    before = await contents(store.table)
    assert await session.runs.change(NAME, done) == again
    assert await session.runs.change(NAME, failure) == again
    for ask in (
        Fail(fence=loading.fence, error="something else"),
        Fail(fence=held.fence, error="no warehouse"),
        MarkLoaded(fence=loading.fence, loaded_by="loader"),
        Heartbeat(fence=loading.fence),
    ):
        with pytest.raises(LeaseLost):
            await session.runs.change(NAME, ask)
    assert await contents(store.table) == before


@on_sqlite
async def test_a_run_that_others_write_all_the_time_is_given_up(
    session: Session, store: Store
) -> None:
    run = await discover(session)

    class Busy(InterceptedTable):
        """A table in which the run is skipped by another caller before every write."""

        times = 0

        async def request(self, call: Any, *, writes: bool) -> Any:
            if writes:
                self.times += 1
                await session.runs.change(NAME, Skip(reason=f"{self.times}"))
                await session.runs.change(NAME, Unskip())
            return await call

    late = Store(Busy(store.table), store.clock).open_session(WORKER)
    with pytest.raises(Unavailable):
        await late.runs.change(NAME, Claim(stage=TRANSFORM, owner="w"))
    assert (await session.runs.one(NAME)).state is run.state
