"""Reading the whole of a table that need not be ours."""

from collections.abc import AsyncIterator

from datastore.aws_sessions import aws_session
from datastore.dynamodb.retry import Attempts
from datastore.dynamodb.wire import decode
from datastore.table import Value

SECONDS = 30.0


async def scanned(
    table: str, region: str | None, endpoint_url: str | None
) -> AsyncIterator[dict[str, Value]]:
    """Yield every item, page by page; values of types that we do not know are left out."""
    client = aws_session().client("dynamodb", region_name=region, endpoint_url=endpoint_url)
    async with client as connected:
        after: dict[str, object] = {}
        while True:
            asked = {"TableName": table, **after}
            page = await Attempts(SECONDS).send(lambda: connected.scan(**asked))  # noqa: B023
            for item in page["Items"]:
                yield {name: _value(value) for name, value in item.items()}
            if "LastEvaluatedKey" not in page:
                return
            after = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def _value(raw: dict[str, object]) -> Value:
    try:
        return decode(raw)
    except ValueError:
        return None
