"""Pages that are requested in rows and never read hold few bytes, and keep nobody waiting."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.server.hostile.attacked_server import AttackedServer, open_attacked_server
from tests.server.hostile.raw_connection import Talk, address_of
from tests.server.hostile.test_few_places import PATIENT
from tests.server.hostile.test_hostile_connections import HEALTH, read_all, statuses
from tests.support.patience import HUNG_SECONDS, wait_until

pytestmark = pytest.mark.runs_together("unread pages")

ROW = 100
CROWD = 200
PAGE = b"GET /graphiql HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
LAST = PAGE[:-2] + b"connection: close\r\n\r\n"
UNSENT_BYTES = 512 * 1024
"""More than the server and the system keep for a client that reads nothing."""


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedServer]:
    with open_attacked_server(tmp_path_factory.mktemp("pages"), PATIENT) as at:
        yield at


@contextmanager
def unread(at: AttackedServer, count: int) -> Iterator[list[socket.socket]]:
    """Open connections that request a row of pages each, and read nothing."""
    with ExitStack() as held:
        opened = []
        for _ in range(count):
            one = held.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            one.settimeout(HUNG_SECONDS)
            one.connect(address_of(at.url))
            one.sendall(PAGE * (ROW - 1) + LAST)
            opened.append(one)
        yield opened


def kept_bytes(at: AttackedServer, one: socket.socket) -> int:
    """Return the bytes that the system keeps for this client of the server."""
    ports = f"{address_of(at.url)[1]:04X}", f"{one.getsockname()[1]:04X}"
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, remote, _, queues, *_ = line.split()
        if (local[-4:], remote[-4:]) == ports:
            return int(queues.partition(":")[0], 16)
    return 0


def test_pages_are_not_written_to_a_client_that_does_not_read(target: AttackedServer) -> None:
    with unread(target, 1) as (one,):
        wait_until(lambda: kept_bytes(target, one) > 0)
        with Talk(target.url) as probe:
            probe.say(HEALTH * 100)
            assert [probe.reply().status for _ in range(100)] == [200] * 100
        assert kept_bytes(target, one) < UNSENT_BYTES
        heard = read_all(one)
    assert statuses(heard) == [200] * ROW
    assert len(heard) > UNSENT_BYTES


def test_health_is_told_while_a_crowd_reads_no_pages(target: AttackedServer) -> None:
    with unread(target, CROWD) as opened:
        for _ in range(20):
            with Talk(target.url) as probe:
                probe.say(HEALTH)
                assert probe.reply().json == {"status": "up"}
        assert all(kept_bytes(target, one) < UNSENT_BYTES for one in opened[::20])
