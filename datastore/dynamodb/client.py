"""Chooses the client, and finds out where it goes and as whom."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from botocore.utils import get_environ_proxies

from penstock.datastore.aws_sessions import sharing_session
from penstock.datastore.dynamodb.protocol import DEFAULT, AccessKey, Client, ClientKind
from penstock.datastore.dynamodb.stock import open_stock
from penstock.datastore.dynamodb.thin import open_thin


@asynccontextmanager
async def connect(
    region: str | None,
    endpoint_url: str | None,
    key: AccessKey | None = None,
    *,
    kind: ClientKind = DEFAULT,
) -> AsyncIterator[Client]:
    """Make a client, to be entered; without a key, credentials come from AWS's ordinary chain.

    The stock one knows AWS's rules for regions and endpoints. It also goes through proxies, and
    stands in for the thin one where there is one to go through.
    """
    session = sharing_session()
    async with open_stock(session, region, endpoint_url, key) as stock:
        if kind == "stock" or _proxied(stock.endpoint_url):
            yield stock
            return
    async with open_thin(session, stock.region, stock.endpoint_url, key) as thin:
        yield thin


def _proxied(url: str) -> bool:
    return urlsplit(url).scheme in get_environ_proxies(url)
