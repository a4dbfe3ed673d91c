"""Measures what a reader of the console waits for, in Debian's Chromium on this machine.

`python -m benchmarks.console` shows, in milliseconds: the first paint of a first visit, the time
until its list stands, and the time from a typed name to the narrowed list of 10,000 pipelines.
"""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from playwright.async_api import Browser, Page, async_playwright, expect

from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from tests.browser.conftest import ARGUMENTS, visit_of
from tests.browser.console import open_console
from tests.browser.install import chromium
from tests.browser.large_store import fill_large_store
from tests.support.server_process import RunningServer, running_server

MARK = "console"
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


async def measure(browser: Browser, server: RunningServer, rounds: int) -> dict[str, list[float]]:
    """The milliseconds of each round, by what they are the time until."""
    loads = [await load(browser, server) for _ in range(rounds)]
    async with visit_of(browser, server.url, server.data_dir) as visit:
        page = await open_console(visit, "/?group=%2F")
        searches = [await search(page, NAMES[n % len(NAMES)]) for n in range(rounds)]
    return {
        "first paint of a first visit": [paint for paint, _ in loads],
        "its list of 10,000 pipelines": [stands for _, stands in loads],
        "a search by the beginning of a name": searches,
    }


async def run(rounds: int) -> dict[str, list[float]]:
    with TemporaryDirectory() as folder:
        data_dir = Path(folder) / "data"
        await asyncio.to_thread(fill_large_store, data_dir)
        with running_server(data_dir, ("--no-seed",)) as server:
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(
                    executable_path=chromium(), args=list(ARGUMENTS)
                )
                found = await measure(browser, server, rounds)
                await browser.close()
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.console", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    add_write_option(parser)
    options = parser.parse_args(arguments)
    found = asyncio.run(run(options.rounds))
    rows = [(name, f"{median(ms):.0f}", f"{max(ms):.0f}") for name, ms in found.items()]
    table = format_table("until | median, ms | most, ms", rows)
    show_tables({MARK: below_machine(table)}, options.write)


if __name__ == "__main__":
    main()
