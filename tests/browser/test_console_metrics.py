"""The console's metrics: values by time and group, down to the rows and their formulas."""

import re
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Visit
from tests.browser.console import ask, assert_quiet, closing_dialog, open_console, press_on, tab_to
from tests.install import skip_reason

pytestmark = [
    pytest.mark.runs_together("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]


async def test_a_value_of_a_metric_leads_to_its_rows_and_a_row_to_its_formula(visit: Visit) -> None:
    page = await open_console(visit, "/metrics")
    found = page.get_by_role("region", name="Metrics").get_by_role("link")
    await found.get_by_text("emissions", exact=True).click()
    await expect(page.get_by_role("heading", name="emissions", exact=True)).to_be_visible()
    inputs = page.get_by_role("region", name="Inputs")
    await expect(inputs).to_contain_text("emissions:scope 1, emissions:scope 2, in kg CO2e")
    values = page.get_by_role("form", name="Which values")
    await values.get_by_role("combobox", name="Time", exact=True).select_option("last year")
    year = datetime.now(UTC).year
    await expect(page).to_have_url(re.compile(f"from={year - 1}-01-01.*to={year}-01-01"))
    await values.get_by_label("From", exact=True).fill("2024-01-01")
    await values.get_by_label("Before", exact=True).fill("2025-01-01")
    await expect(values.get_by_role("combobox", name="Time", exact=True)).to_have_value("own")
    await values.get_by_label("For each").select_option("group")
    table = page.get_by_role("region", name="Values as a table")
    await table.get_by_role("button", name="/usa", exact=True).first.click()
    await expect(values.get_by_role("combobox", name="Group")).to_have_value("/usa")
    await expect(page.get_by_role("img", name="emissions, kg CO2e of 12 times")).to_be_visible()
    axes = page.locator("figure .axes")
    await expect(axes.locator(".values span")).to_have_count(3)
    await expect(axes.locator(".names span")).to_have_text(
        ["2024-01", "2024-03", "2024-05", "2024-07", "2024-09", "2024-11"]
    )
    colours = page.get_by_role("list", name="Colours").get_by_role("listitem")
    await expect(colours).to_have_text(["/usa/northwest", "/usa/southeast"])
    # By the keyboard alone.
    await press_on(page, "24 values")
    shown = table.get_by_role("row").filter(has_text="2024-02").filter(has_text="northwest")
    value = Decimal(await shown.get_by_role("cell").nth(2).inner_text())
    await press_on(page, "What 2024-02 /usa/northwest is made of")
    sources = table.get_by_role("link", name="6 rows")
    await expect(sources).to_have_count(2)
    parts = await table.get_by_role("listitem").all_inner_texts()
    assert sum(Decimal(one.rpartition(" ")[2]) for one in parts) == value
    await tab_to(page, "6 rows")
    await press_on(page, "6 rows")
    await expect(page.get_by_role("heading", name="Rows of energy:monthly")).to_be_visible()
    rows = page.get_by_role("region", name="Rows", exact=True).get_by_role("row")
    await expect(rows).to_have_count(7)
    await press_on(page, "Why Bend, 2024-02-01 00:00")
    explained = page.get_by_role("region", name="Explanation")
    await expect(explained.get_by_text(":kwh * 0.3712", exact=True)).to_be_visible()
    assert_quiet(visit)


WATCHED = """{ metrics(group: "/usa", name: { startsWith: "console:watched" }) { nodes {
  id version function unit inputs { name output } } } }"""
SERIES = """query($id: ID!) { metric(id: $id) { series(group: "/usa", every: YEAR,
  from: "2024-01-01T00:00:00Z", to: "2025-01-01T00:00:00Z") { points { value } } } }"""


async def test_a_metric_is_defined_changed_and_deleted(visit: Visit) -> None:
    page = await open_console(visit, "/metrics")
    await page.get_by_role("link", name="New metric").click()
    await page.get_by_label("Name", exact=True).fill("console:watched")
    await page.get_by_label("Unit").fill("kWh")
    source = page.get_by_label("Output")
    await page.get_by_label("Name of the pipeline").fill("energy:monthly")
    await source.select_option(label="kWh")
    await page.get_by_role("button", name="Add an input").click()
    await page.get_by_label("Input 2 is").select_option(label="another metric")
    await page.get_by_label("Name of the metric").fill("no such metric")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_text("no such metric").first).to_be_visible()
    assert (await ask(page, WATCHED))["nodes"] == []
    await page.get_by_label("Name of the metric").fill("emissions:scope 1")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("heading", name="console:watched", exact=True)).to_be_visible()
    (made,) = (await ask(page, WATCHED))["nodes"]
    first = {"name": "energy:monthly", "output": "kwh"}
    assert (made["version"], made["function"], made["unit"]) == (1, "SUM", "kWh")
    assert made["inputs"] == [first, {"name": "emissions:scope 1", "output": None}]

    await page.get_by_role("link", name="Edit", exact=True).click()
    await expect(source).to_have_value("kwh")
    await page.get_by_role("button", name="Remove input 2").click()
    await page.get_by_label("Function over the inputs").select_option(label="max")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("region", name="Inputs")).to_contain_text(
        "max of energy:monthly kwh, in kWh"
    )
    (changed,) = (await ask(page, WATCHED))["nodes"]
    assert (changed["version"], changed["function"], changed["inputs"]) == (2, "MAX", [first])
    (point,) = (await ask(page, SERIES, id=changed["id"]))["series"]["points"]
    await page.get_by_label("Every").select_option(label="year")
    shown = page.get_by_role("region", name="Values as a table").get_by_role("row")
    await expect(shown.filter(has_text="2024")).to_contain_text(point["value"])

    await page.get_by_role("link", name="Edit", exact=True).click()
    await page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Type its name to delete it").fill("console:watched")
    async with closing_dialog(page):
        await dialog.get_by_role("button", name="Delete the metric").click()
    await expect(page.get_by_role("heading", name="Metrics", exact=True)).to_be_visible()
    assert (await ask(page, WATCHED))["nodes"] == []
    assert_quiet(visit)
