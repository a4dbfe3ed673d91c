"""The routes of the console, without a browser and without a built bundle."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from penstock.datastore.errors import Unavailable
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.objects.port import Download, Files
from penstock.datastore.objects.s3 import S3Files
from penstock.server.console import (
    ConsoleConfig,
    Issuer,
    console_routes,
    content_security_policy,
    read_documents,
)
from penstock.server.front_pages import find_file_origins
from tests.support.stores import aws_environment, open_store

PAGE = '<script id="penstock">{{settings}}</script><script src="{{assets}}/entry-A.js"></script>'
ISSUER = Issuer("https://login.example.org/tenant", "console", "penstock")


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    assets = tmp_path / "dist" / "assets"
    assets.mkdir(parents=True)
    (tmp_path / "dist" / "index.html").write_text(PAGE)
    (assets / "entry-A.js.gz").write_bytes(gzip.compress(b"hello"))
    return tmp_path / "dist"


async def fetch(config: ConsoleConfig, path: str, root_path: str = "") -> httpx.Response:
    app = Starlette(routes=console_routes(config))
    transport = httpx.ASGITransport(app=app, root_path=root_path)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        return await client.get(path)


def settings_of(page: httpx.Response) -> Any:
    block = re.search(r'id="penstock">(.*?)</script>', page.text)
    assert block is not None
    return json.loads(block[1])


@pytest.mark.parametrize(
    "path", ["/console/", "/console/executions", "/console/pipelines/x%3D/run"]
)
async def test_every_screen_is_the_page(dist: Path, path: str) -> None:
    page = await fetch(ConsoleConfig(dist=dist, session_url="/dev/session"), path)
    assert (page.status_code, page.headers["cache-control"]) == (200, "no-store")
    assert 'src="/console/assets/entry-A.js"' in page.text
    assert settings_of(page) == {
        "base": "/console",
        "endpoint": "/graphql",
        "sessionUrl": "/dev/session",
        "graphiqlUrl": None,
        "issuer": None,
    }


async def test_the_page_lies_below_the_prefix_of_a_proxy(dist: Path) -> None:
    config = ConsoleConfig(dist=dist, graphiql="/graphiql")
    page = await fetch(config, "/penstock/console/", root_path="/penstock")
    settings = settings_of(page)
    assert 'src="/penstock/console/assets/entry-A.js"' in page.text
    assert settings["base"] == "/penstock/console"
    assert settings["endpoint"] == "/penstock/graphql"
    assert settings["graphiqlUrl"] == "/penstock/graphiql"


async def test_the_settings_name_the_issuer_and_no_secret(dist: Path) -> None:
    page = await fetch(ConsoleConfig(dist=dist, issuer=ISSUER), "/console/")
    assert settings_of(page)["issuer"] == {
        "url": "https://login.example.org/tenant",
        "clientId": "console",
        "audience": "penstock",
    }


async def test_an_asset_is_kept_for_ever_and_what_is_none_is_not_found(dist: Path) -> None:
    config = ConsoleConfig(dist=dist)
    asset = await fetch(config, "/console/assets/entry-A.js")
    assert (asset.status_code, asset.text) == (200, "hello")
    assert asset.headers["cache-control"] == "public, max-age=31536000, immutable"
    for name in ("entry-B.js", "", "..%2findex.html", "entry-A.js.gz"):
        assert (await fetch(config, f"/console/assets/{name}")).status_code == 404


async def test_before_the_build_the_page_says_what_to_do(tmp_path: Path) -> None:
    page = await fetch(ConsoleConfig(dist=tmp_path), "/console/")
    assert page.status_code == 503
    assert page.text == "The console has not been built. Run `make` in Penstock's source folder.\n"
    assert read_documents(tmp_path) == {}


def test_the_policy_allows_the_server_its_files_and_its_issuer_only() -> None:
    assert content_security_policy(ConsoleConfig()) == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    config = ConsoleConfig(issuer=ISSUER, file_origins=("https://files.example.org",))
    policy = content_security_policy(config)
    assert "connect-src 'self' https://files.example.org https://login.example.org;" in policy
    assert "media-src 'self' https://files.example.org;" in policy
    assert "img-src 'self' https://files.example.org data:;" in policy


async def test_the_origin_of_files_is_known_unless_the_server_sends_them(tmp_path: Path) -> None:
    async with open_store("sqlite", tmp_path) as store:
        assert isinstance(store.files, LocalFiles)
        assert await find_file_origins(store.files) == ()
    with aws_environment():
        files = await S3Files.open("penstock", region="eu-west-1", endpoint_url="http://s3.test:9")
    try:
        assert await find_file_origins(files) == ("http://s3.test:9",)
    finally:
        await files.close()


async def test_a_store_without_files_has_no_origin() -> None:
    class NoFiles:
        async def presign_download(self, key: str, **_: object) -> Download:
            raise Unavailable(f"no bucket for {key}")

    files: Any = NoFiles()
    typed: Files = files
    assert await find_file_origins(typed) == ()
