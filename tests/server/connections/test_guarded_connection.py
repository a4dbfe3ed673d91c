"""A guarded connection hands on each request once, and ends clients that wait too long."""

import asyncio
import itertools
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.server.connections.connection import LINGER_BYTES, MAX_EMPTY_LINES, PAUSE_BYTES
from penstock.server.connections.gate import RESERVE, Stage
from tests.server.connections.wire import ANSWER, GuardedApp, NotingApp, Wire, get, in_chunks, post
from tests.support.patience import until

OK = b"HTTP/1.1 200 OK"
HANDSHAKE = get(
    "/s",
    "connection: Upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
)
FRAME = bytes.fromhex("8182 00000000") + b"ab"
"""A text of two letters, masked by zeros."""


def statuses(wire: Wire) -> list[int]:
    return [int(part[1:4]) for part in wire.written.split(b"HTTP/1.1")[1:]]


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


@pytest.mark.parametrize("opens", [get("/a", "upgrade: websocket", "connection: upgrade")])
async def test_a_request_that_uvicorn_does_not_upgrade_stays_guarded(opens: bytes) -> None:
    served = GuardedApp(NotingApp(), ws="none")
    connection, wire = served.connect()
    await served.say(connection, opens, get("/b"), b"GET /c HTTP/1.1\r\na: " + b"b" * 33_000)
    assert [target for _, target, _ in served.app.requests] == ["/a", "/b"]
    assert statuses(wire) == [200, 200, 431]
    other, slow = served.connect()
    await served.say(other, opens, b"GET /c HT")
    await served.wait(10)
    assert statuses(slow) == [200, 408]


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


async def test_a_client_has_ten_seconds_for_its_first_head() -> None:
    served = GuardedApp(NotingApp())
    (_, silent), (dripping, slow), (other, good) = (served.connect() for _ in range(3))
    await served.say(dripping, b"GET / HT")
    await served.wait(6)
    await served.say(dripping, b"TP/1.1\r\n")
    await served.say(other, get())
    await served.wait(5)
    assert (silent.is_open, silent.written) == (False, b"")
    assert (statuses(slow), slow.has_ended_writing) == ([408], True)
    assert (statuses(good), good.is_open) == ([200], True)
    await served.wait(3)
    assert slow.was_aborted


async def test_a_later_head_has_ten_seconds_from_its_first_byte() -> None:
    served = GuardedApp(NotingApp())
    connection, wire = served.connect()
    await served.say(connection, get())
    await served.wait(60)
    await served.say(connection, b"GET / HT")
    await served.wait(9)
    await served.say(connection, b"TP/1.1\r\n")
    assert wire.is_open
    await served.wait(1)
    assert statuses(wire) == [200, 408]


async def test_the_head_behind_a_pipelined_request_has_ten_seconds_too() -> None:
    served = GuardedApp(NotingApp())
    connection, wire = served.connect()
    await served.say(connection, get() + b"GET / HT")
    await served.wait(10)
    assert statuses(wire) == [200, 408]


async def test_a_connection_between_requests_is_closed_after_its_idle_time() -> None:
    served = GuardedApp(NotingApp())
    connection, wire = served.connect()
    for _ in range(3):
        await served.say(connection, get())
        await served.wait(74)
        assert wire.is_open
    await served.wait(1)
    assert (wire.is_open, wire.was_aborted) == (False, False)


async def test_a_body_that_ends_after_its_answer_leaves_the_idle_time_running() -> None:
    served = GuardedApp(NotingApp(ignores_bodies=True))
    connection, wire = served.connect()
    await served.say(connection, post(b"", length="10") + b"12345")
    assert statuses(wire) == [200]
    await served.wait(9)
    await served.say(connection, b"67890")
    await served.wait(74)
    await served.say(connection, get("/b"))
    assert served.app.requests == [("POST", "/a", b""), ("GET", "/b", b"")]
    await served.wait(75)
    assert not wire.is_open


async def test_a_body_that_goes_on_after_its_answer_ends_its_connection() -> None:
    served = GuardedApp(NotingApp(ignores_bodies=True))
    connection, wire = served.connect()
    await served.say(connection, post(b"", length="999999"))
    for _ in range(9):
        await served.wait(1)
        await served.say(connection, b"a")
    assert wire.is_open
    await served.wait(1)
    assert wire.was_aborted


async def test_a_body_may_be_slow_but_not_stand_still() -> None:
    served = GuardedApp(NotingApp())
    connection, wire = served.connect()
    await served.say(connection, post(b"", length="10"))
    for _ in range(3):
        await served.wait(59)
        await served.say(connection, b"a")
    assert wire.is_open
    await served.wait(60)
    assert wire.was_aborted


async def test_a_body_that_the_application_does_not_read_stands_still_by_its_wish() -> None:
    served = GuardedApp(NotingApp(ignores_bodies=True, holds=True))
    connection, wire = served.connect()
    await served.say(connection, post(b"", length="900000"), b"a" * 100_000)
    assert not wire.is_reading_now
    await served.wait(60)
    await served.wait(60)
    assert wire.is_open


