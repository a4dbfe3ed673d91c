"""Texts of strangers, each another and as long as may be, leave nothing in the memory."""

import gc
import tracemalloc
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlencode

import pytest
from starlette.types import ASGIApp, Message

from penstock.datastore.store import Store
from penstock.server.app import open_app
from penstock.server.settings.settings import Settings
from tests.server.opensubsonic.players import with_vault

pytestmark = pytest.mark.usefixtures("only_new_garbage")

LENGTH: Final = 3_500
WIDE: Final = "\U0001d4b3"
"""A character for which each one of a text takes four bytes of memory."""

FEW, MANY = 20, 120
LEFT_BYTES: Final = (MANY - FEW) * LENGTH // 4
"""Far less than what the texts have, in which one byte of each character would stay."""


def _token_of(head: str) -> str:
    parts = ('{"alg":"RS256","kid":"' + head + '"}', "{}", "x")
    return ".".join(urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts)


class UrlRequest(NamedTuple):
    """The URL of a GET, and its header fields."""

    url: str
    fields: dict[str, str]


def _player(**parameters: str) -> UrlRequest:
    return UrlRequest(f"/rest/ping?{urlencode(parameters)}", {})


def _bearer(token: str) -> UrlRequest:
    return UrlRequest("/schema.graphql", {"authorization": f"Bearer {token}"})


STRANGERS: Final[dict[str, Callable[[str], UrlRequest]]] = {
    "a user with a password": lambda text: _player(u=WIDE + text, p="x"),
    "a user with a token": lambda text: _player(u=WIDE + text, t="x", s="y"),
    "a password": lambda text: _player(u="ann", p=text),
    "a token of a password": lambda text: _player(u="ann", t=text, s=text[:500]),
    "an API key": lambda text: _player(apiKey=f"penstock_{text}"),
    "a bearer token": _bearer,
    "the key of a bearer token": lambda text: _bearer(_token_of(text)),
    "an API key as a bearer token": lambda text: _bearer(f"penstock_{text}"),
    "a media type": lambda text: UrlRequest("/graphql", {"accept": f"text/{text}"}),
    "a path": lambda text: UrlRequest(f"/{text}", {}),
    "the name of a field": lambda text: UrlRequest("/graphql", {text: "x"}),
}


@pytest.fixture
async def app(store: Store, tmp_path: Path) -> AsyncIterator[ASGIApp]:
    chosen = Settings.load(data_dir=tmp_path, opensubsonic=True, api_key_cache_seconds=60)
    async with open_app(chosen, with_vault(store), None) as app:
        yield app


async def send(app: ASGIApp, request: UrlRequest) -> None:
    """Send a request as a server would, since clients remember URLs."""
    path, _, query = request.url.partition("?")
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost")]
        + [(name.encode(), value.encode()) for name, value in request.fields.items()],
        "client": ("127.0.0.1", 50_000),
    }
    statuses = list[int]()

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def take(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await app(scope, receive, take)
    assert statuses
    assert statuses[0] < 500


@pytest.mark.parametrize("kind", STRANGERS)
async def test_long_texts_of_strangers_are_not_remembered(app: ASGIApp, kind: str) -> None:
    async def send_text(number: int) -> None:
        await send(app, STRANGERS[kind](f"{number}-".ljust(LENGTH, "x")))

    for number in range(FEW):
        await send_text(number)
    tracemalloc.start()
    try:
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for number in range(FEW, MANY):
            await send_text(number)
        gc.collect()
        left = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert left < LEFT_BYTES
