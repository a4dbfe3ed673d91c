"""Reading a table that is not ours, a page at a time."""

from collections.abc import AsyncIterator
from functools import partial

from penstock.datastore.dynamodb.client import connect
from penstock.datastore.dynamodb.retry import DEADLINE, Attempts
from penstock.datastore.dynamodb.wire import Raw

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
