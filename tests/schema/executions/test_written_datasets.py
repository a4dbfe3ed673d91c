"""Pipelines that write reference datasets, as clients save, run and read them."""

from dataclasses import replace
from typing import Any

from penstock.datastore.store import Store
from tests.schema.executions.test_executions import create_execution
from tests.support.consistency_check import contents, faults
from tests.support.graphql_client import Ask, as_caller

DATASET = """mutation($input: CreateReferenceDatasetInput!) {
  createReferenceDataset(input: $input) {
    ...on CreateReferenceDatasetPayload { referenceDataset { id } } } }"""
PIPELINE = """mutation($input: CreatePipelineInput!) { createPipeline(input: $input) { __typename
  ...on CreatePipelinePayload { pipeline { id
    transformer { dataset { key referenceDataset { name } } } } }
  ...on ValidationProblem { problems { path code } } } }"""
SHOWN = """query($id: ID!) { execution(id: $id) { state code
  writtenDataset { version name content { keyColumn rowCount } } } }"""
TARGET = """query($id: ID!) { pipeline(id: $id) {
  transformer { dataset { key referenceDataset { name } } }
  uses(first: 1) { nodes { ...on ReferenceDataset { name } } } } }"""
ADA = as_caller("ada", "/usa=admin")


def transformer(dataset: str | None) -> dict[str, Any]:
    columns = (("fuel", "STRING"), ("co2", "NUMBER"))
    return {
        "parameters": [
            {"index": n, "key": key, "type": type} for n, (key, type) in enumerate(columns)
        ],
        "transforms": [
            {"index": n, "formula": f":{key}", "outputs": [{"index": 0, "key": key, "type": type}]}
            for n, (key, type) in enumerate(columns)
        ],
        "dataset": dataset and {"id": dataset, "key": ["fuel"]},
    }


async def make_dataset(ask: Ask) -> str:
    await ask.create_groups()
    content = {"columns": [{"name": "a", "type": "STRING"}], "csv": "a\n1\n"}
    made = await ask.input(DATASET, ADA, group="/usa", name="factors", content=content)
    id: str = made["referenceDataset"]["id"]
    return id


async def test_an_execution_shows_the_version_that_it_wrote_to_who_sees_it(
    ask: Ask, store: Store
) -> None:
    dataset = await make_dataset(ask)
    made = await ask.input(
        PIPELINE, ADA, group="/usa", name="writer", transformer=transformer(dataset)
    )
    assert made["pipeline"]["transformer"]["dataset"] == {
        "key": ["fuel"],
        "referenceDataset": {"name": "factors"},
    }
    pipeline = made["pipeline"]["id"]
    rows = [{"fuel": "gas", "co2": "2"}, {"fuel": "oil", "co2": "3"}]
    ran = await create_execution(ask, ADA, pipelineId=pipeline, mode="INLINE", rows=rows)
    assert (await ask(SHOWN, {"id": ran["id"]}, ADA)).value == {
        "state": "SUCCESS",
        "code": None,
        "writtenDataset": {
            "version": 2,
            "name": "factors",
            "content": {"keyColumn": "fuel", "rowCount": 2},
        },
    }
    grant = """mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) {
      ...on GrantPipelinePayload { changed } } }"""
    await ask.input(grant, id=pipeline, group="/eu")
    stranger = as_caller("sven", "/eu=reader")
    hidden = (await ask(SHOWN, {"id": ran["id"]}, stranger)).value
    assert (hidden["state"], hidden["writtenDataset"]) == ("SUCCESS", None)
    shown = (await ask(TARGET, {"id": pipeline}, stranger)).value
    assert shown["transformer"]["dataset"] == {"key": ["fuel"], "referenceDataset": None}
    assert shown["uses"]["nodes"] == []
    used = (await ask(TARGET, {"id": pipeline}, ADA)).value["uses"]["nodes"]
    assert used == [{"name": "factors"}]


async def test_a_dataset_that_is_none_is_refused_at_its_field(ask: Ask) -> None:
    await make_dataset(ask)
    pipeline = await ask.make("/usa", "other")
    before = await contents(ask.store.table)
    for id in (pipeline, "?", "UmVmZXJlbmNlRGF0YXNldDp4"):
        refused = await ask.input(
            PIPELINE, ADA, group="/usa", name="writer", transformer=transformer(id)
        )
        problem = {"path": ["transformer", "dataset", "id"], "code": "UNKNOWN_DATASET"}
        assert refused["problems"] == [problem]
    assert await contents(ask.store.table) == before


async def test_a_version_may_count_in_the_row_in_which_its_execution_counts(store: Store) -> None:
    ask = Ask(replace(store, shards=1))
    dataset = await make_dataset(ask)
    made = await ask.input(
        PIPELINE, ADA, group="/usa", name="writer", transformer=transformer(dataset)
    )
    rows = [{"fuel": "gas", "co2": "2"}]
    pipeline = made["pipeline"]["id"]
    ran = await create_execution(ask, ADA, pipelineId=pipeline, mode="INLINE", rows=rows)
    found = (await ask(SHOWN, {"id": ran["id"]}, ADA)).value
    assert (found["state"], found["writtenDataset"]["version"]) == ("SUCCESS", 2)
    assert await faults(store.table) == []
