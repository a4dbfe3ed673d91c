"""Subscriptions to the rows of a pipeline and to the values of a metric over them."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from penstock.datastore.resources.changes import open_changes
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from tests.schema.kept_rows.energy import WITHDRAW, keep_energy, meter, run_rows
from tests.schema.metrics.sample_metrics import UPDATE, kwh, make_metric
from tests.schema.test_subscriptions import (
    CHANGED,
    DELETE,
    ROWS,
    VALUES,
    next_answer,
    start_next_answer,
    subscribe,
)
from tests.support.graphql_client import ROOT, Ask, as_caller

TX = "/usa/tx"
GRANTS = {
    name: f"mutation($input: {name}Input!) {{ {name[0].lower()}{name[1:]}(input: $input) "
    "{ __typename } }"
    for name in ("GrantPipeline", "RevokePipeline", "GrantMetric", "RevokeMetric")
}
BELOW = as_caller("rosa", f"{TX}=reader")
"""Sees what /usa shares, and may not know to whom else it is granted."""
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


@pytest.mark.parametrize("hidden", ["Pipeline", "Metric"])
async def test_what_a_metric_is_made_of_leaves_and_enters_sight_by_an_event(
    hidden: str, any_store: Store
) -> None:
    ask = Ask(any_store)
    pipeline = await keep_energy(ask)
    await ask.create_groups(TX)
    inner = await make_metric(ask, "inner", kwh())
    outer = await make_metric(ask, "outer", {"metric": "inner"})
    made_of = {"Pipeline": pipeline, "Metric": inner}
    for kind, id in (*made_of.items(), ("Metric", outer)):
        await ask.input(GRANTS[f"Grant{kind}"], id=id, group="/eu")
    fleur, version = as_caller("fleur", "/eu/france=reader"), 1
    async with (
        open_changes(any_store.table, 0.01) as changes,
        subscribe(any_store, changes, outer, fleur, VALUES) as heard,
    ):
        assert await next_answer(heard) == {"name": "outer", "version": version}
        for change in ("Revoke", "Grant", "Revoke", "Grant"):
            task = await start_next_answer(heard)
            await ask.input(GRANTS[change + hidden], id=made_of[hidden], group="/eu")
            assert await task == {"name": "outer", "version": version}
            task = await start_next_answer(heard)
            await run_rows(ask, pipeline, meter(TX, "2025-01-01", 10))
            if change == "Revoke":
                await ask.input(UPDATE, id=outer, expectedVersion=version, function="MAX")
                version += 1
            assert await task == {"name": "outer", "version": version}


async def test_grants_to_groups_out_of_sight_are_no_events_of_anything_that_is_made_of_it(
    any_store: Store,
) -> None:
    ask = Ask(any_store)
    pipeline = await keep_energy(ask)
    await ask.create_groups(TX, "/asia")
    inner = await make_metric(ask, "inner", kwh())
    outer = await make_metric(ask, "outer", {"metric": "inner"})
    followed = ((pipeline, CHANGED), (pipeline, ROWS), (inner, VALUES), (outer, VALUES))
    async with open_changes(any_store.table, 0.01) as changes, AsyncExitStack() as stack:

        async def follow(caller: Caller) -> list[AsyncIterator[Any]]:
            opened = [subscribe(any_store, changes, id, caller, query) for id, query in followed]
            found = [await stack.enter_async_context(one) for one in opened]
            assert all([await next_answer(one) for one in found])
            return found

        heard, owner = await follow(BELOW), await follow(ROOT)
        tasks = [await start_next_answer(one) for one in heard]
        for id, name, hears in (
            (pipeline, "Pipeline", [0]),
            (inner, "Metric", [2, 3]),
            (outer, "Metric", [3]),
        ):
            for change in ("Grant", "Revoke"):
                waiting = [await start_next_answer(owner[place]) for place in hears]
                told = await ask.input(GRANTS[change + name], id=id, group="/asia")
                assert told == {"__typename": f"{change}{name}Payload"}
                assert all([await one for one in waiting])
        await ask.change(pipeline, 1, name="Power")
        for id, task in ((outer, tasks[3]), (inner, tasks[2])):
            await ask.input(UPDATE, id=id, expectedVersion=1, name=f"renamed {id}")
            assert await task == {"name": f"renamed {id}", "version": 2}
        await run_rows(ask, pipeline, meter(TX, "2025-01-01", 10))
        assert [(await task)["name"] for task in tasks[:2]] == ["Power", "Power"]


async def test_a_grant_in_sight_is_an_event_of_the_metric(store: Store, ask: Ask) -> None:
    await keep_energy(ask)
    await ask.create_groups(TX)
    both = as_caller("bo", f"{TX}=reader", "/eu=reader")
    metric = await make_metric(ask, "shared", kwh())
    async with (
        open_changes(store.table, 0.01) as changes,
        subscribe(store, changes, metric, both, VALUES) as heard,
    ):
        assert await next_answer(heard) == {"name": "shared", "version": 1}
        task = await start_next_answer(heard)
        await ask.input(GRANTS["GrantMetric"], id=metric, group="/eu")
        assert await task == {"name": "shared", "version": 1}
