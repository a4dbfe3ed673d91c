"""Subscriptions to stored objects: changes by any writer, visible to callers with access only."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from penstock.datastore.errors import Unavailable
from penstock.datastore.resources.changes import RowChanges, RowWatch, open_changes
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.port import Batch, Item, Key
from penstock.resolvers.context import Context
from penstock.schema import schema
from penstock.schema.engine.documents import core_schema
from penstock.schema.engine.operations import OperationRequest, RequestRejected
from tests.support.graphql_client import CURSORS, ROOT, Ask, as_caller, engine
from tests.support.patience import HUNG_SECONDS

CHANGED = "subscription($id: ID!) { pipelineChanged(id: $id) { name version groups } }"
DELETE = "mutation($input: DeletePipelineInput!) { deletePipeline(input: $input) { __typename } }"
GRANT = "mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) { __typename } }"
REVOKE = "mutation($input: RevokePipelineInput!) { revokePipeline(input: $input) { __typename } }"
FRENCH = as_caller("fleur", "/eu/france=reader")
STRANGER = as_caller("eve", "/eu=admin")

PROGRESS = "subscription($id: ID!) { executionProgress(id: $id) { state progress { rowsRead } } }"
CREATE_EXECUTION = """mutation($input: CreateExecutionInput!) {
  createExecution(input: $input) { ...on CreateExecutionPayload { execution { id } } } }"""
ROWS = "subscription($id: ID!) { rowsChanged(id: $id) { name } }"
VALUES = "subscription($id: ID!) { metricValuesChanged(id: $id) { name version } }"
STRANGERS = {
    "pipelineChanged": CHANGED,
    "executionProgress": PROGRESS,
    "rowsChanged": ROWS,
    "metricValuesChanged": VALUES,
}
"""A subscription to each field that takes an id, by somebody who may not see what it is about."""


class RecordingTable(MeteredTable):
    """A table that records the keys of its reads, and fails as many times as `failures` says."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.table)
        self.asked: list[tuple[frozenset[Key], bool]] = []
        self.failures = 0

    async def get(self, keys: Sequence[Key], *, consistent: bool = False) -> Batch:
        self.asked.append((frozenset(keys), consistent))
        if self.failures:
            self.failures -= 1
            raise Unavailable("The store did not answer.")
        return await super().get(keys, consistent=consistent)


@asynccontextmanager
async def subscribe(
    store: Store, changes: RowChanges, id: str, caller: Caller = ROOT, query: str = CHANGED
) -> AsyncIterator[AsyncIterator[Any]]:
    async with aclosing(answers(store, changes, id, caller, query)) as found:
        yield found


async def answers(
    store: Store, changes: RowChanges, id: str, caller: Caller, query: str
) -> AsyncGenerator[Any]:
    """Yield the value of the one field for each event that a client receives."""
    prepared = engine().prepare(OperationRequest(query=query, variables={"id": id}))

    def context() -> Context:
        return Context.open(store, caller, CURSORS, changes)

    async with aclosing(engine().events(prepared, context(), "a test")) as events:
        async for event in events:
            answer = await engine().run_event(prepared, event, context(), "a test")
            assert answer.body.keys() == {"data"}, answer
            (value,) = answer.body["data"].values()
            yield value


async def next_answer(answers: AsyncIterator[Any]) -> Any:
    """Return the next answer; None at the end."""
    async with asyncio.timeout(HUNG_SECONDS):
        return await anext(answers, None)


async def refusal(store: Store, changes: RowChanges, id: str, caller: Caller, query: str) -> Any:
    with pytest.raises(RequestRejected) as refused:
        await next_answer(answers(store, changes, id, caller, query))
    return refused.value.errors


async def start_next_answer(answers: AsyncIterator[Any]) -> "asyncio.Task[Any]":
    """Start to read the next answer, which does not exist yet."""
    task = asyncio.ensure_future(next_answer(answers))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not task.done()
    return task


async def test_the_present_state_comes_at_once_and_each_change_after_it(any_store: Store) -> None:
    ask = Ask(any_store)
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    async with (
        open_changes(any_store.table, 0.01) as changes,
        subscribe(any_store, changes, id) as heard,
    ):
        assert await next_answer(heard) == {"name": "one", "version": 1, "groups": ["/usa"]}
        await ask.change(id, 1, name="two")
        assert await next_answer(heard) == {"name": "two", "version": 2, "groups": ["/usa"]}
        await ask.input(GRANT, id=id, group="/eu")
        assert await next_answer(heard) == {"name": "two", "version": 2, "groups": ["/usa", "/eu"]}
        await ask.input(DELETE, id=id)
        assert await next_answer(heard) is None


async def test_whoever_reads_slowly_gets_the_latest_state_only(store: Store, ask: Ask) -> None:
    changes = RowChanges(store.table)
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    async with subscribe(store, changes, id) as slow, subscribe(store, changes, id) as quick:
        assert [(await next_answer(each))["version"] for each in (slow, quick)] == [1, 1]
        first = [await start_next_answer(slow), await start_next_answer(quick)]
        for version in (1, 2, 3):
            await ask.change(id, version, name=f"after {version}")
            await changes.poll()
            if version == 1:
                assert [(await each)["version"] for each in first] == [2, 2]
            else:
                assert (await next_answer(quick))["version"] == version + 1
        assert (await next_answer(slow))["version"] == 4
        (await start_next_answer(slow)).cancel()
        await asyncio.sleep(0)


