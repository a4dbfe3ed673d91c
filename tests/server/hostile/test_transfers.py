"""Files that are sent or read slowly, over real connections and with few file descriptors."""

import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.server.hostile.attacked_server import AttackedServer, open_attacked_server
from tests.server.hostile.harm_checks import assert_good_request_is_served
from tests.server.hostile.raw_connection import Talk, address_of
from tests.support.patience import HUNG_SECONDS, wait_until

pytestmark = pytest.mark.runs_together("hostile transfers")

DESCRIPTORS = 256
CROWD = 150
OTHER_ADDRESS = "127.0.0.2"
SETTINGS = {
    "PENSTOCK_ADMIN_PORT": "0",
    "PENSTOCK_LOG_FORMAT": "text",
    "PENSTOCK_BODY_READ_SECONDS": "1000",
    "PENSTOCK_STALL_SECONDS": "1000",
}
FORM = """mutation { createDatasetUpload(input: {group: "/usa"}) {
  ...on CreateDatasetUploadPayload { upload { id form { url fields { name value } } } } } }"""
REGISTER = """mutation($upload: ID!) { createReferenceDataset(input: {group: "/usa", name: "large",
  content: {columns: [{name: "k", type: STRING}, {name: "v", type: STRING}], upload: $upload}}) {
  ...on CreateReferenceDatasetPayload { referenceDataset { download { url } } } } }"""
LARGE = b"k,v\n" + b"".join(b"%d,%b\n" % (row, b"x" * 900) for row in range(4_000))


@pytest.fixture
def target(tmp_path: Path) -> Iterator[AttackedServer]:
    limits = (DESCRIPTORS, DESCRIPTORS)
    with open_attacked_server(tmp_path, SETTINGS, limits) as found:
        yield found


def ask(at: AttackedServer, query: str, **variables: Any) -> Any:
    headers = {"authorization": f"Bearer {at.token}"}
    sent = {"query": query, "variables": variables}
    answer = httpx.post(f"{at.url}/graphql", json=sent, headers=headers, timeout=HUNG_SECONDS)
    (value,) = answer.json()["data"].values()
    return value


def write_form(form: Any, content: bytes) -> bytes:
    """Return a request that uploads the content."""
    fields = {one["name"]: one["value"].encode() for one in form["fields"]}
    parts = [
        b'--BB\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n' % (name.encode(), value)
        for name, value in (*fields.items(), ("file", content))
    ]
    body = b"".join(parts) + b"--BB--\r\n"
    head = f"POST {urlsplit(form['url']).path} HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    kind = "content-type: multipart/form-data; boundary=BB"
    return f"{head}{kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


@contextmanager
def crowd(at: AttackedServer, raw: bytes) -> Iterator[list[socket.socket]]:
    """Open connections that send the bytes and then read nothing."""
    with ExitStack() as held:
        opened = []
        for _ in range(CROWD):
            one = held.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
            one.settimeout(HUNG_SECONDS)
            with suppress(ConnectionError):
                one.connect(address_of(at.url))
                one.sendall(raw)
            opened.append(one)
        yield opened


def assert_others_are_served(at: AttackedServer) -> None:
    for url in (at.url, at.admin_url):
        with Talk(url) as probe:
            probe.say(f"GET /healthz HTTP/1.1\r\nhost: {probe.host}\r\n\r\n".encode())
            assert probe.reply().status == 200
    with Talk(at.url) as talk:
        assert_good_request_is_served(talk, at)


def is_answered(at: AttackedServer) -> bool:
    """Tell whether the server answers; refused clients that still send take places for a while."""
    return httpx.get(f"{at.url}/files/none", timeout=HUNG_SECONDS).status_code == 403


def open_descriptors(at: AttackedServer) -> int:
    return len(list(Path(f"/proc/{at.pid}/fd").iterdir()))


def assert_crowd_locks_nobody_out(at: AttackedServer, raw: bytes) -> None:
    before = open_descriptors(at)
    with crowd(at, raw) as opened:
        wait_until(lambda: is_answered(at))
        for _ in range(5):
            assert_others_are_served(at)
        assert open_descriptors(at) < DESCRIPTORS
        assert Counter(map(first_bytes, opened))[b"HTTP/1.1 503"] > CROWD // 4
    wait_until(lambda: open_descriptors(at) <= before + 4)
    assert_others_are_served(at)


def first_bytes(one: socket.socket) -> bytes:
    """Return the beginning of the answer, empty if none is there yet."""
    one.settimeout(0.01)
    try:
        return one.recv(12)
    except (TimeoutError, ConnectionError):
        return b""


def test_uploads_that_never_end_lock_nobody_out(target: AttackedServer) -> None:
    form = ask(target, FORM)["upload"]["form"]
    unfinished = write_form(form, LARGE[:70_000])[:-10]
    assert_crowd_locks_nobody_out(target, unfinished)
    with Talk(target.url) as talk:
        talk.say(write_form(form, LARGE))
        assert talk.reply().status == 204


def offer_download(at: AttackedServer) -> tuple[str, bytes]:
    """Upload a large dataset; return its URL, and the request for it."""
    upload = ask(at, FORM)["upload"]
    with Talk(at.url) as talk:
        talk.say(write_form(upload["form"], LARGE))
        assert talk.reply().status == 204
    url: str = ask(at, REGISTER, upload=upload["id"])["referenceDataset"]["download"]["url"]
    return url, f"GET {urlsplit(url).path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode()


def test_downloads_that_are_not_read_lock_nobody_out(target: AttackedServer) -> None:
    url, download = offer_download(target)
    assert_crowd_locks_nobody_out(target, download)
    assert httpx.get(url, timeout=HUNG_SECONDS).content == LARGE


def test_another_address_sends_and_receives_files_beside_a_crowd(target: AttackedServer) -> None:
    _, download = offer_download(target)
    form = ask(target, FORM)["upload"]["form"]
    unfinished = write_form(form, LARGE[:70_000])[:-10]
    for raw in (unfinished, download):
        with crowd(target, raw) as opened:
            wait_until(lambda: is_answered(target))
            for _ in range(3):
                with Talk(target.url, OTHER_ADDRESS) as talk:
                    talk.say(download)
                    assert talk.reply().body == LARGE
                with Talk(target.url, OTHER_ADDRESS) as talk:
                    talk.say(write_form(form, LARGE))
                    assert talk.reply().status == 204
            assert Counter(map(first_bytes, opened))[b"HTTP/1.1 503"] > CROWD // 4
        wait_until(lambda: is_answered(target))
