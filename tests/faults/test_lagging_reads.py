"""Over a table whose eventually consistent reads lag, answers show what was written before."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from penstock.datastore.store import Store
from tests.support.graphql_client import Ask, draft, tag_inputs
from tests.support.stores import open_files, open_table
from tests.support.table_interceptors import LaggingTable

CREATE = """mutation($input: CreatePipelineInput!) { createPipeline(input: $input) {
  ...on CreatePipelinePayload { pipeline { id version versions { nodes { version } }
    ownerGroup { path } grantedThrough(group: "/usa") } } ...on UserError { code } } }"""
CREATE_EXECUTIONS = """mutation($one: CreateExecutionInput!, $two: CreateExecutionInput!) {
  one: createExecution(input: $one) { ...on CreateExecutionPayload { execution { id } } }
  two: createExecution(input: $two) { ...on CreateExecutionPayload { execution { id
    tags { key } timeline { nodes { state } }
    pipeline { executions(first: 1) { nodes { id } pageInfo { hasNextPage endCursor } } } } } } }"""


@pytest.fixture
async def lagging(tmp_path: Path) -> AsyncIterator[LaggingTable]:
    async with AsyncExitStack() as held:
        table, replica = [
            await held.enter_async_context(open_table("sqlite", tmp_path)) for _ in range(2)
        ]
        yield LaggingTable(table, replica)


@pytest.fixture
async def ask(lagging: LaggingTable, tmp_path: Path) -> AsyncIterator[Ask]:
    async with open_files(tmp_path) as files:
        found = Ask(Store(lagging, files=files))
        await found.create_groups("/usa", "/usa/northwest", "/eu")
        await lagging.catch_up()
        yield found


async def test_the_answer_of_a_create_shows_its_versions_and_its_group(ask: Ask) -> None:
    made = await ask.input(CREATE, **draft("one", "a=b", group="/usa/northwest"))
    pipeline = made["pipeline"]
    assert pipeline["versions"] == {"nodes": [{"version": 1}]}
    assert pipeline["ownerGroup"] == {"path": "/usa/northwest"}


async def test_an_answer_lists_what_earlier_fields_of_its_operation_wrote(ask: Ask) -> None:
    pipeline = await ask.make("/usa", "one")
    tags = tag_inputs("a=b")
    variables = {
        "one": {"pipelineId": pipeline},
        "two": {"pipelineId": pipeline, "tags": tags},
    }
    made = await ask(CREATE_EXECUTIONS, variables)
    assert made.errors == ()
    one, two = made.data["one"]["execution"], made.data["two"]["execution"]
    assert two["tags"] == [{"key": "a"}]
    listed = two["pipeline"]["executions"]
    assert listed["nodes"] == [{"id": two["id"]}]
    assert listed["pageInfo"]["hasNextPage"] is True
    assert one["id"] != two["id"]


async def test_a_create_in_a_group_that_was_just_created_works(ask: Ask) -> None:
    await ask.create_groups("/usa/southeast")
    made = await ask.input(CREATE, **draft("one", group="/usa/southeast"))
    assert made["pipeline"]["version"] == 1
