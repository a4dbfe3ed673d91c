"""A file that is dropped: its header is checked, it is sent with progress, and found again."""

import asyncio
import re
from urllib.parse import unquote

import pytest
from playwright.async_api import Page, Route, expect

from tests.browser.conftest import Visit
from tests.browser.console import (
    HEADER,
    ask,
    assert_quiet,
    find_faults,
    go_to,
    path_of,
    pipeline_id,
    sign_in,
)
from tests.install import skip_reason

pytestmark = [
    pytest.mark.runs_together("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]

CARRY = """([text, name]) => {
  const carried = new DataTransfer();
  carried.items.add(new File([text], name, { type: "text/csv" }));
  return carried;
}"""
COUNT = """query($p: ID) {
  executionCounts(pipeline: $p, group: "/", includeChildGroups: true) { count } }"""


async def drop(page: Page, text: str, name: str) -> None:
    """Drag a file over the place for files, as a desktop does, and drop it there."""
    place = page.locator(".drop")
    carried = {"dataTransfer": await page.evaluate_handle(CARRY, [text, name])}
    await place.dispatch_event("dragover", carried)
    await expect(place).to_have_class(re.compile("over"))
    await place.dispatch_event("drop", carried)
    await expect(place).not_to_have_class(re.compile("over"))


async def test_a_dropped_file_is_checked_sent_and_found_again_after_a_reload(visit: Visit) -> None:
    page = await sign_in(visit)
    id = await pipeline_id(page)
    path = path_of("pipelines", id, "/run")
    await go_to(visit, path)
    columns = page.get_by_role("region", name="Columns").get_by_role("row")
    await expect(columns).to_have_text(
        [
            "ColumnIts values",
            "Datetimes as M/d/yy",
            "Activitynumbers, such as 1234.5",
            "Emission factornumbers, such as 1234.5",
        ]
    )
    before = await ask(page, COUNT, p=id)
    await drop(page, "Date,Amount\n1,2\n", "wrong.csv")
    await expect(page.get_by_role("alert")).to_contain_text("wrong.csv does not fit")
    assert await ask(page, COUNT, p=id) == before
    large = "\n".join([HEADER, *(f"2/2/21,{row},9" for row in range(1000))])
    await drop(page, large, "dropped.csv")
    await expect(page.get_by_role("alert")).to_have_count(0)
    chosen = page.get_by_role("region", name="The chosen file")
    await expect(chosen.get_by_role("row")).to_have_count(6)

    held = asyncio.Event()
    await page.route("**/files/**", lambda route: asyncio.create_task(_hold(route, held)))
    await page.get_by_role("button", name="Run this file").click()
    await expect(page.get_by_role("progressbar", name="Upload")).to_be_visible()
    await expect(chosen.get_by_role("status")).to_contain_text(re.compile(r"of 1\d\.\d KiB"))
    await expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    assert await find_faults(page) == []
    await expect(page).to_have_url(re.compile("execution="))
    execution = unquote(page.url.partition("execution=")[2])
    await page.reload()
    held.set()
    await page.unroute_all(behavior="ignoreErrors")
    await expect(page.get_by_text("An upload was broken off.")).to_be_visible()
    assert await find_faults(page) == []
    await page.get_by_role("link", name="Its execution").click()
    await expect(page.get_by_text("Waits for its input.")).to_be_visible()
    await page.go_back()
    await drop(page, large, "dropped.csv")
    await page.get_by_role("button", name="Run this file").click()
    await expect(page.get_by_role("region", name="Output", exact=True)).to_be_visible()
    # The upload goes on for the execution that waited for it.
    assert unquote(page.url) == f"{visit.base_url}/console/executions/{execution}"
    assert_quiet(visit)


async def _hold(_route: Route, until: asyncio.Event) -> None:
    await until.wait()


async def test_a_small_dropped_file_runs_at_once(visit: Visit) -> None:
    page = await sign_in(visit)
    await go_to(visit, path_of("pipelines", await pipeline_id(page), "/run"))
    await drop(page, f"{HEADER}\n2/2/21,2.5,4\n", "small.csv")
    uploads: list[str] = []
    page.on("request", lambda one: uploads.append(one.url) if "/files/" in one.url else None)
    await page.get_by_role("button", name="Run at once").click()
    results = page.get_by_role("region", name="Results")
    await expect(results.get_by_role("cell", name="10", exact=True)).to_be_visible()
    assert uploads == []
    assert_quiet(visit)
