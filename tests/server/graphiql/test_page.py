"""The answers of the GraphiQL routes, without a browser and without a built bundle."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount, Route
from starlette.types import Message

from penstock.server.graphiql import (
    CONTENT_SECURITY_POLICY,
    HERE,
    PageConfig,
    read_examples,
    routes,
)
from penstock.server.pages.bundle import read_asset

PAGE = """<!doctype html>
<link rel="stylesheet" href="{{assets}}/entry-AAAA.css">
<script type="application/json" id="penstock">{{settings}}</script>
<script type="module" src="{{assets}}/entry-BBBB.js"></script>
"""
SCRIPT = b"console.log('hello')"
IMMUTABLE = "public, max-age=31536000, immutable"


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    assets = tmp_path / "dist" / "assets"
    assets.mkdir(parents=True)
    (tmp_path / "dist" / "index.html").write_text(PAGE)
    (tmp_path / "dist" / "secret.js").write_text("not for the world")
    files = {"entry-BBBB.js": SCRIPT, "entry-AAAA.css": b"body{}", "codicon-CCCC.ttf": b"font"}
    for name, content in files.items():
        (assets / f"{name}.gz").write_bytes(gzip.compress(content))
    return tmp_path / "dist"


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    folder = tmp_path / "examples"
    folder.mkdir()
    (folder / "2-second.graphql").write_text("query Second($n: Int) { second(n: $n) }")
    (folder / "2-second.json").write_text('{"n": 1}')
    (folder / "1-first.graphql").write_text("{ first }")
    return folder


@pytest.fixture
def config(dist: Path, examples: Path) -> PageConfig:
    return PageConfig(dist=dist, examples=examples, session_url="/dev/session")


@pytest.fixture
async def client(config: PageConfig) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(Starlette(routes=routes(config))) as client:
        yield client


def client_of(app: Starlette, root_path: str = "") -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=app, root_path=root_path)
    return httpx.AsyncClient(
        transport=transport, base_url="http://test", headers={"accept-encoding": "identity"}
    )


def settings_of(page: httpx.Response) -> dict[str, Any]:
    block = re.search(r'id="penstock">(.*?)</script>', page.text, re.DOTALL)
    assert block is not None
    settings: dict[str, Any] = json.loads(block[1])
    return settings


async def test_the_page_names_its_assets_and_carries_its_settings(
    client: httpx.AsyncClient,
) -> None:
    page = await client.get("/graphiql")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert 'src="/graphiql/assets/entry-BBBB.js"' in page.text
    assert 'href="/graphiql/assets/entry-AAAA.css"' in page.text
    assert settings_of(page) == {
        "endpoint": "/graphql",
        "subscriptionUrl": "/graphql",
        "sessionUrl": "/dev/session",
        "examples": [
            {"query": "{ first }", "variables": None, "headers": None},
            {
                "query": "query Second($n: Int) { second(n: $n) }",
                "variables": '{"n": 1}',
                "headers": None,
            },
        ],
    }


async def test_the_page_is_strict_and_never_kept(client: httpx.AsyncClient) -> None:
    headers = (await client.get("/graphiql")).headers
    assert headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; worker-src 'self'; "
        "style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; "
        "style-src-attr 'unsafe-inline'; font-src 'self' data:; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"


async def test_settings_cannot_end_their_script_block(dist: Path, tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script><!-- & \u2028 {{assets}}"
    config = PageConfig(dist=dist, examples=tmp_path, session_url=evil)
    async with client_of(Starlette(routes=routes(config))) as client:
        page = await client.get("/graphiql")
    assert page.text.count("</script>") == 2
    assert "<!--" not in page.text
    assert settings_of(page)["sessionUrl"] == evil


async def test_the_page_does_not_depend_on_the_code_in_its_address(
    client: httpx.AsyncClient,
) -> None:
    plain = await client.get("/graphiql")
    with_code = await client.get("/graphiql", params={"code": "</script>a-code"})
    assert (with_code.status_code, with_code.text) == (200, plain.text)
    assert dict(with_code.headers) == dict(plain.headers)


async def test_a_page_without_sessions_exchanges_no_code(dist: Path, tmp_path: Path) -> None:
    app = Starlette(routes=routes(PageConfig(dist=dist, examples=tmp_path)))
    async with client_of(app) as client:
        settings = settings_of(await client.get("/graphiql"))
    assert settings["sessionUrl"] is None
    assert settings["examples"] == []


async def test_a_server_below_a_prefix_names_the_paths_the_browser_sees(config: PageConfig) -> None:
    app = Starlette(routes=routes(config))
    async with client_of(app, root_path='/stage"') as client:
        page = await client.get('/stage"/graphiql')
    assert 'src="/stage&quot;/graphiql/assets/entry-BBBB.js"' in page.text
    assert settings_of(page)["endpoint"] == '/stage"/graphql'
    assert settings_of(page)["sessionUrl"] == '/stage"/dev/session'


async def test_a_mounted_page_still_asks_the_graphql_of_the_whole_server(
    config: PageConfig,
) -> None:
    app = Starlette(routes=[Mount("/tools", routes=routes(config))])
    async with client_of(app) as client:
        page = await client.get("/tools/graphiql")
        script = await client.get("/tools/graphiql/assets/entry-BBBB.js")
    assert 'src="/tools/graphiql/assets/entry-BBBB.js"' in page.text
    assert settings_of(page)["endpoint"] == "/graphql"
    assert script.content == SCRIPT


@pytest.mark.parametrize(
    ("accepted", "encoding", "content"),
    [
        ("identity", None, SCRIPT),
        ("", None, SCRIPT),
        ("gzip", "gzip", SCRIPT),
        ("br;q=0, gzip;q=0.5", "gzip", SCRIPT),
        ("gzip; q=0.000", None, SCRIPT),
        ("gzip, deflate, BR", "gzip", SCRIPT),
    ],
)
async def test_an_asset_comes_in_a_coding_the_client_takes(
    client: httpx.AsyncClient, accepted: str, encoding: str | None, content: bytes
) -> None:
    asset = await client.get(
        "/graphiql/assets/entry-BBBB.js", headers={"accept-encoding": accepted}
    )
    assert asset.status_code == 200
    assert asset.headers.get("content-encoding") == encoding
    assert asset.content == content


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("entry-BBBB.js", "text/javascript; charset=utf-8"),
        ("entry-AAAA.css", "text/css; charset=utf-8"),
        ("codicon-CCCC.ttf", "font/ttf"),
    ],
)
async def test_an_asset_is_typed_and_kept_for_ever(
    client: httpx.AsyncClient, name: str, media_type: str
) -> None:
    asset = await client.get(f"/graphiql/assets/{name}")
    assert asset.headers["content-type"] == media_type
    assert asset.headers["cache-control"] == IMMUTABLE
    assert asset.headers["vary"] == "accept-encoding"
    assert asset.headers["x-content-type-options"] == "nosniff"
    # A worker has the policy of its own script, not that of the page.
    assert asset.headers["content-security-policy"] == CONTENT_SECURITY_POLICY


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "%2e%2e",
        "../secret.js",
        "%2e%2e/secret.js",
        "..%2fsecret.js",
        "..%5csecret.js",
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd.txt",
        "nothing.js",
        "entry-BBBB.js.gz",
        "entry-BBBB.js%00.css",
        "entry-BBBB.js%0a",
        "a" * 5000 + ".js",
    ],
)
async def test_nothing_else_is_served(client: httpx.AsyncClient, name: str) -> None:
    url = httpx.URL("http://test").copy_with(raw_path=f"/graphiql/assets/{name}".encode())
    answer = await client.get(url)
    assert answer.status_code == 404
    assert "not for the world" not in answer.text


async def test_only_reading_is_allowed(client: httpx.AsyncClient) -> None:
    assert (await client.post("/graphiql")).status_code == 405
    assert (await client.head("/graphiql")).status_code == 200
    head = await client.head("/graphiql/assets/entry-BBBB.js")
    assert (head.status_code, head.content) == (200, b"")


async def test_a_missing_bundle_says_how_to_build_it(tmp_path: Path) -> None:
    app = Starlette(routes=routes(PageConfig(dist=tmp_path / "dist", examples=tmp_path)))
    async with client_of(app) as client:
        page = await client.get("/graphiql")
        asset = await client.get("/graphiql/assets/entry-BBBB.js")
    assert page.status_code == 503
    assert page.headers["content-type"].startswith("text/plain")
    assert "`make`" in page.text
    assert asset.status_code == 404


def test_the_examples_that_come_along_are_whole() -> None:
    examples = list(read_examples(HERE / "examples"))
    assert examples
    assert all(example["query"] for example in examples)
    for example in examples:
        assert isinstance(json.loads(example["variables"] or "{}"), dict)


async def test_assets_are_sent_in_few_places_and_share_their_bytes(
    dist: Path, examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.server.pages.bundle.MOST_TRANSFERS", 1)
    app = Starlette(routes=routes(PageConfig(dist=dist, examples=examples)))
    path, begun, go = "/graphiql/assets/entry-BBBB.js", asyncio.Event(), asyncio.Event()

    async def stay() -> Message:
        await go.wait()
        return {"type": "http.disconnect"}

    async def take_nothing(message: Message) -> None:
        begun.set()
        await go.wait()

    scope = {"type": "http", "method": "GET", "path": path, "headers": [], "query_string": b""}
    unread = asyncio.create_task(app({**scope}, stay, take_nothing))
    await begun.wait()
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        refused = await client.get(path)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        go.set()
        await unread
        assert (await client.get(path)).content == SCRIPT
    packed = dist / "assets" / "entry-BBBB.js.gz"
    read = [read_asset(packed, packed.stat().st_mtime_ns, is_packed=False) for _ in range(2)]
    assert read[0] is read[1]


async def test_all_answers_with_a_page_share_its_bytes(dist: Path, examples: Path) -> None:
    (route, _) = routes(PageConfig(dist=dist, examples=examples))
    assert isinstance(route, Route)
    scope = {"type": "http", "method": "GET", "path": "/graphiql", "headers": []}
    first, second = [await route.endpoint(Request({**scope})) for _ in range(2)]
    assert first.body is second.body
    below = await route.endpoint(Request({**scope, "root_path": "/below"}))
    assert b'src="/below/graphiql/assets/entry-BBBB.js"' in below.body


async def test_a_page_that_is_built_again_is_read_again(dist: Path, examples: Path) -> None:
    async with client_of(Starlette(routes=routes(PageConfig(dist=dist, examples=examples)))) as one:
        assert "entry-BBBB" in (await one.get("/graphiql")).text
        (dist / "index.html").write_text("<p>new</p>")
        os.utime(dist / "index.html", (1, 1))
        assert (await one.get("/graphiql")).text == "<p>new</p>"
