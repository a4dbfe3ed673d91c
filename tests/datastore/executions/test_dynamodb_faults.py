"""Executions over a DynamoDB table that throttles, loses answers and breaks connections."""

from penstock.datastore.clock import Clock
from penstock.datastore.executions.files import output_key
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.store import Store
from tests.datastore.executions.sample_executions import (
    OUTPUT,
    current_execution,
    plant_pipeline,
    read_content,
    ready_execution,
)
from tests.faults.dynamodb_proxy import ANYWHERE, Fault
from tests.support.application import open_faulty_table
from tests.support.consistency_check import faults
from tests.support.sample_resources import Watch


async def test_whatever_goes_wrong_with_the_table_a_run_ends_once(
    files: LocalFiles, watch: Watch
) -> None:
    async with open_faulty_table() as (proxy, table):
        store = Store(table, clock=Clock(watch), files=files)
        pipeline = await plant_pipeline(store)
        proxy.chance(0.3, ANYWHERE - {Fault.SILENT_AFTER, Fault.SLOW}, seed=7)
        made = [await ready_execution(store, pipeline, max_failed_rows=n) for n in range(1, 4)]
        assert await store.execution_worker("w").run_all() == 3
        proxy.chance(0.0, (), seed=0)
        for one in made:
            after = await current_execution(store, one)
            assert (after.state, after.attempts, after.rows) == ("success", 1, 3)
            assert await read_content(files, output_key(one)) == OUTPUT
        assert await faults(table) == []
        assert sum(seen.fault is not None for seen in proxy.seen) > 10
