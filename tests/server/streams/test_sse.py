"""GraphQL over server-sent events, as bytes."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.types import Message

from penstock.schema.engine.limits import Limits
from tests.server.edge.edge_client import Client, serve_app
from tests.server.streams.stream_client import (
    QUICK,
    AsgiConnection,
    StreamHouse,
    connected_client,
    header_list,
    run_app,
)
from tests.support.error_details import extensions_of
from tests.support.loop_clock import LONG, let_tasks_run, pass_time

OPENED = b":\n\n"
COMPLETE = b"event: complete\ndata:\n\n"
SILENCE = "subscription { silence { number } }"
FIRST = b'event: next\ndata: {"data":{"silence":{"number":0}}}\n\n'


class Stream(AsgiConnection):
    """A client that reads the answer, message by message."""

    async def head(self) -> tuple[int, dict[str, str]]:
        message = await self.next_sent()
        assert message["type"] == "http.response.start"
        headers = {name.decode(): value.decode() for name, value in message["headers"]}
        assert len(headers) == len(message["headers"])
        return message["status"], headers

    async def expect_open(self) -> None:
        assert (await self.head())[0] == 200
        assert await self.part() == OPENED

    async def part(self) -> bytes:
        message: Message = await self.next_sent()
        assert message["type"] == "http.response.body"
        assert message["more_body"] == bool(message["body"])
        body: bytes = message["body"]
        return body

    async def rest(self) -> list[bytes]:
        """Return the rest of the answer."""
        parts = [await self.part()]
        while parts[-1]:
            parts.append(await self.part())
        await self.wait_until_returned()
        return parts[:-1]

    async def answer(self) -> dict[str, Any]:
        """Return the whole of an answer that is no stream."""
        message = await self.next_sent()
        await self.wait_until_returned()
        answer: dict[str, Any] = json.loads(message["body"])
        return answer

    def leave(self) -> None:
        self.incoming.put_nowait({"type": "http.disconnect"})


@asynccontextmanager
async def post_stream(house: StreamHouse, body: object, **headers: str) -> AsyncIterator[Stream]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {
        "accept": "text/event-stream",
        "content_type": "application/json",
        "content_length": str(len(raw)),
        "authorization": "Bearer ann",
    }
    async with request_stream(house, "POST", b"", raw, sent | headers) as stream:
        yield stream


@asynccontextmanager
async def get_stream(
    house: StreamHouse, parameters: dict[str, str], **headers: str
) -> AsyncIterator[Stream]:
    sent = {"accept": "text/event-stream", "authorization": "Bearer ann"}
    query = urlencode(parameters).encode()
    async with request_stream(house, "GET", query, b"", sent | headers) as stream:
        yield stream


@asynccontextmanager
async def request_stream(
    house: StreamHouse, method: str, query: bytes, body: bytes, headers: dict[str, str]
) -> AsyncIterator[Stream]:
    scope = {"type": "http", "method": method, "path": "/graphql", "query_string": query}
    stream = Stream()
    stream.incoming.put_nowait({"type": "http.request", "body": body, "more_body": False})
    async with run_app(stream, house.http, scope | {"headers": header_list(headers)}):
        yield stream


async def test_a_stream_has_these_headers_and_no_others() -> None:
    async with post_stream(StreamHouse(), {"query": SILENCE}, x_request_id="r-1") as stream:
        assert await stream.head() == (
            200,
            {
                "content-type": "text/event-stream; charset=utf-8",
                "cache-control": "no-store, no-transform",
                "vary": "accept, authorization",
                "x-content-type-options": "nosniff",
                "x-accel-buffering": "no",
                "x-request-id": "r-1",
            },
        )


async def test_a_subscription_is_a_next_for_each_event_and_a_complete() -> None:
    house = StreamHouse()
    async with post_stream(house, {"query": "subscription { ticks(to: 2) { number } }"}) as stream:
        await stream.expect_open()
        assert await stream.rest() == [
            b'event: next\ndata: {"data":{"ticks":{"number":0}}}\n\n',
            b'event: next\ndata: {"data":{"ticks":{"number":1}}}\n\n',
            COMPLETE,
        ]
    assert house.world.closed_sources == 1
    assert len(house.streams) == 0


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_query_is_one_next_and_a_complete(method: str) -> None:
    house, asked = StreamHouse(), {"query": "{ hello }"}
    async with (
        post_stream(house, asked) if method == "POST" else get_stream(house, asked) as stream
    ):
        await stream.expect_open()
        assert await stream.rest() == [
            b'event: next\ndata: {"data":{"hello":"world"}}\n\n',
            COMPLETE,
        ]


async def test_a_mutation_is_answered_by_post_and_refused_by_get() -> None:
    house, asked = StreamHouse(), {"query": 'mutation { write(text: "a\\nb") }'}
    house.world.go.set()
    async with get_stream(house, asked) as stream:
        status, headers = await stream.head()
        assert (status, headers["allow"]) == (405, "POST")
        (error,) = (await stream.answer())["errors"]
        assert error["extensions"] == extensions_of("METHOD_NOT_ALLOWED", headers["x-request-id"])
    assert (house.world.written, house.opened) == ([], [])
    async with post_stream(house, asked) as stream:
        await stream.expect_open()
        written = rb"event: next" + b"\n" + rb'data: {"data":{"write":"a\nb"}}' + b"\n\n"
        assert await stream.rest() == [written, COMPLETE]
    assert house.world.written == ["a\nb"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"query": "{"}, "GRAPHQL_PARSE_FAILED"),
        ({"query": "subscription { nothing }"}, "GRAPHQL_VALIDATION_FAILED"),
        ({"query": "subscription($v: Int!) { ticks(to: $v) { number } }"}, "BAD_USER_INPUT"),
        ({"query": "{ a: hello b: hello }"}, "QUERY_TOO_LARGE"),
        ({"query": "{ __schema { queryType { name } } }"}, "INTROSPECTION_DISABLED"),
    ],
)
async def test_what_graphql_refuses_is_told_within_the_stream(
    body: dict[str, Any], code: str
) -> None:
    house = StreamHouse(introspection=False, engine=Limits(aliases=1))
    async with post_stream(house, body) as stream:
        await stream.expect_open()
        event, last = await stream.rest()
        answer = json.loads(event.removeprefix(b"event: next\ndata: "))
        assert ([*answer], last) == (["errors"], COMPLETE)
        assert answer["errors"][0]["extensions"]["code"] == code


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        ({"query": SILENCE}, {"authorization": "Basic x"}, 401, "UNAUTHENTICATED"),
        ({"query": SILENCE}, {"authorization": "Bearer away"}, 503, "SERVICE_UNAVAILABLE"),
        ({"query": SILENCE}, {"authorization": "Bearer crash"}, 500, "INTERNAL_SERVER_ERROR"),
        (b"{", {}, 400, "BAD_REQUEST"),
        ({"variables": {}}, {}, 400, "BAD_REQUEST"),
        ({"query": SILENCE}, {"content_type": "text/plain"}, 415, "UNSUPPORTED_MEDIA_TYPE"),
        ({"query": SILENCE}, {"content_length": "2000000"}, 413, "PAYLOAD_TOO_LARGE"),
    ],
)
async def test_what_http_refuses_is_no_stream(
    body: object, headers: dict[str, str], status: int, code: str
) -> None:
    house = StreamHouse()
    async with post_stream(house, body, **headers) as stream:
        found, sent = await stream.head()
        assert (found, sent["content-type"]) == (status, "application/json; charset=utf-8")
        (error,) = (await stream.answer())["errors"]
        assert error["extensions"]["code"] == code
        assert "secret" not in error["message"]
    assert (house.opened, len(house.streams)) == ([], 0)


@pytest.mark.parametrize(
    ("accept", "events"),
    [
        ("text/event-stream", True),
        ("Text/Event-Stream;q=0.9, */*;q=0.1", True),
        ("text/event-stream, application/json;q=0.9", True),
        ("text/event-stream, multipart/mixed", True),
        ("application/graphql-response+json, application/json, text/event-stream", False),
        ("text/event-stream;q=0.5, application/json", False),
        ("text/event-stream;q=0, */*", False),
        ("text/event-stream;q=x, */*", False),
        ("text/*, */*;q=0.5", False),
        ("*/*", False),
    ],
)
async def test_events_are_for_clients_that_prefer_them_to_json(accept: str, events: bool) -> None:
    async with post_stream(StreamHouse(), {"query": "{ hello }"}, accept=accept) as stream:
        status, headers = await stream.head()
        assert status == 200
        assert headers["content-type"].startswith("text/event-stream") == events


async def test_a_quiet_stream_is_kept_alive_by_comments() -> None:
    house = StreamHouse(replace(QUICK, keep_alive_seconds=LONG))
    async with post_stream(house, {"query": SILENCE}) as stream:
        await stream.expect_open()
        assert await stream.part() == FIRST
        for _ in range(2):
            await pass_time(LONG)
            assert await stream.part() == b":\n\n"


async def test_the_deadline_is_for_queries_and_the_token_is_for_all() -> None:
    deadline, quiet = Limits(deadline_seconds=LONG), replace(QUICK, keep_alive_seconds=9 * LONG)
    async with post_stream(StreamHouse(quiet, engine=deadline), {"query": "{ wait }"}) as stream:
        await stream.expect_open()
        await pass_time(LONG)
        event, last = await stream.rest()
        assert (b'"TIMEOUT"' in event, last) == (True, COMPLETE)
    house = StreamHouse(quiet, engine=deadline, valid=4 * LONG)
    async with post_stream(house, {"query": SILENCE}) as stream:
        await stream.expect_open()
        assert await stream.part() == FIRST
        await pass_time(2 * LONG)
        assert stream.outgoing.empty()
        await pass_time(2 * LONG)
        assert await stream.rest() == [b": the token has expired\n\n"]
    assert house.world.closed_sources == 1


async def test_a_client_that_leaves_ends_its_subscription_and_not_its_mutation() -> None:
    house = StreamHouse()
    async with (
        post_stream(house, {"query": SILENCE}) as stream,
        post_stream(house, {"query": 'mutation { write(text: "x") }'}) as mutation,
    ):
        await stream.expect_open()
        assert await stream.part() == FIRST
        stream.leave()
        await stream.wait_until_returned()
        assert house.world.closed_sources == 1
        await mutation.expect_open()
        mutation.leave()
        await let_tasks_run()
        house.world.go.set()
        await mutation.wait_until_returned()
        assert house.world.written == ["x"]
    assert len(house.streams) == 0


async def test_streams_and_connections_count_together() -> None:
    house = StreamHouse(per_caller=2)
    async with connected_client(house), post_stream(house, {"query": SILENCE}) as held:
        await held.expect_open()
        async with post_stream(house, {"query": "{ hello }"}) as stream:
            assert (await stream.head())[0] == 429
            (error,) = (await stream.answer())["errors"]
            assert error["extensions"]["code"] == "RATE_LIMITED"
        async with post_stream(house, {"query": "{ hello }"}, authorization="Bearer bob") as stream:
            await stream.expect_open()


async def test_what_a_caller_may_not_spend_is_refused_in_the_stream() -> None:
    house, ticks = StreamHouse(share=2), "subscription { ticks(to: 9) { number } }"
    house.learn(ticks)
    async with post_stream(house, {"query": ticks}) as stream:
        await stream.expect_open()
        tick, refused, *_ = await stream.rest()
        assert tick == FIRST.replace(b"silence", b"ticks")
        assert b'"code":"RATE_LIMITED","retryAfter":1' in refused
    assert house.world.closed_sources == 1


async def test_a_reader_that_takes_nothing_is_given_up() -> None:
    house = StreamHouse(replace(QUICK, queue=1, stall_seconds=LONG))
    async with post_stream(house, {"query": "subscription { ticks(to: 50) { number } }"}) as stream:
        await stream.head()
        stream.free.clear()
        await pass_time(LONG)
        await stream.wait_until_returned()
        assert (house.world.closed_sources, len(house.streams)) == (1, 0)


async def test_the_next_request_finds_the_connection_usable() -> None:
    house = StreamHouse()
    async with serve_app(house.http) as port:
        client = Client(port)
        head = "POST /graphql HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ann\r\n"
        body = json.dumps({"query": "subscription { ticks(to: 1) { number } }"}).encode()
        kind = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        await client.send(f"{head}{kind}accept: text/event-stream\r\n\r\n".encode() + body)
        assert client._streams is not None
        await client._streams[0].readuntil(b"0\r\n\r\n")
        reply = await client.post({"query": "{ hello }"}, authorization="Bearer ann")
        assert (reply.json, client.connections) == ({"data": {"hello": "world"}}, 1)
        await client.close()
