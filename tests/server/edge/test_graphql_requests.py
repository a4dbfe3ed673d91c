"""Requests that the edge accepts, and malformed ones that do no harm."""

import asyncio
import gzip
import json
import re

import pytest
from starlette.types import Message

from penstock.schema.engine.limits import Limits
from tests.server.edge.edge_client import GRAPHQL, JSON, TOKEN, Client, Edge, client_of, serve_app
from tests.support.patience import HUNG_SECONDS

HELLO = {"query": "{ hello }"}
WORLD = {"data": {"hello": "world"}}
NEWER = "application/graphql-response+json"
HOSTILE: list[tuple[bytes, str]] = [
    (b"", "nothing"),
    (b"{", "half of an object"),
    (b"nonsense", "no JSON"),
    (b"null", "null"),
    (b"7", "a number"),
    (b'"text"', "a text"),
    (b"[]", "an empty batch"),
    (b'[{"query":"{ hello }"}]', "a batch"),
    (b"{}", "no query"),
    (b'{"query":null}', "a null query"),
    (b'{"query":7}', "a query that is a number"),
    (b'{"query":["{ hello }"]}', "a query that is a list"),
    (b'{"query":"{ hello }","variables":[]}', "variables in a list"),
    (b'{"query":"{ hello }","variables":"{}"}', "variables in a text"),
    (b'{"query":"{ hello }","operationName":7}', "a name that is a number"),
    (b'{"query":"{ hello }","extensions":[]}', "extensions in a list"),
    (b'{"query":"{ hello }","documentId":"x"}', "a query and an id"),
    (b'{"documentId":7}', "an id that is a number"),
    (b'{"query":"{ hello }","variables":{"a":NaN}}', "NaN"),
    (b'{"query":"{ hello }","variables":{"a":Infinity}}', "Infinity"),
    (b'{"query":"\\ud800"}', "half of a surrogate pair"),
    (b'{"query":"\xff"}', "bad UTF-8"),
    (b'\xef\xbb\xbf{"query":"{ hello }"}', "a byte order mark"),
    (json.dumps(HELLO).encode("utf-16"), "UTF-16"),
    (gzip.compress(json.dumps(HELLO).encode(), mtime=0), "unannounced gzip"),
    (b'{"query":"{ hello }","variables":' + b"[" * 100_000, "deep JSON"),
    (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "deep objects"),
]


@pytest.mark.parametrize("accept", [None, NEWER])
@pytest.mark.parametrize("body", [pytest.param(body, id=name) for body, name in HOSTILE])
async def test_a_body_that_is_no_request_gets_400_and_the_next_is_served(
    body: bytes, accept: str | None, client: Client
) -> None:
    reply = await client.post(body, accept=accept)
    assert (reply.status, reply.code) == (400, "BAD_REQUEST")
    assert reply.headers["content-type"] == (GRAPHQL if accept else JSON)
    assert await client.is_served()
    assert client.connections == 1


async def test_a_number_of_5000_digits_harms_nobody(client: Client) -> None:
    body = b'{"query":"query ($v: Int!) { number(value: $v) }","variables":{"v":%b}}' % (
        b"9" * 5_000
    )
    reply = await client.post(body)
    assert reply.code in ("BAD_REQUEST", "BAD_USER_INPUT")
    literal = await client.post({"query": "{ number(value: " + "9" * 5_000 + ") }"})
    assert literal.code == "GRAPHQL_VALIDATION_FAILED"
    assert len(literal.body) < 1_000
    assert await client.is_served()
    assert client.connections == 1


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "text/plain",
        "application/graphql",
        "application/jsonx",
        "text/plain; a=application/json",
        "multipart/form-data; boundary=application/json",
        "application/x-www-form-urlencoded",
        "application/json; charset=utf-16",
        "application/json; charset=iso-8859-1",
    ],
)
async def test_a_body_of_another_type_is_not_read(content_type: str | None, client: Client) -> None:
    reply = await client.post(HELLO, content_type=content_type)
    assert (reply.status, reply.code) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert await client.is_served()
    assert client.connections == 1


@pytest.mark.parametrize(
    "content_type",
    ["application/json; charset=utf-8", 'Application/JSON; Charset="UTF-8"', "application/json;"],
)
async def test_json_in_utf_8_is_read_however_it_is_announced(
    content_type: str, client: Client
) -> None:
    assert (await client.post(HELLO, content_type=content_type)).json == WORLD


async def test_a_compressed_body_is_not_read(client: Client) -> None:
    body = gzip.compress(json.dumps(HELLO).encode(), mtime=0)
    reply = await client.post(body, content_encoding="gzip")
    assert (reply.status, reply.code) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert await client.is_served()


