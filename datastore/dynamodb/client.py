"""The choice of the DynamoDB client, and the scan of a foreign table."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from urllib.parse import urlsplit

from botocore.utils import get_environ_proxies

from penstock.datastore.aws.session import shared_loader_session
from penstock.datastore.dynamodb.botocore_client import open_botocore_client
from penstock.datastore.dynamodb.protocol import (
    DEFAULT_CLIENT,
    AccessKey,
    ClientKind,
    ClientLimits,
    DynamoDBClient,
)
from penstock.datastore.dynamodb.raw_client import open_raw_client
from penstock.datastore.dynamodb.retry import DEADLINE, Attempts
from penstock.datastore.dynamodb.wire import Raw


@asynccontextmanager
async def connect(
    region: str | None,
    endpoint_url: str | None,
    key: AccessKey | None = None,
    *,
    kind: ClientKind = DEFAULT_CLIENT,
    limits: ClientLimits | None = None,
) -> AsyncIterator[DynamoDBClient]:
    """Open a client; without a key, credentials come from AWS's ordinary chain.

    The botocore client knows AWS's rules for regions and endpoints. It also works with proxies, so
    it takes the place of the raw client where the endpoint is behind a proxy.
    """
    session, limits = shared_loader_session(), limits or ClientLimits.default()
    async with open_botocore_client(session, region, endpoint_url, key, limits) as botocore_client:
        if kind == "stock" or _needs_proxy(botocore_client.endpoint_url):
            yield botocore_client
            return
    region, url = botocore_client.region, botocore_client.endpoint_url
    async with open_raw_client(session, region, url, key, limits) as raw_client:
        yield raw_client


def _needs_proxy(url: str) -> bool:
    return urlsplit(url).scheme in get_environ_proxies(url)


PAGE = 500


async def scan(
    table: str, *, region: str | None = None, endpoint_url: str | None = None, page: int = PAGE
) -> AsyncIterator[list[Raw]]:
    """Yield the items of a table page by page, as DynamoDB writes them.

    A page has at most `page` items. Raises Unavailable and `errors.RequestRefused`.
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
