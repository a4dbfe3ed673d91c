"""Penstock's own DynamoDB client, which builds nothing anew that requests have in common."""

import os
import ssl
import time
from asyncio import to_thread
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit
from zlib import crc32

import orjson
from aiobotocore.credentials import AioCredentials
from aiobotocore.session import AioSession
from botocore.exceptions import ChecksumError, ClientError, NoCredentialsError
from botocore.httpsession import get_cert_path

from penstock.datastore.dynamodb import protocol
from penstock.datastore.dynamodb.connections import ConnectionPool, Endpoint, HttpAnswer
from penstock.datastore.dynamodb.protocol import AccessKey, ClientLimits
from penstock.datastore.dynamodb.responses import FIRST_FAILURE_STATUS, parse_answer
from penstock.datastore.dynamodb.signing import RequestSigner
from penstock.datastore.dynamodb.wire import Raw

_PORTS = {"http": 80, "https": 443}


class RawClient:
    """A client that signs with credentials of botocore, which renews them before they expire."""

    def __init__(
        self, endpoint_url: str, region: str, credentials: Any, connections: ConnectionPool
    ) -> None:
        self.endpoint_url = endpoint_url
        self._signer = RequestSigner(endpoint_url, region, protocol.user_agent())
        self._credentials = credentials
        self._connections = connections

    async def call(self, operation: str, request: Raw) -> Raw:
        if self._credentials is None:
            raise NoCredentialsError
        body = orjson.dumps(request)
        credentials = await self._credentials.get_frozen_credentials()
        head = self._signer.head(operation, body, credentials, time.time())
        answer = await self._connections.send(head + body)
        _check_crc32(answer)
        parsed = parse_answer(operation, *answer)
        if answer.status >= FIRST_FAILURE_STATUS:
            raise ClientError(parsed, operation)
        return parsed


@asynccontextmanager
async def open_raw_client(
    session: AioSession, region: str, endpoint_url: str, key: AccessKey | None, limits: ClientLimits
) -> AsyncIterator[RawClient]:
    """Open a client; without a key, credentials come from AWS's ordinary chain."""
    credentials = await session.get_credentials() if key is None else AioCredentials(*key)
    connections = ConnectionPool(
        await _read_endpoint(session, endpoint_url),
        limit=limits.connections,
        connect_seconds=limits.connect_seconds,
        read_seconds=limits.read_seconds,
    )
    try:
        yield RawClient(endpoint_url, region, credentials, connections)
    finally:
        await connections.close()


async def _read_endpoint(session: AioSession, url: str) -> Endpoint:
    """Parse the URL; the CA bundle for certificates is the one of the AWS configuration."""
    parts = urlsplit(url)
    tls = None
    if parts.scheme == "https":
        named = session.get_config_variable("ca_bundle") or os.environ.get("REQUESTS_CA_BUNDLE")
        bundle = get_cert_path(named or True)
        tls = await to_thread(ssl.create_default_context, cafile=bundle)
    return Endpoint(str(parts.hostname), parts.port or _PORTS[parts.scheme], tls)


def _check_crc32(answer: HttpAnswer) -> None:
    """Compare the checksum, where DynamoDB sent one; raises ChecksumError."""
    expected = answer.headers.get("x-amz-crc32")
    if expected is not None and expected != (actual := str(crc32(answer.body))):
        raise ChecksumError(
            checksum_type="crc32", expected_checksum=expected, actual_checksum=actual
        )
