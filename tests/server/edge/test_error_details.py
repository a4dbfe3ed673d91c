"""Every error says whether a retry may help, what explains its code, and which request it was."""

import json
import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path

import pytest

from penstock.datastore.errors import RETRYABLE, ErrorCode
from penstock.datastore.store import Store
from penstock.schema import sdl
from penstock.server.connections import refusals
from tests.support.application import ApplicationClient, open_application
from tests.support.error_details import extensions_of

PAGES = Path(__file__).parents[3] / "docs" / "errors"
NO_TOKEN = {"authorization": ""}


@pytest.fixture
async def served(store: Store, tmp_path: Path) -> AsyncIterator[ApplicationClient]:
    async with open_application(store, tmp_path) as client:
        yield client


@pytest.mark.parametrize(
    ("query", "headers", "code"),
    [
        ("{ group(path: 1) { path } }", {}, "GRAPHQL_VALIDATION_FAILED"),
        ("{ group(", {}, "GRAPHQL_PARSE_FAILED"),
        ('{ pipelines(group: "/absent") { nodes { id } } }', {}, "NOT_FOUND"),
        ("{ viewer { userId } }", NO_TOKEN, "UNAUTHENTICATED"),
        ("{ viewer { userId } }", {"accept": "text/plain"}, "NOT_ACCEPTABLE"),
    ],
)
async def test_an_error_of_any_stage_has_its_details(
    query: str, headers: dict[str, str], code: str, served: ApplicationClient
) -> None:
    for request in ("r-1", "r-2"):
        answer = await served.ask(query, headers={**headers, "x-request-id": request})
        (error,) = answer.json()["errors"]
        error["extensions"].pop("path", None)
        assert error["extensions"] == extensions_of(code, request)


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("POST", "/events/s3", "UNAUTHENTICATED"),
        ("GET", "/stream/018f3b6e-0000-7000-8000-000000000001", "UNAUTHENTICATED"),
        ("GET", "/schema.graphql", "UNAUTHENTICATED"),
    ],
)
async def test_urls_beside_graphql_answer_alike(
    method: str, path: str, code: str, served: ApplicationClient
) -> None:
    headers = {**NO_TOKEN, "x-request-id": "r-1"}
    answer = await served.client.request(method, path, headers=headers)
    (error,) = answer.json()["errors"]
    assert error["extensions"] == extensions_of(code, "r-1")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (refusals.MALFORMED, "BAD_REQUEST"),
        (refusals.HEAD_TOO_LATE, "TIMEOUT"),
        (refusals.TOO_MANY_CONNECTIONS, "SERVICE_UNAVAILABLE"),
    ],
)
def test_what_is_refused_unread_has_no_request_id(answer: bytes, code: str) -> None:
    _, _, body = answer.partition(b"\r\n\r\n")
    (error,) = json.loads(body)["errors"]
    assert error["extensions"] == extensions_of(code)


@pytest.mark.parametrize("code", ErrorCode)
def test_the_page_of_a_code_says_whether_a_retry_may_help(code: ErrorCode) -> None:
    last = (PAGES / f"{code}.md").read_text().splitlines()[-1]
    assert last.startswith(f"`retryable` is {'true' if code in RETRYABLE else 'false'}: ")


async def test_the_page_of_every_code_is_served_to_everybody(served: ApplicationClient) -> None:
    for code in ErrorCode:
        answer = await served.client.get(f"/errors/{code}", headers=NO_TOKEN)
        assert answer.status_code == 200
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; ")
        text = unescape(re.sub(r"<[^>]+>", "", answer.text))
        first = (PAGES / f"{code}.md").read_text().splitlines()[2]
        assert re.sub(r"[`]|\]\([^)]*\)|\[", "", first) in text
        assert "<script" not in answer.text


async def test_no_link_of_the_pages_leads_nowhere(served: ApplicationClient) -> None:
    followed = {"/errors"}
    waiting = ["/errors"]
    while waiting:
        page = await served.client.get(waiting.pop(), headers=NO_TOKEN)
        assert page.status_code == 200
        for target in re.findall(r'href="([^"]*)"', page.text):
            path = page.url.join(target).path
            if path not in followed:
                followed.add(path)
                waiting.append(path)
    assert followed == {"/errors", *(f"/errors/{code}" for code in ErrorCode)}


@pytest.mark.parametrize(
    "path", ["/errors/README", "/errors/not_found", "/errors/..%2Fx", "/errors/"]
)
async def test_other_pages_are_not_there(path: str, served: ApplicationClient) -> None:
    answer = await served.client.get(path, headers=NO_TOKEN)
    assert answer.status_code in (307, 404)
    assert "Penstock</title>" not in answer.text


async def test_tools_read_the_schema_with_a_token(served: ApplicationClient) -> None:
    answer = await served.client.get("/schema.graphql")
    assert (answer.status_code, answer.text) == (200, sdl())
    assert answer.headers["cache-control"] == "private, no-cache"
    held = {"if-none-match": answer.headers["etag"]}
    again = await served.client.get("/schema.graphql", headers=held)
    assert (again.status_code, again.content) == (304, b"")


async def test_a_server_without_introspection_keeps_its_schema(
    store: Store, tmp_path: Path
) -> None:
    async with open_application(store, tmp_path, introspection="off") as served:
        answer = await served.client.get("/schema.graphql", headers={"x-request-id": "r-1"})
        assert answer.status_code == 403
        (error,) = answer.json()["errors"]
        assert error["extensions"] == extensions_of("INTROSPECTION_DISABLED", "r-1")
        stranger = await served.client.get("/schema.graphql", headers=NO_TOKEN)
        assert stranger.status_code == 401
