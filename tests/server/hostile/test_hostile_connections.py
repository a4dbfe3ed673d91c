"""Hostile connections of strangers: they end, and other clients are served meanwhile."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import NoReturn

import pytest

from tests.server.hostile.attacked_server import AttackedServer, open_attacked_server
from tests.server.hostile.harm_checks import (
    assert_good_request_is_served,
    assert_loop_goes_on,
    assert_nothing_leaks,
    write_offence,
)
from tests.server.hostile.headers import head
from tests.server.hostile.raw_connection import Conversation, Talk, address_of
from tests.server.hostile.stream_messages import HANDSHAKES, INIT, frame, subscribes
from tests.support.patience import HUNG_SECONDS

pytestmark = pytest.mark.runs_together("hostile connections")

CAP = 60
MEBI = 2**20
SHORT = {
    "PENSTOCK_HEAD_SECONDS": "1",
    "PENSTOCK_IDLE_SECONDS": "1",
    "PENSTOCK_STALL_SECONDS": "1",
    "PENSTOCK_MAX_CONNECTIONS": str(CAP),
    "PENSTOCK_ADMIN_PORT": "0",
}
LONG = {f"PENSTOCK_{name}_SECONDS": "1000" for name in ("BODY_READ", "HEAD", "IDLE", "STALL")}
HEAD = b"POST /graphql HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n"
INNER = b"GET /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
UNFINISHED = b"GET / HTTP/1.1\r\nhost: a\r\na: " + b"b" * 30_000


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedServer]:
    with open_attacked_server(tmp_path_factory.mktemp("connections"), SHORT) as found:
        yield found


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedServer]:
    """A server for connections that live on: on a busy machine a second passes between two bytes.

    The other one ends what falls silent.
    """
    with open_attacked_server(tmp_path_factory.mktemp("patient"), SHORT | LONG) as found:
        yield found


def statuses(heard: bytes) -> list[int]:
    return [int(part[1:4]) for part in heard.split(b"HTTP/1.1")[1:]]


def heard_after(at: AttackedServer, *pieces: bytes, ends: bool = False) -> bytes:
    """Send the pieces over one connection; return all that is heard until it closes."""
    with Talk(at.url) as talk:
        for piece in pieces:
            talk.say(piece)
            if not talk.open:
                break
        if ends:
            talk.end()
        # A client that was cut off while it sent may still read why.
        talk.open = True
        heard = talk.rest()
        assert_nothing_leaks(heard, at)
        return heard


@contextmanager
def many(at: AttackedServer, count: int, raw: bytes = b"") -> Iterator[list[socket.socket]]:
    """Open connections that send the bytes, or nothing, and then fall silent."""
    with ExitStack() as held:
        opened = []
        for _ in range(count):
            one = held.enter_context(socket.create_connection(address_of(at.url), HUNG_SECONDS))
            with suppress(ConnectionError):
                one.sendall(raw)
            opened.append(one)
        yield opened


def read_all(one: socket.socket) -> bytes:
    """Read the connection to its end, which the server makes."""
    heard = bytearray()
    with suppress(ConnectionResetError):
        while piece := one.recv(MEBI):
            heard += piece
    return bytes(heard)


def assert_all_end(opened: list[socket.socket]) -> None:
    for one in opened:
        read_all(one)


def assert_others_are_served(at: AttackedServer) -> None:
    with Talk(at.url) as talk:
        talk.say(HEALTH)
        assert talk.reply().json == {"status": "up"}
    # An idle connection may end when places are short, as this one would be now.
    with Talk(at.url) as talk:
        assert_good_request_is_served(talk, at)


REFUSED: dict[str, tuple[int, list[bytes]]] = {
    "a head of 4 MB": (431, [HEAD + b"accept: " + b"a/b," * MEBI]),
    "a million lines": (431, [HEAD + b"a: b\r\n" * 1_000_000]),
    "a line of 4 MB": (431, [b"GET /" + b"a" * 4 * MEBI]),
    "a head in drops": (431, [HEAD + b"a: ", *[b"b" * 100] * 400]),
    "lines in drops": (431, [HEAD, *[b"a: b\r\n"] * 120]),
    "empty lines without end": (400, [*[b"\r\n" * 1_000] * 100]),
    "an extension without end": (400, [CHUNKED + b"1;" + b"a" * 4 * MEBI]),
    "extensions without end": (400, [CHUNKED, *[b"1;" + b"a" * 900 + b"\r\n \r\n"] * 100]),
    "a trailer without end": (400, [CHUNKED + b"0\r\na: " + b"b" * 4 * MEBI]),
    "trailers without end": (400, [CHUNKED + b"0\r\n", b"a: b\r\n" * 1_000_000]),
    "a length and chunks": (400, [HEAD + b"content-length: 5\r\n" + CHUNKED[len(HEAD) :] + INNER]),
    "chunks and a length": (400, [CHUNKED[:-2] + b"content-length: 5\r\n\r\n0\r\n\r\n" + INNER]),
    "two lengths": (400, [HEAD + b"content-length: 5\r\ncontent-length: 50\r\n\r\n" + INNER]),
    "two codings": (400, [CHUNKED[:-2] + b"transfer-encoding: identity\r\n\r\n0\r\n\r\n" + INNER]),
    "a coding in disguise": (
        400,
        [HEAD + b"transfer-encoding: \x0bchunked\r\n\r\n0\r\n\r\n" + INNER],
    ),
    "a folded length": (400, [HEAD + b"content-length:\r\n 5\r\n\r\n" + INNER]),
    "a space before the colon": (400, [HEAD + b"content-length : 44\r\n\r\n" + INNER]),
    "a bare line feed": (400, [HEAD + b"a: b\ncontent-length: 44\r\n\r\n" + INNER]),
    "a bare carriage return": (400, [HEAD + b"a: b\rcontent-length: 44\r\n\r\n" + INNER]),
    "a zero": (400, [HEAD + b"a\0: b\r\n\r\n" + INNER]),
    "a bare line feed behind a chunk": (400, [CHUNKED + b"0\n\r\n" + INNER]),
    "a tunnel": (400, [b"CONNECT a:80 HTTP/1.1\r\nhost: a:80\r\n\r\n" + INNER]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_stream_is_refused_once(name: str, target: AttackedServer) -> None:
    status, pieces = REFUSED[name]
    answered = [status], [401]

    def attack() -> None:
        heard = heard_after(target, *pieces)
        # A stranger's chunks may be answered before they end.
        assert statuses(heard) in (answered if pieces[0].startswith(CHUNKED) else answered[:1])
        assert_others_are_served(target)

    assert_loop_goes_on(target, attack)


@pytest.mark.parametrize("times", [1, 8])
@pytest.mark.parametrize("path", ["/graphql", "/v2/notify", "/nowhere", "/files/a", "/healthz"])
def test_chunks_of_one_byte_are_not_read_to_their_end(
    path: str, times: int, target: AttackedServer
) -> None:
    raw = CHUNKED.replace(b"/graphql", path.encode()) + b"1\r\na\r\n" * 400_000

    def attack() -> None:
        with many(target, times, raw) as opened:
            assert_others_are_served(target)
            for one in opened:
                assert len(statuses(read_all(one))) <= 1
        assert_others_are_served(target)

    assert_loop_goes_on(target, attack)


@pytest.mark.parametrize(
    ("count", "raw"),
    [(400, b""), (400, b"GET / HT"), (400, HEALTH), (400, UNFINISHED), (400, INNER + b"GET")],
    ids=["silent", "in a head", "idle", "in a large head", "behind a request"],
)
def test_silent_connections_beyond_the_cap_lock_nobody_out(
    count: int, raw: bytes, target: AttackedServer
) -> None:
    def attack() -> None:
        with many(target, count, raw) as opened:
            assert_others_are_served(target)
            assert_all_end(opened)
        assert_others_are_served(target)

    assert_loop_goes_on(target, attack)


def test_heads_that_never_end_take_no_memory(target: AttackedServer) -> None:
    before = target.resident_bytes()
    for _ in range(5):
        assert statuses(heard_after(target, b"GET / HTTP/1.1\r\n", *[b"a" * MEBI] * 60)) == [431]
    with many(target, 300, UNFINISHED) as opened:
        assert target.resident_bytes() - before < 40 * MEBI
        assert_all_end(opened)


def test_a_head_that_stops_gets_408(target: AttackedServer) -> None:
    assert statuses(heard_after(target, b"GET / HTTP/1.1\r\nhost")) == [408]
    assert statuses(heard_after(target, HEALTH, b"GET / HT")) == [200, 408]
    assert heard_after(target) == b""


def test_a_connection_that_is_idle_is_closed(target: AttackedServer) -> None:
    assert statuses(heard_after(target, HEALTH)) == [200]
    late = HEAD + b"content-length: 9\r\n\r\n"
    assert statuses(heard_after(target, late, b"123456789")) == [401]


def test_a_body_that_nobody_reads_ends_its_connection(target: AttackedServer) -> None:
    with Talk(target.url) as talk:
        talk.say(CHUNKED)
        assert talk.reply().status == 401
        while talk.open:
            talk.say(b"1\r\na\r\n")
            time.sleep(0.01)
    assert_others_are_served(target)


def test_a_request_names_one_host(target: AttackedServer) -> None:
    for first, fields, status in (
        ("GET /healthz HTTP/1.1", "", 400),
        ("GET /healthz HTTP/1.0", "", 200),
        ("GET /healthz HTTP/1.1", "host: a\r\nhost: a\r\n", 400),
        ("GET http://b/healthz HTTP/1.1", "host: a\r\n", 400),
        ("GET http://a/healthz HTTP/1.1", "host: a\r\n", 200),
    ):
        with Talk(target.url) as talk:
            talk.say(f"{first}\r\n{fields}\r\n".encode())
            assert talk.reply().status == status, (first, fields)


def test_a_client_that_stops_sending_has_left(target: AttackedServer) -> None:
    for raw in (b"GET / HT", HEAD + b"content-length: 9\r\n\r\n1", CHUNKED + b"5\r\na"):
        assert statuses(heard_after(target, raw, ends=True)) in ([], [401])
    assert_others_are_served(target)


def test_single_bytes_make_a_request(patient: AttackedServer) -> None:
    raw = write_offence(head("dripped", 200, "userId"), patient)

    def attack() -> None:
        with Talk(patient.url) as talk:
            for at in range(len(raw)):
                talk.say(raw[at : at + 1])
            assert talk.reply().json == {"data": {"viewer": {"userId": "me"}}}
            assert_good_request_is_served(talk, patient)

    assert_loop_goes_on(patient, attack)


def test_a_flood_in_one_piece_is_answered_in_turn(patient: AttackedServer) -> None:
    count = 3_000

    def attack() -> None:
        with Talk(patient.url) as talk:
            talk.say(HEALTH * count)
            assert_others_are_served(patient)
            assert {talk.reply().status for _ in range(count)} == {200}
            assert_good_request_is_served(talk, patient)

    assert_loop_goes_on(patient, attack)


def test_a_flood_whose_answers_are_not_read_ends(target: AttackedServer) -> None:
    def attack() -> None:
        before = target.resident_bytes()
        with socket.create_connection(address_of(target.url), HUNG_SECONDS) as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            # Large answers fill the buffers of the system soon.
            with pytest.raises(ConnectionError):
                send_without_end(one, INNER * 1_000)
        assert target.resident_bytes() - before < 40 * MEBI
        assert_others_are_served(target)

    assert_loop_goes_on(target, attack)


def send_without_end(one: socket.socket, raw: bytes) -> NoReturn:
    while True:
        one.sendall(raw)


UPGRADES = {
    "POST to HTTP/2": ("POST", "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\n"),
    "POST to a WebSocket": ("POST", "connection: Upgrade\r\nupgrade: websocket\r\n"),
    "PUT to a WebSocket": ("PUT", "connection: Upgrade\r\nupgrade: websocket\r\n"),
    "GET to a WebSocket": ("GET", "connection: Upgrade\r\nupgrade: websocket\r\n"),
    "GET to HTTP/2": ("GET", "connection: Upgrade\r\nupgrade: h2c\r\n"),
    "two": ("POST", "connection: Upgrade\r\nupgrade: h2c\r\nupgrade: websocket\r\n"),
    "capitals": ("POST", "CONNECTION: UPGRADE\r\nUPGRADE: WEBSOCKET\r\n"),
}


@pytest.mark.parametrize("name", UPGRADES)
def test_the_body_of_a_request_with_an_upgrade_is_no_other_request(
    name: str, patient: AttackedServer
) -> None:
    method, fields = UPGRADES[name]
    raw = (
        f"{method} /graphql HTTP/1.1\r\nhost: {patient.host}\r\n{fields}"
        f"content-length: {len(INNER)}\r\ncontent-type: application/json\r\n\r\n"
    )
    with Talk(patient.url) as talk:
        talk.say(raw.encode() + INNER)
        reply = talk.reply()
        assert reply.status in (401, 405)
        assert "upgrade" not in reply.headers
        assert_good_request_is_served(talk, patient)


def test_bytes_behind_a_handshake_are_frames_and_no_request(target: AttackedServer) -> None:
    with Talk(target.url) as talk:
        talk.say(write_handshake(target) + frame(b'{"type":"ping"}'))
        assert talk.reply().status == 101
        assert Conversation(talk).hear() == '{"type":"pong"}'
    heard = heard_after(target, write_handshake(target) + INNER)
    assert statuses(heard) == [101]


def test_what_a_client_does_to_its_own_websocket_is_not_logged(target: AttackedServer) -> None:
    assert statuses(heard_after(target, write_handshake(target) + frame(b"\xff"))) == [101]
    heard_after(target, write_handshake(target) + frame(b"\xff", final=False) + frame(b"\xff", 0))
    for _ in range(20):
        with Talk(target.url) as talk:
            talk.say(write_handshake(target))
    assert_others_are_served(target)
    text = target.log_text()
    assert "Traceback" not in text
    assert '"level":"error"' not in text


def test_frames_of_200_kb_before_authentication_hold_nothing(target: AttackedServer) -> None:
    def attack() -> None:
        with Talk(target.url) as talk:
            talk.say(write_handshake(target))
            assert talk.reply().status == 101
            for _ in range(5):
                talk.say(frame(b'{"type":"ping","payload":{"a":"%b"}}' % (b"a" * 200_000)))
            assert_others_are_served(target)
            talk.rest()

    assert_loop_goes_on(target, attack)


def test_bodies_of_strangers_above_64_kb_are_not_read(patient: AttackedServer) -> None:
    def attack() -> None:
        for size in (70_000, 900_000):
            raw = HEAD + b"content-length: %d\r\n\r\n" % size + b"[" * size
            with Talk(patient.url) as talk:
                talk.say(raw)
                assert talk.reply().status == 401
                assert_good_request_is_served(talk, patient)

    assert_loop_goes_on(patient, attack)


def write_handshake(at: AttackedServer) -> bytes:
    fields = "".join(
        f"{name}: {value}\r\n" for name, value in HANDSHAKES[0].headers if name != "origin"
    )
    return f"GET /graphql HTTP/1.1\r\nhost: {at.host}\r\n{fields}\r\n".encode()


@contextmanager
def busy(at: AttackedServer, each: int) -> Iterator[list[Conversation]]:
    """Hold so many sockets of each of two callers open."""
    with ExitStack() as held:
        talking = []
        for token in (at.token, at.secrets[0]) * each:
            talk = held.enter_context(Talk(at.url))
            shown = f"authorization: Bearer {token}\r\n\r\n".encode()
            talk.say(write_handshake(at)[:-2] + shown)
            assert talk.reply().status == 101
            talking.append(Conversation(talk))
            talking[-1].say(INIT)
            assert talking[-1].hear() == '{"type":"connection_ack"}'
        yield talking


def test_requests_beyond_the_cap_get_503_and_health_is_still_answered(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    patient = {
        "PENSTOCK_BODY_READ_SECONDS": "60",
        "PENSTOCK_STALL_SECONDS": "60",
        "PENSTOCK_MAX_CONNECTIONS": "4",
    }
    directory = tmp_path_factory.mktemp("full")
    with open_attacked_server(directory, SHORT | patient) as at, busy(at, 2) as talking:
        until_refused(at)
        with Talk(at.url) as probe:
            probe.say(HEALTH)
            assert probe.reply().json == {"status": "up"}
        for path in ("/healthz", "/readyz", "/metrics"):
            with Talk(at.admin_url) as probe:
                probe.say(f"GET {path} HTTP/1.1\r\nhost: {probe.host}\r\n\r\n".encode())
                assert probe.reply().status == 200
        with Talk(at.admin_url) as probe:
            probe.say(write_offence(head("at the other port", 404, ""), at))
            assert probe.reply().status == 404
        for conversation, user in zip(talking, ("me", "them") * 2, strict=True):
            conversation.say(subscribes("{ viewer { userId } }"))
            answer = conversation.hear()
            assert isinstance(answer, str)
            assert json.loads(answer)["payload"] == {"data": {"viewer": {"userId": user}}}


def until_refused(at: AttackedServer) -> None:
    """Send requests until all places are taken."""
    for _ in range(100):
        with Talk(at.url) as talk:
            talk.say(write_offence(head("one more", 200, ""), at))
            reply = talk.reply()
            if reply.status == 503:
                assert reply.headers["retry-after"] == "1"
                assert reply.json["errors"][0]["extensions"]["code"] == "SERVICE_UNAVAILABLE"
                return
    raise AssertionError("no request was refused")