async def test_a_subscriber_who_loses_sight_hears_no_more(store: Store, ask: Ask) -> None:
    changes = RowChanges(store.table)
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    await ask.input(GRANT, id=id, group="/eu")
    async with (
        subscribe(store, changes, id, FRENCH) as theirs,
        subscribe(store, changes, id) as ours,
    ):
        assert [(await next_answer(each))["name"] for each in (theirs, ours)] == ["one", "one"]
        tasks = [await start_next_answer(theirs), await start_next_answer(ours)]
        await ask.input(REVOKE, id=id, group="/eu")
        await changes.poll()
        assert await tasks[0] is None
        assert await tasks[1] == {"name": "one", "version": 1, "groups": ["/usa"]}


def test_every_subscription_is_walked_as_a_stranger() -> None:
    root = core_schema(schema).subscription_type
    assert root is not None
    lists = {"pipelinesChanged", "metricsChanged", "executionsChanged", "jobProgress"}
    assert STRANGERS.keys() | {"ngsiSamples"} | lists == root.fields.keys()


@pytest.mark.parametrize("field", STRANGERS)
async def test_a_stranger_cannot_tell_what_is_hidden_from_what_is_not_there(
    field: str, store: Store, ask: Ask
) -> None:
    table = RecordingTable(store)
    changes = RowChanges(table)
    noun = "metric" if field == "metricValuesChanged" else "pipeline"
    ask = Ask(store, noun)
    await ask.create_groups()
    hidden, gone = await ask.make("/usa", "one"), await ask.make("/usa", "two")
    if field == "executionProgress":
        noun = "execution"
        made = [await ask.input(CREATE_EXECUTION, pipelineId=id) for id in (hidden, gone)]
        await ask.input(DELETE, id=gone)
        hidden, gone = (told["execution"]["id"] for told in made)
    else:
        await ask.input(DELETE, id=gone)
    found = [await refusal(store, changes, id, STRANGER, STRANGERS[field]) for id in (hidden, gone)]
    for errors in found:
        (error,) = errors
        assert error["extensions"] == {"code": "NOT_FOUND", "path": ["id"]}
        assert error["message"] == f"There is no {noun} with this id."
    await changes.poll()
    assert table.asked == []  # nobody follows anything


@pytest.mark.parametrize("id", ["", "x", "UGlwZWxpbmU6", "R3JvdXA6L3VzYQ=="])
async def test_an_id_of_something_else_is_not_found(id: str, store: Store) -> None:
    (error,) = await refusal(store, RowChanges(store.table), id, ROOT, CHANGED)
    assert error["extensions"]["code"] == "NOT_FOUND"


async def test_a_round_is_one_read_however_many_follow(store: Store, ask: Ask) -> None:
    table = RecordingTable(store)
    changes = RowChanges(table)
    await ask.create_groups()
    ids = [await ask.make("/usa", f"number {n}") for n in range(3)]
    streams = [answers(store, changes, id, ROOT, CHANGED) for id in (*ids, *ids)]
    for stream in streams:
        await next_answer(stream)
    tasks = [await start_next_answer(stream) for stream in streams]
    await changes.poll()
    ((keys, consistent),) = table.asked
    assert (len(keys), consistent) == (3, True)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    table.asked.clear()
    await changes.poll()
    assert table.asked == []


async def test_a_store_that_is_away_is_asked_again(
    store: Store, ask: Ask, caplog: pytest.LogCaptureFixture
) -> None:
    table = RecordingTable(store)
    await ask.create_groups()
    id = await ask.make("/usa", "one")
    async with open_changes(table, 0.01) as changes, subscribe(store, changes, id) as heard:
        await next_answer(heard)
        table.failures = 2
        task = await start_next_answer(heard)
        await ask.change(id, 1, name="two")
        assert (await task)["name"] == "two"
    assert table.failures == 0
    assert "the followed rows could not be read" in caplog.text


async def test_a_source_that_crashes_is_masked(
    store: Store, ask: Ask, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "one")

    def fail_to_watch(*_: object, **__: object) -> RowWatch:
        raise RuntimeError("secret of the house")

    monkeypatch.setattr(RowChanges, "watch", fail_to_watch)
    heard = answers(store, RowChanges(store.table), id, ROOT, CHANGED)
    assert (await next_answer(heard))["name"] == "one"
    with pytest.raises(RequestRejected) as refused:
        await next_answer(heard)
    extensions = {"code": "INTERNAL_SERVER_ERROR", "requestId": "a test"}
    assert refused.value.errors == [{"message": "Internal error", "extensions": extensions}]
    assert "secret of the house" in caplog.text


async def test_the_poller_ends_with_its_owner(store: Store) -> None:
    before = asyncio.all_tasks()
    async with open_changes(store.table, 0.01):
        assert len(asyncio.all_tasks() - before) == 2
    assert asyncio.all_tasks() <= before


def row(revision: int) -> Item:
    return {"pk": "P:1", "sk": "PV:latest", "revision": revision}


async def test_an_older_state_never_follows_a_newer_one() -> None:
    watch = RowWatch(3, asyncio.Event())
    for revision in (1, 3, 5, 4):
        watch.offer(row(revision))
    assert await watch.next() == row(5)
    watch.offer(row(5))
    watch.offer(row(2))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await watch.next()
    watch.offer(None)
    assert await watch.next() is None
