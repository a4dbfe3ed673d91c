"""The client of an S3 bucket: where the bucket is, and how long a call may take."""

from contextlib import AsyncExitStack
from typing import Any, NamedTuple

from penstock.datastore.aws.session import aws_session, client_config
from penstock.datastore.objects.port import Credentials, SocketFactory

CONNECTIONS = 64
CONNECT_SECONDS = 1.0


class Patience(NamedTuple):
    """The limits of one call: its seconds with all attempts, those of one answer, the attempts.

    `page_rest` are the seconds of rest behind a page of a list that goes on.
    """

    call_seconds: float
    answer_seconds: float
    attempts: int | None = None
    page_rest: float = 0.0


OWN_PATIENCE = Patience(30.0, 10.0)
USER_PATIENCE = Patience(8.0, 4.0, 2, page_rest=0.25)


class BucketLocation(NamedTuple):
    """A bucket and its region and endpoint; without an endpoint it is one of AWS's."""

    bucket: str
    region: str | None = None
    endpoint_url: str | None = None


def choose_patience(sockets: SocketFactory | None) -> Patience:
    """Return the patience for the store's own bucket, or for a user's, which has `sockets`."""
    return OWN_PATIENCE if sockets is None else USER_PATIENCE


async def open_client(
    held: AsyncExitStack,
    place: BucketLocation,
    credentials: Credentials | None,
    sockets: SocketFactory | None,
) -> Any:
    """Make the client, which the stack `held` closes; nothing is sent."""
    config = _config(place, sockets)
    client = aws_session(*(credentials or ())).client(
        "s3", region_name=place.region, endpoint_url=place.endpoint_url, config=config
    )
    entered = await held.enter_async_context(client)
    if sockets is not None:
        # aiohttp accepts the argument, but aiobotocore's check of arguments does not know it.
        session = entered._endpoint.http_session  # noqa: SLF001
        session._connector_args["socket_factory"] = sockets  # noqa: SLF001
    if sockets is not None or place.endpoint_url is not None:
        entered.meta.events.register("before-call.s3", _keep_region)
    return entered


def _keep_region(params: dict[str, Any], **_: Any) -> None:
    """Keep the library from repeating a request in the region that an answer names."""
    params["context"].setdefault("s3_redirect", {})["redirected"] = True


def _config(place: BucketLocation, sockets: SocketFactory | None) -> Any:
    patience = choose_patience(sockets)
    # S3's certificate matches no bucket name with dots; other stores need paths anyway.
    style = "path" if place.endpoint_url or "." in place.bucket else "virtual"
    return client_config(
        signature_version="s3v4",
        s3={"addressing_style": style},
        max_pool_connections=CONNECTIONS,
        connect_timeout=CONNECT_SECONDS,
        read_timeout=patience.answer_seconds,
        retries={"mode": "standard", "total_max_attempts": 1},
        # Stores other than AWS's refuse the checksums that botocore sends by default.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        proxies=None if sockets is None else {},
    )
