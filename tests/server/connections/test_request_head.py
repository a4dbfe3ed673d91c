"""Heads are framed in one way, or refused."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Any

import httptools
import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from penstock.server.connections.refusals import HEAD_TOO_LARGE, MALFORMED, RefusedRequest
from penstock.server.connections.request_head import RequestHead, parse_head
from tests.server.connections.wire import NotingApp, Wire


def head(*fields: str, first: str = "POST /a HTTP/1.1") -> bytes:
    return "\r\n".join((first, *fields, "", "")).encode("latin-1")


def refusal(raw: bytes) -> bytes:
    with pytest.raises(RefusedRequest) as caught:
        parse_head(raw)
    return caught.value.answer


@pytest.mark.parametrize(
    ("raw", "length", "chunked"),
    [
        (head("host: a"), 0, False),
        (head("content-length: 22"), 22, False),
        (head("content-length: 22 "), 22, False),
        (head("Content-Length:\t22\t \t"), 22, False),
        (head("CONTENT-LENGTH:022"), 22, False),
        (head("transfer-encoding: chunked"), 0, True),
        (head("Transfer-Encoding: CHUNKED "), 0, True),
        (head("x-content-length: 5", "x: content-length: 7"), 0, False),
    ],
)
def test_the_length_of_a_body_is_read(raw: bytes, length: int, chunked: bool) -> None:
    found = parse_head(raw)
    assert (found.length, found.chunked, found.upgrades) == (length, chunked, False)


@pytest.mark.parametrize(
    "raw",
    [
        head("content-length: 5", "content-length: 5"),
        head("content-length: 5, 5"),
        head("content-length: +5"),
        head("content-length: 5 5"),
        head("content-length: 0x5"),
        head("content-length: 5_0"),
        head("content-length:"),
        head("content-length: ²"),
        head("content-length: " + "9" * 19),
        head("content-length: 5", "transfer-encoding: chunked"),
        head("transfer-encoding: chunked", "transfer-encoding: chunked"),
        head("transfer-encoding: gzip, chunked"),
        head("transfer-encoding: chunked, identity"),
        head("transfer-encoding: identity"),
        head("transfer-encoding: x-chunked"),
        head("transfer-encoding:"),
        head("transfer-encoding: chunked", first="POST /a HTTP/1.0"),
        head("x: a HTTP/1.1", "transfer-encoding: chunked", first="POST /a HTTP/1.0"),
        head("content-length : 5"),
        head(" content-length: 5"),
        head("a: b", " c: d"),
        head("a: b", "\tc"),
        head("a: b\0c"),
        head("a: b\rc"),
        head("a: b\nc: d"),
        head("a\x7f: b"),
        head("a: b\x0b"),
        head("a(: b"),
        head(": b"),
        head("a"),
        head("a: b", first="POST  /a HTTP/1.1"),
        head("a: b", first="POST /a HTTP/1.1 "),
        head("a: b", first="POST /a b HTTP/1.1"),
        head("a: b", first="POST /ä HTTP/1.1"),
        head("a: b", first="POST /a HTTP/2.0"),
        head("a: b", first="POST /a"),
        head("a: b", first="post /a HTTP/1.1"),
        head("a: b", first="CONNECT a:80 HTTP/1.1"),
        head("a: b").replace(b"\r\n\r\n", b"\n\r\n"),
    ],
    ids=repr,
)
def test_a_head_that_two_servers_could_read_differently_is_refused(raw: bytes) -> None:
    assert refusal(raw) == MALFORMED


@pytest.mark.parametrize(
    "target",
    [
        *("http://h", "http://h?x", "http:///x", "foo", "?x", "h:80", "http:/x"),
        *("http://h#x", "#x", "/a#", "/a#b?c", "/a?b#c", "http://h/#x"),
    ],
)
def test_a_target_without_a_path_or_with_a_fragment_is_refused_before_uvicorn_logs_it(
    target: str,
) -> None:
    assert refusal(f"GET {target} HTTP/1.1\r\nhost: h\r\n\r\n".encode()) == MALFORMED


@pytest.mark.parametrize("target", ["*", "/", "//h", "/a?b", "http://h/", "http://h/x?y"])
def test_every_other_target_is_read_by_uvicorn(target: str) -> None:
    raw = f"GET {target} HTTP/1.1\r\nhost: h\r\n\r\n".encode()
    assert parse_head(raw).raw == raw
    assert httptools.parse_url(target.encode()).path is not None


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E)))
def test_a_target_that_begins_with_a_slash_has_a_path(target: str) -> None:
    assert httptools.parse_url(b"/" + target.encode()).path is not None


def test_a_head_of_at_most_32_kib_and_100_fields_is_read() -> None:
    fields = [f"x-{n}: a" for n in range(100)]
    assert parse_head(head(*fields)) == RequestHead(head(*fields))
    assert refusal(head(*fields, "one-more: a")) == HEAD_TOO_LARGE
    size = 32 * 1024 - len(head("a: "))
    assert parse_head(head("a: " + "b" * size)).length == 0
    assert refusal(head("a: " + "b" * (size + 1))) == HEAD_TOO_LARGE


def test_spaces_behind_values_are_not_handed_on() -> None:
    found = parse_head(head("accept: a/b \t", "content-length: 3  ", "x:", "y: "))
    assert found.raw == head("accept: a/b", "content-length: 3", "x:", "y:")


SOCKET = ("host: a", "connection: keep-alive, Upgrade", "upgrade: WebSocket")
PLAIN = "GET /a HTTP/1.1"


def test_only_a_get_without_a_body_opens_a_websocket() -> None:
    found = parse_head(head(*SOCKET, first=PLAIN))
    handed_on = head("host: a", "upgrade: WebSocket", "connection: Upgrade", first=PLAIN)
    assert (found.upgrades, found.raw) == (True, handed_on)
    with_no_body = head(*SOCKET, "content-length: 0", first=PLAIN)
    assert parse_head(with_no_body).upgrades


@pytest.mark.parametrize(
    ("fields", "first", "kept"),
    [
        (SOCKET, "POST /a HTTP/1.1", ("host: a", "connection: keep-alive")),
        (SOCKET, "GET /a HTTP/1.0", ("host: a", "connection: keep-alive")),
        (SOCKET, "HEAD /a HTTP/1.1", ("host: a", "connection: keep-alive")),
        (
            (*SOCKET, "content-length: 5"),
            PLAIN,
            ("host: a", "connection: keep-alive", "content-length: 5"),
        ),
        (
            (*SOCKET, "transfer-encoding: chunked"),
            PLAIN,
            ("host: a", "connection: keep-alive", "transfer-encoding: chunked"),
        ),
        ((*SOCKET, "UPGRADE: h2c"), PLAIN, ("host: a", "connection: keep-alive")),
        (
            ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"),
            "POST /a HTTP/1.1",
            ("Connection:",),
        ),
        (("upgrade: websocket",), PLAIN, ()),
        (
            (*SOCKET, "x: a HTTP/1.1"),
            "GET /a HTTP/1.0",
            ("host: a", "connection: keep-alive", "x: a HTTP/1.1"),
        ),
        (("connection: a, b", "http2-settings: a"), PLAIN, ("connection: a, b",)),
    ],
)
def test_any_other_upgrade_is_ignored_and_not_handed_on(
    fields: tuple[str, ...], first: str, kept: tuple[str, ...]
) -> None:
    found = parse_head(head(*fields, first=first))
    assert (found.upgrades, found.raw) == (False, head(*kept, first=first))


def test_health_is_asked_for_by_its_paths_only() -> None:
    asked = ("GET /healthz", "HEAD /readyz", "GET /healthz?a", "POST /healthz", "GET /healthz/a")
    found = [parse_head(head(first=f"{one} HTTP/1.1")).asks_for_health for one in asked]
    assert found == [True, True, True, False, False]


class ParserCallbacks:
    """Httptools' callbacks of one stream."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.complete = 0

    def on_message_begin(self) -> None:
        self.bodies.append(b"")

    def on_body(self, body: bytes) -> None:
        self.bodies[-1] += body

    def on_message_complete(self) -> None:
        self.complete += 1


