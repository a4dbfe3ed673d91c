"""The access patterns of metrics, one test for each row."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from penstock.datastore.resources.changes import RowChanges
from penstock.schema.core.relay import parse_key
from tests.schema.kept_rows.energy import keep_energy, meter, run_rows
from tests.schema.metrics.sample_metrics import CREATE, UPDATE, kwh, make_metric, read_values
from tests.support.graphql_client import ROOT, Ask, as_caller
from tests.support.loop_clock import let_tasks_run

STRANGER = as_caller("eve", "/eu=admin")
BY_NAME = """query($name: String!, $group: GroupPath) {
  metricByName(name: $name, group: $group) { id version inputs { output } } }"""
DELETE = """mutation($input: DeleteMetricInput!) { deleteMetric(input: $input) {
  ...on DeleteMetricPayload { metric { name version } } ...on UserError { code } } }"""


async def test_create_a_metric(ask: Ask) -> None:
    """create a metric"""
    await keep_energy(ask)
    inner = await make_metric(ask, "electricity", kwh())
    outer = await make_metric(ask, "all", {"metric": "electricity"})
    found = await ask(f'{{ metric(id: "{outer}") {{ version groups inputs {{ metricId }} }} }}')
    assert found.value == {"version": 1, "groups": ["/usa"], "inputs": [{"metricId": inner}]}
    given = {"group": "/usa", "name": "theirs", "function": "SUM", "inputs": []}
    refused = await ask.input(CREATE, STRANGER, **given)
    assert refused["code"] == "NOT_FOUND"


async def test_update_a_metric(ask: Ask) -> None:
    """update a metric"""
    await keep_energy(ask)
    metric = await make_metric(ask, "energy")
    done = await ask.input(UPDATE, id=metric, expectedVersion=1, inputs=[kwh()])
    assert done["metric"]["version"] == 2
    stale = await ask.input(UPDATE, id=metric, expectedVersion=1, unit="kWh")
    assert stale["code"] == "CONFLICT"
    refused = await ask.input(UPDATE, STRANGER, id=metric, expectedVersion=2, unit="kWh")
    assert refused["code"] == "NOT_FOUND"


async def test_list_the_metrics_of_a_group(ask: Ask) -> None:
    """list the metrics of a group"""
    await ask.create_groups()
    await make_metric(ask, "a")
    listing = Ask(ask.store, "metric")
    assert await listing.names("/usa/northwest") == ["a"]
    assert await listing.names("/eu") == []


async def test_retrieve_a_metric_by_name(ask: Ask) -> None:
    """retrieve a metric by name"""
    await keep_energy(ask)
    metric = await make_metric(ask, "Energy", kwh())
    wanted = {"name": "ENERGY", "group": "/usa/northwest"}
    found = (await ask(BY_NAME, wanted)).value
    assert found == {"id": metric, "version": 1, "inputs": [{"output": "kwh"}]}
    assert (await ask(BY_NAME, wanted, STRANGER)).data == {"metricByName": None}


async def test_read_the_series_of_a_metric(ask: Ask) -> None:
    """read the series of a metric"""
    pipeline = await keep_energy(ask)
    await run_rows(ask, pipeline, meter("/usa", "2025-01-01", 2))
    metric = await make_metric(ask, "energy", kwh())
    assert await read_values(ask, metric) == {"2025-01-01": "3"}


async def follow_one_commit(
    ask: Ask, pipeline: str, found: AsyncIterator[Any], at: RowChanges
) -> Any:
    """Read the first event and, after a commit of rows, the next one."""
    first = await anext(found)
    waiting = asyncio.ensure_future(anext(found))
    await let_tasks_run()
    await at.poll()
    assert not waiting.done()
    await run_rows(ask, pipeline, meter("/usa", "2025-01-01", 2))
    await at.poll()
    assert (await waiting).id == first.id
    return first.name


async def test_follow_the_rows_that_a_pipeline_keeps(ask: Ask) -> None:
    """follow the rows that a pipeline keeps"""
    pipeline = await keep_energy(ask)
    changes = RowChanges(ask.store.table)
    following = ask.store.open_session(ROOT).follow_rows(changes)
    async with aclosing(following.of_pipeline(parse_key("Pipeline", pipeline))) as found:
        assert await follow_one_commit(ask, pipeline, found, changes) == "Energy"


async def test_follow_the_values_of_a_metric(ask: Ask) -> None:
    """follow the values of a metric"""
    pipeline = await keep_energy(ask)
    metric = await make_metric(ask, "energy", kwh())
    changes = RowChanges(ask.store.table)
    following = ask.store.open_session(ROOT).follow_rows(changes)
    async with aclosing(following.of_metric(parse_key("Metric", metric))) as found:
        assert await follow_one_commit(ask, pipeline, found, changes) == "energy"


async def test_delete_a_metric(ask: Ask) -> None:
    """delete a metric"""
    await ask.create_groups()
    metric = await make_metric(ask, "energy")
    assert await ask.input(DELETE, STRANGER, id=metric) == {"code": "NOT_FOUND"}
    assert await ask.input(DELETE, id=metric) == {"metric": {"name": "energy", "version": 1}}
    assert await Ask(ask.store, "metric").names("/usa") == []
