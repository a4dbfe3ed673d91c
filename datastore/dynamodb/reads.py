"""Reads of the table port as DynamoDB's requests, and the answers as items and pages."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import msgspec
from botocore.parsers import ResponseParserError

from penstock.datastore.dynamodb.expressions import Aliases, key_expression
from penstock.datastore.dynamodb.protocol import DynamoDBClient
from penstock.datastore.dynamodb.record_views import WireItem
from penstock.datastore.dynamodb.retry import Attempts
from penstock.datastore.dynamodb.unprocessed import Requests, pause_before_rest, select_unprocessed
from penstock.datastore.dynamodb.wire import Raw, decode_key, decode_measured_item, encode_key
from penstock.datastore.table import limits
from penstock.datastore.table.port import (
    INDEX,
    INDEX_HASH,
    Batch,
    Item,
    Key,
    Page,
    Query,
    Scan,
    key_of,
)


async def get_items(
    client: DynamoDBClient, table: str, attempts: Attempts, keys: Sequence[Key], *, consistent: bool
) -> Batch:
    if len(keys) == 1:
        request = {"TableName": table, "Key": encode_key(keys[0]), "ConsistentRead": consistent}
        answer = await attempts.send(partial(client.call, "GetItem", request))
        texts = [answer["Item"]] if "Item" in answer else []
        return _read_batch(texts, 1, consistent=consistent)
    batches = await batch_get(client, attempts, {table: keys}, consistent=consistent)
    return batches[table]


async def batch_get(
    client: DynamoDBClient,
    attempts: Attempts,
    keys: Mapping[str, Sequence[Key]],
    *,
    consistent: bool,
) -> dict[str, Batch]:
    """Get items of several tables in one request, and again those that were left out."""
    found: dict[str, list[msgspec.Raw]] = {table: [] for table in keys}
    pending: Requests = {table: {key: encode_key(key) for key in of} for table, of in keys.items()}
    while pending:
        read = partial(_read_pending, client, pending, consistent=consistent)
        items, rest = await attempts.send(read)
        for table, texts in items.items():
            found[table] += texts
        await pause_before_rest(attempts, pending, rest)
        pending = rest
    return {
        table: _read_batch(texts, len(keys[table]), consistent=consistent)
        for table, texts in found.items()
    }


async def _read_pending(
    client: DynamoDBClient, pending: Requests, *, consistent: bool
) -> tuple[dict[str, list[msgspec.Raw]], Requests]:
    """Return the items of each table, and the keys that DynamoDB left out."""
    request = {
        table: {"Keys": list(of.values()), "ConsistentRead": consistent}
        for table, of in pending.items()
    }
    answer = await client.call("BatchGetItem", {"RequestItems": request})
    items = answer["Responses"]
    if not items.keys() <= pending.keys():
        raise ResponseParserError("an answer has items of tables that were not asked")
    return items, select_unprocessed(pending, answer.get("UnprocessedKeys", {}), _read_keys)


def _read_keys(of_table: Raw) -> Iterable[Key]:
    return map(decode_key, of_table["Keys"])


def _read_batch(texts: Sequence[msgspec.Raw], wanted: int, *, consistent: bool) -> Batch:
    """The items that were found of so many that were wanted; a missing one has 0 bytes."""
    found = [WireItem.read(text) for text in texts]
    sizes = [item.charged_size for item in found] + [0] * (wanted - len(found))
    items = {item.key: item for item in found}
    return Batch(items, limits.batch_units(sizes, consistent=consistent))


def query_request(table: str, query: Query) -> Raw:
    aliases = Aliases()
    hash_key, sort_key = (INDEX_HASH, "pk") if query.index else ("pk", "sk")
    request: Raw = {
        "TableName": table,
        "KeyConditionExpression": key_expression(
            hash_key, query.partition, sort_key, query.range, aliases
        ),
        "ScanIndexForward": not query.descending,
        **aliases.arguments(),
    }
    if query.index:
        request["IndexName"] = INDEX
    elif query.consistent:
        request["ConsistentRead"] = True
    if query.limit is not None:
        request["Limit"] = query.limit
    if query.after is not None:
        request["ExclusiveStartKey"] = _start_key(query, query.after)
    return request


def _start_key(query: Query, after: Key) -> Raw:
    start = encode_key(after)
    if query.index:
        start[INDEX_HASH] = {"S": query.partition}
    return start


def read_page(query: Query, answer: Raw) -> Page:
    found = [decode_measured_item(raw) for raw in answer["Items"]]
    items = tuple(item for item, _ in found)
    sizes = (size for _, size in found)
    units = limits.page_units(sizes, index=query.index, consistent=query.consistent)
    return Page(items, _last_key(query, items, answer.get("LastEvaluatedKey")), units)


def scan_request(table: str, scan: Scan) -> Raw:
    request: Raw = {"TableName": table, "ConsistentRead": True}
    if scan.segments > 1:
        request |= {"Segment": scan.segment, "TotalSegments": scan.segments}
    if scan.prefix:
        aliases = Aliases()
        name, value = aliases.name("pk"), aliases.value(scan.prefix)
        request["FilterExpression"] = f"begins_with({name}, {value})"
        request |= aliases.arguments()
    if scan.limit is not None:
        request["Limit"] = scan.limit
    if scan.after is not None:
        request["ExclusiveStartKey"] = encode_key(scan.after)
    return request


def read_scanned(scan: Scan, answer: Raw) -> Page:
    found = [decode_measured_item(raw) for raw in answer["Items"]]
    items = tuple(item for item, _ in found)
    units = limits.page_units((size for _, size in found), index=False, consistent=True)
    return Page(items, _last_key(scan, items, answer.get("LastEvaluatedKey")), units)


def _last_key(query: Query | Scan, items: tuple[Item, ...], evaluated: Raw | None) -> Key | None:
    """The last key of the page; not every server of the protocol sends it at an exact limit."""
    if evaluated:
        return decode_key(evaluated)
    return key_of(items[-1]) if items and len(items) == query.limit else None
