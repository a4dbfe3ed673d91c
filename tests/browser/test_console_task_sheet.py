"""The task sheet of a new user, by the keyboard alone."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.conftest import Visit
from tests.browser.console import (
    ask,
    assert_quiet,
    hand_over_choosers,
    open_console,
    press_on,
    tab_to,
)
from tests.install import skip_reason

pytestmark = [
    pytest.mark.runs_together("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]

CREATE = """mutation($input: CreatePipelineInput!) { createPipeline(input: $input) {
  ... on CreatePipelinePayload { pipeline { id } } ... on UserError { message } } }"""


async def make_trips(page: Page, name: str, **tags: str) -> str:
    output = {"index": 0, "key": "co2e", "type": "NUMBER"}
    transformer: dict[str, Any] = {
        "parameters": [{"index": 0, "key": "miles", "type": "NUMBER", "required": True}],
        "transforms": [
            {"index": 0, "formula": "#miles_to_kilometres(:miles) * 3", "outputs": [output]}
        ],
    }
    given = {
        "group": "/usa",
        "name": name,
        "tags": [{"key": key, "value": value} for key, value in tags.items()],
        "transformer": transformer,
    }
    made: str = (await ask(page, CREATE, input=given))["pipeline"]["id"]
    return made


async def test_the_task_sheet_is_done_with_the_keyboard_alone(visit: Visit, tmp_path: Path) -> None:
    page = await open_console(visit)
    hand_over_choosers(page)
    id = await make_trips(page, "trips:wanted", plant="Austin")
    await make_trips(page, "trips:scoped", plant="Austin", scope="3/upstream")
    await make_trips(page, "trips:elsewhere", plant="Berlin")
    file = tmp_path / "trips.csv"
    file.write_text("\n".join(["miles", *(str(n * 1000) for n in range(1, 21))]))

    # Find the pipelines of Austin that lack a scope.
    await page.reload()
    await expect(page.get_by_role("link", name="trips:wanted")).to_be_visible()
    await press_on(page, "plant")
    await expect(page.get_by_role("button", name="Austin 2")).to_be_visible()
    await press_on(page, "Austin")
    await expect(page.get_by_role("list", name="Filter")).to_have_text("plant austin")
    await press_on(page, "scope")
    await expect(page.get_by_role("button", name="without scope")).to_be_visible()
    await press_on(page, "without scope")
    found = page.get_by_role("region", name="Pipelines").get_by_role("link")
    await expect(found).to_have_text(["trips:wanted"])

    # Run this file.
    await press_on(page, "trips:wanted")
    await expect(page.get_by_role("heading", name="trips:wanted")).to_be_visible()
    await press_on(page, "Run a file")
    await expect(page.get_by_role("heading", name="Run a file")).to_be_visible()
    await tab_to(page, "File to run")
    async with page.expect_file_chooser() as chooser:
        await page.keyboard.press("Enter")
    await (await chooser.value).set_files(file)
    await expect(page.get_by_role("button", name="Run at once")).to_be_visible()
    await press_on(page, "Run at once")
    await expect(page).to_have_url(re.compile("/console/executions/"))

    # Why is row 17 what it is?
    await expect(page.get_by_role("link", name="Why row 17")).to_be_visible()
    await press_on(page, "Why row 17")
    why = page.get_by_role("region", name="Why", exact=True)
    await expect(why.get_by_role("heading", name="From row 17 of the input")).to_be_visible()
    steps = why.get_by_role("region", name="How co2e comes about")
    await expect(steps.get_by_role("heading", name="co2e = 82076.544")).to_be_visible()
    await expect(steps.get_by_text("27358.848").first).to_be_visible()

    # Let /eu see it.
    await page.keyboard.press("Shift+Tab")
    await page.evaluate("() => document.activeElement.blur()")
    await press_on(page, "trips:wanted")
    await expect(page.get_by_role("heading", name="trips:wanted")).to_be_visible()
    await press_on(page, "Access")
    await expect(page.get_by_label("Share with group")).to_be_visible()
    await tab_to(page, "Share with group")
    await page.keyboard.type("/eu")
    await page.keyboard.press("Enter")
    groups = page.get_by_role("region", name="Groups", exact=True)
    await expect(groups.get_by_text("/eu", exact=True)).to_be_visible()
    query = "query($id: ID!) { pipeline(id: $id) { groups } }"
    assert sorted((await ask(page, query, id=id))["groups"]) == ["/eu", "/usa"]
    assert_quiet(visit)
