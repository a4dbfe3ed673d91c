"""The choice of the client, its endpoint and its credentials."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from aiobotocore.credentials import AioRefreshableCredentials
from botocore.exceptions import NoCredentialsError, NoRegionError

from penstock.datastore.dynamodb.botocore_client import BotocoreClient
from penstock.datastore.dynamodb.client import connect
from penstock.datastore.dynamodb.connections import ConnectionPool, Endpoint
from penstock.datastore.dynamodb.protocol import AccessKey, ClientKind
from penstock.datastore.dynamodb.raw_client import RawClient
from tests.support.loopback_server import Answer, Connection, LoopbackServer, Request
from tests.support.patience import HUNG_SECONDS
from tests.support.stores import REGION, aws_environment


@pytest.fixture(autouse=True)
def environment() -> Iterator[pytest.MonkeyPatch]:
    """An environment with dummy credentials and no other AWS configuration."""
    with aws_environment(), pytest.MonkeyPatch.context() as patch:
        yield patch


class ListeningServer:
    """A server that answers every request with `{}` and records it."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._server = LoopbackServer(self._serve)

    async def _serve(self, request: Request, connection: Connection) -> None:
        self.requests.append(request)
        await connection.answer(Answer(200, b"{}"))

    async def __aenter__(self) -> "ListeningServer":
        self.url = await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.stop()

    @property
    def users(self) -> list[str]:
        """The access keys that the requests were signed with."""
        signed = [request.headers["authorization"] for request in self.requests]
        return [each.partition("Credential=")[2].partition("/")[0] for each in signed]


@pytest.mark.parametrize("kind", get_args(ClientKind))
async def test_both_clients_send_the_same_request(kind: ClientKind) -> None:
    async with (
        ListeningServer() as there,
        connect(REGION, f"{there.url}/below", kind=kind) as client,
    ):
        assert client.endpoint_url == f"{there.url}/below"
        await client.call("GetItem", {"TableName": "t", "Key": {"pk": {"S": "ü"}}})
    (request,) = there.requests
    assert (request.method, request.target) == ("POST", "/below")
    body = b'{"TableName": "t", "Key": {"pk": {"S": "\\u00fc"}}}'
    assert request.body in {body, '{"TableName":"t","Key":{"pk":{"S":"ü"}}}'.encode()}
    assert request.headers["x-amz-target"] == "DynamoDB_20120810.GetItem"
    assert request.headers["content-type"] == "application/x-amz-json-1.0"
    assert request.headers["accept-encoding"] == "identity"
    signed = request.headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0]
    assert signed == "content-type;host;x-amz-date;x-amz-target"


async def test_regions_and_endpoints_are_those_of_the_stock_client(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.delenv("AWS_ENDPOINT_URL")
    for kind in get_args(ClientKind):
        async with connect("eu-central-1", None, kind=kind) as client:
            assert client.endpoint_url == "https://dynamodb.eu-central-1.amazonaws.com"
    environment.setenv("AWS_USE_FIPS_ENDPOINT", "true")
    async with connect(None, None, kind="thin") as client:
        assert client.endpoint_url == "https://dynamodb-fips.us-east-1.amazonaws.com"
    environment.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(NoRegionError):
        async with connect(None, None, kind="thin"):
            pass


async def test_through_a_proxy_goes_the_stock_client(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with connect(REGION, "http://127.0.0.1:8000") as beside:
        assert isinstance(beside, RawClient)
    async with connect(REGION, "https://dynamodb.example.org") as secure:
        assert isinstance(secure, RawClient)
    async with connect(REGION, "http://dynamodb.example.org") as through:
        assert isinstance(through, BotocoreClient)


@pytest.mark.parametrize("kind", get_args(ClientKind))
async def test_without_credentials_nothing_is_sent(
    environment: pytest.MonkeyPatch, kind: ClientKind
) -> None:
    environment.delenv("AWS_ACCESS_KEY_ID")
    environment.delenv("AWS_SECRET_ACCESS_KEY")
    async with ListeningServer() as there:
        async with connect(REGION, there.url, kind=kind) as client:
            with pytest.raises(NoCredentialsError):
                await client.call("GetItem", {})
        assert there.requests == []
        async with connect(REGION, there.url, AccessKey("mine", "s"), kind=kind) as client:
            await client.call("GetItem", {})
        assert there.users == ["mine"]


async def test_credentials_are_renewed_before_they_expire() -> None:
    renewals = 0

    async def renew() -> dict[str, str]:
        nonlocal renewals
        renewals += 1
        return lasting(f"renewed-{renewals}", hours=1)

    def lasting(key: str, *, hours: float) -> dict[str, str]:
        expiry = (datetime.now(UTC) + timedelta(hours=hours)).isoformat()
        return {"access_key": key, "secret_key": "s", "token": f"of-{key}", "expiry_time": expiry}

    credentials = AioRefreshableCredentials.create_from_metadata(
        lasting("first", hours=0.1), refresh_using=renew, method="test"
    )
    async with ListeningServer() as there:
        host, _, port = there.url.removeprefix("http://").partition(":")
        endpoint = Endpoint(host, int(port), None)
        connections = ConnectionPool(
            endpoint, limit=1, connect_seconds=HUNG_SECONDS, read_seconds=HUNG_SECONDS
        )
        client = RawClient(there.url, REGION, credentials, connections)
        await client.call("GetItem", {})
        await client.call("GetItem", {})
        await connections.close()
    assert there.users == ["renewed-1", "renewed-1"]
    tokens = [request.headers["x-amz-security-token"] for request in there.requests]
    assert tokens == ["of-renewed-1"] * 2
