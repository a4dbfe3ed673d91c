"""The low-level client: aioboto3's, without what costs processor time and buys nothing."""

from contextlib import AbstractAsyncContextManager
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from typing import Any, NamedTuple, TypeAlias

import aioboto3
import orjson
from aiobotocore.config import AioConfig
from aiobotocore.parsers import AioJSONParser, AioResponseParserFactory
from botocore.awsrequest import AWSPreparedRequest
from botocore.parsers import ResponseParserError

from datastore.aws_sessions import sharing_session
from datastore.dynamodb.wire import Raw

Client: TypeAlias = Any
"""A client of aiobotocore; its methods are made at run time."""

CONNECTIONS = 64
CONNECT_SECONDS = 1.0
READ_SECONDS = 3.0
STREAMED_BYTES = 2**20


class RawJSONParser(AioJSONParser):  # type: ignore[misc]  # aiobotocore has no types
    """Takes the JSON of an answer as it is, instead of walking the shape of every value in it."""

    async def parse(self, response: Raw, shape: object) -> Raw:
        """Add botocore's `ResponseMetadata` and, in a failure, `Error` to the body."""
        failed = response["status_code"] >= 300
        parsed = _body(response["body"], lenient=failed)
        if failed:
            parsed["Error"] = _error(parsed, response)
        parsed["ResponseMetadata"] = {
            "HTTPStatusCode": response["status_code"],
            "HTTPHeaders": response["headers"],
        }
        return parsed


def _body(body: bytes, *, lenient: bool) -> Raw:
    """Read the object; a failure may carry anything, such as the page of a load balancer."""
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if lenient:
            return {}
        raise ResponseParserError(f"an answer that is not JSON: {error}") from error
    return parsed if isinstance(parsed, dict) else {}


def _error(body: Raw, response: Raw) -> Raw:
    named = body.get("__type") or response["headers"].get("x-amzn-errortype", "")
    code = named.rpartition("#")[2].partition(":")[0]
    return {
        "Code": code or str(response["status_code"]),
        "Message": body.get("message") or body.get("Message") or "",
    }


class RawParserFactory(AioResponseParserFactory):  # type: ignore[misc]  # aiobotocore has no types
    """Raw parsing for the JSON protocol; other protocols serve the credential chain and stay."""

    def create_parser(self, protocol_name: str) -> object:
        if protocol_name == "json":
            return RawJSONParser()
        return super().create_parser(protocol_name)


class AccessKey(NamedTuple):
    """Credentials of one user; the secret is shown nowhere."""

    id: str
    secret: str

    def __repr__(self) -> str:
        """For logs and tracebacks."""
        return f"AccessKey({self.id})"


def connect(
    region: str | None, endpoint_url: str | None, key: AccessKey | None = None
) -> AbstractAsyncContextManager[Client]:
    """Make a client, to be entered; without a key, credentials come from AWS's ordinary chain."""
    session = sharing_session()
    session.register("before-send.dynamodb", _as_a_stream_if_large)
    # Would be added to the fixed user agent.
    session.user_agent_extra = ""
    session.register_component("response_parser_factory", RawParserFactory())
    client: AbstractAsyncContextManager[Client] = aioboto3.Session(botocore_session=session).client(
        "dynamodb",
        region_name=region,
        endpoint_url=endpoint_url,
        config=_config(),
        aws_access_key_id=key and key.id,
        aws_secret_access_key=key and key.secret,
    )
    return client


def _as_a_stream_if_large(request: AWSPreparedRequest, **_: object) -> None:
    """Let a body of megabytes be sent in pieces, so that it does not hold up the event loop."""
    if len(request.body) > STREAMED_BYTES:
        request.body = BytesIO(request.body)


def _config() -> AioConfig:
    return AioConfig(
        user_agent=f"penstock/{_version()}",
        parameter_validation=False,
        max_pool_connections=CONNECTIONS,
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        # Legacy is the mode that checks the CRC32 of an answer also when it never retries.
        retries={"mode": "legacy", "total_max_attempts": 1},
    )


def _version() -> str:
    try:
        return version("penstock")
    except PackageNotFoundError:
        return "source"
