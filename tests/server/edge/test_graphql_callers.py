"""Authentication, origins and deadlines of GraphQL over HTTP, and the safety of its errors."""

import asyncio
from typing import Any

import pytest
from graphql import ExecutionResult
from starlette.types import Message

from penstock.datastore.errors import RequestRefused
from penstock.datastore.roles import Caller
from penstock.schema.engine.limits import Limits
from penstock.schema.engine.operations import PreparedOperation
from penstock.server.edge.graphql import GraphQLApp
from tests.server.edge.edge_client import Client, Edge, client_of
from tests.support.error_details import extensions_of

HELLO = {"query": "{ hello }"}
NAMED = "query($n: String) { shelf(name: $n) { __typename } }"
WORLD = {"data": {"hello": "world"}}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": "Basic Z29vZA=="}, 401),
        ({"authorization": "Basic Z29vZA==", "apollo_require_preflight": "1"}, 401),
    ],
)
async def test_basic_credentials_are_no_token(
    headers: dict[str, str], status: int, client: Client
) -> None:
    assert (await client.get(HELLO, **headers)).status == status


async def test_a_page_of_another_site_cannot_send_a_get() -> None:
    async def open_to_all(_headers: object) -> Any:
        return Caller("anybody", {})

    edge = Edge()
    assert isinstance(edge.app, GraphQLApp)
    edge.app._authenticate = open_to_all
    async with client_of(edge) as client:
        for bare in ({"authorization": None}, {"authorization": "Basic Z29vZA=="}):
            reply = await client.get(HELLO, **bare)
            assert (reply.status, reply.code) == (403, "CSRF_PREVENTED")
        for name in (
            "apollo_require_preflight",
            "x_apollo_operation_name",
            "graphql_require_preflight",
            "x_requested_with",
        ):
            reply = await client.get(HELLO, authorization=None, **{name: "x"})
            assert reply.json == WORLD
        assert len(edge.admitted) == 4


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "nonsense", "message/x"]
)
async def test_a_get_with_another_content_type_does_not_slip_past(
    content_type: str, client: Client, edge: Edge
) -> None:
    reply = await client.get(HELLO, content_type=content_type)
    assert (reply.status, reply.code) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert edge.admitted == []
    assert await client.is_served()


async def test_a_request_without_a_token_is_unauthenticated(client: Client, edge: Edge) -> None:
    for asked in (client.post(HELLO, authorization=None), client.get(HELLO, authorization=None)):
        reply = await asked
        assert (reply.status, reply.code) == (401, "UNAUTHENTICATED")
        assert reply.headers["www-authenticate"] == 'Bearer realm="penstock"'
        assert reply.json["errors"][0]["message"] == "There is no token."
    assert edge.admitted == []
    assert await client.is_served()


async def test_an_invalid_token_is_named_as_such(client: Client) -> None:
    reply = await client.post(HELLO, authorization="Bearer forged")
    assert (reply.status, reply.code) == (401, "UNAUTHENTICATED")
    assert reply.headers["www-authenticate"] == 'Bearer realm="penstock", error="invalid_token"'
    assert reply.headers["cache-control"] == "no-store"


async def test_a_store_that_is_away_says_when_to_come_back(client: Client) -> None:
    reply = await client.post(HELLO, authorization="Bearer away")
    assert (reply.status, reply.code) == (503, "SERVICE_UNAVAILABLE")
    assert reply.headers["retry-after"] == "5"
    partial = await client.post({"query": "{ hello away }"})
    assert (partial.status, partial.headers["retry-after"]) == (200, "7")
    assert partial.json["data"] == {"hello": "world", "away": None}
    request = partial.headers["x-request-id"]
    assert partial.json["errors"][0]["extensions"] == extensions_of(
        "SERVICE_UNAVAILABLE", request, retryAfter=7
    )


