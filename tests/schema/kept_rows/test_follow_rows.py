"""Subscriptions to the rows of a pipeline and to the values of a metric over them."""

from penstock.datastore.resources.changes import open_changes
from penstock.datastore.store import Store
from tests.schema.kept_rows.energy import WITHDRAW, keep_energy, meter, run_rows
from tests.schema.metrics.sample_metrics import UPDATE, kwh, make_metric
from tests.schema.test_subscriptions import DELETE, ROWS, VALUES, next_answer, subscribe
from tests.support.graphql_client import Ask, as_caller

TX = "/usa/tx"
DELETE_METRIC = (
    "mutation($input: DeleteMetricInput!) { deleteMetric(input: $input) { __typename } }"
)


async def test_each_commit_of_rows_is_heard_until_the_pipeline_is_gone(any_store: Store) -> None:
    ask = Ask(any_store)
    id = await keep_energy(ask)
    await ask.create_groups(TX)
    async with (
        open_changes(any_store.table, 0.01) as changes,
        subscribe(any_store, changes, id, query=ROWS) as heard,
    ):
        assert await next_answer(heard) == {"name": "Energy"}
        await run_rows(ask, id, meter(TX, "2025-01-01", 10))
        assert await next_answer(heard) == {"name": "Energy"}
        key = [TX, "1735689600000"]
        told = await ask.input(WITHDRAW, pipelineId=id, keys=[key], reason="wrong")
        assert told["count"] == 1
        assert await next_answer(heard) == {"name": "Energy"}
        await ask.input(DELETE, id=id)
        assert await next_answer(heard) is None


async def test_a_change_of_a_pipeline_that_commits_nothing_is_no_event(
    store: Store, ask: Ask
) -> None:
    id = await keep_energy(ask)
    await ask.create_groups(TX)
    async with (
        open_changes(store.table, 0.01) as changes,
        subscribe(store, changes, id, query=ROWS) as heard,
    ):
        assert await next_answer(heard) == {"name": "Energy"}
        await ask.change(id, 1, name="Power")
        await run_rows(ask, id, meter(TX, "2025-01-01", 10))
        assert await next_answer(heard) == {"name": "Power"}


async def test_values_of_a_metric_change_by_rows_below_other_metrics_and_by_definition(
    any_store: Store,
) -> None:
    ask = Ask(any_store)
    pipeline = await keep_energy(ask)
    await ask.create_groups(TX)
    inner = await make_metric(ask, "inner", kwh())
    outer = await make_metric(ask, "outer", {"metric": "inner"})
    async with (
        open_changes(any_store.table, 0.01) as changes,
        subscribe(any_store, changes, outer, query=VALUES) as heard,
    ):
        shown = {"name": "outer", "version": 1}
        assert await next_answer(heard) == shown
        await run_rows(ask, pipeline, meter(TX, "2025-01-01", 10))
        assert await next_answer(heard) == shown
        await ask.input(UPDATE, id=inner, expectedVersion=1, function="MAX")
        assert await next_answer(heard) == shown
        await ask.input(UPDATE, id=outer, expectedVersion=1, name="other")
        assert await next_answer(heard) == {"name": "other", "version": 2}
        await ask.input(DELETE_METRIC, id=outer)
        assert await next_answer(heard) is None


async def test_a_metric_whose_pipeline_is_out_of_sight_tells_nothing_of_its_rows(
    store: Store, ask: Ask
) -> None:
    pipeline = await keep_energy(ask)
    await ask.create_groups(TX)
    metric = await make_metric(ask, "shared", kwh())
    grant = "mutation($input: GrantMetricInput!) { grantMetric(input: $input) { __typename } }"
    await ask.input(grant, id=metric, group="/eu")
    fleur = as_caller("fleur", "/eu/france=reader")
    async with (
        open_changes(store.table, 0.01) as changes,
        subscribe(store, changes, metric, fleur, VALUES) as heard,
    ):
        assert await next_answer(heard) == {"name": "shared", "version": 1}
        await run_rows(ask, pipeline, meter(TX, "2025-01-01", 10))
        await ask.input(UPDATE, id=metric, expectedVersion=1, name="renamed")
        assert await next_answer(heard) == {"name": "renamed", "version": 2}
