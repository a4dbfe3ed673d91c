"""A browser that can reach localhost only, and the server it looks at."""

from __future__ import annotations

import asyncio
import shutil
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
import strawberry
import uvicorn
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    Response,
    WebSocket,
    async_playwright,
    expect,
)
from starlette.applications import Starlette
from starlette.routing import Route, WebSocketRoute
from strawberry.asgi import GraphQL

from server.graphiql import PageConfig, routes

LOCAL = ("127.0.0.1", "localhost")
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, " + ", ".join(f"EXCLUDE {host}" for host in LOCAL),
)
PATIENCE = 30_000  # milliseconds; a busy machine starts browsers slowly
REPORT_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI}`));
"""


@dataclass
class Visit:
    """A fresh profile on the page, with everything the browser did there."""

    page: Page
    context: BrowserContext
    base_url: str
    complaints: list[str] = field(default_factory=list)
    hosts: set[str | None] = field(default_factory=set)
    queries: list[Request] = field(default_factory=list)
    sockets: list[WebSocket] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    received: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.context.on("request", self.on_request)
        self.context.on("response", self.on_response)
        self.context.on("console", self.on_console)
        self.context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        self.page.on("websocket", self.on_websocket)

    def on_request(self, request: Request) -> None:
        url = urlsplit(request.url)
        if url.scheme not in ("data", "blob"):
            self.hosts.add(url.hostname)
        if url.path == "/graphql":
            self.queries.append(request)

    def on_response(self, response: Response) -> None:
        if response.status >= 400:
            self.complaints.append(f"{response.status} for {response.url}")

    def on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def on_websocket(self, websocket: WebSocket) -> None:
        self.hosts.add(urlsplit(websocket.url).hostname)
        self.sockets.append(websocket)
        websocket.on("framesent", lambda frame: self.sent.append(str(frame)))
        websocket.on("framereceived", lambda frame: self.received.append(str(frame)))


@dataclass(frozen=True)
class Live:
    """A subscription of the server under test, its name, and a part of what it answers."""

    name: str
    query: str
    answer: str


@pytest.fixture(scope="session")
def base_url() -> Iterator[str]:
    """The server under test: it has the page at /graphiql and the schema at /graphql."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        server = uvicorn.Server(
            uvicorn.Config(stand_in(), log_level="warning", lifespan="off", ws="websockets-sansio")
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}"
        server.should_exit = True
        thread.join(timeout=10)


@pytest.fixture(scope="session")
def live() -> Live:
    return Live("Count", "subscription Count { count }", '"count": 3')


@strawberry.type
class Viewer:
    user_id: str
    default_group: str


@strawberry.type
class Query:
    @strawberry.field
    def viewer(self) -> Viewer:
        return Viewer(user_id="jane", default_group="/usa/northwest")


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def count(self) -> AsyncIterator[int]:
        for number in range(1, 4):
            yield number
            await asyncio.sleep(0.01)


def stand_in() -> Starlette:
    graphql: GraphQL[None, None] = GraphQL(
        strawberry.Schema(query=Query, subscription=Subscription), graphql_ide=None
    )
    page = routes(PageConfig(dev_token=lambda: "present.dev.token"))
    return Starlette(
        routes=[*page, Route("/graphql", graphql), WebSocketRoute("/graphql", graphql)]
    )


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if chromium is None:
        pytest.skip("no chromium on the PATH (Debian and Ubuntu: apt install chromium)")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        yield browser
        await browser.close()


@pytest.fixture
async def visit(browser: Browser, base_url: str) -> AsyncIterator[Visit]:
    context = await browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    await context.add_init_script(REPORT_VIOLATIONS)
    visit = Visit(page=await context.new_page(), context=context, base_url=base_url)
    visit.watch()
    yield visit
    await context.close()
