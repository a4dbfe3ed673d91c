"""A user's endpoint tells nothing about the server's network: every failure is one and the same."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.access.vault import LocalVault
from penstock.datastore.audio import uploads
from penstock.datastore.audio.endpoint_rules import PUBLIC, EndpointRules, unusable_endpoint
from penstock.datastore.audio.library import AudioLibrary, BucketAccess
from penstock.datastore.errors import IllegalState, Invalid
from penstock.datastore.objects import s3_client
from penstock.datastore.objects.port import Credentials
from penstock.datastore.objects.s3_client import Patience
from penstock.datastore.store import Store
from tests.datastore.audio.sample_library import library_rows, listener
from tests.support.loopback_server import Answer, Connection, LoopbackServer, Request, content_range
from tests.support.server_process import free_port
from tests.support.stores import REGION, open_table

KEYS = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG")
HTML = {"content-type": "text/html"}
PAGE = b"<html><body>It works!</body></html>"
ENDLESS = b"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"
AGAIN = (
    b"<ListBucketResult><IsTruncated>true</IsTruncated><Contents><Key>a</Key></Contents>"
    b"</ListBucketResult>"
)
ANSWERS = {
    "200": Answer(200, PAGE, HTML),
    "204": Answer(204, b""),
    "400": Answer(400, PAGE, HTML),
    "401": Answer(401, PAGE, {**HTML, "www-authenticate": "Basic"}),
    "405": Answer(405, PAGE, HTML),
    "500": Answer(500, PAGE, HTML),
    "503": Answer(503, b"{}", {"content-type": "application/json"}),
    "code": Answer(400, b"<Error><Code>The secret of the house</Code></Error>"),
    "endless": Answer(200, ENDLESS),
    "again": Answer(200, AGAIN),
    "301": Answer(301, b"", {"x-amz-bucket-region": "eu-west-1"}),
    "302": Answer(302, b"", {"location": "/elsewhere"}),
    "307": Answer(307, b"", {"location": "/elsewhere", "x-amz-bucket-region": "eu-west-1"}),
}


class Service:
    """A service that answers every request alike, and counts them."""

    def __init__(self, answer: Answer | None) -> None:
        self.targets: list[str] = []
        self._answer = answer

    async def __call__(self, request: Request, connection: Connection) -> None:
        self.targets.append(request.target)
        if self._answer is None:
            await connection.fall_silent()
        else:
            await connection.answer(self._answer)


@asynccontextmanager
async def serve(answer: Answer | None) -> AsyncIterator[tuple[Service, str]]:
    service = Service(answer)
    server = LoopbackServer(service)
    yield service, await server.start()
    await server.stop()


@asynccontextmanager
async def banner() -> AsyncIterator[str]:
    """A service of another protocol, which speaks first."""

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


def be_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a short time only, for an answer that never comes."""
    monkeypatch.setattr(s3_client, "USER_PATIENCE", Patience(1.0, 0.2, 2))


@pytest.fixture
async def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    # A machine that is busy may take long for an answer that does come.
    monkeypatch.setattr(s3_client, "USER_PATIENCE", Patience(60.0, 60.0, 2))
    async with open_table("sqlite", tmp_path) as table:
        buckets = BucketAccess(LocalVault(b"k" * 32), rules=EndpointRules(private=True))
        yield Store(table, user_buckets=buckets)
        await buckets.pool.close()


async def list_bucket(library: AudioLibrary, connection: str) -> object:
    async with library.registering.sources.open_source(connection) as source:
        found = await source.list_entries("", "")
        return found and await source.list_entries("", found[-1].key)


async def register(library: AudioLibrary, connection: str) -> object:
    return await library.registering.register("music/1.mp3", connection)


async def failure_of(call: Awaitable[object]) -> tuple[str, str]:
    with pytest.raises(IllegalState) as failed:
        await call
    return failed.value.message, failed.value.state


ONE_FAILURE = (unusable_endpoint().message, "ENDPOINT")


