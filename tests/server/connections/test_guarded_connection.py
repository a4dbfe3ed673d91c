"""A guarded connection hands on each request once, and refuses bad ones."""

import asyncio
import itertools
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.server.connections.connection import LINGER_BYTES, PAUSE_BYTES
from penstock.server.connections.gate import EndReason
from penstock.server.connections.held_bytes import MAX_EMPTY_LINES
from penstock.server.connections.request_head import _METHODS
from tests.server.connections.wire import (
    FRAME,
    HANDSHAKE,
    GuardedApp,
    NotingApp,
    get,
    in_chunks,
    post,
    statuses,
)
from tests.support.error_details import extensions_of
from tests.support.patience import until

OK = b"HTTP/1.1 200 OK"


@st.composite
def requests(draw: st.DrawFn) -> tuple[bytes, tuple[str, str, bytes]]:
    """Return a request as bytes, and as the application is to see it."""
    body = draw(st.binary(max_size=30))
    target = f"/{draw(st.integers(0, 99))}"
    lines = draw(st.integers(0, 2)) * b"\r\n"
    upgrade = ("Connection: Upgrade", f"Upgrade: {draw(st.sampled_from(['h2c', 'websocket']))}")
    fields = draw(st.sampled_from([(), upgrade, ("x: \xff", "expect: a"), ("te: trailers ",)]))
    match draw(st.sampled_from(["get", "sized", "chunked"])):
        case "get":
            return lines + get(target, "x: a"), ("GET", target, b"")
        case "sized":
            length = f"{len(body)}{draw(st.sampled_from(['', ' ']))}"
            raw = post(body, *fields, target=target, length=length)
            return lines + raw, ("POST", target, body)
    head = f"POST {target} HTTP/1.1\r\ntransfer-encoding: chunked\r\n"
    head += "".join(f"{field}\r\n" for field in fields)
    sizes = draw(st.lists(st.integers(1, 9), max_size=3))
    trailer = draw(st.sampled_from([b"", b"a: b\r\n"]))
    raw = head.encode("latin-1") + b"\r\n" + in_chunks(body, sizes) + b"0\r\n" + trailer + b"\r\n"
    return lines + raw, ("POST", target, body)


@settings(max_examples=150, deadline=None)
@given(st.lists(requests(), min_size=1, max_size=6), st.lists(st.integers(0, 5_000), max_size=12))
async def test_the_application_sees_the_requests_that_were_sent(
    sent: list[tuple[bytes, tuple[str, str, bytes]]], places: list[int]
) -> None:
    served = GuardedApp(NotingApp())
    connection, wire = served.connect()
    raw = b"".join(one for one, _ in sent)
    ends = sorted({place % (len(raw) + 1) for place in places} | {0, len(raw)})
    await served.say(connection, *(raw[start:end] for start, end in itertools.pairwise(ends)))
    for _ in sent:
        await served.settle()
    assert served.app.requests == [seen for _, seen in sent]
    assert statuses(wire) == [200] * len(sent)
    assert (wire.is_open, wire.is_reading_now, served.gate.held_bytes) == (True, True, 0)


async def test_a_stream_may_come_in_single_bytes() -> None:
    served = GuardedApp(NotingApp())
    connection, wire = served.connect()
    chunked = b"POST /c HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"
    raw = post(b"abc") + b"\r\n" + get("/b") + chunked + in_chunks(b"abcdef", [2]) + b"0\r\n\r\n"
    await served.say(connection, *(raw[at : at + 1] for at in range(len(raw))))
    assert served.app.requests == [
        ("POST", "/a", b"abc"),
        ("GET", "/b", b""),
        ("POST", "/c", b"abcdef"),
    ]
    assert statuses(wire) == [200, 200, 200]


async def test_trailers_are_no_fields_of_the_head() -> None:
    served = GuardedApp(NotingApp())
    connection, _ = served.connect()
    await served.say(
        connection,
        b"POST /c HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n",
        b"1\r\na\r\n0\r\nauthorization: Bearer stolen\r\n\r\n",
    )
    assert served.app.requests == [("POST", "/c", b"a")]
    assert served.app.fields == [[(b"transfer-encoding", b"chunked")]]


