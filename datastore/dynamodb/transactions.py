"""Sends transactions and batch writes to DynamoDB, and computes their write units.

DynamoDB charges by the larger of the old and the new item. The old one is not known here, so write
units are a lower bound: a Put counts the new item as if it replaced none, an Update its key and the
values it names, a Delete and a Check one block. They are exact for a Put of a new item.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from uuid import uuid4

from penstock.datastore.dynamodb.expressions import Aliases, condition_expression, update_expression
from penstock.datastore.dynamodb.failures import TransactionCancelled
from penstock.datastore.dynamodb.protocol import DynamoDBClient
from penstock.datastore.dynamodb.retry import Attempts
from penstock.datastore.dynamodb.unprocessed import Requests, pause_before_rest, select_unprocessed
from penstock.datastore.dynamodb.wire import Raw, decode_key, encode_item, encode_key
from penstock.datastore.table import limits
from penstock.datastore.table.limits import ItemFootprint
from penstock.datastore.table.port import (
    INDEX_HASH,
    Check,
    ConditionFailed,
    Delete,
    Key,
    Operation,
    Put,
    Update,
)


async def transact(
    client: DynamoDBClient, table: str, attempts: Attempts, operations: Sequence[Operation]
) -> None:
    """Do all operations or none."""
    request = {
        "TransactItems": [_transact_item(table, operation) for operation in operations],
        # One token for all attempts: a repeated success is remembered, not done again.
        "ClientRequestToken": str(uuid4()),
    }
    try:
        await attempts.send(partial(client.call, "TransactWriteItems", request))
    except TransactionCancelled as cancelled:
        raise ConditionFailed(
            cancelled.failed, limits.refused_units(len(operations), cancelled.failed)
        ) from cancelled


def _transact_item(table: str, operation: Operation) -> Raw:
    aliases = Aliases()
    body: Raw
    match operation:
        case Put(item):
            kind, body = "Put", {"Item": encode_item(item)}
        case Delete(key):
            kind, body = "Delete", {"Key": encode_key(key)}
        case Check(key):
            kind, body = "ConditionCheck", {"Key": encode_key(key)}
        case Update():
            expression = update_expression(operation, aliases)
            kind, body = (
                "Update",
                {"Key": encode_key(operation.key), "UpdateExpression": expression},
            )
    body["TableName"] = table
    if operation.condition is not None:
        body["ConditionExpression"] = condition_expression(operation.condition, aliases)
        body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return {kind: body | aliases.arguments()}


async def batch_write(
    client: DynamoDBClient, attempts: Attempts, operations: Mapping[str, Sequence[Put | Delete]]
) -> None:
    """Write to several tables in one request, and repeat the writes that were left undone."""
    pending: Requests = {
        table: {each.key: _write_request(each) for each in of} for table, of in operations.items()
    }
    while pending:
        rest = await attempts.send(partial(_write_batch, client, pending))
        await pause_before_rest(attempts, pending, rest)
        pending = rest


async def _write_batch(client: DynamoDBClient, requests: Requests) -> Requests:
    """Send the writes; return those that DynamoDB left undone."""
    items = {table: list(of.values()) for table, of in requests.items()}
    answer = await client.call("BatchWriteItem", {"RequestItems": items})
    return select_unprocessed(requests, answer.get("UnprocessedItems", {}), _read_keys)


def _read_keys(requests: Iterable[Raw]) -> Iterator[Key]:
    for request in requests:
        ((kind, body),) = request.items()
        yield decode_key(body["Item"] if kind == "PutRequest" else body["Key"])


def _write_request(operation: Put | Delete) -> Raw:
    if isinstance(operation, Put):
        return {"PutRequest": {"Item": encode_item(operation.item)}}
    return {"DeleteRequest": {"Key": encode_key(operation.key)}}


def list_write_units(
    operations: Sequence[Operation], sizes: Sequence[int], *, transactional: bool
) -> list[float]:
    """The write units of each operation that succeeded, by the bytes that it sends."""
    return [
        _operation_units(operation, size, transactional=transactional)
        for operation, size in zip(operations, sizes, strict=True)
    ]


def _operation_units(operation: Operation, size: int, *, transactional: bool) -> float:
    match operation:
        case Put(item):
            index_hash = item.get(INDEX_HASH)
        case Update():
            index_hash = operation.set.get(INDEX_HASH) or operation.default.get(INDEX_HASH)
        case Delete():
            return limits.write_units(None, None, transactional=transactional)
        case Check():
            return limits.check_units(None)
    new = ItemFootprint(size, index_hash if isinstance(index_hash, str) else None)
    return limits.write_units(None, new, transactional=transactional)
