"""Reading a table that is not ours, whole and a page at a time."""

from collections.abc import AsyncIterator
from functools import partial

from datastore.dynamodb.client import connect
from datastore.dynamodb.retry import DEADLINE, Attempts
from datastore.dynamodb.wire import Raw, decode
from datastore.table import Value

PAGE = 500


async def scan(
    table: str, *, region: str | None = None, endpoint_url: str | None = None, page: int = PAGE
) -> AsyncIterator[list[Raw]]:
    """Yield the items as DynamoDB writes them, a page with at most so many after the other.

    Raises Unavailable and `failures.Refused`.
    """
    async with connect(region, endpoint_url, kind="stock") as client:
        start: Raw = {}
        while True:
            request = {"TableName": table, "Limit": page, "ConsistentRead": True, **start}
            answer = await Attempts(DEADLINE).send(partial(client.call, "Scan", request))
            yield answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


async def scanned(
    table: str, region: str | None, endpoint_url: str | None
) -> AsyncIterator[dict[str, Value]]:
    """Yield every item; values of types that we do not know are left out."""
    async for items in scan(table, region=region, endpoint_url=endpoint_url):
        for item in items:
            yield {name: _value(value) for name, value in item.items()}


def _value(raw: Raw) -> Value:
    try:
        return decode(raw)
    except ValueError:
        return None
