"""The console for those who run a server: manifest runs, sensors and the system."""

import json
import re
from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Visit
from tests.browser.console import assert_quiet, go_to, open_console
from tests.install import skip_reason

pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]

NOTIFY = """async (body) => {
  const { token } = JSON.parse(sessionStorage.getItem("penstock:session"));
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  headers["fiware-servicepath"] = "/usa";
  const answer = await fetch("/v2/notify", { method: "POST", headers, body });
  return answer.status;
}"""


async def test_a_run_is_skipped_with_a_reason_that_its_history_keeps(visit: Visit) -> None:
    page = await open_console(visit, "/runs?group=/usa")
    run = "enriched/archive/run=2018-12-14-00-00-00/"
    await page.get_by_role("button", name=f"Skip: {run}").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Reason, for the history").fill("seen in the console")
    await dialog.get_by_role("button", name="Skip").click()
    runs = page.get_by_role("region", name="All runs")
    card = runs.get_by_role("listitem").filter(has_text=run)
    await expect(card.get_by_text("Skipped: seen in the console")).to_be_visible()
    await card.get_by_text("History", exact=True).click()
    await expect(card.get_by_role("cell", name="seen in the console")).to_be_visible()
    assert_quiet(visit)


def notification(*values: object) -> str:
    speed = {"type": "Number", "metadata": {}}
    data: list[dict[str, Any]] = [
        {"id": "car1", "type": "car", "speed": {**speed, "value": value}} for value in values
    ]
    return json.dumps({"subscriptionId": "s", "data": data})


async def test_samples_reach_the_chart_as_they_come_and_letters_are_replayed(
    visit: Visit,
) -> None:
    page = await open_console(visit)
    assert await page.evaluate(NOTIFY, notification(12)) == 200
    nameless = {"type": "car", "speed": {"type": "Number", "value": 1}}
    letters = {"subscriptionId": "s", "data": [*json.loads(notification(13))["data"], nameless]}
    assert await page.evaluate(NOTIFY, json.dumps(letters)) == 200
    button = page.get_by_role("button", name="Chart of speed of car1")
    while not await button.count():  # a batch is stored a moment after it was taken
        await go_to(visit, "/sensors")
        await expect(page.get_by_role("heading", name="Sensors")).to_be_visible()
        await page.wait_for_load_state("networkidle")
    await button.click()
    await expect(page.get_by_text(re.compile("samples?, now 1[23]"))).to_be_visible()
    assert await page.evaluate(NOTIFY, notification(77)) == 200
    await expect(page.get_by_text(re.compile("samples, now 77"))).to_be_visible()
    dead = page.get_by_role("region", name="Dead letters")
    await expect(dead).to_contain_text("The entity's id is missing")
    await dead.get_by_role("button", name="Replay").first.click()
    await expect(dead.get_by_role("status")).to_have_text("0 updates are kept now, 1 failed again.")
    assert_quiet(visit)


async def test_the_system_screen_shows_findings_workers_and_what_was_paid(visit: Visit) -> None:
    page = await open_console(visit, "/system")
    await expect(page.get_by_text("Nothing is stuck.")).to_be_visible()
    await expect(page.get_by_role("region", name="Queues")).to_contain_text("0.1.0")
    await expect(page.get_by_role("region", name="List of workers")).to_contain_text("server")
    await expect(page.get_by_role("region", name="Last operations")).to_contain_text("SystemState")
    await expect(page.get_by_role("region", name="Changed settings")).to_contain_text(
        "PENSTOCK_DATA_DIR"
    )
    await page.get_by_text("without secrets").click()
    await expect(page.get_by_role("region", name="All settings")).to_contain_text("PENSTOCK_TABLE")
    await page.get_by_label("Act as").select_option(label="reader of /eu")
    await expect(page.get_by_text("Queues and findings are for administrators")).to_be_visible()
    assert_quiet(visit)
