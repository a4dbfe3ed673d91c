"""A browser that can reach localhost only, and its server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
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

from tests.browser.install import chromium
from tests.browser.slow_answers import open_slow_proxy, slow_down
from tests.support.patience import HUNG_SECONDS
from tests.support.server_process import RunningServer, running_server

LOCAL = ("127.0.0.1", "localhost")
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--in-process-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, " + ", ".join(f"EXCLUDE {host}" for host in LOCAL),
)
SLOW_HUNG_SECONDS = 60.0
"""The patience of a run with slow answers, whose failures are looked for."""
NEXT_FRAME = """() => new Promise((done) =>
  requestAnimationFrame(() => setTimeout(done)))"""
REPORT_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI}`));
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--slow-answers",
        type=int,
        metavar="SEED",
        help="hold each answer to a page for a random time, and slow the page down",
    )


@dataclass
class Visit:
    """A fresh browser profile on the page, with a record of everything it did."""

    page: Page
    context: BrowserContext
    base_url: str
    data_dir: Path
    complaints: list[str] = field(default_factory=list)
    hosts: set[str | None] = field(default_factory=set)
    queries: list[Request] = field(default_factory=list)
    unanswered: set[Request] = field(default_factory=set)
    sockets: list[WebSocket] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    received: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.context.on("request", self.on_request)
        self.context.on("response", self.on_response)
        self.context.on("requestfinished", self.on_end)
        self.context.on("requestfailed", self.on_end)
        self.context.on("console", self.on_console)
        self.context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        self.page.on("websocket", self.on_websocket)

    async def settle(self) -> None:
        """Wait until the page has drawn all answers, and asks nothing more because of them."""
        quiet = 0
        while quiet < 2:
            await self.page.evaluate(NEXT_FRAME)
            quiet = 0 if self.unanswered else quiet + 1

    def on_request(self, request: Request) -> None:
        self.unanswered.add(request)
        url = urlsplit(request.url)
        if url.scheme not in ("data", "blob"):
            self.hosts.add(url.hostname)
        if url.path.endswith("/graphql"):
            self.queries.append(request)

    def on_end(self, request: Request) -> None:
        self.unanswered.discard(request)

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


@pytest.fixture(scope="session")
def sample_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """The server under test, with the sample data."""
    with running_server(tmp_path_factory.mktemp("data")) as server:
        yield server


@pytest.fixture(scope="session")
async def browser(request: pytest.FixtureRequest) -> AsyncIterator[Browser]:
    executable = chromium()
    if executable is None:
        pytest.skip("no chromium on the PATH (Debian: apt install chromium-headless-shell)")
    seed: int | None = request.config.getoption("slow_answers")
    async with AsyncExitStack() as opened:
        playwright = await opened.enter_async_context(async_playwright())
        options: dict[str, Any] = {"executable_path": executable, "args": list(ARGUMENTS)}
        if seed is not None:
            url = await opened.enter_async_context(open_slow_proxy(seed))
            options["proxy"] = {"server": url}
        browser = await playwright.chromium.launch(**options)
        patience = 1000 * (HUNG_SECONDS if seed is None else SLOW_HUNG_SECONDS)  # in milliseconds
        expect.set_options(timeout=patience)

        def set_up(context: BrowserContext) -> None:
            context.set_default_timeout(patience)
            if seed is not None:
                context.on("page", slow_down)

        browser.on("context", set_up)
        yield browser
        await browser.close()


@asynccontextmanager
async def visit_of(
    browser: Browser, url: str, data_dir: Path, **options: Any
) -> AsyncIterator[Visit]:
    """Open a fresh profile for a server, with options of the context."""
    size = {"width": 1400, "height": 900}
    # What turns while a page waits would take processor time all along.
    still = {"viewport": size, "reduced_motion": "reduce"}
    context = await browser.new_context(**{**still, **options})
    await context.add_init_script(REPORT_VIOLATIONS)
    visit = Visit(await context.new_page(), context, url, data_dir)
    visit.watch()
    try:
        yield visit
    finally:
        await context.close()


@pytest.fixture
async def visit(browser: Browser, sample_server: RunningServer) -> AsyncIterator[Visit]:
    async with visit_of(browser, sample_server.url, sample_server.data_dir) as visit:
        yield visit
