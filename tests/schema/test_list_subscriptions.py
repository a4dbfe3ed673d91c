"""Subscriptions to lists: what a client hears of changes by any server, and what it never hears."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from penstock.datastore.change_log.feed import MOST_PENDING
from penstock.datastore.change_log.rows import RETENTION
from penstock.datastore.clock import Clock
from penstock.datastore.jobs.jobs import JobKind
from penstock.datastore.resources.changes import RowChanges, open_changes
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.resolvers.context import Context
from penstock.schema.engine.operations import OperationRequest, RequestRejected
from tests.support.graphql_client import CURSORS, ROOT, Ask, as_caller, engine
from tests.support.patience import HUNG_SECONDS
from tests.support.sample_resources import Watch

PIPELINES = """subscription($group: GroupPath, $below: Boolean, $after: String) {
  pipelinesChanged(group: $group, includeChildGroups: $below, after: $after) {
    change pipelineId pipeline { name version } position } }"""
METRICS = """subscription($group: GroupPath, $below: Boolean, $after: String) {
  metricsChanged(group: $group, includeChildGroups: $below, after: $after) {
    change metricId metric { name version } position } }"""
EXECUTIONS = """subscription($group: GroupPath, $below: Boolean, $states: [ExecutionState!],
                             $after: String) {
  executionsChanged(group: $group, includeChildGroups: $below, states: $states, after: $after) {
    change executionId execution { id state } position } }"""
JOB = "subscription($id: ID!) { jobProgress(id: $id) { state done } }"
DELETE = "mutation($input: DeletePipelineInput!) { deletePipeline(input: $input) { __typename } }"
GRANT = "mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) { __typename } }"
REVOKE = "mutation($input: RevokePipelineInput!) { revokePipeline(input: $input) { __typename } }"
CREATE = """mutation($input: CreateExecutionInput!) {
  createExecution(input: $input) { ...on CreateExecutionPayload { execution { id } } } }"""
CANCEL = """mutation($input: CancelExecutionInput!) {
  cancelExecution(input: $input) { __typename } }"""
CASCADE = """mutation($input: DeleteGroupInput!) { deleteGroup(input: $input) {
  ...on DeleteGroupPayload { job { id } } } }"""
EVE = as_caller("eve", "/eu=reader")
CREATED = {"change": "CHANGED", "version": 1}


class Subscriber:
    """A client of one subscription, whose server polls when the test says so."""

    def __init__(self, answers: AsyncIterator[Any], changes: RowChanges) -> None:
        self._answers = answers
        self._changes = changes
        self.position = ""

    async def next(self) -> tuple[str, Any, Any]:
        """Wait for an event; return its kind, the id, and the name or the state of the object."""
        async with asyncio.timeout(HUNG_SECONDS):
            event = await anext(self._answers)
        self.position = event.pop("position")
        change, id, shown = event.values()
        return change, id, shown and (shown.get("name") or shown["state"])

    async def poll(self) -> tuple[str, Any, Any]:
        """Poll the log, and wait for an event."""
        await self._changes.feed.poll()
        return await self.next()


async def read_answers(
    store: Store, changes: RowChanges, caller: Caller, query: str, variables: dict[str, Any]
) -> AsyncGenerator[Any]:
    prepared = engine().prepare(OperationRequest(query=query, variables=variables))

    def context() -> Context:
        return Context.open(store, caller, CURSORS, changes)

    async with aclosing(engine().events(prepared, context(), "a test")) as events:
        async for event in events:
            answer = await engine().run_event(prepared, event, context(), "a test")
            assert answer.body.keys() == {"data"}, answer
            (value,) = answer.body["data"].values()
            yield value


@asynccontextmanager
async def subscribe(
    store: Store, query: str = PIPELINES, caller: Caller = ROOT, **variables: Any
) -> AsyncIterator[Subscriber]:
    changes = RowChanges(store.table, store.clock)
    async with aclosing(read_answers(store, changes, caller, query, variables)) as answers:
        yield Subscriber(answers, changes)


async def refusal(store: Store, query: str, caller: Caller, **variables: Any) -> Any:
    """Subscribe in vain; return the code of the refusal."""
    answers = read_answers(store, RowChanges(store.table), caller, query, variables)
    with pytest.raises(RequestRejected) as refused:
        await anext(answers)
    (error,) = refused.value.errors
    return error["extensions"]["code"]


async def test_every_change_of_a_list_is_an_event(any_store: Store) -> None:
    ask = Ask(any_store)
    await ask.create_groups()
    async with subscribe(any_store, group="/usa") as client:
        assert await client.next() == ("RESET", None, None)
        id = await ask.make("/usa", "one")
        assert await client.poll() == ("CHANGED", id, "one")
        await ask.change(id, 1, name="two")
        assert await client.poll() == ("CHANGED", id, "two")
        await ask.input(GRANT, id=id, group="/eu")
        assert await client.poll() == ("CHANGED", id, "two")
        await ask.input(DELETE, id=id)
        assert await client.poll() == ("REMOVED", id, None)


async def test_every_change_of_a_list_of_metrics_is_an_event(any_store: Store) -> None:
    ask = Ask(any_store, "metric")
    await ask.create_groups()
    async with subscribe(any_store, METRICS, group="/usa") as client:
        assert await client.next() == ("RESET", None, None)
        id = await ask.make("/usa", "one")
        assert await client.poll() == ("CHANGED", id, "one")
        await Ask(any_store).make("/usa", "no metric")
        await ask.change(id, 1, name="two")
        assert await client.poll() == ("CHANGED", id, "two")
        await ask.input(DELETE, id=id)
        assert await client.poll() == ("REMOVED", id, None)


async def test_a_group_hears_of_its_own_list_and_of_no_other(ask: Ask) -> None:
    await ask.create_groups()
    async with (
        subscribe(ask.store, group="/usa/northwest") as northwest,
        subscribe(ask.store, group="/usa") as usa,
        subscribe(ask.store, group="/usa", below=True) as all_usa,
        subscribe(ask.store, group="/eu") as eu,
    ):
        for client in (northwest, usa, all_usa, eu):
            assert (await client.next())[0] == "RESET"
        id = await ask.make("/usa/northwest", "deep")
        assert await northwest.poll() == ("CHANGED", id, "deep")
        assert await all_usa.poll() == ("CHANGED", id, "deep")
        own = await ask.make("/usa", "own")
        assert await usa.poll() == ("CHANGED", own, "own")
        await ask.input(GRANT, id=id, group="/eu")
        assert await eu.poll() == ("CHANGED", id, "deep")
        await ask.input(REVOKE, id=id, group="/eu")
        assert await eu.poll() == ("REMOVED", id, None)
        above = await ask.make("/", "above")
        assert await eu.poll() == ("CHANGED", above, "above")


async def test_a_stranger_hears_nothing_and_learns_of_no_group(ask: Ask) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    for query in (PIPELINES, METRICS, EXECUTIONS):
        for group in ("/usa", "/usa/nowhere"):
            assert await refusal(ask.store, query, EVE, group=group) == "NOT_FOUND"
    async with subscribe(ask.store, caller=EVE, group="/eu", below=True) as client:
        assert (await client.next())[0] == "RESET"
        await ask.change(id, 1, name="two")
        await ask.input(DELETE, id=id)
        await ask.make("/usa", "three")
        own = await ask.make("/eu", "own")
        assert await client.poll() == ("CHANGED", own, "own")


TWO = as_caller("two", "/eu=reader", "/usa/southeast=reader")
"""Sees what is granted to /eu, and some groups below /usa."""


async def test_grants_to_groups_out_of_sight_are_no_events(ask: Ask) -> None:
    await ask.create_groups()
    await ask.create_groups("/asia")
    id = await ask.make("/asia", "shared")
    await ask.input(GRANT, id=id, group="/eu")
    async with (
        subscribe(ask.store, PIPELINES, TWO, group="/usa", below=True) as usa,
        subscribe(ask.store, PIPELINES, TWO, group="/", below=True) as everywhere,
        subscribe(ask.store, EXECUTIONS, TWO, group="/usa", below=True) as executions,
        subscribe(ask.store, PIPELINES, as_caller("asia", "/asia=reader"), group="/asia") as owner,
    ):
        clients = (usa, everywhere, executions, owner)
        for client in clients:
            assert (await client.next())[0] == "RESET"
        await ask.input(GRANT, id=id, group="/usa/northwest")
        await ask.input(CREATE, pipelineId=id)
        assert await owner.poll() == ("CHANGED", id, "shared")
        await ask.input(REVOKE, id=id, group="/usa/northwest")
        assert await owner.poll() == ("CHANGED", id, "shared")
        own = await ask.make("/usa/southeast", "own")
        begun = (await ask.input(CREATE, pipelineId=own))["execution"]["id"]
        assert await usa.poll() == ("CHANGED", own, "own")
        assert await everywhere.poll() == ("CHANGED", own, "own")
        assert await executions.poll() == ("CHANGED", begun, "WAITING")


async def test_what_another_group_owns_out_of_sight_is_in_no_list_of_executions(ask: Ask) -> None:
    await ask.create_groups()
    id = await ask.make("/usa/northwest", "theirs")
    await ask.input(GRANT, id=id, group="/eu")
    async with (
        subscribe(ask.store, EXECUTIONS, TWO, group="/usa", below=True) as usa,
        subscribe(ask.store, EXECUTIONS, TWO, group="/eu") as eu,
    ):
        for client in (usa, eu):
            assert (await client.next())[0] == "RESET"
        shared = (await ask.input(CREATE, pipelineId=id))["execution"]["id"]
        own = await ask.make("/usa/southeast", "own")
        begun = (await ask.input(CREATE, pipelineId=own))["execution"]["id"]
        assert await eu.poll() == ("CHANGED", shared, "WAITING")
        assert await usa.poll() == ("CHANGED", begun, "WAITING")


async def test_a_pipeline_is_told_again_only_if_the_follower_sees_a_change(ask: Ask) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    await ask.input(GRANT, id=id, group="/eu")
    changes = RowChanges(ask.store.table)
    query = "subscription($id: ID!) { pipelineChanged(id: $id) { version groups } }"

    async def grant_and_poll(group: str, mutation: str = GRANT) -> None:
        await ask.input(mutation, id=id, group=group)
        await changes.poll()

    async with (
        aclosing(read_answers(ask.store, changes, EVE, query, {"id": id})) as eve,
        aclosing(read_answers(ask.store, changes, ROOT, query, {"id": id})) as root,
    ):
        assert await anext(eve) == {"version": 1, "groups": ["/eu"]}
        assert len((await anext(root))["groups"]) == 2
        told, all_told = (asyncio.ensure_future(anext(one)) for one in (eve, root))
        await asyncio.sleep(0)
        await ask.create_groups("/asia")
        await grant_and_poll("/asia")
        async with asyncio.timeout(HUNG_SECONDS):
            assert len((await all_told)["groups"]) == 3
        await grant_and_poll("/eu/france", GRANT)
        await grant_and_poll("/asia", REVOKE)
        assert not told.done()
        await ask.change(id, 1, description="new")
        await changes.poll()
        async with asyncio.timeout(HUNG_SECONDS):
            assert await told == {"version": 2, "groups": ["/eu"]}


async def test_access_is_looked_at_just_before_each_event(ask: Ask) -> None:
    await ask.create_groups()
    one, two = [await ask.make("/usa", name) for name in ("one", "two")]
    for id in (one, two):
        await ask.input(GRANT, id=id, group="/eu")
    async with subscribe(ask.store, caller=EVE, group="/eu") as client:
        assert (await client.next())[0] == "RESET"
        for id in (one, two):
            await ask.change(id, 1, description="new")
        assert await client.poll() == ("CHANGED", one, "one")
        await ask.input(REVOKE, id=two, group="/eu")
        assert await client.next() == ("REMOVED", two, None)


async def test_a_subscription_resumes_behind_the_last_event(ask: Ask) -> None:
    await ask.create_groups()
    async with subscribe(ask.store, group="/usa") as client:
        assert (await client.next())[0] == "RESET"
        one = await ask.make("/usa", "one")
        assert await client.poll() == ("CHANGED", one, "one")
    two = await ask.make("/usa", "two")
    await ask.input(DELETE, id=one)
    async with subscribe(ask.store, group="/usa", after=client.position) as resumed:
        heard = {await resumed.next(), await resumed.next()}
        assert heard == {("REMOVED", one, None), ("CHANGED", two, "two")}


async def test_a_position_opens_only_the_list_and_for_the_caller_that_got_it(ask: Ask) -> None:
    await ask.create_groups()
    async with subscribe(ask.store, group="/usa") as client:
        await client.next()
    reader = as_caller("ann", "/=reader")
    for query, caller, group in (
        (PIPELINES, ROOT, "/eu"),
        (PIPELINES, reader, "/usa"),
        (EXECUTIONS, ROOT, "/usa"),
    ):
        variables = {"group": group, "after": client.position}
        assert await refusal(ask.store, query, caller, **variables) == "BAD_USER_INPUT"


async def test_who_resumes_too_late_reads_the_list_anew(store: Store) -> None:
    watch = Watch()
    ask = Ask(replace(store, clock=Clock(watch)))
    await ask.create_groups()
    async with subscribe(ask.store, group="/usa") as client:
        await client.next()
    watch.move(RETENTION - timedelta(minutes=1))
    one = await ask.make("/usa", "one")
    async with subscribe(ask.store, group="/usa", after=client.position) as resumed:
        assert await resumed.next() == ("CHANGED", one, "one")
    watch.move(timedelta(minutes=2))
    async with subscribe(ask.store, group="/usa", after=client.position) as resumed:
        assert await resumed.next() == ("RESET", None, None)


async def test_who_reads_too_slowly_reads_the_list_anew(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MOST_PENDING == 1_000
    monkeypatch.setattr("penstock.datastore.change_log.feed.MOST_PENDING", 2)
    await ask.create_groups()
    async with subscribe(ask.store, group="/usa") as client:
        assert (await client.next())[0] == "RESET"
        for name in ("a", "b", "c"):
            await ask.make("/usa", name)
        assert await client.poll() == ("RESET", None, None)
        id = await ask.make("/usa", "d")
        assert await client.poll() == ("CHANGED", id, "d")


async def test_executions_enter_and_leave_the_list_of_a_state(any_store: Store) -> None:
    ask = Ask(any_store)
    await ask.create_groups()
    pipeline = await ask.make("/usa", "one")
    async with (
        subscribe(any_store, EXECUTIONS, group="/usa", states=["WAITING"]) as waiting,
        subscribe(any_store, EXECUTIONS, group="/usa") as every,
        subscribe(any_store, EXECUTIONS, group="/eu") as eu,
    ):
        for client in (waiting, every, eu):
            assert (await client.next())[0] == "RESET"
        id = (await ask.input(CREATE, pipelineId=pipeline))["execution"]["id"]
        assert await waiting.poll() == ("CHANGED", id, "WAITING")
        assert await every.poll() == ("CHANGED", id, "WAITING")
        await ask.input(CANCEL, id=id)
        assert await waiting.poll() == ("REMOVED", id, None)
        assert await every.poll() == ("CHANGED", id, "CANCELLED")
        pipeline = await ask.make("/eu", "two")
        own = (await ask.input(CREATE, pipelineId=pipeline))["execution"]["id"]
        assert await eu.poll() == ("CHANGED", own, "WAITING")


async def test_a_group_hears_of_executions_of_pipelines_that_it_was_granted(ask: Ask) -> None:
    await ask.create_groups()
    pipeline = await ask.make("/usa", "one")
    await ask.input(GRANT, id=pipeline, group="/eu")
    async with subscribe(ask.store, EXECUTIONS, EVE, group="/eu") as client:
        assert (await client.next())[0] == "RESET"
        id = (await ask.input(CREATE, pipelineId=pipeline))["execution"]["id"]
        assert await client.poll() == ("CHANGED", id, "WAITING")
        await ask.input(REVOKE, id=pipeline, group="/eu")
        await ask.input(CANCEL, id=id)
        pipeline = await ask.make("/eu", "two")
        own = (await ask.input(CREATE, pipelineId=pipeline))["execution"]["id"]
        assert await client.poll() == ("CHANGED", own, "WAITING")


async def test_a_job_is_followed_to_its_end_and_by_nobody_who_may_not_see_it(ask: Ask) -> None:
    await ask.create_groups()
    await ask.make("/usa", "one")
    id = (await ask.input(CASCADE, path="/usa", cascade=True))["job"]["id"]
    changes = RowChanges(ask.store.table)
    async with aclosing(read_answers(ask.store, changes, ROOT, JOB, {"id": id})) as answers:
        assert await anext(answers) == {"state": "PENDING", "done": 0}
        assert await ask.store.run_jobs("w", [JobKind.DELETE_GROUP]) == 1
        waiting = asyncio.ensure_future(anext(answers))
        await asyncio.sleep(0)
        await changes.poll()
        async with asyncio.timeout(HUNG_SECONDS):
            last = await waiting
            assert (last["state"], last["done"] > 0) == ("DONE", True)
            assert await anext(answers, None) is None
    assert await refusal(ask.store, JOB, EVE, id=id) == "NOT_FOUND"


async def test_the_log_is_read_at_the_interval_while_somebody_listens(ask: Ask) -> None:
    await ask.create_groups()
    async with open_changes(ask.store.table, 0.01) as changes:
        answers = read_answers(ask.store, changes, ROOT, PIPELINES, {"group": "/usa"})
        async with aclosing(answers):
            client = Subscriber(answers, changes)
            assert (await client.next())[0] == "RESET"
            id = await ask.make("/usa", "one")
            assert await client.next() == ("CHANGED", id, "one")
