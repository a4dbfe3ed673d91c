"""The client of AWS's library, without the parts that cost processor time and are not needed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any

import aioboto3
from aiobotocore.parsers import AioJSONParser, AioResponseParserFactory
from aiobotocore.session import AioSession
from botocore import xform_name
from botocore.awsrequest import AWSPreparedRequest

from penstock.datastore.aws.answers import BoundedResponse, DirectSession
from penstock.datastore.aws.session import client_config
from penstock.datastore.dynamodb import protocol
from penstock.datastore.dynamodb.connections import MAX_BODY_BYTES
from penstock.datastore.dynamodb.protocol import AccessKey, ClientLimits
from penstock.datastore.dynamodb.responses import parse_answer
from penstock.datastore.dynamodb.wire import Raw

STREAMED_BYTES = 2**20


class TableResponse(BoundedResponse):
    """An answer of DynamoDB, which may have whole pages of items, also in an error."""

    most_bytes = most_error_bytes = MAX_BODY_BYTES
    is_markup = False


class TableSession(DirectSession):
    """The HTTP session of this client."""

    response_class = TableResponse


class RawJSONParser(AioJSONParser):  # type: ignore[misc]  # aiobotocore has no types
    """Decodes the JSON of an answer as it is, without a walk through the shape of every value."""

    async def parse(self, response: Raw, shape: Any) -> Raw:
        operation = "" if shape is None else shape.name.removesuffix("Output")
        return parse_answer(
            operation, response["status_code"], response["headers"], response["body"]
        )


class RawParserFactory(AioResponseParserFactory):  # type: ignore[misc]  # aiobotocore has no types
    """Raw parsing for the JSON protocol; the credential chain needs other protocols' parsers."""

    def create_parser(self, protocol_name: str) -> object:
        if protocol_name == "json":
            return RawJSONParser()
        return super().create_parser(protocol_name)


class BotocoreClient:
    """A client of aiobotocore behind the one method of the protocol."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.endpoint_url = str(client.meta.endpoint_url)
        self.region = str(client.meta.region_name)

    async def call(self, operation: str, request: Raw) -> Raw:
        answer: Raw = await getattr(self._client, xform_name(operation))(**request)
        return answer


@asynccontextmanager
async def open_botocore_client(
    session: AioSession,
    region: str | None,
    endpoint_url: str | None,
    key: AccessKey | None,
    limits: ClientLimits,
) -> AsyncIterator[BotocoreClient]:
    """Open a client; without a key, credentials come from AWS's ordinary chain."""
    session.register("before-send.dynamodb", _stream_large_body)
    # Otherwise aioboto3 adds its own text to the fixed user agent.
    session.user_agent_extra = ""
    session.register_component("response_parser_factory", RawParserFactory())
    async with aioboto3.Session(botocore_session=session).client(
        "dynamodb",
        region_name=region,
        endpoint_url=endpoint_url,
        config=_config(limits),
        aws_access_key_id=key and key.id,
        aws_secret_access_key=key and key.secret,
    ) as client:
        yield BotocoreClient(client)


def _stream_large_body(request: AWSPreparedRequest, **_: object) -> None:
    """Send a body of megabytes in pieces, so that it does not block the event loop."""
    if len(request.body) > STREAMED_BYTES:
        request.body = BytesIO(request.body)


def _config(limits: ClientLimits) -> Any:
    return client_config(
        TableSession,
        user_agent=protocol.user_agent(),
        parameter_validation=False,
        max_pool_connections=limits.connections,
        connect_timeout=limits.connect_seconds,
        read_timeout=limits.read_seconds,
        # Legacy is the mode that checks the CRC32 of an answer also when it never retries.
        retries={"mode": "legacy", "total_max_attempts": 1},
    )
