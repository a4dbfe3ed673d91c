"""GraphQL over HTTP beyond the published audits: types, statuses, methods, caching."""

import json
from hashlib import sha256
from typing import Any

import pytest

from penstock.schema.core.scalars import encode_json
from penstock.schema.engine.documents import PersistedDocuments, PersistedMode
from tests.server.edge.edge_client import GRAPHQL, JSON, Client, Edge, client_of

HELLO = {"query": "{ hello }"}
WORLD = {"data": {"hello": "world"}}
EITHER = "application/graphql-response+json, application/json;q=0.9"
NEWER = "application/graphql-response+json"


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (None, JSON),
        ("", JSON),
        ("*/*", JSON),
        ("application/*", JSON),
        ("application/json", JSON),
        ("APPLICATION/JSON", JSON),
        ("application/json; charset=utf-8", JSON),
        (NEWER, GRAPHQL),
        (EITHER, GRAPHQL),
        ("application/json, application/graphql-response+json", GRAPHQL),
        ("application/graphql-response+json;q=0.5, application/json", JSON),
        ("application/graphql-response+json;q=0.5, */*;q=0.6", JSON),
        ("application/graphql-response+json;q=0, application/json;q=0.1", JSON),
        ("text/html, application/xhtml+xml, */*;q=0.8", JSON),
        ("nonsense, ;;q=, application/json", JSON),
    ],
)
async def test_the_answer_has_the_type_the_client_prefers(
    accept: str | None, media: str, client: Client
) -> None:
    reply = await client.post(HELLO, accept=accept)
    assert (reply.status, reply.headers["content-type"], reply.json) == (200, media, WORLD)


@pytest.mark.parametrize(
    "accept",
    [
        "text/html",
        "application/json;q=0",
        "*/*;q=0",
        "application/json;q=2",
        "application/json;q=x",
        "application/json; charset=iso-8859-1",
        "nonsense",
    ],
)
async def test_a_client_that_takes_neither_type_is_told_so(accept: str, client: Client) -> None:
    reply = await client.post(HELLO, accept=accept)
    assert (reply.status, reply.code) == (406, "NOT_ACCEPTABLE")
    assert reply.headers["content-type"] == JSON
    assert await client.is_served()
    assert client.connections == 1


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "HEAD"])
async def test_another_method_learns_which_there_are(method: str, client: Client) -> None:
    reply = await client.request(method, "/graphql", {})
    assert (reply.status, reply.headers["allow"]) == (405, "GET, POST, OPTIONS")
    if method != "HEAD":
        assert reply.code == "METHOD_NOT_ALLOWED"
    assert await client.is_served()


async def test_options_names_the_methods(client: Client) -> None:
    reply = await client.request("OPTIONS", "/graphql", {"authorization": None})
    assert (reply.status, reply.headers["allow"], reply.body) == (204, "GET, POST, OPTIONS", b"")
    assert await client.is_served()


async def test_a_mutation_by_get_changes_nothing(client: Client, edge: Edge) -> None:
    reply = await client.get({"query": 'mutation { write(text: "x") }'})
    assert (reply.status, reply.headers["allow"]) == (405, "POST")
    assert reply.code == "METHOD_NOT_ALLOWED"
    assert edge.notes.texts == []
    assert edge.admitted == []
    assert (await client.post({"query": 'mutation { write(text: "x") }'})).status == 200
    assert edge.notes.texts == ["x"]


async def test_a_mutation_among_queries_is_found_by_its_name(client: Client, edge: Edge) -> None:
    document = 'query A { hello } mutation B { write(text: "x") }'
    assert (await client.get({"query": document, "operationName": "A"})).json == WORLD
    assert (await client.get({"query": document, "operationName": "B"})).status == 405
    assert edge.notes.texts == []


