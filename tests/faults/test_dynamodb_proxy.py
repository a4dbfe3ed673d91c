"""The fault-injecting proxy remembers tokens as AWS does, and refuses impossible scripts."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.table.port import Key
from tests.faults.dynamodb_proxy import Fault, FaultProxy
from tests.support.stores import moto_endpoint, open_dynamodb

KEY = Key("P:1", "n")


@pytest.fixture
async def proxy() -> AsyncIterator[FaultProxy]:
    async with FaultProxy(moto_endpoint()) as proxy:
        yield proxy


@pytest.fixture
async def table(proxy: FaultProxy) -> AsyncIterator[DynamoDBTable]:
    table = await open_dynamodb(proxy.url)
    await table.create()
    yield table
    await table.close()


async def add(table: DynamoDBTable, amount: int, token: str) -> Any:
    update = {
        "TableName": table._name,
        "Key": {"pk": {"S": KEY.pk}, "sk": {"S": KEY.sk}},
        "UpdateExpression": "ADD n :n",
        "ExpressionAttributeValues": {":n": {"N": str(amount)}},
    }
    return await table._client.call(
        "TransactWriteItems", {"TransactItems": [{"Update": update}], "ClientRequestToken": token}
    )


async def total(table: DynamoDBTable) -> object:
    return (await table.get([KEY])).items[KEY]["n"]


async def test_a_repeated_token_is_a_success_that_happens_once(
    proxy: FaultProxy, table: DynamoDBTable
) -> None:
    await add(table, 1, "one")
    await add(table, 1, "one")
    await add(table, 1, "two")
    assert await total(table) == 2
    assert proxy.upstream["TransactWriteItems"] == 2


async def test_a_token_with_another_body_is_refused(table: DynamoDBTable) -> None:
    await add(table, 1, "one")
    with pytest.raises(ClientError, match="IdempotentParameterMismatchException"):
        await add(table, 2, "one")
    assert await total(table) == 1


async def test_a_token_of_a_failure_is_not_remembered(
    proxy: FaultProxy, table: DynamoDBTable
) -> None:
    proxy.script("TransactWriteItems", Fault.CONFLICT)
    with pytest.raises(ClientError, match="TransactionCanceledException"):
        await add(table, 1, "one")
    await add(table, 1, "one")
    assert await total(table) == 1


async def test_a_token_is_forgotten_after_ten_minutes(
    monkeypatch: pytest.MonkeyPatch, table: DynamoDBTable
) -> None:
    monkeypatch.setattr("tests.faults.dynamodb_proxy.TOKEN_SECONDS", 0.0)
    await add(table, 1, "one")
    await add(table, 1, "one")
    assert await total(table) == 2


def test_a_fault_that_cannot_happen_to_an_operation_is_no_plan() -> None:
    with pytest.raises(ValueError, match="GetItem cannot meet"):
        FaultProxy("http://127.0.0.1:9").script("GetItem", Fault.CONFLICT)
