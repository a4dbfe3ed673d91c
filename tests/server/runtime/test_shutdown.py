"""A stopping server: the requests it still answers, and its time limit."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPResponse
from pathlib import Path
from signal import SIGTERM
from urllib.parse import urlsplit

import httpx
import pytest

from penstock.datastore.roles import ROOT, Role
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from tests.support.penstock_command import Server, start_server
from tests.support.server_process import VERIFY_TLS

pytestmark = pytest.mark.xdist_group("shutdown")

BODY = json.dumps({"query": "{ viewer { userId } }"}).encode()
RUNNING = 'penstock_operations_running{transport="http"} 1.0\n'


class SlowRequest:
    """A request with only its first half sent."""

    def __init__(self, server: Server, token: str) -> None:
        where = urlsplit(server.url)
        self._address = (where.hostname, where.port)
        self._socket = socket.create_connection(self._address, timeout=10)
        head = (
            f"POST /graphql HTTP/1.1\r\nhost: {where.netloc}\r\nauthorization: Bearer {token}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(BODY)}\r\n\r\n"
        )
        self._socket.sendall(head.encode() + BODY[:5])

    def finish(self) -> None:
        self._socket.sendall(BODY[5:])

    def answer(self) -> tuple[int, dict[str, str], object]:
        with HTTPResponse(self._socket) as response:
            response.begin()
            return response.status, dict(response.getheaders()), json.loads(response.read())

    def until_others_are_refused(self) -> None:
        """Wait until the server has stopped listening; fails after ten seconds."""
        until = time.monotonic() + 10
        with suppress(ConnectionRefusedError):
            while time.monotonic() < until:
                socket.create_connection(self._address, timeout=1).close()
                time.sleep(0.02)
            raise AssertionError("the server still listens")

    def close(self) -> None:
        self._socket.close()


@contextmanager
def slow_request(tmp_path: Path, **settings: str) -> Iterator[tuple[Server, SlowRequest]]:
    data_dir = tmp_path / "data"
    options = ("--port", "0", "--data-dir", str(data_dir), "--no-seed")
    with start_server(tmp_path / "log", *options, **settings) as server:
        key = dev_key(data_dir)
        token = sign_dev_token(key, "ann", {ROOT: Role.READER}, ROOT, DEV_TOKEN_LIFETIME)
        request = SlowRequest(server, token)
        try:
            _until_begun(server)
            yield server, request
        finally:
            request.close()


def _until_begun(server: Server) -> None:
    """Wait until the server has read the request's head: it never answers an unread one."""
    until = time.monotonic() + 10
    while (
        RUNNING not in httpx.get(f"{server.url}/metrics", trust_env=False, verify=VERIFY_TLS).text
    ):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_request_that_has_begun_is_answered_before_the_server_ends(tmp_path: Path) -> None:
    with slow_request(tmp_path, PENSTOCK_BODY_READ_SECONDS="30") as (server, request):
        server.process.send_signal(SIGTERM)
        request.until_others_are_refused()
        assert server.process.poll() is None
        request.finish()
        status, _, body = request.answer()
        assert (status, body) == (200, {"data": {"viewer": {"userId": "ann"}}})
        assert server.process.wait(5) == 0


def test_a_request_that_takes_too_long_is_told_to_come_again(tmp_path: Path) -> None:
    patient = {
        "PENSTOCK_BODY_READ_SECONDS": "60",
        "PENSTOCK_DEADLINE_SECONDS": "60",
        "PENSTOCK_SHUTDOWN_SECONDS": "1",
    }
    with slow_request(tmp_path, **patient) as (server, request):
        before = time.monotonic()
        server.process.send_signal(SIGTERM)
        status, headers, body = request.answer()
        assert (status, headers["retry-after"], headers["connection"]) == (503, "1", "close")
        assert isinstance(body, dict)
        (error,) = body["errors"]
        assert error["extensions"]["code"] == "SERVICE_UNAVAILABLE"
        assert server.process.wait(5) == 0
        assert 1 <= time.monotonic() - before < 4
    assert "Traceback" not in (tmp_path / "log").read_text()
    assert "outcome=SERVICE_UNAVAILABLE" in (tmp_path / "log").read_text()