async def test_a_client_that_reads_nothing_is_let_go() -> None:
    served = GuardedApp(NotingApp())
    connection, wire = served.connect()
    wire.unread = 100_000
    connection.pause_writing()
    for _ in range(4):
        await served.say(connection, get())
        wire.unread -= 1
        await served.wait(60)
        assert not wire.was_aborted
    await served.say(connection, get())
    assert wire.socket.options == []
    await served.wait(60)
    assert wire.was_aborted
    assert wire.socket.options == [(socket.SOL_SOCKET, socket.SO_LINGER)]


async def test_a_client_that_reads_again_is_not_let_go() -> None:
    served = GuardedApp(NotingApp())
    connection, wire = served.connect()
    wire.unread = 100_000
    connection.pause_writing()
    await served.wait(5)
    connection.resume_writing()
    await served.say(connection, get())
    await served.wait(60)
    assert wire.is_open


async def test_a_closed_connection_whose_client_reads_nothing_is_let_go() -> None:
    served = GuardedApp(NotingApp())
    connection, wire = served.connect()
    wire.unread = 5
    await served.say(connection, get("/a", "connection: close"))
    assert (wire.is_open, wire.was_aborted) == (False, False)
    await served.wait(60)
    assert wire.was_aborted


async def test_silent_connections_make_room_for_new_ones() -> None:
    served = GuardedApp(NotingApp(), most=40)
    wires = [served.connect()[1] for _ in range(39)]
    idle, idle_wire = served.connect()
    await served.say(idle, get())
    new = [served.connect() for _ in range(10)]
    assert [wire.was_aborted for wire in wires] == [True] * 10 + [False] * 29
    for connection, wire in new:
        await served.say(connection, get())
        assert statuses(wire) == [200]
    assert idle_wire.is_open
    assert len(served.gate) == 40


async def test_requests_beyond_the_cap_are_refused_but_those_for_health() -> None:
    served = GuardedApp(NotingApp(holds=True), most=3)
    for _ in range(3):
        await served.say(served.connect()[0], get())
    (one, refused), (other, probe) = served.connect(), served.connect()
    await served.say(one, get())
    assert statuses(refused) == [503]
    assert b"retry-after: 1\r\n" in refused.written
    await served.say(other, get("/healthz"))
    served.app.may_answer.set()
    await served.settle()
    assert (statuses(probe), probe.is_open) == ([200], False)
    assert served.app.requests == [("GET", "/a", b"")] * 3 + [("GET", "/healthz", b"")]


async def test_the_places_of_health_probes_are_bounded() -> None:
    served = GuardedApp(NotingApp(holds=True), most=3)
    for _ in range(3 + RESERVE):
        connection, _ = served.connect()
        await served.say(connection, get("/healthz"))
    _, wire = served.connect()
    assert statuses(wire) == [503]
    assert len(served.app.requests) == 3 + RESERVE


async def test_heads_that_never_end_share_a_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.server.connections.gate.MAX_HELD_BYTES", 100_000)
    served = GuardedApp(NotingApp())
    wires = []
    for _ in range(10):
        connection, wire = served.connect()
        await served.say(connection, b"GET / HTTP/1.1\r\na: " + b"b" * 29_981)
        wires.append((connection, wire))
    assert [wire.is_open for _, wire in wires] == [False] * 7 + [True] * 3
    for connection, _ in wires[:7]:
        served.lose(connection)
    assert served.gate.held_bytes == 90_000


async def test_floods_whose_answers_are_not_read_share_a_bounded_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("penstock.server.connections.gate.MAX_HELD_BYTES", 100_000)
    served = GuardedApp(NotingApp(holds=True))
    wires = []
    for _ in range(5):
        connection, wire = served.connect()
        await served.say(connection, get())
        connection.pause_writing()
        await served.say(connection, get("/b") * 1_000)
        wires.append(wire)
    assert [wire.was_aborted for wire in wires] == [True, True, False, False, False]
    assert served.gate.held_bytes == 3 * 1_000 * len(get("/b"))


async def test_lost_connections_leave_nothing_behind() -> None:
    served = GuardedApp(NotingApp(holds=True))
    raws = (b"", b"GET / HT", get(), post(b"", length="5"), HANDSHAKE, b"\0", get() + b"GET")
    for raw in raws:
        connection, _ = served.connect()
        if raw:
            connection.data_received(raw)
        await asyncio.sleep(0)
        served.lose(connection)
    served.app.may_answer.set()
    await served.settle()
    await served.wait(100)
    assert (len(served.gate), served.gate.held_bytes) == (0, 0)
    assert [len(line) for line in served.gate._lines] == [0] * len(Stage)
    assert served.state.connections == set()


async def test_the_listener_for_administration_has_its_own_places_and_paths() -> None:
    served = GuardedApp(NotingApp(), most=1, admin_port=9)
    connection, wire = served.connect(port=9)
    for target in ("/healthz", "/readyz", "/metrics", "/graphql", "/", "/healthz/a"):
        await served.say(connection, get(target))
    assert statuses(wire) == [200, 200, 200, 404, 404, 404]
    assert [target for _, target, _ in served.app.requests] == ["/healthz", "/readyz", "/metrics"]
    assert len(served.gate) == 0
    assert wire.written.count(ANSWER) == 3
