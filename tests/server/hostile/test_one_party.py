"""One caller cannot take all places of a server, whatever the caller lets it wait for."""

import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.server.hostile.attacked_server import AttackedServer, open_attacked_server
from tests.server.hostile.harm_checks import assert_good_request_is_served, write_offence
from tests.server.hostile.headers import head
from tests.server.hostile.raw_connection import Talk
from tests.server.hostile.test_few_places import PATIENT
from tests.server.hostile.test_hostile_connections import HEAD, HEALTH, many, write_handshake
from tests.server.hostile.test_transfers import FORM, LARGE, ask, write_form
from tests.support.patience import wait_until

pytestmark = pytest.mark.runs_together("one party")

PLACES, CROWD = 12, 40
EVENTS = HEAD.replace(b"/graphql", b"/events/s3")
QUERY = b'{"query":"{viewer{userId}}"}'
BEGUN = b"content-length: 900\r\n\r\n{"
STREAM = b"accept: text/event-stream\r\n"


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedServer]:
    """A server with few places and no haste."""
    cap = {"PENSTOCK_MAX_CONNECTIONS": str(PLACES)}
    with open_attacked_server(tmp_path_factory.mktemp("party"), PATIENT | cap) as at:
        yield at


def bearer(token: str) -> bytes:
    return f"authorization: Bearer {token}\r\n".encode()


def other_token(at: AttackedServer) -> str:
    """Return the token of a caller who is not the one that the server must serve."""
    return at.secrets[0]


def assert_others_are_served(at: AttackedServer) -> None:
    for _ in range(3):
        with Talk(at.url) as probe:
            probe.say(HEALTH)
            assert probe.reply().json == {"status": "up"}
        with Talk(at.url) as talk:
            assert_good_request_is_served(talk, at)


def assert_crowd_locks_nobody_out(at: AttackedServer, raw: bytes) -> None:
    """Let a crowd fall silent after these bytes; others are served."""
    with many(at, CROWD, raw):
        assert_others_are_served(at)


@pytest.mark.parametrize("begun", [HEAD, EVENTS, HEAD + STREAM], ids=["json", "s3", "stream"])
def test_slow_bodies_of_one_caller_lock_nobody_out(begun: bytes, few: AttackedServer) -> None:
    assert_crowd_locks_nobody_out(few, begun + bearer(other_token(few)) + BEGUN)


def count_answers(opened: list[socket.socket]) -> Counter[bytes]:
    """Count the statuses of the answers that have come, without taking them."""
    found: Counter[bytes] = Counter()
    for one in opened:
        one.setblocking(False)
        with suppress(BlockingIOError):
            found[one.recv(12, socket.MSG_PEEK)] += 1
    return found


def test_a_caller_uses_half_of_the_places_and_the_rest_is_told_so(few: AttackedServer) -> None:
    with many(few, PLACES, HEAD + bearer(few.token) + BEGUN) as opened:
        wait_until(lambda: count_answers(opened) == {b"HTTP/1.1 429": PLACES // 2})
        raw = HEAD + bearer(other_token(few)) + b"content-length: %d\r\n\r\n" % len(QUERY) + QUERY
        with Talk(few.url) as talk:
            talk.say(raw)
            assert talk.reply().json == {"data": {"viewer": {"userId": "them"}}}
    wait_until(lambda: is_served(few))


def is_served(at: AttackedServer) -> bool:
    with Talk(at.url) as talk:
        talk.say(write_offence(head("again", 200, ""), at))
        return talk.reply().status == 200


def test_handshakes_of_one_caller_lock_nobody_out(few: AttackedServer) -> None:
    handshake = write_handshake(few)
    shown = handshake[:-2] + bearer(other_token(few)) + b"\r\n"
    assert bearer(other_token(few)) in shown
    assert_crowd_locks_nobody_out(few, shown)


def test_slow_bodies_of_two_callers_lock_nobody_out(few: AttackedServer) -> None:
    mine, theirs = (HEAD + bearer(one) + BEGUN for one in (few.token, other_token(few)))
    with many(few, CROWD, theirs), many(few, PLACES // 4, mine):
        assert_others_are_served(few)


def test_slow_uploads_beside_slow_bodies_lock_nobody_out(few: AttackedServer) -> None:
    unfinished = write_form(ask(few, FORM)["upload"]["form"], LARGE[:70_000])
    bodies = HEAD + bearer(other_token(few)) + BEGUN
    for cut in (10, 69_000, 70_200):
        with many(few, CROWD, bodies), many(few, CROWD, unfinished[:-cut]):
            assert_others_are_served(few)
