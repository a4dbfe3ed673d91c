"""The memory of a refused request is free at once, not at the next full collection of garbage.

An exception holds its frames, and these the body. A frame that holds the exception keeps them all.
"""

import asyncio
import gc
import json
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp, Message

from penstock.datastore.roles import ROOT, Role
from penstock.datastore.store import Store
from penstock.server.app import open_app
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from penstock.server.settings.settings import Settings
from tests.support.patience import until

BODY = 900_000
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
ROUTES = {
    "/graphql": JSON,
    "/events/s3": JSON,
    "/rest/ping": FORM,
    "/rest/createPlaylist?u=ann&p=wrong": FORM,
}
STARTS = {
    "no JSON": b"{" + b" " * (BODY - 1),
    "no object": b"[" + b" " * (BODY - 2) + b"]",
    "no operation": b"{" + b" " * (BODY - 2) + b"}",
    "no field": b'{"query": "{ nothing }"}'.ljust(BODY),
    "pairs": b"a=b&" * (BODY // 4),
}


@pytest.fixture
async def app(store: Store, tmp_path: Path) -> AsyncIterator[ASGIApp]:
    chosen = Settings.load(data_dir=tmp_path, opensubsonic=True, body_read_seconds=0.1)
    async with open_app(chosen, store, None) as app:
        yield app


async def send(app: ASGIApp, tmp_path: Path, url: str, begin: bytes, then: str) -> int:
    """Send a body that ends, stalls, goes on or breaks off; return the status of the answer."""
    token = sign_dev_token(dev_key(tmp_path), "ann", {ROOT: Role.ADMIN}, ROOT, DEV_TOKEN_LIFETIME)
    path, _, query = url.partition("?")
    statuses, parts = list[int](), [begin[: BODY // 2], begin[BODY // 2 :]]

    async def receive() -> Message:
        body = parts.pop(0) if parts else None
        if body is None and then == "breaks off":
            return {"type": "http.disconnect"}
        if body is None and then == "stalls":
            await asyncio.Event().wait()
        return {
            "type": "http.request",
            "body": body or begin,
            "more_body": bool(parts) or then != "ends",
        }

    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    headers = {"host": "localhost", "content-type": ROUTES[url]}
    headers["authorization"] = f"Bearer {token}"
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    await app(scope, receive, answer)
    return statuses[0] if statuses else 0


@contextmanager
def without_collections() -> Iterator[None]:
    gc.disable()
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()
        gc.enable()


@pytest.mark.parametrize("then", ["ends", "stalls", "goes on", "breaks off"])
async def test_a_refused_body_is_free_at_once(app: ASGIApp, tmp_path: Path, then: str) -> None:
    held = []
    with without_collections():
        for url, (name, begin) in product(ROUTES, STARTS.items()):
            await send(app, tmp_path, url, begin, then)
            before = tracemalloc.get_traced_memory()[0]
            await send(app, tmp_path, url, begin, then)
            if tracemalloc.get_traced_memory()[0] - before > BODY // 2:
                held.append((url, name))
    assert held == []


ANSWER = "{ __typename ... on UserError { code } }"
TEXT = "x" * BODY
DATASET = (
    '{ group: "/", name: "d", content: { columns: [{ name: "a", type: STRING }], csv: $text } }'
)
FIELDS = {
    "createPlaylist": ("{ name: $text }", TEXT),
    "importPlaylist of XSPF": ("{ format: XSPF, text: $text }", TEXT),
    "importPlaylist of JSPF": ("{ format: JSPF, text: $text }", "[" + TEXT),
    "importPlaylist of M3U8": ("{ format: M3U8, text: $text }", TEXT),
    "importPlaylist of no base64": ("{ format: XSPF, file: $text }", "!" + TEXT),
    "createReferenceDataset": (DATASET, TEXT),
    "createGroup": ("{ path: $text }", "/" + TEXT),
}


@pytest.mark.parametrize("name", FIELDS)
async def test_what_a_field_refuses_is_free_with_its_answer(
    app: ASGIApp, tmp_path: Path, name: str
) -> None:
    field, (argument, text) = name.split(maxsplit=1)[0], FIELDS[name]
    kind = "GroupPath" if field == "createGroup" else "String"
    query = f"mutation ($text: {kind}!) {{ {field}(input: {argument}) {ANSWER} }}"
    body = json.dumps({"query": query, "variables": {"text": text}}).encode()
    with without_collections():
        for _ in range(3):
            before = tracemalloc.get_traced_memory()[0]
            assert await send(app, tmp_path, "/graphql", body, "ends") == 200
        # A thread that read the body lets go of it when it has the processor again.
        await until(lambda: tracemalloc.get_traced_memory()[0] - before < BODY // 2)
