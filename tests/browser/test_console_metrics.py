"""The console's metrics: values by time and group, down to the rows and their formulas."""

from decimal import Decimal

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Visit
from tests.browser.console import assert_quiet, open_console
from tests.install import skip_reason

pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]


async def test_a_value_of_a_metric_leads_to_its_rows_and_a_row_to_its_formula(
    visit: Visit,
) -> None:
    page = await open_console(visit, "/metrics")
    found = page.get_by_role("region", name="Metrics").get_by_role("link")
    await found.get_by_text("emissions", exact=True).click()
    await expect(page.get_by_role("heading", name="emissions", exact=True)).to_be_visible()
    inputs = page.get_by_role("region", name="Inputs")
    await expect(inputs).to_contain_text("emissions:scope 1, emissions:scope 2, in kg CO2e")
    values = page.get_by_role("form", name="Which values")
    await values.get_by_label("From").fill("2024-01-01T00:00")
    await values.get_by_label("Before").fill("2025-01-01T00:00")
    await values.get_by_role("combobox", name="Group").fill("/usa")
    await values.get_by_role("combobox", name="Group").press("Enter")
    await values.get_by_label("For each").select_option("group")
    await expect(page.get_by_role("img", name="emissions, kg CO2e of 12 times")).to_be_visible()
    colours = page.get_by_role("list", name="Colours").get_by_role("listitem")
    await expect(colours).to_have_text(["/usa/northwest", "/usa/southeast"])
    await page.get_by_text("24 values").click()
    table = page.get_by_role("region", name="Values as a table")
    shown = table.get_by_role("row").filter(has_text="2024-02").filter(has_text="northwest")
    value = Decimal(await shown.get_by_role("cell").nth(2).inner_text())
    await page.get_by_role("button", name="What 2024-02 /usa/northwest is made of").click()
    sources = table.get_by_role("link", name="6 rows")
    parts = await table.get_by_role("listitem").all_inner_texts()
    assert sum(Decimal(one.rpartition(" ")[2]) for one in parts) == value
    await sources.nth(1).click()
    await expect(page.get_by_role("heading", name="Rows of energy:monthly")).to_be_visible()
    rows = page.get_by_role("region", name="Rows", exact=True).get_by_role("row")
    await expect(rows).to_have_count(7)
    await page.get_by_role("button", name="Why Bend, 2024-02-01 00:00").click()
    explained = page.get_by_role("region", name="Explanation")
    await expect(explained.get_by_text(":kwh * 0.3712", exact=True)).to_be_visible()
    assert_quiet(visit)
