"""Lists of the executions of groups, for those who see their pipelines."""

from penstock.datastore.executions.group_listing import GroupExecutions
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.records import Pipeline
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from tests.datastore.executions.sample_executions import (
    ANN,
    begin_execution,
    pipeline_in,
)
from tests.support.consistency_check import faults
from tests.support.sample_resources import USA, walk

CANCELLED, WAITING = ExecutionState.CANCELLED, ExecutionState.WAITING


async def list_ids(
    store: Store, size: int = 1, who: Caller = ANN, *, backward: bool = False, **more: object
) -> list[str]:
    asked = GroupExecutions(**{"group": USA, **more})  # type: ignore[arg-type]
    listing = store.open_session(who).executions.of_groups
    found = await walk(lambda window: listing.page(asked, window), size, backward=backward)
    return [one.id for one in found]


async def cancel(store: Store, execution: Execution) -> None:
    await store.open_session(ANN).executions.changing.cancel(execution.id)


async def test_executions_of_a_group_and_a_state_newest_first(
    store: Store, pipeline: Pipeline
) -> None:
    other = await pipeline_in(store, name="other")
    made = [await begin_execution(store, each) for each in (pipeline, other) * 2]
    await cancel(store, made[1])
    waiting = [made[n].id for n in (3, 2, 0)]
    for size in (1, 2, 10):
        assert await list_ids(store, size, states=frozenset({WAITING})) == waiting
        assert await list_ids(store, size, states=frozenset({CANCELLED})) == [made[1].id]
        assert await list_ids(store, size) == [one.id for one in made[::-1]]
    assert await faults(store.table) == []
