"""Executions that no worker claims are reported as stuck."""

from datetime import timedelta

from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from tests.datastore.executions.sample_executions import (
    begin_execution,
    finished_execution,
    ready_execution,
)
from tests.support.sample_resources import Watch, on_sqlite

pytestmark = on_sqlite


async def test_what_no_worker_took_for_minutes_is_stuck(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    await begin_execution(store, pipeline)
    await finished_execution(store, pipeline)
    made = await ready_execution(store, pipeline)
    assert await store.find_stuck_executions() == []
    watch.move(timedelta(minutes=5, seconds=1))
    assert await store.find_stuck_executions() == [made.id]
    await store.execution_worker("w").run_all()
    assert await store.find_stuck_executions() == []


async def test_what_lost_its_worker_is_stuck_after_some_time(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    made = await ready_execution(store, pipeline)
    claims = store.execution_worker("dead")._claims
    assert await claims.claim(made, "dead") is not None
    watch.move(timedelta(minutes=5))
    assert await store.find_stuck_executions() == []
    watch.move(timedelta(minutes=2))
    assert await store.find_stuck_executions() == [made.id]
