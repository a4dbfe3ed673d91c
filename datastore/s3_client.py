"""The low-level client of aioboto3 for one bucket: how it connects, and with whose rights."""

from contextlib import AsyncExitStack
from typing import Any, NamedTuple

from aiobotocore.config import AioConfig

from penstock.datastore.aws_credentials import Credentials, SocketFactory
from penstock.datastore.aws_sessions import aws_session

CONNECTIONS = 64
CONNECT_SECONDS = 1.0
READ_SECONDS = 10.0


class Place(NamedTuple):
    """A bucket and where it is; without an endpoint at AWS's."""

    bucket: str
    region: str | None = None
    endpoint_url: str | None = None


async def open_client(
    held: AsyncExitStack,
    place: Place,
    credentials: Credentials | None,
    sockets: SocketFactory | None,
) -> Any:
    """Make the client, which `held` closes; nothing is sent."""
    config = _config(place, sockets)
    client = aws_session(*(credentials or ())).client(
        "s3", region_name=place.region, endpoint_url=place.endpoint_url, config=config
    )
    entered = await held.enter_async_context(client)
    if sockets is not None:
        # aiohttp takes it, and aiobotocore's check of such arguments does not know it.
        session = entered._endpoint.http_session  # noqa: SLF001
        session._connector_args["socket_factory"] = sockets  # noqa: SLF001
    return entered


def _config(place: Place, sockets: SocketFactory | None) -> AioConfig:
    # A certificate of S3 fits no bucket name with dots, and other stores have no such names.
    style = "path" if place.endpoint_url or "." in place.bucket else "virtual"
    return AioConfig(
        signature_version="s3v4",
        s3={"addressing_style": style},
        max_pool_connections=CONNECTIONS,
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"mode": "standard", "total_max_attempts": 1},
        # Stores other than AWS's refuse the checksums that are sent otherwise.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        proxies=None if sockets is None else {},
    )
