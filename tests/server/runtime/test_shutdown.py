"""A stopping server: the requests it still answers, and its time limit."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPResponse
from pathlib import Path
from signal import SIGTERM
from urllib.parse import urlsplit

import httpx
import pytest
from graphql import get_introspection_query

from penstock.datastore.roles import ROOT, Role
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from tests.support.patience import HUNG_SECONDS, wait_until
from tests.support.penstock_command import Server, start_server
from tests.support.server_process import VERIFY_TLS

pytestmark = pytest.mark.runs_together("shutdown")

BODY = json.dumps({"query": "{ viewer { userId } }"}).encode()
PATIENT = {
    "PENSTOCK_BODY_READ_SECONDS": f"{2 * HUNG_SECONDS:.0f}",
    "PENSTOCK_DEADLINE_SECONDS": f"{2 * HUNG_SECONDS:.0f}",
    "PENSTOCK_SHUTDOWN_SECONDS": f"{HUNG_SECONDS:.0f}",
}
"""Limits of a server that ends no request by itself while a test waits."""

RUNNING = 'penstock_operations_running{transport="http"} 1.0\n'


def write_head(host: str, token: str, body: bytes) -> bytes:
    """Return the head of a request with this body."""
    return (
        f"POST /graphql HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    ).encode()


class SlowRequest:
    """A request with only its first half sent."""

    def __init__(self, server: Server, token: str) -> None:
        self.token = token
        where = urlsplit(server.url)
        self._address = (where.hostname, where.port)
        self._socket = socket.create_connection(self._address, timeout=HUNG_SECONDS)
        self._socket.sendall(write_head(where.netloc, token, BODY) + BODY[:5])

    def finish(self) -> None:
        self._socket.sendall(BODY[5:])

    def answer(self) -> tuple[int, dict[str, str], object]:
        with HTTPResponse(self._socket) as response:
            response.begin()
            return response.status, dict(response.getheaders()), json.loads(response.read())

    def until_others_are_refused(self) -> None:
        """Wait until the server has stopped listening."""

        def is_refused() -> bool:
            with suppress(ConnectionRefusedError):
                socket.create_connection(self._address, timeout=HUNG_SECONDS).close()
                return False
            return True

        wait_until(is_refused)

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
    url = f"{server.url}/metrics"
    with httpx.Client(timeout=HUNG_SECONDS, trust_env=False, verify=VERIFY_TLS) as http:
        wait_until(lambda: RUNNING in http.get(url).text)


def test_a_request_that_has_begun_is_answered_before_the_server_ends(tmp_path: Path) -> None:
    with slow_request(tmp_path, **PATIENT) as (server, request):
        server.process.send_signal(SIGTERM)
        request.until_others_are_refused()
        assert server.process.poll() is None
        request.finish()
        status, _, body = request.answer()
        assert (status, body) == (200, {"data": {"viewer": {"userId": "ann"}}})
        assert server.process.wait(HUNG_SECONDS) == 0


UPLOAD = """mutation { createAudioUpload(input: {fileName: "a.mp3", contentType: "audio/mpeg"}) {
  ...on CreateAudioUploadPayload { form { url fields { name value } } } } }"""


def begin_upload(server: Server, token: str) -> socket.socket:
    """Take a form for a file, and send the beginning of the file by it."""
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(timeout=HUNG_SECONDS, trust_env=False, headers=headers) as http:
        answer = http.post(f"{server.url}/graphql", json={"query": UPLOAD}).json()
    form = answer["data"]["createAudioUpload"]["form"]
    part = '--b\r\ncontent-disposition: form-data; name="{}"{}\r\n\r\n'
    fields = [f"{part.format(one['name'], '')}{one['value']}\r\n" for one in form["fields"]]
    where = urlsplit(form["url"])
    head = (
        f"POST {where.path} HTTP/1.1\r\nhost: {where.netloc}\r\ncontent-length: 100000\r\n"
        "content-type: multipart/form-data; boundary=b\r\n\r\n"
    )
    opened = socket.create_connection((where.hostname, where.port), timeout=HUNG_SECONDS)
    file = part.format("file", '; filename="a.mp3"')
    opened.sendall("".join([head, *fields, file, "ID3"]).encode())
    return opened


def test_an_upload_that_takes_too_long_is_told_to_come_again(tmp_path: Path) -> None:
    brief = {"PENSTOCK_SHUTDOWN_SECONDS": "1"}
    with slow_request(tmp_path, **PATIENT | brief) as (server, request):
        with begin_upload(server, request.token) as upload, HTTPResponse(upload) as response:
            partial = tmp_path / "data" / "files"
            wait_until(lambda: any(path.is_file() for path in partial.rglob("*")))
            server.process.send_signal(SIGTERM)
            response.begin()
            assert (response.status, response.read()) == (503, b"The server is stopping.")
            assert response.getheader("retry-after") == "1"
        assert server.process.wait(HUNG_SECONDS) == 0
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_a_request_that_takes_too_long_is_told_to_come_again(tmp_path: Path) -> None:
    brief = {"PENSTOCK_SHUTDOWN_SECONDS": "1"}
    with slow_request(tmp_path, **PATIENT | brief) as (server, request):
        server.process.send_signal(SIGTERM)
        status, headers, body = request.answer()
        assert (status, headers["retry-after"], headers["connection"]) == (503, "1", "close")
        assert isinstance(body, dict)
        (error,) = body["errors"]
        assert error["extensions"]["code"] == "SERVICE_UNAVAILABLE"
        assert server.process.wait(HUNG_SECONDS) == 0
    assert "Traceback" not in (tmp_path / "log").read_text()
    assert "outcome=SERVICE_UNAVAILABLE" in (tmp_path / "log").read_text()


def begin_unread_answers(server: Server, token: str) -> socket.socket:
    """Ask for far more than connections hold, and take nothing of it."""
    query = json.dumps({"query": get_introspection_query()}).encode()
    where = urlsplit(server.url)
    opened = socket.socket()
    opened.settimeout(HUNG_SECONDS)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    opened.connect((where.hostname, where.port))
    opened.sendall((write_head(where.netloc, token, query) + query) * 20)
    return opened


def read_rest(opened: socket.socket) -> bytes:
    """Return the next bytes; none behind the end of the connection, however it ended."""
    with suppress(ConnectionResetError):
        return opened.recv(65_536)
    return b""


def test_an_answer_that_nobody_takes_is_cut_off_and_is_no_failure(tmp_path: Path) -> None:
    brief = {"PENSTOCK_SHUTDOWN_SECONDS": "1"}
    with slow_request(tmp_path, **PATIENT | brief) as (server, request):
        request.finish()
        assert request.answer()[0] == 200
        with begin_unread_answers(server, request.token) as unread:
            _until_begun(server)
            server.process.send_signal(SIGTERM)
            assert server.process.wait(HUNG_SECONDS) == 0
            assert b"".join(iter(lambda: read_rest(unread), b"")).count(b"HTTP/1.1 200") < 20
    log = (tmp_path / "log").read_text()
    assert "Traceback" not in log
    assert "ASGI" not in log