async def test_a_body_over_the_limit_is_refused_before_it_is_read() -> None:
    async with client_of(Edge(Limits(body_bytes=1_000))) as client:
        reply = await client.post(b" " * 1_001)
        assert (reply.status, reply.code) == (413, "PAYLOAD_TOO_LARGE")
        assert reply.headers["connection"] == "close"
        assert await client.is_served()
        exact = json.dumps(HELLO).encode().ljust(1_000)
        assert (await client.post(exact)).json == WORLD


def hello(*lines: str, size: int = 0) -> bytes:
    """Return a raw request, with a body padded by blanks to a size."""
    body = json.dumps(HELLO).ljust(size)
    fixed = ("host: localhost", f"authorization: {TOKEN}", "content-type: application/json")
    head = ("POST /graphql HTTP/1.1", *fixed, f"content-length: {len(body)}", *lines)
    return "\r\n".join([*head, "", body]).encode()


async def answers_to(requests: bytes, edge: Edge) -> bytes:
    """Send requests in one piece over one connection, and read until the server closes it."""
    async with serve_app(edge.app) as port, asyncio.timeout(HUNG_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(requests)
        answers = await reader.read()
        writer.close()
        return answers


async def test_requests_sent_at_once_are_answered_in_order(edge: Edge) -> None:
    sent = [hello(f"x-request-id: {number}") for number in range(4)]
    last = hello("x-request-id: 4", "connection: close")
    answers = await answers_to(b"".join([*sent, last]), edge)
    assert re.findall(rb"x-request-id: (\d)\r\n", answers) == [b"0", b"1", b"2", b"3", b"4"]
    assert answers.count(json.dumps(WORLD, separators=(",", ":")).encode()) == 5


async def test_nothing_is_answered_behind_a_body_over_the_limit() -> None:
    answers = await answers_to(hello(size=1_001) + hello(), Edge(Limits(body_bytes=1_000)))
    assert answers.startswith(b"HTTP/1.1 413 ")
    assert answers.count(b"HTTP/1.1 ") == 1


async def test_a_chunked_body_over_the_limit_is_refused() -> None:
    async with client_of(Edge(Limits(body_bytes=1_000))) as client:
        head = (
            f"POST /graphql HTTP/1.1\r\nhost: localhost\r\nauthorization: {TOKEN}\r\n"
            "content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        chunk = b"%x\r\n%b\r\n" % (600, b" " * 600)
        reply = await client.send(head.encode() + chunk * 2 + b"0\r\n\r\n")
        assert (reply.status, reply.code) == (413, "PAYLOAD_TOO_LARGE")
        assert await client.is_served()


async def test_a_body_that_does_not_arrive_is_not_waited_for() -> None:
    async with client_of(Edge(Limits(body_seconds=0.05))) as client:
        reply = await client.request(
            "POST",
            "/graphql",
            {"content-type": "application/json", "content-length": "100"},
            b'{"query":',
        )
        assert (reply.status, reply.code) == (408, "TIMEOUT")
        assert reply.headers["connection"] == "close"
        assert await client.is_served()


async def test_a_client_that_leaves_halfway_gets_no_answer(edge: Edge) -> None:
    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        raise AssertionError("nobody is there to answer")

    headers = [(b"content-type", b"application/json"), (b"authorization", TOKEN.encode())]
    scope = {"type": "http", "method": "POST", "path": "/graphql", "query_string": b""}
    await edge.app({**scope, "headers": headers}, receive, send)
    assert edge.admitted == []


async def test_a_long_url_is_refused(client: Client) -> None:
    reply = await client.get({"query": "{ hello }" + " " * 17_000})
    assert (reply.status, reply.code) == (414, "PAYLOAD_TOO_LARGE")
    assert await client.is_served()


@pytest.mark.parametrize(
    "parameters",
    [
        "query=%FF",
        "query={hello}&query={hello}",
        "query={hello}&variables=[]",
        "query={hello}&variables=nonsense",
        "query={hello}&variables=NaN",
        "query={hello}&extensions=7",
        "&".join(f"a{n}=1" for n in range(30)),
        "nothing=1",
        "",
    ],
)
async def test_parameters_that_are_no_request_get_400(parameters: str, client: Client) -> None:
    reply = await client.get(parameters)
    assert (reply.status, reply.code) == (400, "BAD_REQUEST")
    assert await client.is_served()
    assert client.connections == 1


async def test_a_get_takes_variables_and_a_name(client: Client) -> None:
    document = "query A($v: Int!) { number(value: $v) } query B { hello }"
    asked = {"query": document, "operationName": "A", "variables": '{"v": 5}', "extensions": "{}"}
    assert (await client.get(asked)).json == {"data": {"number": 5}}
