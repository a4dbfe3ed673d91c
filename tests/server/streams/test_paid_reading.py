"""Callers pay for the reading of their requests over every transport, also of what is refused."""

import json
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any

import pytest

from penstock.schema.engine.cost import BODY_BYTES, document_cost
from penstock.schema.engine.limits import Limits
from tests.server.streams.stream_client import (
    AsgiConnection,
    StreamHouse,
    connected_client,
    header_list,
    run_app,
)

SHARE = 100_000
SMALL = Limits(aliases=2, source_length=5_000, json_values=50, introspection_depth=2)
GUESSED = f"{{ {' '.join(f'guess{n}' for n in range(150))} }}"
DIGEST = "0" * 64

Send = Callable[[StreamHouse, bytes], Awaitable[Any]]


async def _post(house: StreamHouse, body: bytes, accept: str, user: str = "ann") -> bytes:
    line = AsgiConnection()
    line.incoming.put_nowait({"type": "http.request", "body": body, "more_body": False})
    headers = {
        "accept": accept,
        "content_type": "application/json",
        "content_length": str(len(body)),
        "authorization": f"Bearer {user}",
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/graphql",
        "query_string": b"",
        "headers": header_list(headers),
    }
    answer = b""
    async with run_app(line, house.http, scope):
        more = True
        while more:
            message = await line.next_sent()
            answer += message.get("body", b"")
            more = message["type"] == "http.response.start" or message.get("more_body", False)
    return answer


async def plain(house: StreamHouse, body: bytes) -> bytes:
    return await _post(house, body, "application/json")


async def events(house: StreamHouse, body: bytes) -> bytes:
    return await _post(house, body, "text/event-stream")


async def socket(house: StreamHouse, body: bytes) -> bytes:
    async with connected_client(house) as talk:
        talk.say('{"type":"subscribe","id":"1","payload":' + body.decode() + "}")
        return json.dumps(await talk.next_sent()).encode()


TRANSPORTS = pytest.mark.parametrize("send", [plain, events, socket])


def of_document(text: str, **more: Any) -> tuple[dict[str, Any], int]:
    return {"query": text, **more}, document_cost(len(text)) + 1


REFUSED: dict[str, tuple[dict[str, Any], int]] = {
    "guessed fields": of_document(GUESSED),
    "a syntax error": of_document("{ hello " + "hello " * 100),
    "aliases beyond the limit": of_document("{ a: hello b: hello c: hello }"),
    "nesting beyond the limit": of_document("{ __schema { types { fields { name } } } }"),
    "an unknown operation": of_document("{ hello }", operationName="Other"),
    "no operation": of_document("fragment F on Query { hello }"),
    "too many values": of_document(
        "query($v: Int!) { number(value: $v) }", variables={"v": list(range(60))}
    ),
    "a variable that does not fit": of_document(
        "query($v: Int!) { number(value: $v) }", variables={"v": "text"}
    ),
    "a missing variable": of_document("query($v: Int!) { number(value: $v) }"),
    "a document that is too long": ({"query": "{ hello }" + " " * 5_000}, 1),
    "an unknown id": ({"documentId": DIGEST}, 1),
    "an unknown digest": (
        {"extensions": {"persistedQuery": {"version": 1, "sha256Hash": DIGEST}}},
        1,
    ),
    "an ill-formed digest": ({"extensions": {"persistedQuery": {"version": 1}}}, 1),
    "no query": ({"query": None}, 1),
    "a query that is no text": ({"query": 1}, 1),
    "two queries": ({"query": "{ hello }", "documentId": DIGEST}, 1),
}


@TRANSPORTS
@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_refused_costs_its_reading(name: str, send: Send) -> None:
    house = StreamHouse(share=SHARE, engine=SMALL)
    body, cost = REFUSED[name]
    sent = json.dumps(body).encode()
    answer = await send(house, sent)
    assert b"world" not in answer
    assert house.spending_of() == cost + len(sent) // BODY_BYTES
    assert house.spending_of("bob") == 0


@TRANSPORTS
async def test_a_refused_document_costs_one_when_it_is_known(send: Send) -> None:
    house = StreamHouse(share=SHARE)
    for _ in range(5):
        await send(house, json.dumps({"query": GUESSED}).encode())
    assert house.spending_of() == document_cost(len(GUESSED)) + 5 + 5 * (len(GUESSED) // BODY_BYTES)


@TRANSPORTS
async def test_a_long_body_costs_its_length(send: Send) -> None:
    house = StreamHouse(share=SHARE)
    house.learn("{ hello }")
    body = json.dumps({"query": "{ hello }", "extensions": {"x": "y" * 50_000}}).encode()
    assert b"world" in await send(house, body)
    assert house.spending_of() == len(body) // BODY_BYTES + 1


@TRANSPORTS
async def test_values_of_variables_cost(send: Send) -> None:
    house = StreamHouse(share=SHARE)
    text = "query($v: Int!) { number(value: $v) }"
    house.learn("{ hello }")
    await send(house, json.dumps({"query": text, "variables": {"v": [1] * 100}}).encode())
    assert house.spending_of() == document_cost(len(text)) + 10


@TRANSPORTS
async def test_guessing_ends_with_the_allowance(send: Send) -> None:
    house = StreamHouse(share=3_000)
    for n in range(20):
        answer = await send(house, json.dumps({"query": GUESSED + " " * n}).encode())
    assert b"RATE_LIMITED" in answer
    assert house.engine.cached_documents < 3_000 // document_cost(len(GUESSED)) + 1


@TRANSPORTS
async def test_a_document_that_left_the_cache_costs_again_when_it_is_named_by_its_digest(
    send: Send,
) -> None:
    house = StreamHouse(share=SHARE)
    text = "{ hello }"
    house.learn(text)
    digest = sha256(text.encode()).hexdigest()
    named = {"extensions": {"persistedQuery": {"version": 1, "sha256Hash": digest}}}
    await send(house, json.dumps({"query": text, **named}).encode())
    house.engine._documents._kept.clear()
    before = house.spending_of()
    assert b"world" in await send(house, json.dumps(named).encode())
    assert house.spending_of() - before == document_cost(len(text)) + 1


@pytest.mark.parametrize("body", [b"", b"nonsense", b"[]", b"[" * 10_000, b'"text"'])
async def test_a_body_that_is_no_request_costs_at_least_one(body: bytes) -> None:
    for send in (plain, events):
        house = StreamHouse(share=SHARE)
        await send(house, body)
        assert house.spending_of() == 1 + len(body) // BODY_BYTES


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_without_a_caller_nothing_is_parsed(accept: str) -> None:
    house = StreamHouse(share=SHARE)
    line = AsgiConnection()
    headers = {"accept": accept, "content_type": "application/json"}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/graphql",
        "query_string": b"",
        "headers": header_list(headers),
    }
    async with run_app(line, house.http, scope):
        assert (await line.next_sent())["status"] == 401
    assert house.engine.cached_documents == 0


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_an_operation_that_the_transport_cannot_run_costs_one(accept: str) -> None:
    house = StreamHouse(share=SHARE)
    text = 'mutation { write(text: "x") }'
    house.learn(text)
    line = AsgiConnection()
    headers = {"accept": accept, "authorization": "Bearer ann", "x_requested_with": "x"}
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/graphql",
        "query_string": b"query=mutation%20%7B%20write(text:%20%22x%22)%20%7D",
        "headers": header_list(headers),
    }
    async with run_app(line, house.http, scope):
        assert (await line.next_sent())["status"] == 405
    assert house.spending_of() == 1
    assert house.world.written == []
