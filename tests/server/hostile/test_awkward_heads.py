"""No field and no part of a URL takes more than linear time before the caller is known."""

from collections.abc import Iterator

import pytest

from tests.server.hostile.attacked_server import AttackedServer, open_attacked_server
from tests.server.hostile.harm_checks import assert_good_request_is_served, assert_loop_goes_on
from tests.server.hostile.raw_connection import Talk

pytestmark = pytest.mark.runs_together("awkward heads")

SIZE = 30_000
REPEATED = (
    "a", "0", " ", "\t", ",", ";", ":", "=", '"', "\\", "/", "*", ".", "-", "_", "%", "&", "+",
    "a,", "a/b,", "a;q=0.1,", "a=b;", "a=", "a ,", ', "', '\\"', "W/", '"a",', "0-1,", "bytes=0-0,",
    "%41", "%", "%ff", "a&", "a=b&", "../", "a/", "//", "a.", ".a", "[", "::", "é", "a\t ",
    "for=a,", "Bearer ", "Basic ", "e.", "text/event-stream,", "q=0.", "gzip,",
)  # fmt: skip
STARTS = {
    "accept": ("", "text/event-stream;q=", "application/json;"),
    "accept-encoding": ("", "gzip;q="),
    "accept-language": ("",),
    "access-control-request-headers": ("",),
    "access-control-request-method": ("",),
    "authorization": ("", "Bearer ", "Bearer penstock_", "Basic "),
    "baggage": ("",),
    "connection": ("", "upgrade,"),
    "content-disposition": ("", 'form-data; name="'),
    "content-encoding": ("",),
    "content-type": ("", "application/json;", "multipart/form-data; boundary=", 'a/b; c="'),
    "cookie": ("", "a="),
    "expect": ("", "100-continue"),
    "fiware-service": ("",),
    "fiware-servicepath": ("", "/"),
    "forwarded": ("", 'for="'),
    "host": ("", "[", "localhost:"),
    "http2-settings": ("",),
    "if-match": ("", '"'),
    "if-modified-since": ("", "Mon, "),
    "if-none-match": ("", 'W/"'),
    "if-range": ("",),
    "origin": ("", "https://", "https://["),
    "range": ("", "bytes="),
    "sec-websocket-extensions": ("", "permessage-deflate;"),
    "sec-websocket-key": ("",),
    "sec-websocket-protocol": ("", "graphql-transport-ws,"),
    "te": ("",),
    "traceparent": ("", "00-"),
    "tracestate": ("", "a="),
    "upgrade": ("", "websocket,"),
    "user-agent": ("",),
    "x-forwarded-for": ("",),
    "x-forwarded-proto": ("",),
    "x-request-id": ("",),
}
TARGETS = (
    "/", "/graphql?", "/graphql?query=", "/graphql?variables=", "/graphql/", "/graphiql",
    "/graphiql/", "/graphiql/assets/", "/files/", "/stream/", "/healthz?", "/metrics?", "/notify?",
    "/v2/notify/", "/events/s3", "/console/", "/console/assets/", "//", "/%",
)  # fmt: skip
FORMS = ("GET /graphql", "POST /graphql", "OPTIONS /graphql", "GET /graphiql/assets/a.js")
FILES = ("GET /files/a", "POST /files/a", "POST /notify", "GET /stream/a", "POST /events/s3")


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedServer]:
    with open_attacked_server(tmp_path_factory.mktemp("awkward")) as found:
        yield found


def assert_no_head_holds_the_loop(heads: list[bytes], at: AttackedServer) -> None:
    def attack() -> None:
        for one in heads:
            with Talk(at.url) as talk:
                talk.say(one + b"\r\n\r\n")
                status = talk.reply().status
                assert 200 <= status < 500, (status, one[:100])
        with Talk(at.url) as talk:
            assert_good_request_is_served(talk, at)

    assert_loop_goes_on(at, attack)


def fill(start: str, repeated: str) -> str:
    return start + repeated * ((SIZE - len(start)) // len(repeated.encode("latin-1")))


@pytest.mark.parametrize("name", STARTS)
def test_a_field_of_a_stranger_takes_linear_time(name: str, target: AttackedServer) -> None:
    forms = FORMS + FILES
    heads = [
        f"{forms[turn % len(forms)]} HTTP/1.1\r\n{usual(name, target)}{name}: {fill(start, one)}x"
        for start in STARTS[name]
        for turn, one in enumerate(REPEATED)
    ]
    assert_no_head_holds_the_loop([head.encode("latin-1") for head in heads], target)


@pytest.mark.parametrize("start", TARGETS)
def test_a_url_of_a_stranger_takes_linear_time(start: str, target: AttackedServer) -> None:
    heads = [
        f"GET {fill(start, one)} HTTP/1.1\r\nhost: {target.host}"
        for one in REPEATED
        if one.isascii() and one.isprintable() and " " not in one
    ]
    assert_no_head_holds_the_loop([head.encode() for head in heads], target)


def usual(name: str, at: AttackedServer) -> str:
    """Return the fields that lead a request further than its first check."""
    fields = {
        "host": at.host,
        "accept": "*/*",
        "content-type": "application/json",
        "origin": "https://a.example.org",
        "access-control-request-method": "POST",
    }
    return "".join(f"{one}: {value}\r\n" for one, value in fields.items() if one != name)
