"""Requests with bodies, all sent before the first is answered, are all read and answered."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.datastore.roles import ROOT, Role
from penstock.datastore.store import Store
from penstock.server.app import open_app
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from penstock.server.connections.connection import PAUSE_BYTES, GuardedConnection
from penstock.server.connections.reading_pauses import PauseReason
from penstock.server.settings.settings import Settings
from tests.server.connections.wire import (
    GuardedApp,
    NotingApp,
    PassingApp,
    Wire,
    get,
    in_chunks,
    post,
    statuses,
)
from tests.support.patience import HUNG_SECONDS, until

READ_BYTES = 256 * 1024
"""The most bytes that one read of a transport takes, of asyncio as of uvloop."""

PIPELINES = ((66_000, 5), (130_000, 3), (260_000, 4), (900_000, 3), (70_000, 20))
"""Sizes of bodies, and the number of requests that are sent at once."""

ODD_SLICES = (1, 65_537, 3, 130_001, 7_919)


def post_in_chunks(body: bytes, *fields: str, target: str = "/a") -> bytes:
    lines = [f"POST {target} HTTP/1.1", "host: a", *fields, "transfer-encoding: chunked", "", ""]
    return "\r\n".join(lines).encode() + in_chunks(body, [70_000, 1, 9_000]) + b"0\r\n\r\n"


def request(kind: str, size: int) -> bytes:
    match kind:
        case "get":
            return get()
        case "sized":
            return post(bytes(size))
    return post_in_chunks(bytes(size))


EDGES = (PAUSE_BYTES - 90, PAUSE_BYTES, PAUSE_BYTES + 1, 130_000, READ_BYTES, 300_000)
REQUESTS = st.tuples(
    st.sampled_from(["get", "sized", "chunked"]), st.sampled_from(EDGES) | st.integers(0, 200_000)
)


def slices(raw: bytes, sizes: Sequence[int]) -> Iterator[bytes]:
    """Cut the bytes into pieces of these sizes, again and again."""
    at = 0
    for size in cycle(sizes):
        if at >= len(raw):
            return
        yield raw[at : at + size]
        at += size


def check_rest(connection: GuardedConnection, wire: Wire) -> None:
    """Reading rests for what is held of requests, for the application, and for others' turns."""
    is_paused = len(connection._held.content) > PAUSE_BYTES
    assert (PauseReason.HELD_BYTES in connection._pauses) is is_paused
    assert wire.is_reading_now is not any(reason in connection._pauses for reason in PauseReason)


async def send_all(served: GuardedApp, raw: bytes, sizes: Sequence[int]) -> Wire:
    """Send what waits in the network, as fast as the server reads it."""
    connection, wire = served.connect()
    assert isinstance(connection, GuardedConnection)
    for piece in slices(raw, sizes):
        for _ in range(100):
            if wire.is_reading_now:
                break
            await served.settle()
        assert wire.is_reading_now, "reading never began again"
        connection.data_received(piece)
        check_rest(connection, wire)
    for _ in range(20):
        await served.settle()
    check_rest(connection, wire)
    return wire


@settings(max_examples=60, deadline=None)
@given(
    st.lists(REQUESTS, min_size=1, max_size=6),
    st.lists(st.integers(1_000, READ_BYTES), min_size=1, max_size=9),
    st.booleans(),
)
@example([("sized", 130_000)] * 3, [READ_BYTES], False)
@example([("sized", 900_000)] * 3, [READ_BYTES], False)
@example([("sized", 260_000)] * 4, [65_536], True)
@example([("chunked", 70_000)] * 20, [READ_BYTES], False)
@example(
    [("get", 0), ("sized", 65_446), ("sized", 65_446), ("get", 0), ("sized", 65_536)],
    [39_318],
    True,
)
async def test_whatever_waits_in_the_network_is_read_in_the_end(
    sent: list[tuple[str, int]], sizes: list[int], ignores_bodies: bool
) -> None:
    served = GuardedApp(NotingApp(ignores_bodies=ignores_bodies))
    wire = await send_all(served, b"".join(request(*one) for one in sent), sizes)
    seen = [len(body) for _, _, body in served.app.requests]
    assert seen == [0 if ignores_bodies or kind == "get" else size for kind, size in sent]
    assert statuses(wire) == [200] * len(sent)
    assert (wire.is_open, wire.is_reading_now, served.gate.held_bytes) == (True, True, 0)
    await served.close()


@asynccontextmanager
async def application(store: Store, data_dir: Path) -> AsyncIterator[tuple[GuardedApp, str]]:
    """Open the whole application behind guarded connections; with the token of a caller."""
    chosen = Settings.load(
        data_dir=data_dir,
        body_read_seconds=HUNG_SECONDS,
        deadline_seconds=HUNG_SECONDS,
        rate_limit_per_second=0,
    )
    token = sign_dev_token(dev_key(data_dir), "ann", {ROOT: Role.ADMIN}, ROOT, DEV_TOKEN_LIFETIME)
    async with open_app(chosen, store, None) as app:
        served = GuardedApp(PassingApp(app))
        yield served, token


async def exchange(served: GuardedApp, raw: bytes, sizes: Sequence[int], answers: int) -> list[int]:
    """Send the bytes over a real socket, and read so many answers; returns their statuses."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(served.make_connection, "127.0.0.1", 0)
    received = b""
    with socket.socket() as client:
        client.setblocking(False)
        await loop.sock_connect(client, server.sockets[0].getsockname())
        sending = asyncio.create_task(_send(client, slices(raw, sizes)))
        while received.count(b"HTTP/1.1 ") < answers:
            more = await loop.sock_recv(client, READ_BYTES)
            assert more, "the server closed the connection"
            received += more
        await sending
    server.close()
    await until(lambda: len(served.gate) == 0)
    return [int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:]]


async def _send(client: socket.socket, pieces: Iterator[bytes]) -> None:
    for piece in pieces:
        await asyncio.get_running_loop().sock_sendall(client, piece)


@pytest.mark.parametrize("written", [post, post_in_chunks], ids=["sized", "chunked"])
@pytest.mark.parametrize("with_token", [True, False], ids=["caller", "stranger"])
async def test_requests_that_are_sent_at_once_are_all_answered(
    store: Store, tmp_path: Path, written: Callable[..., bytes], with_token: bool
) -> None:
    async with application(store, tmp_path) as (served, token):
        fields = ["content-type: application/json", "accept: application/json"]
        if with_token:
            fields.append(f"authorization: Bearer {token}")
        for size, count in PIPELINES:
            body = json.dumps({"query": "{__typename}", "variables": {"a": "x" * size}}).encode()
            one = written(body, *fields, target="/graphql")
            raw = one.replace(b"host: a", b"host: localhost", 1) * count
            for sizes in ([len(raw)], ODD_SLICES):
                expected = [200 if with_token else 401] * count
                assert await exchange(served, raw, sizes, count) == expected, (size, sizes)
