"""Credentials that cannot be had or renewed are Unavailable, from both clients and from S3."""

import json
from asyncio import to_thread
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest

from penstock.datastore.dynamodb.client import connect
from penstock.datastore.dynamodb.protocol import ClientKind
from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.errors import Unavailable
from penstock.datastore.objects.s3 import S3Files
from penstock.datastore.table.port import Key, Put
from tests.support.loopback_server import Answer, Connection, LoopbackServer, Request
from tests.support.patience import HUNG_SECONDS
from tests.support.stores import REGION, aws_environment

KINDS = get_args(ClientKind)
EXPIRED = json.dumps(
    {"__type": "com.amazon.coral.service#ExpiredTokenException", "message": "of the token"}
).encode()
EXPIRED_XML = b"<Error><Code>ExpiredToken</Code><Message>of the token</Message></Error>"
PROBLEM = "The server has no valid credentials for AWS."


@pytest.fixture(autouse=True)
def environment() -> Iterator[pytest.MonkeyPatch]:
    with aws_environment(), pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture
def issued(environment: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make a file the source of credentials, which are about to expire; without it there are none.

    Such credentials are renewed before each request.
    """
    path, config = tmp_path / "credentials.json", tmp_path / "config"
    expiry = (datetime.now(UTC) + timedelta(minutes=5)).isoformat()
    keys = {"AccessKeyId": "mine", "SecretAccessKey": "s", "SessionToken": "t"}
    path.write_text(json.dumps({"Version": 1, **keys, "Expiration": expiry}))
    config.write_text(f"[default]\ncredential_process = cat {path}\n")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        environment.delenv(name)
    environment.setenv("AWS_CONFIG_FILE", str(config))
    return path


def take_away(issued: Path) -> str:
    text = issued.read_text()
    issued.unlink()
    return text


async def open_table(kind: ClientKind, url: str) -> DynamoDBTable:
    return await DynamoDBTable.open(
        "t", region=REGION, endpoint_url=url, deadline=HUNG_SECONDS, kind=kind
    )


def calls_of(table: DynamoDBTable) -> list[Callable[[], Awaitable[object]]]:
    """A read, a write, and the question of `/readyz`."""
    return [
        lambda: table.get([Key("a", "b")]),
        lambda: table.transact([Put({"pk": "a", "sk": "b"})]),
        table.ping,
    ]


@pytest.mark.parametrize("kind", KINDS)
async def test_credentials_whose_source_fails_are_unavailable_until_it_gives_them_again(
    issued: Path, kind: ClientKind
) -> None:
    async def answer(_: Request, connection: Connection) -> None:
        await connection.answer(Answer(200, b"{}"))

    server = LoopbackServer(answer)
    table = await open_table(kind, await server.start())
    try:
        await table.ping()
        text = await to_thread(take_away, issued)
        for call in calls_of(table):
            with pytest.raises(Unavailable) as refused:
                await call()
            assert refused.value.message == PROBLEM
        await to_thread(issued.write_text, text)
        await table.ping()
    finally:
        await table.close()
        await server.stop()


@pytest.mark.parametrize("kind", KINDS)
async def test_missing_credentials_are_unavailable(
    environment: pytest.MonkeyPatch, kind: ClientKind
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        environment.delenv(name)
    table = await open_table(kind, "http://127.0.0.1:9")
    try:
        for call in calls_of(table):
            with pytest.raises(Unavailable, match="no valid credentials"):
                await call()
    finally:
        await table.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_an_expired_token_is_unavailable_and_is_not_sent_again(kind: ClientKind) -> None:
    requests = []

    async def answer(request: Request, connection: Connection) -> None:
        requests.append(request)
        await connection.answer(Answer(400, EXPIRED))

    server = LoopbackServer(answer)
    table = await open_table(kind, await server.start())
    try:
        for call in calls_of(table):
            with pytest.raises(Unavailable, match="no valid credentials"):
                await call()
        assert len(requests) == len(calls_of(table))
    finally:
        await table.close()
        await server.stop()


async def test_files_say_the_same(issued: Path) -> None:
    async def answer(_: Request, connection: Connection) -> None:
        await connection.answer(Answer(400, EXPIRED_XML))

    server = LoopbackServer(answer)
    async with AsyncExitStack() as held:
        url = await server.start()
        held.push_async_callback(server.stop)
        files = await S3Files.open("bucket", region=REGION, endpoint_url=url)
        held.push_async_callback(files.close)
        with pytest.raises(Unavailable, match="no valid credentials"):
            await files.list("")
        await to_thread(take_away, issued)
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: files.list(""),
            lambda: files.stat("a"),
            lambda: files.presign_download("a", expires_in=60),
            lambda: files.presign_upload("a", max_bytes=1, content_type="text/csv", expires_in=60),
        ]
        for call in calls:
            with pytest.raises(Unavailable, match="no valid credentials"):
                await call()
        assert await files.verify() == [f"The bucket bucket cannot be used: {PROBLEM}"]


async def test_a_source_that_fails_from_the_start_is_unavailable(issued: Path) -> None:
    await to_thread(take_away, issued)
    for kind in KINDS:
        with pytest.raises(Unavailable, match="no valid credentials"):
            await open_table(kind, "http://127.0.0.1:9")


@pytest.mark.parametrize("kind", KINDS)
async def test_the_region_is_that_of_either_variable(
    environment: pytest.MonkeyPatch, kind: ClientKind
) -> None:
    environment.delenv("AWS_ENDPOINT_URL")
    environment.delenv("AWS_DEFAULT_REGION")
    environment.setenv("AWS_REGION", "eu-north-1")
    async with connect(None, None, kind=kind) as client:
        assert client.endpoint_url == "https://dynamodb.eu-north-1.amazonaws.com"
    environment.setenv("AWS_DEFAULT_REGION", "eu-south-1")
    async with connect(None, None, kind=kind) as client:
        assert client.endpoint_url == "https://dynamodb.eu-north-1.amazonaws.com"
    environment.delenv("AWS_REGION")
    async with connect(None, None, kind=kind) as client:
        assert client.endpoint_url == "https://dynamodb.eu-south-1.amazonaws.com"