async def test_an_unexpected_exception_says_nothing_but_its_request_id(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    reply = await client.post(HELLO, authorization="Bearer crash", x_request_id="r-1")
    assert (reply.status, reply.code) == (500, "INTERNAL_SERVER_ERROR")
    extensions = extensions_of("INTERNAL_SERVER_ERROR", "r-1")
    assert reply.json["errors"] == [{"message": "Internal error", "extensions": extensions}]
    assert "secret of the house" in caplog.text
    assert await client.is_served()
    assert client.connections == 1


async def test_a_request_that_aws_refuses_says_when_to_come_back(
    edge: Edge, client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(_headers: object) -> Any:
        raise RequestRefused("GetItem", "AccessDeniedException", "secret words")

    monkeypatch.setattr(edge.app, "_authenticate", refuse)
    reply = await client.post(HELLO, x_request_id="r-3")
    assert (reply.status, reply.code) == (503, "SERVICE_UNAVAILABLE")
    assert reply.headers["retry-after"] == "10"
    assert "secret" not in reply.body.decode()
    assert caplog.text.count("RequestRefused: GetItem was refused") == 1


async def test_a_field_that_crashes_is_masked(client: Client) -> None:
    reply = await client.post({"query": "{ hello crash infinite }"}, x_request_id="r-2")
    assert reply.status == 200
    assert reply.json["data"] == {"hello": "world", "crash": None, "infinite": None}
    for error in reply.json["errors"]:
        assert error["message"] == "Internal error"
        assert error["extensions"]["requestId"] == "r-2"
    assert "secret" not in reply.body.decode()


async def test_an_operation_has_one_deadline(edge: Edge) -> None:
    edge = Edge(Limits(deadline_seconds=0.05))
    async with client_of(edge) as client:
        reply = await client.post({"query": "{ hello a: sleep(seconds: 5) b: sleep(seconds: 5) }"})
        assert (reply.status, reply.code) == (504, "TIMEOUT")
        assert reply.json["errors"][0]["message"] == "The operation took longer than 0.05 s."
        assert len(edge.admitted) == 1
        assert await client.is_served()
        assert client.connections == 1


async def test_a_timeout_inside_is_not_taken_for_the_deadline(
    edge: Edge, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def late(_headers: object) -> Any:
        raise TimeoutError

    monkeypatch.setattr(edge.app, "_authenticate", late)
    reply = await client.post(HELLO)
    assert (reply.status, reply.code) == (500, "INTERNAL_SERVER_ERROR")


async def test_a_cancel_inside_is_not_taken_for_the_end_of_the_server(
    edge: Edge, client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def await_cancelled(_headers: object) -> Any:
        lost = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(lost.cancel)
        await lost

    with monkeypatch.context() as patch:
        patch.setattr(edge.app, "_authenticate", await_cancelled)
        reply = await client.post(HELLO)
    assert (reply.status, reply.code) == (500, "INTERNAL_SERVER_ERROR")
    assert "retry-after" not in reply.headers
    assert "CancelledError" in caplog.text
    assert await client.is_served()
    assert client.connections == 1


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"x_request_id": "abc-1"}, "abc-1"),
        ({"traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-01"}, "a" * 32),
        ({"x_request_id": "bad id", "traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}, "a" * 32),
    ],
)
async def test_a_request_keeps_the_id_it_came_with(
    headers: dict[str, str], expected: str, client: Client, edge: Edge
) -> None:
    assert (await client.post(HELLO, **headers)).headers["x-request-id"] == expected
    assert edge.admitted[0].request_id == expected


@pytest.mark.parametrize(
    "headers", [{}, {"x_request_id": "x" * 129}, {"traceparent": f"00-{'0' * 32}-{'b' * 16}-01"}]
)
async def test_a_request_without_a_fit_id_gets_a_new_one(
    headers: dict[str, str], client: Client
) -> None:
    seen = {(await client.post(HELLO, **headers)).headers["x-request-id"] for _ in range(3)}
    assert len(seen) == 3
    assert {len(one) for one in seen} == {32}


async def test_what_cannot_be_written_is_an_internal_error() -> None:
    def odd(
        _prepared: PreparedOperation, _context: object, _root: object = None
    ) -> ExecutionResult:
        return ExecutionResult(data={"a": "\ud800"})

    async with client_of(Edge(executor=odd)) as client:
        reply = await client.post(HELLO)
        assert (reply.status, reply.code) == (500, "INTERNAL_SERVER_ERROR")


async def test_another_executor_can_take_over() -> None:
    seen: list[PreparedOperation] = []

    async def mine(
        prepared: PreparedOperation, _context: object, _root: object = None
    ) -> ExecutionResult:
        seen.append(prepared)
        return ExecutionResult(data={"mine": prepared.variables})

    async with client_of(Edge(executor=mine)) as client:
        for name in ("a", "b"):
            asked = {"query": NAMED, "variables": {"n": name, "undeclared": 1}}
            assert (await client.post(asked)).json == {"data": {"mine": {"n": name}}}
    assert seen[0].document is seen[1].document


async def test_a_handshake_is_refused(edge: Edge) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await edge.app({"type": "websocket", "headers": []}, receive, send)
    assert [one["type"] for one in sent] == ["websocket.close"]
