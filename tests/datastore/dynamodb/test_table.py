"""Both DynamoDB clients: their configuration, their requests and the table that they make."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, get_args

import orjson
import pytest
from botocore.exceptions import ChecksumError, ClientError

from penstock.datastore.dynamodb import failures, protocol
from penstock.datastore.dynamodb.botocore_client import BotocoreClient
from penstock.datastore.dynamodb.protocol import CONNECTIONS, ClientKind
from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.errors import InvalidCursor, RequestRefused
from penstock.datastore.table.port import INDEX, Check, Exists, Key, Put, Query, Range
from tests.faults.dynamodb_proxy import Fault, FaultProxy
from tests.support.loopback_server import Answer, Connection, LoopbackServer, Request
from tests.support.stores import NOBODY, aws_environment, open_dynamodb, quick_endpoint

KEY = Key("P:1", "PV:latest")
TIMEOUTS = (protocol.CONNECT_SECONDS, protocol.READ_SECONDS)
"""The limits of the product, read before the patience of tests takes their place."""

Raised = type[Exception] | tuple[type[Exception], ...]
RAW_KEY = {"pk": {"S": KEY.pk}, "sk": {"S": KEY.sk}}


@pytest.fixture
async def proxy() -> AsyncIterator[FaultProxy]:
    async with FaultProxy(quick_endpoint()) as proxy:
        yield proxy


@pytest.fixture(params=get_args(ClientKind))
def kind(request: pytest.FixtureRequest) -> ClientKind:
    kind: ClientKind = request.param
    return kind


@pytest.fixture
async def table(proxy: FaultProxy, kind: ClientKind) -> AsyncIterator[DynamoDBTable]:
    table = await open_dynamodb(proxy.url, kind=kind)
    await table.create()
    proxy.seen.clear()
    yield table
    await table.close()


async def test_every_request_carries_the_fixed_user_agent(
    proxy: FaultProxy, table: DynamoDBTable
) -> None:
    await table.get([KEY])
    await table.transact([Put({"pk": "P:1", "sk": "a"})])
    agents = {seen.headers["user-agent"] for seen in proxy.seen}
    assert len(proxy.seen) == 2
    assert len(agents) == 1
    name, _, version = agents.pop().partition("/")
    assert name == "penstock"
    assert version
    assert " " not in version


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault.INTERNAL, ClientError),
        (Fault.THROTTLED, ClientError),
        (Fault.RESET_BEFORE, failures.LOST_ANSWER),
        (Fault.DAMAGED, ChecksumError),
    ],
)
async def test_a_client_itself_retries_nothing(
    proxy: FaultProxy,
    table: DynamoDBTable,
    fault: Fault,
    error: type[Exception] | tuple[type[Exception], ...],
) -> None:
    proxy.script("GetItem", fault)
    with pytest.raises(error):
        await table._client.call("GetItem", {"TableName": table._name, "Key": RAW_KEY})
    assert [seen.fault for seen in proxy.seen] == [fault]


async def test_parameters_are_not_validated_here(proxy: FaultProxy, table: DynamoDBTable) -> None:
    with pytest.raises(ClientError):
        await table._client.call(
            "GetItem", {"TableName": table._name, "Key": {"pk": {"S": "no sort key"}}}
        )
    assert [seen.operation for seen in proxy.seen] == ["GetItem"]


async def test_an_answer_is_taken_as_it_is_without_its_shape(kind: ClientKind) -> None:
    async def serve(_: Request, connection: Connection) -> None:
        answered = {"Items": [], "Count": 0, "NotInTheShape": [1]}
        await connection.answer(Answer(200, orjson.dumps(answered)))

    async with ServedTable(serve, kind) as table:
        answer = await table._client.call("Query", {"TableName": "any"})
    assert answer["NotInTheShape"] == [1]


async def test_sixty_four_requests_are_under_way_at_once(kind: ClientKind) -> None:
    waiting = 0
    all_here = asyncio.Event()

    async def serve(_: Request, connection: Connection) -> None:
        nonlocal waiting
        waiting += 1
        if waiting == CONNECTIONS:
            all_here.set()
        await all_here.wait()
        await connection.answer(Answer(200, b"{}"))

    async with ServedTable(serve, kind) as table:
        batches = await asyncio.gather(*(table.get([KEY]) for _ in range(64)))
    assert [batch.items for batch in batches] == [{}] * 64


async def test_a_body_of_megabytes_is_sent_whole(kind: ClientKind) -> None:
    lengths: list[int] = []

    async def serve(request: Request, connection: Connection) -> None:
        ((puts,),) = [orjson.loads(request.body)["RequestItems"].values()]
        lengths.extend(len(put["PutRequest"]["Item"]["text"]["S"]) for put in puts)
        await connection.answer(Answer(200, b"{}"))

    async with ServedTable(serve, kind) as table:
        await table.write([Put({"pk": "P:1", "sk": sk, "text": "x" * 350_000}) for sk in "abcd"])
    assert lengths == [350_000] * 4


async def test_timeouts_are_those_of_an_interactive_service(
    proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "CONNECT_SECONDS", TIMEOUTS[0])
    monkeypatch.setattr(protocol, "READ_SECONDS", TIMEOUTS[1])
    table = await open_dynamodb(proxy.url, kind="stock")
    assert isinstance(table._client, BotocoreClient)
    config = table._client._client.meta.config
    await table.close()
    assert (config.connect_timeout, config.read_timeout) == (1.0, 3.0)


async def test_an_index_query_starts_behind_a_base_key(
    proxy: FaultProxy, table: DynamoDBTable
) -> None:
    await table.query(
        Query(
            partition="P",
            index=True,
            range=Range("P:"),
            after=KEY,
            descending=True,
            limit=7,
            consistent=True,
        )
    )
    (seen,) = proxy.seen
    assert seen.body == {
        "TableName": table._name,
        "IndexName": INDEX,
        "KeyConditionExpression": "#0 = :0 AND begins_with(#1, :1)",
        "ExpressionAttributeNames": {"#0": "siKey1", "#1": "pk"},
        "ExpressionAttributeValues": {":0": {"S": "P"}, ":1": {"S": "P:"}},
        "ExclusiveStartKey": {**RAW_KEY, "siKey1": {"S": "P"}},
        "ScanIndexForward": False,
        "Limit": 7,
    }


async def test_one_key_is_a_get_and_more_are_a_batch(
    proxy: FaultProxy, table: DynamoDBTable
) -> None:
    await table.get([KEY], consistent=True)
    await table.get([KEY, Key("P:2", "PV:latest")])
    assert [seen.operation for seen in proxy.seen] == ["GetItem", "BatchGetItem"]
    assert proxy.seen[0].body["ConsistentRead"] is True
    assert proxy.seen[1].body["RequestItems"][table._name]["ConsistentRead"] is False


async def test_an_operation_with_a_condition_asks_for_the_old_item(
    proxy: FaultProxy, table: DynamoDBTable
) -> None:
    await table.transact([Put({"pk": "P:1", "sk": "a"})])
    await table.transact([Check(Key("P:1", "a"), Exists())])
    without, asking = (seen.body["TransactItems"][0] for seen in proxy.seen)
    assert "ReturnValuesOnConditionCheckFailure" not in without["Put"]
    assert asking["ConditionCheck"]["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"


async def test_what_a_guard_refuses_is_not_sent(proxy: FaultProxy, table: DynamoDBTable) -> None:
    with pytest.raises(InvalidCursor):
        await table.query(Query(partition="P:1", range=Range("PV:"), after=Key("P:1", "C")))
    with pytest.raises(ValueError, match="named twice"):
        await table.transact([Put({"pk": "P:1", "sk": "a"}), Check(Key("P:1", "a"), Exists())])
    assert proxy.seen == []


async def test_a_table_that_does_not_exist_is_refused_and_not_tried_again(
    proxy: FaultProxy, kind: ClientKind
) -> None:
    table = await open_dynamodb(proxy.url, kind=kind)
    with pytest.raises(RequestRefused, match="GetItem was refused") as refused:
        await table.get([KEY])
    await table.close()
    assert refused.value.code == "ResourceNotFoundException"
    assert len(proxy.seen) == 1


async def test_without_an_endpoint_tests_reach_nobody(kind: ClientKind) -> None:
    with aws_environment():
        table = await DynamoDBTable.open("any", deadline=0.1, kind=kind)
    endpoint = table._client.endpoint_url
    await table.close()
    assert endpoint == NOBODY


class ServedTable:
    """A table over a server that answers with `serve`."""

    def __init__(self, serve: Any, kind: ClientKind) -> None:
        self._server = LoopbackServer(serve)
        self._kind = kind

    async def __aenter__(self) -> DynamoDBTable:
        self._table = await open_dynamodb(await self._server.start(), name="any", kind=self._kind)
        return self._table

    async def __aexit__(self, *_: object) -> None:
        await self._table.close()
        await self._server.stop()
