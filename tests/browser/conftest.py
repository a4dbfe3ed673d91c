"""A browser that can reach localhost only, and its server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import (
    Browser,
    BrowserContext,
    CDPSession,
    ConsoleMessage,
    Page,
    Request,
    Response,
    WebError,
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
    # Pages of a profile share a process: its start and compiled scripts are not each one's own.
    "--process-per-site",
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
KEPT = "cookies,local_storage,indexeddb,cache_storage,service_workers"
"""What a profile keeps for a page, other than files and compiled scripts of servers."""
NEXT_FRAME = """() => new Promise((done) =>
  requestAnimationFrame(() => setTimeout(done)))"""
REPORT_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI}`));
"""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "own_profile: a test that changes more of its profile than what pages keep"
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--slow-answers",
        type=int,
        metavar="SEED",
        help="hold each answer to a page for a random time, and slow the page down",
    )


@dataclass
class Visit:
    """A page of a browser profile, with a record of everything it did."""

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

    @contextmanager
    def watch(self) -> Iterator[None]:
        heard: dict[Any, Callable[[Any], None]] = {
            "request": self.on_request,
            "response": self.on_response,
            "requestfinished": self.on_end,
            "requestfailed": self.on_end,
            "console": self.on_console,
            "weberror": self.on_error,
        }
        self.page.on("websocket", self.on_websocket)
        for event, hear in heard.items():
            self.context.on(event, hear)
        try:
            yield
        finally:
            for event, hear in heard.items():
                self.context.remove_listener(event, hear)

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

    def on_error(self, error: WebError) -> None:
        self.complaints.append(str(error.error))

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
async def new_context(browser: Browser, **options: Any) -> AsyncIterator[BrowserContext]:
    size = {"width": 1400, "height": 900}
    # What turns while a page waits would take processor time all along.
    still = {"viewport": size, "reduced_motion": "reduce"}
    context = await browser.new_context(**{**still, **options})
    await context.add_init_script(REPORT_VIOLATIONS)
    try:
        yield context
    finally:
        await context.close()


@asynccontextmanager
async def visit_of(
    browser: Browser, url: str, data_dir: Path, **options: Any
) -> AsyncIterator[Visit]:
    """Open a fresh profile for a server, with options of the context."""
    async with new_context(browser, **options) as context:
        visit = Visit(await context.new_page(), context, url, data_dir)
        with visit.watch():
            yield visit


class Profile:
    """A profile for one test after the other: each finds it without what another kept in it.

    A fresh one would start a process for its pages and compile all scripts again, which takes most
    of the processor time of a test.
    """

    def __init__(self, context: BrowserContext, keeper: CDPSession) -> None:
        self._context = context
        self._keeper = keeper

    @classmethod
    async def open(cls, context: BrowserContext) -> Profile:
        """Open a blank page of this machine, whose process stays for pages of all servers here."""
        page = await context.new_page()
        await page.route("**", lambda route: route.fulfill(body=""))
        await page.goto(f"http://{LOCAL[0]}/")
        return cls(context, await context.new_cdp_session(page))

    @asynccontextmanager
    async def visit(self, url: str, data_dir: Path) -> AsyncIterator[Visit]:
        blank = self._context.pages
        visit = Visit(await self._context.new_page(), self._context, url, data_dir)
        try:
            with visit.watch():
                yield visit
        finally:
            for page in self._context.pages:
                if page not in blank:
                    # A page that is closed may still run, and keep something, for a moment.
                    await page.goto(f"{url}/readyz")
                    await page.close()
            await self._keeper.send(
                "Storage.clearDataForOrigin", {"origin": url, "storageTypes": KEPT}
            )


@pytest.fixture(scope="session")
async def profile(browser: Browser) -> AsyncIterator[Profile]:
    async with new_context(browser) as context:
        yield await Profile.open(context)


@pytest.fixture
async def visit(
    request: pytest.FixtureRequest,
    browser: Browser,
    profile: Profile,
    sample_server: RunningServer,
) -> AsyncIterator[Visit]:
    url, folder = sample_server.url, sample_server.data_dir
    has_own = request.node.get_closest_marker("own_profile")
    opened = visit_of(browser, url, folder) if has_own else profile.visit(url, folder)
    async with opened as visit:
        yield visit
