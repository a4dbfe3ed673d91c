"""Measures what a reader of the console waits for, in Debian's Chromium on this machine.

`python -m benchmarks.console` prints, in milliseconds: the first paint of a first visit, the time
until its list stands, and the time from a typed name to the narrowed list of 10,000 pipelines.
"""

import asyncio
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from playwright.async_api import Browser, Page, async_playwright, expect

from tests.browser.conftest import ARGUMENTS, visit_of
from tests.browser.console import open_console
from tests.browser.install import chromium
from tests.browser.large_store import fill_large_store
from tests.support.server_process import RunningServer, running_server

ROUNDS = 15
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
SINCE = "() => performance.now()"
NAMES = ("sap:steel:098", "sap:steel:0985", "sap:steel:09856")


async def load(browser: Browser, server: RunningServer) -> tuple[float, float]:
    """Open the console in a fresh profile: the times of its first paint and of its list."""
    async with visit_of(browser, server.url, server.data_dir) as visit:
        page = await open_console(visit, "/?group=%2F")
        await page.get_by_role("region", name="Pipelines").get_by_role("link").first.wait_for()
        stands: float = await page.evaluate(SINCE)
        return await page.evaluate(PAINT), stands


async def search(page: Page, name: str) -> float:
    """Type a name; returns how long the narrowed list takes."""
    field = page.get_by_label("Name begins with")
    await field.fill(name[:4])
    await page.wait_for_load_state("networkidle")
    first = page.get_by_role("region", name="Pipelines").get_by_role("link").first
    begun = perf_counter()
    await field.fill(name)
    await expect(first).to_contain_text(name)
    return 1000 * (perf_counter() - begun)


def row(words: str, times: list[float]) -> str:
    return f"| {words} | {median(times):.0f} | {max(times):.0f} |"


async def measure(browser: Browser, server: RunningServer) -> list[str]:
    loads = [await load(browser, server) for _ in range(ROUNDS)]
    async with visit_of(browser, server.url, server.data_dir) as visit:
        page = await open_console(visit, "/?group=%2F")
        searches = [await search(page, NAMES[n % len(NAMES)]) for n in range(ROUNDS)]
    return [
        row("first paint of a first visit", [paint for paint, _ in loads]),
        row("its list of 10,000 pipelines", [stands for _, stands in loads]),
        row("a search by the beginning of a name", searches),
    ]


async def run() -> None:
    with TemporaryDirectory() as folder:
        data_dir = Path(folder) / "data"
        await asyncio.to_thread(fill_large_store, data_dir)
        with running_server(data_dir, ("--no-seed",)) as server:
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(
                    executable_path=chromium(), args=list(ARGUMENTS)
                )
                rows = await measure(browser, server)
                await browser.close()
    print("\n".join(("| until | median, ms | most, ms |", "|---|--:|--:|", *rows)))


if __name__ == "__main__":
    asyncio.run(run())