async def test_a_subscription_is_not_answered_in_one_piece(client: Client, edge: Edge) -> None:
    reply = await client.post({"query": "subscription { ticks }"})
    assert (reply.status, reply.code) == (406, "NOT_ACCEPTABLE")
    assert edge.admitted == []
    assert await client.is_served()


async def test_several_operations_without_a_name_are_refused(client: Client, edge: Edge) -> None:
    document = 'query A { hello } mutation B { write(text: "x") }'
    for asked in ({"query": document}, {"query": document, "operationName": "C"}):
        assert (await client.post(asked)).code == "OPERATION_RESOLUTION_FAILURE"
    assert edge.notes.texts == []
    assert (await client.post({"query": document, "operationName": "A"})).json == WORLD
    assert (await client.post(HELLO | {"operationName": ""})).json == WORLD


@pytest.mark.parametrize(
    ("document", "variables", "code"),
    [
        ("{ hello", {}, "GRAPHQL_PARSE_FAILED"),
        ("{ nothing }", {}, "GRAPHQL_VALIDATION_FAILED"),
        ("query ($v: Int!) { number(value: $v) }", {"v": "secret"}, "BAD_USER_INPUT"),
        ("query ($v: Int!) { number(value: $v) }", {}, "BAD_USER_INPUT"),
        ("query A { hello } query B { hello }", {}, "OPERATION_RESOLUTION_FAILURE"),
        ("{ shelves(first: 100) { nodes { shelf { books(first: 99) { nodes { shelf { name"
         " } } } } } } }", {}, "QUERY_TOO_COMPLEX"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("accept", "draft", "statuses"),
    [
        ("application/json", False, {}),
        (NEWER, False, {"": 400}),
        ("application/json", True, {"": 422, "GRAPHQL_PARSE_FAILED": 400}),
        (NEWER, True, {"": 422, "GRAPHQL_PARSE_FAILED": 400}),
    ],
)
async def test_what_graphql_refuses_has_the_status_of_its_dialect(
    document: str,
    variables: dict[str, Any],
    code: str,
    accept: str,
    draft: bool,
    statuses: dict[str, int],
) -> None:
    async with client_of(Edge(statuses="draft" if draft else "2025")) as client:
        reply = await client.post({"query": document, "variables": variables}, accept=accept)
        assert reply.code == code
        assert reply.status == statuses.get(code, statuses.get("", 200))
        plain = accept == "application/json" and not draft
        assert reply.headers["content-type"] == (JSON if plain else GRAPHQL)
        assert "secret" not in reply.body.decode()
        assert await client.is_served()


@pytest.mark.parametrize(
    ("accept", "draft", "status"),
    [("application/json", False, 200), (NEWER, False, 200), (NEWER, True, 294)],
)
async def test_a_partial_success_is_a_success(accept: str, draft: bool, status: int) -> None:
    async with client_of(Edge(statuses="draft" if draft else "2025")) as client:
        for query, data in (("{ hello crash }", {"hello": "world", "crash": None}),
                            ("{ crashHard }", None)):  # fmt: skip
            reply = await client.post({"query": query}, accept=accept)
            assert (reply.status, reply.json["data"]) == (status, data)
            assert len(reply.json["errors"]) == 1


async def test_a_malformed_request_is_422_in_the_draft_and_no_json_stays_400() -> None:
    async with client_of(Edge(statuses="draft")) as client:
        for body, status in ((b'{"query":7}', 422), (b"[]", 422), (b"{", 400)):
            reply = await client.post(body)
            assert (reply.status, reply.code) == (status, "BAD_REQUEST")
            assert reply.headers["content-type"] == GRAPHQL
        assert (await client.post(HELLO)).headers["content-type"] == JSON


async def test_costs_are_shown_to_those_who_ask(client: Client, edge: Edge) -> None:
    asked = {"query": "query ($n: Int) { shelves(first: $n) { nodes { title } } }"}
    bare = await client.post(asked | {"variables": {"n": 5}})
    assert "extensions" not in bare.json
    reply = await client.post(asked | {"variables": {"n": 5}}, x_penstock_cost="1")
    assert reply.json["extensions"] == {
        "cost": {"requested": 5, "maximum": 5_000, "rcu": 1.5, "wcu": 0.0, "calls": 3}
    }
    narrow = await client.post(
        asked | {"variables": {"n": 5}}, x_penstock_cost="1", authorization="Bearer narrow"
    )
    assert narrow.json["extensions"] == {"cost": {"requested": 5, "maximum": 5_000}}
    assert [one.cost for one in edge.admitted] == [5, 5, 5]


async def test_an_answer_by_get_can_be_kept_and_asked_for_again(client: Client) -> None:
    first = await client.get(HELLO)
    assert (first.status, first.headers["cache-control"]) == (200, "private, no-cache")
    tag = first.headers["etag"]
    for held in (tag, f'"other", {tag}', f"W/{tag}", "*"):
        again = await client.get(HELLO, if_none_match=held)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    other = await client.get({"query": "{ a: hello }"}, if_none_match=tag)
    assert (other.status, other.json) == (200, {"data": {"a": "world"}})
    assert other.headers["etag"] != tag
    assert "authorization" in first.headers["vary"]
    assert client.connections == 1


async def test_neither_posts_nor_errors_are_kept(client: Client) -> None:
    for reply in (await client.post(HELLO), await client.get({"query": "{ crash }"})):
        assert reply.headers["cache-control"] == "no-store"
        assert "etag" not in reply.headers


async def test_a_persisted_query_goes_over_get(client: Client) -> None:
    digest = sha256(b"{ hello }").hexdigest()
    extension = {"extensions": json.dumps({"persistedQuery": {"version": 1, "sha256Hash": digest}})}
    unknown = await client.get(extension, accept="*/*")
    assert (unknown.status, unknown.code) == (200, "PERSISTED_QUERY_NOT_FOUND")
    assert unknown.headers["cache-control"] == "no-store"
    assert (await client.get(HELLO | extension)).json == WORLD
    assert (await client.get(extension, accept="*/*")).json == WORLD
    assert (await client.post({"documentId": f"sha256:{digest}"})).json == WORLD
    assert (await client.get({"documentId": digest})).json == WORLD


async def test_trusted_documents_are_the_only_ones() -> None:
    persisted = PersistedDocuments(PersistedMode.TRUSTED, {"menu": "{ a: hello }"})
    edge = Edge(persisted=persisted)
    async with client_of(edge) as client:
        assert (await client.post({"documentId": "menu"})).json == {"data": {"a": "world"}}
        assert (await client.post(HELLO)).code == "PERSISTED_QUERY_NOT_FOUND"
        assert len(edge.admitted) == 1


async def test_introspection_can_be_closed() -> None:
    async with client_of(Edge(introspection=False)) as client:
        reply = await client.post({"query": "{ __schema { queryType { name } } }"})
        assert reply.code == "INTROSPECTION_DISABLED"
        assert (await client.post({"query": "{ __typename }"})).status == 200


async def test_numbers_in_json_keep_every_digit(client: Client) -> None:
    reply = await client.post(
        {"query": "{ same(json: {a: 1.10, b: 12345678901234567890123}) { json } }"}
    )
    assert b'{"a":1.10,"b":12345678901234567890123}' in reply.body


def test_nothing_but_json_is_written() -> None:
    with pytest.raises(TypeError):
        encode_json({"a": object()})


@pytest.mark.parametrize(
    ("body", "place"),
    [(b'{"query":\n }', ", from line 2, column 2 on"), (b"\xff", ""), (b"", "")],
)
async def test_a_body_that_is_no_json_is_refused_with_its_place(body: bytes, place: str) -> None:
    async with client_of(Edge()) as client:
        reply = await client.post(body)
    assert reply.status == 400
    (error,) = reply.json["errors"]
    assert error["message"] == f"The body is not valid JSON in UTF-8{place}."