@pytest.mark.parametrize("call", [register, list_bucket])
@pytest.mark.parametrize("answer", [*ANSWERS, None])
async def test_a_service_that_is_no_s3_looks_like_one_that_is_not_there(
    store: Store,
    call: Callable[[AudioLibrary, str], Awaitable[object]],
    answer: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if answer is None:
        be_impatient(monkeypatch)
    library = listener(store)
    async with serve(None if answer is None else ANSWERS[answer]) as (service, url):
        connection = await library.connections.add_keys("n", "my-music", REGION, KEYS, url)
        before = await library_rows(store.table)
        assert await failure_of(call(library, connection.id)) == ONE_FAILURE
        assert (answer is not None) <= len(service.targets) <= 2
        assert not [target for target in service.targets if "elsewhere" in target]
    assert await library_rows(store.table) == before


@pytest.mark.parametrize("call", [register, list_bucket])
async def test_what_is_not_there_closed_or_of_another_protocol_is_one_failure(
    store: Store,
    call: Callable[[AudioLibrary, str], Awaitable[object]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    be_impatient(monkeypatch)
    library = listener(store)
    async with banner() as other, serve(Answer(200, b"")) as (_, plain):
        encrypted = plain.replace("http://", "https://")
        closed = f"http://127.0.0.1:{free_port()}"
        for url in (closed, f"http://{other}", f"https://{other}", encrypted):
            connection = await library.connections.add_keys("n", "my-music", REGION, KEYS, url)
            assert await failure_of(call(library, connection.id)) == ONE_FAILURE


@pytest.mark.parametrize(
    "url",
    [
        "https://name-of-nothing.invalid",
        "https://localhost",
        "https://LOCALHOST.",
        "https://127.1",
        "https://2130706433",
        "https://0x7f.1",
        "https://0177.0.0.1",
        "https://0",
        "https://xn--\u00e4.invalid",
        f"https://{'a' * 64}.invalid",
    ],
)
async def test_a_connection_to_an_unknown_or_inner_name_is_refused_in_one_way(
    store: Store, url: str
) -> None:
    inside = replace(store.user_buckets, rules=PUBLIC)
    library = listener(replace(store, user_buckets=inside))
    before = await library_rows(store.table)
    adding = library.connections.add_keys("n", "my-music", REGION, KEYS, url)
    assert await failure_of(adding) == ONE_FAILURE
    assert await library_rows(store.table) == before


@pytest.mark.parametrize("host", ["127.0.0.1", "[::ffff:7f00:1]", "[::ffff:127.0.0.1]", "[::1]"])
async def test_an_inner_address_is_refused_before_it_is_looked_up(store: Store, host: str) -> None:
    inside = replace(store.user_buckets, rules=PUBLIC)
    library = listener(replace(store, user_buckets=inside))
    with pytest.raises(Invalid):
        await library.connections.add_keys("n", "my-music", REGION, KEYS, f"https://{host}")


async def test_a_name_that_leads_inside_only_later_gets_no_connection(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address is checked when the socket is made, after the name was resolved once more."""
    library = listener(store)
    async with serve(Answer(200, b"")) as (service, url):
        connection = await library.connections.add_keys("n", "my-music", REGION, KEYS, url)

        async def pass_over(*_: object) -> None: ...

        monkeypatch.setattr(EndpointRules, "check_host", pass_over)
        inside = replace(store.user_buckets, rules=PUBLIC)
        library = listener(replace(store, user_buckets=inside))
        assert await failure_of(register(library, connection.id)) == ONE_FAILURE
        assert await failure_of(list_bucket(library, connection.id)) == ONE_FAILURE
        assert service.targets == []


async def test_a_bucket_that_drips_is_given_up(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "SCAN_SECONDS", 0.3)

    async def drip(request: Request, connection: Connection) -> None:
        wire: Any = connection
        if request.method == "HEAD":
            wire._writer.write(
                b'HTTP/1.1 200 OK\r\nETag: "e"\r\nContent-Type: audio/mpeg\r\n'
                b"Last-Modified: Wed, 10 Aug 2022 23:55:20 GMT\r\nContent-Length: 9000\r\n\r\n"
            )
            return
        told = f"Content-Range: {content_range(request, 9000)}\r\nContent-Length: 9000\r\n\r\n"
        wire._writer.write(b'HTTP/1.1 206 Partial\r\nETag: "e"\r\n' + told.encode())
        for _ in range(9000):
            wire._writer.write(b"x")
            await asyncio.sleep(0.05)

    server = LoopbackServer(drip)
    library = listener(store)
    connection = await library.connections.add_keys(
        "n", "my-music", REGION, KEYS, await server.start()
    )
    with pytest.raises(Invalid) as refused:
        await register(library, connection.id)
    assert [problem.code for problem in refused.value.problems] == ["UNREADABLE"]
    await server.stop()
