"""The bodies that are under way share a bounded memory, over real connections."""

import socket
from collections.abc import Iterator

import pytest

from tests.server.hostile.attacked_server import AttackedServer, open_attacked_server
from tests.server.hostile.raw_connection import Talk
from tests.server.hostile.test_few_places import PATIENT
from tests.server.hostile.test_hostile_connections import HEAD, many, read_all, statuses
from tests.server.hostile.test_one_party import QUERY, bearer, count_answers, other_token
from tests.support.patience import wait_until

pytestmark = pytest.mark.runs_together("bodies under way")

BYTES = 2_000_000
PART = 300_000
BEGUN = b"content-length: 900000\r\n\r\n" + b" " * PART
FITTING = BYTES // 2 // PART


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedServer]:
    """A server with little memory for bodies, and no haste."""
    bound = {"PENSTOCK_MAX_BODIES_BYTES": str(BYTES)}
    with open_attacked_server(tmp_path_factory.mktemp("bodies"), PATIENT | bound) as at:
        yield at


def count_refused(opened: list[socket.socket], status: bytes) -> int:
    return count_answers(opened)[b"HTTP/1.1 " + status]


def test_unfinished_bodies_of_one_caller_have_a_bound_and_others_are_served(
    small: AttackedServer,
) -> None:
    crowd = 4 * FITTING
    with many(small, crowd, HEAD + bearer(other_token(small)) + BEGUN) as opened:
        # The bytes of a refused one count until the application has dropped them, so that one more
        # may be refused meanwhile.
        wait_until(lambda: count_refused(opened, b"429") >= crowd - FITTING)
        raw = HEAD + bearer(small.token) + b"content-length: %d\r\n\r\n" % len(QUERY) + QUERY
        with Talk(small.url) as talk:
            talk.say(raw)
            assert talk.reply().json == {"data": {"viewer": {"userId": "me"}}}
        assert crowd - FITTING <= count_refused(opened, b"429") < crowd
        (refused, *_) = [one for one in opened if count_answers([one])]
        refused.setblocking(True)
        heard = read_all(refused)
        assert statuses(heard) == [429]
        assert b"connection: close\r\nretry-after: 1\r\n" in heard
        assert b'"code":"RATE_LIMITED"' in heard


def test_the_memory_of_bodies_is_free_when_their_clients_have_left(small: AttackedServer) -> None:
    raw = HEAD + bearer(small.token) + b"content-length: 900000\r\n\r\n"

    def is_served() -> bool:
        # The server hears of a client that has left when it reads, and refuses others until then.
        with Talk(small.url) as talk:
            talk.say(raw + b" " * (900_000 - len(QUERY)) + QUERY)
            answer = talk.reply()
        assert answer.status in (200, 429)
        return bool(answer.json == {"data": {"viewer": {"userId": "me"}}})

    for _ in range(3):
        with many(small, 2, raw + b" " * 450_000) as opened:
            assert count_answers(opened) == {}
        wait_until(is_served)
