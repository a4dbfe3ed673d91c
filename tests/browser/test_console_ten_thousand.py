"""The console on 10,000 pipelines and 10,000 executions."""

import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from itertools import islice

import pytest
from playwright.async_api import Browser, expect

from penstock.server.samples.catalogue import SampleResource, sample_pipelines
from tests.browser.conftest import Visit, visit_of
from tests.browser.console import assert_quiet, find_faults, open_console
from tests.browser.large_store import ORIGINALS, SIZE, fill_large_store
from tests.install import skip_reason
from tests.support.patience import HUNG_SECONDS
from tests.support.server_process import RunningServer, running_server

pytestmark = [
    pytest.mark.runs_together("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]

ALL = "group=%2F"
GAS = "all=material%3Denergy%2Fgas"
COUNT_ROWS = "table => table.querySelectorAll('tbody tr:not([aria-hidden])').length"

SCROLL_TO_END = """async (region, [last, milliseconds]) => {
  let most = 0;
  const began = performance.now();
  while (!region.querySelector(`[aria-rowindex="${last}"]`)) {
    const alert = document.querySelector("[role='alert']");
    if (alert || performance.now() - began > milliseconds)
      throw new Error(`not scrolled to ${last}: ${(alert ?? document.body).innerText.slice(-900)}`);
    region.scrollTo(0, region.scrollHeight);
    await new Promise((done) => requestAnimationFrame(done));
    most = Math.max(most, region.querySelectorAll("tbody tr:not([aria-hidden])").length);
  }
  return most;
}"""
"""Scrolls until the last row is there; returns how many rows were in the page at most.

It tells what the page says where the row does not come.
"""


LONG = HUNG_SECONDS * 500
"""Milliseconds, less than what a hung test gets."""


@pytest.fixture(scope="module")
def large_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("large") / "data"
    fill_large_store(folder)
    # Nobody scrolls through all of it in five seconds, as a test does on a quick machine.
    with running_server(folder, ("--no-seed",), PENSTOCK_RATE_LIMIT_BURST="100000") as server:
        yield server


@pytest.fixture
async def visit(browser: Browser, large_server: RunningServer) -> AsyncIterator[Visit]:
    async with visit_of(browser, large_server.url, large_server.data_dir) as visit:
        yield visit


def tag_of(sample: SampleResource, key: str) -> str:
    (value,) = (tag.value for tag in sample.content["tags"] if tag.key == key)
    return str(value)


async def test_a_name_is_found_by_its_beginning_among_ten_thousand(visit: Visit) -> None:
    page = await open_console(visit, f"/?{ALL}")
    few = await page.get_by_text(re.compile("^This search cost")).inner_text()
    await page.get_by_label("Name begins with").fill("sap:steel:098")
    shown = page.get_by_role("region", name="Pipelines").get_by_role("listitem")
    # Copies have the names of their originals, each with another hundred.
    await expect(shown.get_by_role("link")).to_have_text(
        ["sap:steel:09884", "sap:steel:09856", "sap:steel:09828"]
    )
    # What a search by name costs does not grow with what it does not find.
    cost = page.get_by_text(re.compile("^This search cost"))
    await expect(cost).not_to_have_text(few)
    units = re.search(r"read ([\d.]+) read units", await cost.inner_text())
    assert units is not None
    assert float(units[1]) < 50
    await page.get_by_label("Name begins with").fill("sap:steel:09856x")
    await expect(page.get_by_role("heading", name="No pipeline is like this")).to_be_visible()
    assert await find_faults(page) == []
    assert_quiet(visit)


async def test_facets_count_all_of_ten_thousand_under_the_filter(visit: Visit) -> None:
    page = await open_console(visit, f"/?{ALL}&{GAS}")
    facets = page.get_by_role("complementary", name="Tags")
    samples = list(islice(sample_pipelines(ORIGINALS + 1), 1, None))
    of_gas = [one for one in samples if tag_of(one, "material") == "energy/gas"]
    times = SIZE // ORIGINALS
    await facets.locator("summary", has_text=f"plant {len(of_gas) * times}").click()
    for plant, count in Counter(tag_of(one, "plant") for one in of_gas).items():
        button = facets.get_by_role("button", name=f"{plant} {count * times}", exact=True)
        await expect(button).to_be_visible()
    await facets.locator("summary", has_text="scope").click()
    upper = Counter(tag_of(one, "scope").partition("/")[0] for one in of_gas)
    for scope, count in upper.items():
        button = facets.get_by_role("button", name=f"{scope} {count * times}", exact=True)
        await expect(button).to_be_visible()
    assert_quiet(visit)


async def test_ten_thousand_executions_scroll_with_few_rows_in_the_page(visit: Visit) -> None:
    page = await open_console(visit, f"/executions?{ALL}")
    await expect(page.get_by_text(str(SIZE * 7 // 10), exact=True)).to_be_visible()
    region = page.get_by_role("region", name="List of executions")
    table = region.get_by_role("table")
    last = region.locator(f"[aria-rowindex='{SIZE + 1}']")

    assert await region.evaluate(SCROLL_TO_END, [str(SIZE + 1), LONG]) < 60
    await expect(last).to_be_visible()
    await expect(table).to_have_attribute("aria-rowcount", str(SIZE + 1))
    assert await table.evaluate(COUNT_ROWS) < 60
    await region.evaluate("element => element.scrollTo(0, 0)")
    await expect(region.locator("[aria-rowindex='2']")).to_be_visible()
    assert_quiet(visit)
