"""The console's rows: totals over time, a row's explanation, its correction and withdrawal."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.conftest import Visit
from tests.browser.console import (
    ask,
    assert_quiet,
    find_faults,
    go_to,
    hand_over_choosers,
    open_console,
    path_of,
    press_on,
    sign_in,
    tab_to,
)
from tests.browser.test_console_editor import CREATE as CREATE_PIPELINE
from tests.browser.test_console_executions import CREATE as CREATE_EXECUTION
from tests.install import skip_reason

pytestmark = [
    pytest.mark.runs_together("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]

FIND = '{ pipelineByName(name: "energy:monthly", group: "/usa") { id } }'
KEEPER = """{ pipelines(group: "/usa", name: { startsWith: "console:keeper" }) { nodes {
  version transformer { rows { key keepDays } } } } }"""
HIDDEN_HEIGHT = "({ scrollHeight, clientHeight }) => scrollHeight - clientHeight"
FEBRUARY = "?from=2024-02-01T00:00:00.000Z&to=2024-03-01T00:00:00.000Z"


async def open_rows(visit: Visit, search: str = "") -> Page:
    page = await sign_in(visit)
    found = (await ask(page, FIND))["id"]
    return await go_to(visit, path_of("pipelines", found, f"/rows{search}"))


async def read_total(page: Page, row: int = 1, column: int = 1) -> str:
    table = page.get_by_role("region", name="Totals as a table").get_by_role("row")
    return await table.nth(row).get_by_role("cell").nth(column).inner_text()


async def test_a_total_leads_to_its_rows_and_a_row_to_its_formula(visit: Visit) -> None:
    page = await sign_in(visit)
    found = (await ask(page, FIND))["id"]
    await go_to(visit, path_of("pipelines", found))
    await page.get_by_role("link", name="Rows", exact=True).click()
    await expect(page.get_by_role("heading", name="Rows of energy:monthly")).to_be_visible()
    await expect(page.get_by_role("img", name="kWh of 36 times")).to_be_visible()
    await page.get_by_text("36 totals").click()
    await page.get_by_role("button", name="2024-02", exact=True).click()
    rows = page.get_by_role("region", name="Rows", exact=True).get_by_role("row")
    await expect(rows).to_have_count(13)
    await expect(rows.nth(1)).to_contain_text("2024-02-01 00:00")
    await expect(page.get_by_role("status", name="Done")).to_have_text(
        "Only 2024-02 is shown now. The browser’s back button returns to your own choice."
    )
    narrowed = page.url
    await page.go_back()
    await expect(page.get_by_text("36 totals")).to_be_visible()
    await expect(page).not_to_have_url(re.compile("from="))
    await page.go_forward()
    await expect(page).to_have_url(narrowed)
    await expect(rows).to_have_count(13)
    await page.get_by_role("button", name="Why Bend, 2024-02-01 00:00").click()
    explained = page.get_by_role("region", name="Explanation")
    await expect(explained).to_contain_text("of the input")
    await expect(explained.get_by_text(":kwh * 0.3712", exact=True)).to_be_visible()
    await expect(explained).to_contain_text("= 1706745600000, 2024-02-01 00:00 UTC")
    history = page.get_by_role("region", name="History of the row")
    await expect(history).to_contain_text("by ")
    await expect(history).to_contain_text("Month 2024-02-01 00:00, ")
    assert_quiet(visit)


async def test_rows_are_narrowed_to_values_and_totals_stand_for_each_of_them(visit: Visit) -> None:
    page = await open_rows(visit, FEBRUARY)
    totals = page.get_by_role("region", name="Totals as a table").get_by_role("row")
    rows = page.get_by_role("region", name="Rows", exact=True).get_by_role("row")
    await expect(rows).to_have_count(13)
    whole = Decimal(await read_total(page))
    # By group: each total is its own bar, and all of them are the whole.
    await page.get_by_label("For each").select_option(label="Group")
    await expect(totals).to_have_count(3)
    colours = page.get_by_role("list", name="Colours").get_by_role("listitem")
    await expect(colours).to_have_text(["/usa/northwest", "/usa/southeast"])
    groups = [Decimal(await read_total(page, row, 2)) for row in (1, 2)]
    assert sum(groups) == whole
    # By plant there are more than colours: the largest are drawn, and the table has all.
    await page.get_by_label("For each").select_option(label="Plant")
    await expect(totals).to_have_count(13)
    await expect(colours).to_have_count(6)
    await expect(page.get_by_text("The 6 largest of 12 are drawn")).to_be_visible()
    # A total leads to its rows, by time and by value, and the address keeps it.
    bend = totals.filter(has_text="Bend")
    value = await bend.get_by_role("cell").nth(2).inner_text()
    await bend.get_by_role("button").click()
    await expect(rows).to_have_count(2)
    chosen = page.get_by_role("list", name="Chosen values")
    await expect(chosen).to_have_text("Plant Bend")
    await expect(rows.nth(1)).to_contain_text("Bend")
    await page.reload()
    await expect(rows).to_have_count(2)
    await expect(rows.nth(1).get_by_role("cell").nth(3)).to_have_text(value)
    # A value that is typed narrows in the same way, also a number.
    await chosen.get_by_role("button", name="Remove Plant Bend").click()
    await expect(rows).to_have_count(13)
    await page.get_by_label("Only rows whose").select_option(label="kWh")
    whole_month = page.url
    await page.get_by_role("button", name="Narrow").click()
    await expect(page.get_by_label("is", exact=True)).to_be_focused()
    assert page.url == whole_month  # no value narrows nothing
    await page.get_by_label("is", exact=True).fill(value)
    await page.get_by_role("button", name="Narrow").click()
    await expect(chosen).to_have_text(f"kWh {value}")
    await expect(rows).to_have_count(2)
    await expect(rows.nth(1)).to_contain_text("Bend")
    await page.get_by_label("is", exact=True).fill("-1")
    await page.get_by_role("button", name="Narrow").click()
    await expect(page.get_by_role("heading", name="No rows", exact=True)).to_be_visible()
    assert await find_faults(page) == []
    assert_quiet(visit)


async def test_a_row_names_the_versions_that_made_it(visit: Visit) -> None:
    page = await sign_in(visit)
    output = {"index": 0, "key": "km", "type": "NUMBER"}
    transform = {"index": 0, "formula": "#miles_to_kilometres(:miles)", "outputs": [output]}
    transformer = {
        "parameters": [{"index": 0, "key": "miles", "type": "NUMBER", "required": True}],
        "transforms": [transform],
        "rows": {"key": ["km"]},
    }
    given = {"group": "/usa", "name": "console:pinned", "transformer": transformer}
    made = (await ask(page, CREATE_PIPELINE, input=given))["pipeline"]["id"]
    tags = [{"key": "reading", "value": "third"}]
    run = {"pipelineId": made, "mode": "INLINE", "rows": [{"miles": 10}], "tags": tags}
    assert (await ask(page, CREATE_EXECUTION, input=run))["execution"]["id"]
    await go_to(visit, path_of("pipelines", made, "/rows"))
    await page.get_by_role("button", name=re.compile("^Why")).click()
    explained = page.get_by_role("region", name="Explanation")
    used = explained.get_by_role("region", name="What it used").get_by_role("listitem")
    await expect(used).to_have_text("calculation miles_to_kilometres, version 1")
    history = page.get_by_role("region", name="History of the row")
    await expect(history.get_by_role("list", name="Tags")).to_have_text("reading third")
    # The page scrolls to its end, and nothing within the page.
    await page.set_viewport_size({"width": 1280, "height": 400})
    rows = page.get_by_role("region", name="Rows", exact=True)
    assert await rows.evaluate(HIDDEN_HEIGHT) < 2
    assert await find_faults(page) == []
    assert_quiet(visit)


async def test_an_uploaded_line_corrects_a_row_and_the_total_moves(
    visit: Visit, tmp_path: Path
) -> None:
    page = await open_rows(visit, FEBRUARY)
    await expect(page.get_by_text("1 total", exact=True)).to_be_visible()
    before = float(await read_total(page))
    await page.get_by_role("button", name="Why Bend, 2024-02-01 00:00").click()
    held = (
        page.get_by_role("region", name="Explanation").get_by_text("kwh", exact=True).locator("..")
    )
    old = float(await held.first.get_by_role("definition").inner_text())
    file = tmp_path / "line.csv"
    file.write_text("Plant,Group,Month,kWh,Gas kWh\nBend,/usa/northwest,2024-02,1,\n")
    # By the keyboard alone.
    hand_over_choosers(page)
    await press_on(page, "Add or correct rows")
    await expect(page.get_by_text("The rows are kept. A row with the same")).to_be_visible()
    await tab_to(page, "File to run")
    async with page.expect_file_chooser() as chooser:
        await page.keyboard.press("Enter")
    await (await chooser.value).set_files(file)
    await expect(page.get_by_role("button", name="Run at once")).to_be_visible()
    await press_on(page, "Run at once")
    await expect(page.get_by_text("success", exact=True)).to_be_visible()
    await open_rows(visit, FEBRUARY)
    await expect(page.get_by_text("1 total", exact=True)).to_be_visible()
    assert float(await read_total(page)) == before - old + 1
    await page.get_by_role("button", name="Why Bend, 2024-02-01 00:00").click()
    history = page.get_by_role("region", name="History of the row").get_by_role("listitem")
    await expect(history).to_have_count(2)
    assert_quiet(visit)


async def test_a_row_is_withdrawn_with_a_reason_and_the_total_moves(visit: Visit) -> None:
    page = await open_rows(visit, "?from=2025-03-01T00:00:00.000Z&to=2025-04-01T00:00:00.000Z")
    rows = page.get_by_role("region", name="Rows", exact=True).get_by_role("row")
    await expect(rows).to_have_count(13)
    await page.get_by_role("button", name="Why Tampa, 2025-03-01 00:00").click()
    await page.get_by_role("button", name="Withdraw this row").press("Enter")
    await expect(page.get_by_label("Why it is withdrawn")).to_be_focused()
    await page.keyboard.type("A broken meter")
    await page.keyboard.press("Enter")
    await expect(rows).to_have_count(12)
    await expect(page.get_by_role("status", name="Done")).to_have_text("The row is withdrawn.")
    query = """query($id: ID!, $at: DateTime) { pipeline(id: $id) {
      rows(first: 1, from: $at, where: [{ output: "plant", eq: "Tampa" }]) { nodes { key } } } }"""
    found = (await ask(page, FIND))["id"]
    kept: Any = await ask(page, query, id=found, at="2025-03-01T00:00:00Z")
    assert kept["rows"]["nodes"] == [{"key": ["Tampa", "2025-04-01T00:00:00.000Z"]}]
    assert_quiet(visit)


async def test_a_pipeline_without_rows_says_so_and_one_is_written_that_keeps_them(
    visit: Visit,
) -> None:
    page = await open_console(visit)
    await page.get_by_role("link", name="New pipeline").click()
    await page.get_by_label("Name").fill("console:keeper")
    await page.get_by_label("Key", exact=True).fill("plant")
    await page.get_by_label("Type").nth(0).select_option("STRING")
    await page.get_by_role("textbox", name="Formula of transform 1").fill(":plant")
    await page.get_by_label("Output key").fill("plant")
    await page.get_by_label("Type").nth(1).select_option("STRING")
    kept = page.get_by_role("group", name="Kept rows")
    await kept.get_by_label("plant").check()
    days = kept.get_by_label("Days until a row leaves")
    await days.fill("36501")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(days).to_be_focused()
    assert await days.evaluate("({ validity }) => validity.rangeOverflow")
    assert (await ask(page, KEEPER))["nodes"] == []
    await days.fill("30")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("heading", name="console:keeper")).to_be_visible()
    keeping = page.get_by_role("region", name="Kept rows").get_by_role("definition")
    await expect(keeping).to_have_text(["plant", "30 days"])
    # What a form shows of a pipeline it also saves again.
    await page.get_by_role("link", name="Edit").click()
    await page.get_by_label("Description").fill("Its rows leave.")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("heading", name="console:keeper", exact=True)).to_be_visible()
    await expect(page.get_by_text("Its rows leave.")).to_be_visible()
    rows = {"key": ["plant"], "keepDays": 30}
    kept_now = {"version": 2, "transformer": {"rows": rows}}
    assert (await ask(page, KEEPER))["nodes"] == [kept_now]
    await page.get_by_role("link", name="Rows", exact=True).click()
    await expect(page.get_by_role("heading", name="No rows")).to_be_visible()
    assert_quiet(visit)