BODY = b"0123456789" * 3
NEXT = b"GET /next HTTP/1.1\r\nhost: a\r\n\r\n"
PARTS = (
    b"POST /a HTTP/1.1\r\n", b"GET /a HTTP/1.1\r\n", b"POST /a HTTP/1.0\r\n", b"host: a\r\n",
    b"content-length: 10\r\n", b"Content-Length:20 \r\n", b"transfer-encoding: chunked\r\n",
    b"transfer-encoding: identity\r\n", b"upgrade: websocket\r\n", b"upgrade: h2c\r\n",
    b"connection: upgrade\r\n", b"connection: close\r\n", b"proxy-connection: upgrade\r\n",
    b"connection: keep-alive\r\n", b"Connection: a, UPGRADE\r\n", b"x: a HTTP/1.1\r\n",
    b"a: b\r\n", b" b\r\n", b"\tcontent-length: 5\r\n", b"expect: 100-continue\r\n",
    b"content-length : 5\r\n", b"x:\r\n", b"te: trailers\r\n", b"keep-alive: 1\r\n",
)  # fmt: skip
ODD = (b"\r", b"\n", b"\r\n", b"\0", b" ", b"\t", b":", b",", b"\xff", b"0", b"\x0b")


def mutate_head(chance: Random) -> bytes:
    """Return a head of any lines, with up to two odd bytes in any place."""
    lines = [chance.choice(PARTS[:3]), *chance.choices(PARTS, k=chance.randint(0, 6))]
    raw = b"".join(lines) + b"\r\n"
    for _ in range(chance.randint(0, 2)):
        at = chance.randint(0, len(raw) - 3)
        raw = raw[:at] + chance.choice(ODD) + raw[at + chance.randint(0, 1) :]
    return raw[: raw.find(b"\r\n\r\n") + 4] if b"\r\n\r\n" in raw else raw + b"\r\n\r\n"


