"""Strangers who wait for anything at all keep nobody out, however few places there are."""

from collections.abc import Iterator

import pytest

from tests.server.hostile.attacked_server import AttackedServer, open_attacked_server
from tests.server.hostile.test_hostile_connections import (
    HEAD,
    INNER,
    UNFINISHED,
    assert_others_are_served,
    many,
    write_handshake,
)
from tests.support.patience import wait_until

pytestmark = pytest.mark.runs_together("few places")

PATIENT = {
    "PENSTOCK_HEAD_SECONDS": "600",
    "PENSTOCK_IDLE_SECONDS": "600",
    "PENSTOCK_STALL_SECONDS": "600",
    "PENSTOCK_BODY_READ_SECONDS": "600",
    "PENSTOCK_STREAM_INIT_SECONDS": "600",
    "PENSTOCK_MAX_UNPROVEN_STREAMS": "1000",
}
BEGUN = b"content-type: application/json\r\ncontent-length: 900\r\n\r\n{"
FORM = b"content-type: multipart/form-data; boundary=a\r\ncontent-length: 9000000\r\n\r\n--a\r\n"
WAITS = {
    "silent": b"",
    "in a head": UNFINISHED,
    "a body without a token": HEAD + BEGUN,
    "an upload that is refused": b"POST /files/abc HTTP/1.1\r\nhost: 127.0.0.1\r\n" + FORM,
    "a code that never comes": b"POST /dev/session HTTP/1.1\r\nhost: 127.0.0.1\r\n" + BEGUN,
}


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedServer]:
    """A server with 256 descriptors and no haste."""
    with open_attacked_server(tmp_path_factory.mktemp("few"), PATIENT, (128, 256)) as at:
        assert at.descriptor_limits() == (256, 256)
        yield at


@pytest.mark.parametrize("wait", WAITS)
def test_256_descriptors_suffice_against_400_strangers(wait: str, few: AttackedServer) -> None:
    with many(few, 400, WAITS[wait]):
        for _ in range(3):
            assert_others_are_served(few)


def test_256_descriptors_suffice_against_400_silent_websockets(few: AttackedServer) -> None:
    with many(few, 400, write_handshake(few)):
        for _ in range(3):
            assert_others_are_served(few)


def is_served(at: AttackedServer) -> bool:
    try:
        assert_others_are_served(at)
    except (AssertionError, OSError):
        return False
    return True


def test_strangers_who_do_not_read_keep_nobody_out(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    directory = tmp_path_factory.mktemp("unread")
    cap = {"PENSTOCK_MAX_CONNECTIONS": "5"}
    with open_attacked_server(directory, PATIENT | cap) as at, many(at, 40, INNER * 1_000):
        # A stranger is known as one who does not read when an answer has waited for a while.
        wait_until(lambda: is_served(at))
        for _ in range(3):
            assert_others_are_served(at)
