"""Pages of an allowed origin can read every header that the server sends for them."""

from pathlib import Path

from httpx import ASGITransport, AsyncClient, Response

from penstock.datastore.store import Store
from penstock.server.app import open_app
from penstock.server.settings.settings import Settings
from tests.datastore.executions.sample_executions import put_file

ORIGIN = "https://app.example.org"
SAFE = {
    *("cache-control", "content-language", "content-length", "content-type", "expires"),
    *("last-modified", "pragma"),
}
"""The headers that a browser always shows to pages."""
FOR_BROWSERS = {
    *("content-security-policy", "referrer-policy", "x-content-type-options", "vary"),
    *("connection", "date", "server"),
}
"""The headers that are orders to browsers and caches; no page needs them."""


def hidden_headers(answer: Response) -> set[str]:
    """Return the headers of an answer that a page of the origin cannot read."""
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    exposed = answer.headers["access-control-expose-headers"].lower().split(", ")
    sent = {name for name in answer.headers if not name.startswith("access-control-")}
    return sent - SAFE - FOR_BROWSERS - {*exposed}


async def test_no_header_of_an_answer_is_hidden(store: Store, tmp_path: Path) -> None:
    await put_file(store.files, "a/song.txt", b"0123456789")
    settings = Settings.load(data_dir=tmp_path, allowed_origins=(ORIGIN,))
    signed = await store.files.presign_download("a/song.txt", expires_in=60, filename="song.txt")
    path = "/files/" + signed.url.partition("/files/")[2]
    seen: dict[str, set[str]] = {}
    async with (
        open_app(settings, store, None) as app,
        AsyncClient(
            transport=ASGITransport(app), base_url="http://localhost", headers={"origin": ORIGIN}
        ) as client,
    ):
        for name, answer in {
            "range": await client.get(path, headers={"range": "bytes=2-4"}),
            "no such range": await client.get(path, headers={"range": "bytes=99-"}),
            "whole": await client.get(path),
            "head": await client.head(path),
            "forged": await client.get(path + "x"),
            "no token": await client.post("/graphql", json={"query": "{ viewer { id } }"}),
            "no method": await client.put("/graphql"),
            "no path": await client.get("/nothing"),
            "healthy": await client.get("/healthz"),
        }.items():
            assert hidden_headers(answer) == set(), name
            seen[name] = {*answer.headers}
    assert "content-range" in seen["range"] & seen["no such range"]
    assert "content-disposition" in seen["whole"]
    assert "www-authenticate" in seen["no token"]


async def test_a_page_may_ask_for_a_range(store: Store, tmp_path: Path) -> None:
    settings = Settings.load(data_dir=tmp_path, allowed_origins=(ORIGIN,))
    wanted = "range, if-range, if-none-match, authorization"
    async with (
        open_app(settings, store, None) as app,
        AsyncClient(transport=ASGITransport(app), base_url="http://localhost") as client,
    ):
        for method in ("GET", "HEAD", "POST"):
            headers = {
                "origin": ORIGIN,
                "access-control-request-method": method,
                "access-control-request-headers": wanted,
            }
            answer = await client.options("/files/x", headers=headers)
            assert (answer.status_code, answer.text) == (200, "OK"), method
