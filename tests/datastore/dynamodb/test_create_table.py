"""Creating a DynamoDB table, and describing the differences of one."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.table.port import INDEX
from tests.support.stores import moto_endpoint, open_dynamodb

STRINGS = {"pk": "S", "sk": "S", "siKey1": "S"}


@pytest.fixture
async def table() -> AsyncIterator[DynamoDBTable]:
    """A table that does not exist yet."""
    table = await open_dynamodb(moto_endpoint())
    yield table
    await table.close()


async def make_table(
    table: DynamoDBTable,
    keys: tuple[str, str],
    types: Mapping[str, str],
    index: dict[str, Any] | None = None,
) -> None:
    """Create the table in another way than `create` does."""
    indexes = {"GlobalSecondaryIndexes": [index]} if index else {}
    await table._client.call(
        "CreateTable",
        {
            "TableName": table._name,
            "KeySchema": schema(*keys),
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": kind} for name, kind in types.items()
            ],
            "BillingMode": "PAY_PER_REQUEST",
            **indexes,
        },
    )


def schema(hash_key: str, sort_key: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": hash_key, "KeyType": "HASH"},
        {"AttributeName": sort_key, "KeyType": "RANGE"},
    ]


async def test_a_missing_table_is_said_to_be_missing(table: DynamoDBTable) -> None:
    assert await table.verify() == [f"The table {table._name} does not exist."]


async def test_a_created_table_is_as_it_must_be(table: DynamoDBTable) -> None:
    await table.create()
    assert await table.verify() == []
    described = (await table._client.call("DescribeTable", {"TableName": table._name}))["Table"]
    assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert described["GlobalSecondaryIndexes"][0]["Projection"] == {"ProjectionType": "ALL"}


async def test_creating_twice_changes_nothing(table: DynamoDBTable) -> None:
    await table.create()
    await table.create()
    assert await table.verify() == []


async def test_a_bare_table_gets_its_index_and_its_ttl(table: DynamoDBTable) -> None:
    await make_table(table, ("pk", "sk"), {"pk": "S", "sk": "S"})
    assert await table.verify() == [
        f"The index {INDEX} does not exist.",
        "Time to live is off; it must be on, by expiresAt.",
    ]
    await table.create()
    assert await table.verify() == []


async def test_other_keys_another_projection_and_another_ttl_are_told(table: DynamoDBTable) -> None:
    index = {
        "IndexName": INDEX,
        "KeySchema": schema("siKey1", "sk"),
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    await make_table(table, ("sk", "pk"), STRINGS | {"siKey1": "N"}, index)
    await table._client.call(
        "UpdateTimeToLive",
        {
            "TableName": table._name,
            "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "until"},
        },
    )
    problems = [
        "The keys of the table are not pk (hash) and sk (range).",
        "The key attribute siKey1 has type N, not S.",
        f"The keys of the index {INDEX} are not siKey1 (hash) and pk (range).",
        f"The index {INDEX} does not project all attributes.",
        "Time to live goes by until, not by expiresAt.",
    ]
    assert await table.verify() == problems
    await table.create()
    assert await table.verify() == problems
