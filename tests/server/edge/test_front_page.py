"""The server's own address and the endpoint lead a browser to a page, and no client elsewhere."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from penstock.datastore.store import Store
from penstock.server.app import open_app
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from penstock.server.edge.public_path import serve_below_public_path
from penstock.server.settings.settings import Settings
from tests.support.stores import open_store

FIREFOX = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
CHROMIUM = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
CLIENTS = ("*/*", "application/json", "application/graphql-response+json, text/html;q=0.1")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store("sqlite", tmp_path) as store:
        yield store


async def fetch(
    store: Store,
    path: str,
    accept: str,
    graphiql: bool = True,
    console: bool = True,
    root_path: str = "",
) -> httpx.Response:
    settings = Settings.load(graphiql=graphiql, console=console)
    async with open_app(settings, store, None) as app:
        transport = httpx.ASGITransport(app=app, root_path=root_path)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path, headers={"accept": accept})


@pytest.mark.parametrize("accept", [FIREFOX, CHROMIUM])
@pytest.mark.parametrize(
    ("path", "page"), [("/", "/console/"), ("/console", "/console/"), ("/graphql", "/graphiql")]
)
async def test_a_browser_is_led_to_the_page(
    store: Store, path: str, page: str, accept: str
) -> None:
    answer = await fetch(store, path, accept)
    assert answer.status_code == 302
    assert answer.headers["location"] == page
    assert answer.headers["cache-control"] == "no-store"


async def test_without_the_console_the_root_leads_to_graphiql(store: Store) -> None:
    answer = await fetch(store, "/", FIREFOX, console=False)
    assert (answer.status_code, answer.headers["location"]) == (302, "/graphiql")
    assert (await fetch(store, "/console/", FIREFOX, console=False)).status_code == 404


async def test_the_page_is_found_below_the_prefix_of_a_proxy(store: Store) -> None:
    answer = await fetch(store, "/penstock/", FIREFOX, root_path="/penstock")
    assert answer.headers["location"] == "/penstock/console/"


@pytest.mark.parametrize(
    ("path", "status", "location"),
    [
        ("/penstock/", 302, "/penstock/console/"),
        ("/penstock", 302, "/penstock/console/"),
        ("/", 302, "/penstock/console/"),
        ("/penstock/healthz", 200, None),
        ("/healthz", 200, None),
        ("/penstocks/", 404, None),
    ],
)
async def test_the_path_of_the_public_url_is_a_prefix_whether_a_proxy_takes_it_away_or_not(
    store: Store, path: str, status: int, location: str | None
) -> None:
    async with open_app(Settings.load(), store, None) as app:
        prefixed = serve_below_public_path(app, "https://example.org/penstock")
        transport = httpx.ASGITransport(app=prefixed)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            answer = await client.get(path, headers={"accept": FIREFOX})
    assert (answer.status_code, answer.headers.get("location")) == (status, location)


async def test_a_public_url_without_a_path_changes_nothing(store: Store) -> None:
    async with open_app(Settings.load(), store, None) as app:
        assert serve_below_public_path(app, "https://example.org") is app
        assert serve_below_public_path(app, None) is app


@pytest.mark.parametrize("accept", CLIENTS)
async def test_a_client_of_the_endpoint_is_led_nowhere(store: Store, accept: str) -> None:
    answer = await fetch(store, "/graphql", accept)
    assert answer.status_code == 401


async def test_a_query_in_a_browser_s_address_is_answered(store: Store) -> None:
    answer = await fetch(store, "/graphql?query={__typename}", FIREFOX)
    assert answer.status_code == 401


async def test_without_the_pages_the_endpoint_answers_itself_and_the_root_says_where_it_is(
    store: Store,
) -> None:
    assert (await fetch(store, "/graphql", FIREFOX, graphiql=False)).status_code == 401
    root = await fetch(store, "/", FIREFOX, graphiql=False, console=False)
    assert root.status_code == 200
    assert root.text == "Penstock answers GraphQL at /graphql; its pages are off.\n"


async def test_a_path_that_has_nothing_names_that_of_graphql(store: Store) -> None:
    answer = await fetch(store, "/graphq", FIREFOX)
    assert (answer.status_code, answer.text) == (
        404,
        "There is nothing at this path; GraphQL is at /graphql.\n",
    )


NO_FIELD = "Cannot query field 'vieer' on type 'Query'."
NO_VALUE = (
    "Variable '$kind' has invalid value: Value 'PIPELIN' does not exist in 'ResourceKind' enum."
)


MISSPELT = {"query": "{ vieer { userId } }"}
NO_KIND = {
    "query": "query ($kind: ResourceKind!) { tagKeys(kind: $kind) { nodes { key } } }",
    "variables": {"kind": "PIPELIN"},
}


@pytest.mark.parametrize(
    ("introspection", "body", "message"),
    [
        ("authenticated", MISSPELT, f"{NO_FIELD} Did you mean 'viewer'?"),
        ("off", MISSPELT, NO_FIELD),
        ("authenticated", NO_KIND, f"{NO_VALUE} Did you mean the enum value 'PIPELINE'?"),
        ("off", NO_KIND, NO_VALUE),
    ],
)
async def test_names_are_suggested_to_callers_who_may_read_the_schema(
    store: Store, tmp_path: Path, introspection: Any, body: Any, message: str
) -> None:
    settings = Settings.load(data_dir=tmp_path, introspection=introspection)
    token = sign_dev_token(dev_key(tmp_path), "ana", {}, None, DEV_TOKEN_LIFETIME)
    async with open_app(settings, store, None) as app:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            headers = {"authorization": f"Bearer {token}"}
            answer = (await client.post("/graphql", json=body, headers=headers)).json()
            stranger = await client.post("/graphql", json=body)
    assert [error["message"] for error in answer["errors"]] == [message]
    assert (stranger.status_code, "viewer" in stranger.text) == (401, False)