async def test_the_next_request_waits_for_the_answer_and_reading_stops() -> None:
    served = GuardedApp(NotingApp(holds=True))
    connection, wire = served.connect()
    flood = get("/b") * (2 * PAUSE_BYTES // len(get("/b")))
    await served.say(connection, get("/a") + flood)
    assert served.app.requests == [("GET", "/a", b"")]
    assert not wire.is_reading_now
    served.app.may_answer.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(served.app.requests) < flood.count(b"GET") / 2
    assert not wire.is_reading_now
    for _ in range(flood.count(b"GET")):
        await served.settle()
    assert len(served.app.requests) == 1 + flood.count(b"GET")
    assert wire.is_reading_now


@pytest.mark.parametrize(
    "raw",
    [get("/a", "connection: close"), get("/a", version="1.0"), get("/a", "Connection: a, Close")],
)
async def test_what_follows_the_last_request_is_dropped(raw: bytes) -> None:
    served = GuardedApp(NotingApp())
    connection, wire = served.connect()
    await served.say(connection, raw + get("/b"))
    assert served.app.requests == [("GET", "/a", b"")]
    assert (statuses(wire), wire.is_open) == ([200], False)


@pytest.mark.parametrize("method", ["POST", "PUT", "GET", "HEAD"])
@pytest.mark.parametrize("upgrade", ["websocket", "h2c", "TLS/1.3", "a, websocket"])
async def test_the_body_behind_an_ignored_upgrade_is_a_body(method: str, upgrade: str) -> None:
    inner = get("/inner")
    served = GuardedApp(NotingApp())
    connection, wire = served.connect()
    raw = post(
        inner, "connection: upgrade, http2-settings", f"upgrade: {upgrade}", "http2-settings: a"
    )
    await served.say(connection, raw.replace(b"POST", method.encode(), 1), get("/b"))
    assert served.app.requests == [(method, "/a", inner), ("GET", "/b", b"")]
    assert statuses(wire) == [200, 200]


async def test_a_websocket_gets_the_bytes_behind_its_handshake_once_it_is_open() -> None:
    served = GuardedApp(NotingApp(holds=True))
    connection, wire = served.connect()
    await served.say(connection, HANDSHAKE + FRAME, FRAME)
    assert (served.app.requests, wire.written) == ([], b"")
    served.app.may_answer.set()
    await served.settle()
    await served.say(connection, FRAME)
    assert served.app.requests == [("SOCKET", "", b"ab")] * 3
    assert statuses(wire) == [101]


@pytest.mark.parametrize(
    "connections",
    [
        ("connection: upgrade", "connection: keep-alive"),
        ("connection: keep-alive", "connection: upgrade"),
        ("connection: close, upgrade",),
    ],
)
async def test_a_websocket_opens_however_its_connection_fields_are_split(
    connections: tuple[str, ...],
) -> None:
    served = GuardedApp(NotingApp())
    connection, wire = served.connect()
    lines = [line for line in HANDSHAKE.decode().split("\r\n")[2:-2] if "pgrade" not in line]
    await served.say(connection, get("/s", *lines, "upgrade: websocket", *connections), FRAME)
    assert statuses(wire) == [101]
    assert served.app.requests == [("SOCKET", "", b"ab")]


async def test_a_request_that_uvicorn_does_not_upgrade_stays_guarded() -> None:
    opens = HANDSHAKE.replace(b"/s", b"/a")
    served = GuardedApp(NotingApp(), ws="none")
    connection, wire = served.connect()
    await served.say(connection, opens, get("/b"), b"GET /c HTTP/1.1\r\na: " + b"b" * 33_000)
    assert [target for _, target, _ in served.app.requests] == ["/a", "/b"]
    assert statuses(wire) == [200, 200, 431]
    other, slow = served.connect()
    await served.say(other, opens, b"GET /c HT")
    await served.wait(10)
    assert statuses(slow) == [200, 408]


KEY = b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
VERSION = b"sec-websocket-version: 13\r\n"


@pytest.mark.parametrize(
    ("field", "sent"),
    [
        (KEY, b""),
        (KEY, b"sec-websocket-key: a\r\n"),
        (KEY, b"sec-websocket-key:\r\n"),
        (KEY, KEY + KEY),
        (KEY, KEY.replace(b"==", b"==, a")),
        (VERSION, b""),
        (VERSION, VERSION.replace(b"13", b"8")),
        (VERSION, VERSION + VERSION),
        (VERSION, VERSION + b"sec-websocket-protocol: a b\r\n"),
        (VERSION, VERSION + b'Sec-WebSocket-Protocol: a, "b"\r\n'),
        (VERSION, VERSION + b"Sec-WebSocket-Protocol: " + b"a," * 512 + b"b\r\n"),
        (VERSION, VERSION + (b"Sec-WebSocket-Protocol: " + b"a," * 257 + b"\r\n") * 2),
    ],
)
async def test_a_handshake_that_opens_no_websocket_gets_an_answer_of_ours(
    field: bytes, sent: bytes
) -> None:
    served = GuardedApp(NotingApp())
    connection, wire = served.connect()
    assert field in HANDSHAKE
    await served.say(connection, HANDSHAKE.replace(field, sent))
    head, _, body = wire.written.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"\r\nsec-websocket-version: 13" in head
    assert json.loads(body)["errors"][0]["extensions"] == extensions_of("BAD_REQUEST")
    assert (served.app.requests, served.gate.ends) == ([], {EndReason.MALFORMED: 1})


@pytest.mark.parametrize("protocols", [b"a", b"a, b", b"a ,b,", b",a\t,, b", b"a," * 512])
async def test_a_handshake_names_protocols_as_a_list(protocols: bytes) -> None:
    served = GuardedApp(NotingApp())
    connection, wire = served.connect()
    named = b"Sec-WebSocket-Protocol: " + protocols + b"\r\n"
    await served.say(connection, HANDSHAKE.replace(KEY, KEY + named))
    assert statuses(wire) == [101]


async def test_a_repeated_head_is_handed_on_like_the_first() -> None:
    served = GuardedApp(NotingApp())
    connection, wire = served.connect()
    for body in (b"abc", b"def", b"ghij", b"klmn"):
        await served.say(connection, post(body, "upgrade: h2c"))
    assert [body for *_, body in served.app.requests] == [b"abc", b"def", b"ghij", b"klmn"]
    names = [[name for name, _ in fields] for fields in served.app.fields]
    assert names == [[b"host", b"content-length"]] * 4
    assert statuses(wire) == [200] * 4


async def test_unknown_methods_leave_the_log_alone(caplog: pytest.LogCaptureFixture) -> None:
    served = GuardedApp(NotingApp())
    for method in ("GRAPHQL", "A", "PRI", "DESCRIBE", "PLAY", "FLUSH", "GETS"):
        connection, wire = served.connect()
        await served.say(connection, get().replace(b"GET", method.encode()))
        assert statuses(wire) == [405]
        assert b"\r\nallow: GET, HEAD, POST, OPTIONS\r\n" in wire.written
        assert b'"code":"METHOD_NOT_ALLOWED"' in wire.written
    assert (served.app.requests, caplog.records) == ([], [])


async def test_known_methods_reach_the_application(caplog: pytest.LogCaptureFixture) -> None:
    served = GuardedApp(NotingApp())
    methods = re.findall("[A-Z-]+", _METHODS.decode())
    assert len(methods) == 34
    for method in methods:
        connection, wire = served.connect()
        await served.say(connection, get().replace(b"GET", method.encode()))
        assert statuses(wire) == [200]
    assert [method for method, *_ in served.app.requests] == methods
    assert caplog.records == []


async def test_a_websocket_that_sends_before_it_is_open_is_not_read_without_end() -> None:
    served = GuardedApp(NotingApp(holds=True))
    connection, wire = served.connect()
    await served.say(connection, HANDSHAKE, FRAME * (PAUSE_BYTES // len(FRAME) + 1))
    assert not wire.is_reading_now
    served.app.may_answer.set()
    await until(lambda: wire.is_reading_now)


@pytest.mark.parametrize(
    ("pieces", "status"),
    [
        ([b"GET / HTTP/1.1\r\na: " + b"b" * 33_000], 431),
        ([b"GET / HTTP/1.1\r\na: ", *[b"b" * 1_000] * 40], 431),
        ([b"GET / HTTP/1.1\r\n", *[b"a: b\r\n" * 10] * 11], 431),
        ([b"GET / HTTP/1.1\r\n", *[b"a: b\r\n" for _ in range(101)]], 431),
        ([b"\x16\x03\x01"], 400),
        ([b"SSH-2.0-OpenSSH_9.9\n"], 400),
        ([b"GET / HTTP/1.1\n"], 400),
        ([b"GET / HTTP/1.1\r\nhost: a\n\n"], 400),
        ([b"\r\n"] * (MAX_EMPTY_LINES + 1), 400),
        ([b"\r\n" * 100_000], 400),
        ([b"\n"], 400),
        ([get("/a", "a : b")], 400),
        ([b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nx\r\n"], 400),
        ([b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\naXX"], 400),
    ],
)
async def test_a_bad_request_is_refused_once_and_its_rest_dropped(
    pieces: list[bytes], status: int
) -> None:
    served = GuardedApp(NotingApp())
    connection, wire = served.connect()
    await served.say(connection, *pieces, get("/b"))
    assert served.app.requests == []
    assert statuses(wire) == [status]
    assert b"connection: close\r\n" in wire.written
    assert (wire.has_ended_writing, wire.is_open, served.gate.held_bytes) == (True, True, 0)
    await served.say(connection, b"a" * (LINGER_BYTES + 1))
    assert wire.was_aborted


async def test_an_answer_that_has_begun_is_not_followed_by_a_refusal() -> None:
    served = GuardedApp(NotingApp(ignores_bodies=True, holds=True))
    connection, wire = served.connect()
    await served.say(connection, b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n")
    served.app.may_answer.set()
    await served.settle()
    assert statuses(wire) == [200]
    await served.say(connection, b"x\r\n")
    assert statuses(wire) in ([200], [200, 400])
    assert not wire.is_open or wire.has_ended_writing


async def test_the_application_learns_that_a_refused_client_is_gone() -> None:
    served = GuardedApp(NotingApp())
    connection, _ = served.connect()
    await served.say(connection, b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\na")
    await served.say(connection, b"XX")
    assert (served.app.requests, served.app.left) == ([], 1)