def test_httptools_finds_the_end_of_every_accepted_request_at_the_same_place() -> None:
    # Hypothesis would take a hundred times longer to draw them.
    chance = Random(1)
    read_alike(head("content-length: 10", "proxy-connection: upgrade", "upgrade: a"))
    for _ in range(5_000):
        read_alike(mutate_head(chance))


def read_alike(raw: bytes) -> None:
    """Httptools may refuse more, but never end a request elsewhere."""
    try:
        found = parse_head(raw)
    except RefusedRequest:
        return
    chunked = b"a\r\n" + BODY[:10] + b"\r\n0\r\n\r\n"
    sent = chunked if found.chunked else BODY[: found.length].ljust(found.length, b"-")
    heard = ParserCallbacks()
    parser = httptools.HttpRequestParser(heard)
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    try:
        parser.feed_data(found.raw + sent)
    except httptools.HttpParserUpgrade:
        assert found.upgrades, raw
        return
    except httptools.HttpParserError:
        return
    assert not found.upgrades, raw
    body = BODY[:10] if found.chunked else sent
    assert (heard.bodies, heard.complete) == ([body], 1), raw
    if b"http/1.0" not in raw.lower() and b"close" not in raw:
        parser.feed_data(NEXT)
        assert (heard.bodies, heard.complete) == ([body, b""], 2), raw


def draw_upgrade(chance: Random) -> bytes:
    """Return a head that asks for a WebSocket, in one way or another, among odd lines."""
    wanted = ["upgrade: websocket", *draw(chance, CONNECTIONS, 3)]
    first = chance.choice([PLAIN, PLAIN, "POST /a HTTP/1.1", "GET /a HTTP/1.0"])
    fields = [*wanted, *draw(chance, UPGRADE_PARTS, 2)]
    return head(*chance.sample(fields, k=len(fields)), first=first)


def draw(chance: Random, given: Sequence[str], most: int) -> list[str]:
    return chance.choices(given, k=chance.randint(0, most))


CONNECTIONS = (
    "connection: upgrade", "connection: Upgrade", "connection: keep-alive", "connection: close",
    "connection: a, upgrade", "connection: upgrade ,b", "connection: ,", "connection: upgraded",
    "connection: \t",
)  # fmt: skip
UPGRADE_PARTS = (
    "upgrade: h2c", "Upgrade: WEBSOCKET ", "upgrade: websocket, h2c", "upgrade:", "host: a",
    "content-length: 0", "content-length: 5", "transfer-encoding: chunked", "x: a HTTP/1.1",
    "proxy-connection: upgrade", "proxy-connection: keep-alive", "http2-settings: a",
)  # fmt: skip


class SwitchedWire(Wire):
    """A wire that notes whether its protocol was replaced."""

    has_switched = False

    def set_protocol(self, _protocol: asyncio.BaseProtocol) -> None:
        self.has_switched = True


class NotedWebSocket(asyncio.Protocol):
    """A WebSocket protocol that leaves its connection alone."""

    def __init__(self, **_given: Any) -> None: ...


async def switches(config: uvicorn.Config, raw: bytes) -> bool:
    """Tell whether uvicorn's protocol opens a WebSocket for the head."""
    state = ServerState()
    protocol = HttpToolsProtocol(config=config, server_state=state, app_state={})
    wire = SwitchedWire()
    protocol.connection_made(wire)
    protocol.data_received(raw)
    while state.tasks:
        await asyncio.wait(state.tasks)
    protocol.connection_lost(None)
    return wire.has_switched


async def test_uvicorn_opens_a_websocket_for_those_heads_only_that_say_so() -> None:
    app = NotingApp(ignores_bodies=True)
    config = uvicorn.Config(app, ws=NotedWebSocket, lifespan="off", log_config=None)
    config.load()
    chance, fields = Random(1), ("upgrade: websocket", "connection: upgrade")
    raws = [head(*fields, "connection: keep-alive", first=PLAIN)]
    for _ in range(750):
        raws += [mutate_head(chance), draw_upgrade(chance)]
    switched = 0
    for raw in raws:
        with suppress(RefusedRequest):
            found = parse_head(raw)
            assert await switches(config, found.raw) == found.upgrades, raw
            switched += found.upgrades
    assert switched > 50


AWKWARD = (
    b"a", b" ", b"\t", b",", b";", b":", b"=", b'"', b"\\", b" ,", b"a,", b"a:", b"; ", b"upgrade,",
    b"close, ", b"%", b"\xff", b" \t",
)  # fmt: skip


def test_the_time_of_a_head_is_linear() -> None:
    """The worst of all repetitions takes no more than some plain heads of its size."""
    size = 30_000
    plain = parse_seconds(head("a: " + "b" * size))
    names = ("x", "content-length", "transfer-encoding", "connection", "upgrade", "http2-settings")
    worst = max(
        parse_seconds(
            f"GET / HTTP/1.1\r\n{name}: ".encode() + one * (size // len(one)) + b"\r\n\r\n"
        )
        for one in AWKWARD
        for name in names
    )
    assert worst < 200 * plain


def parse_seconds(raw: bytes) -> float:
    """Return the processor time to parse or refuse a head, the least of five tries."""
    found = []
    for _ in range(5):
        began = time.thread_time()
        with suppress(RefusedRequest):
            parse_head(raw)
        found.append(time.thread_time() - began)
    return min(found)
