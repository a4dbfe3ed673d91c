"""The screens of executions: every filter of the list, its bars, and what one execution shows."""

import json
import re
from datetime import datetime, timedelta
from urllib.parse import quote

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.conftest import Visit
from tests.browser.console import (
    CONCRETE,
    ask,
    assert_quiet,
    go_to,
    path_of,
    pipeline_id,
    read_download,
    run_rows,
    sign_in,
)
from tests.browser.test_console_task_sheet import make_trips
from tests.install import skip_reason

pytestmark = [
    pytest.mark.runs_together("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]

FACTS = """query($id: ID!) { execution(id: $id) {
  durationSeconds createdAt createdBy startedAt finishedAt } }"""
CREATE = """mutation($input: CreateExecutionInput!) { createExecution(input: $input) {
  ... on CreateExecutionPayload { execution { id } } ... on UserError { message } } }"""
STATE = "query($id: ID!) { execution(id: $id) { state } }"
LOCAL_MINUTE = """([at, minutes]) => {
  const time = new Date(Date.parse(at) + minutes * 60000);
  return new Date(time - time.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}"""
BARS = "all => all.map((one) => [one.className.baseVal, one.querySelector('title').textContent])"


def rows_of(page: Page, name: str) -> Locator:
    """The rows of the list with the name of an input."""
    rows = page.get_by_role("region", name="List of executions").get_by_role("row")
    return rows.filter(has_text=name)


async def fill(page: Page, label: str, text: str) -> None:
    date, _, time = text.partition("T")
    field = page.get_by_label(label, exact=True)
    await field.fill(date)
    if time:
        await page.get_by_label(f"Time of day: {label}").fill(time)
    await field.press("Enter")


async def come_back(visit: Visit) -> None:
    """Leave the screen, and come back to what its address says."""
    await go_to(visit, "/nowhere")
    await visit.page.go_back()
    await expect(visit.page.get_by_role("heading", name="Executions")).to_be_visible()


async def test_executions_are_narrowed_by_tag_pipeline_person_time_and_duration(
    visit: Visit,
) -> None:
    page = await sign_in(visit)
    given = {
        "pipelineId": await pipeline_id(page, "sap:emissions:pipeline"),
        "inputName": "waits.csv",
        "tags": [{"key": "run", "value": "night/2"}],
    }
    await ask(page, CREATE, input=given)
    facts = await ask(page, FACTS, id=await run_rows(page, name="ended.csv"))
    took, made = facts["durationSeconds"], facts["createdAt"]
    before = await page.evaluate(LOCAL_MINUTE, [made, 0])
    behind = await page.evaluate(LOCAL_MINUTE, [made, 2])
    await go_to(visit, "/executions?group=%2F")
    waits, ended = rows_of(page, "waits.csv"), rows_of(page, "ended.csv")
    for label, text, shown in (
        ("Tag", "Run=Night", (1, 0)),
        ("Tag", "run=nigh", (0, 0)),
        ("Created by", facts["createdBy"], (1, 1)),
        ("Created by", "nobody", (0, 0)),
        ("Created from", before, (1, 1)),
        ("Created from", behind, (0, 0)),
        ("Created before", before, (0, 0)),
        ("Created before", behind, (1, 1)),
        ("Took at least (s)", str(took), (0, 1)),
        ("Took at least (s)", f"{took + 0.001:.3f}", (0, 0)),
        ("Took at most (s)", str(took), (0, 1)),
        ("Took at most (s)", "0", (0, int(took == 0))),
    ):
        await fill(page, label, text)
        await expect(waits).to_have_count(shown[0])
        await expect(ended).to_have_count(shown[1])
        await come_back(visit)
        await expect(waits).to_have_count(shown[0])
        await expect(ended).to_have_count(shown[1])
        await fill(page, label, "")
        await expect(waits).to_have_count(1)
        await expect(ended).to_have_count(1)
    await page.get_by_label("Pipeline").fill(CONCRETE[:8])
    await page.get_by_label("Pipeline").press("Enter")
    await expect(page.get_by_role("button", name=f"Remove {CONCRETE}")).to_be_visible()
    await expect(waits).to_have_count(0)
    await expect(ended).to_have_count(1)
    await page.reload()
    await expect(waits).to_have_count(0)
    await expect(ended).to_have_count(1)
    await page.get_by_role("button", name=f"Remove {CONCRETE}").click()
    await page.get_by_role("checkbox", name=re.compile("waiting")).check()
    await expect(waits).to_have_count(1)
    await expect(ended).to_have_count(0)
    # One that failed says why.
    pipeline = await make_trips(page, "trips:failing")
    failing = {"mode": "INLINE", "rows": [{"miles": "many"}], "maxFailedRows": 0}
    wanted = {"pipelineId": pipeline, "inputName": "failed.csv"}
    made = await ask(page, CREATE, input={**failing, **wanted})
    failed = made["execution"]["id"]
    await go_to(visit, "/executions?group=%2F&state=FAILED")
    why = "Row 1: more than 0 rows failed; those below were not looked at"
    await expect(rows_of(page, "failed.csv").get_by_text(why)).to_be_visible()
    # To a reader of tomorrow it failed yesterday.
    at = datetime.fromisoformat((await ask(page, FACTS, id=failed))["createdAt"])
    await page.clock.set_fixed_time(at + timedelta(days=1))
    for span, count in (("yesterday", 1), ("today", 0)):
        await page.get_by_role("combobox", name="Time", exact=True).select_option(span)
        await expect(rows_of(page, "failed.csv")).to_have_count(count)
    await go_to(visit, path_of("pipelines", pipeline, "?tab=executions"))
    await expect(page.get_by_text(why)).to_be_visible()
    assert_quiet(visit)


async def test_the_timeline_has_a_bar_of_each_execution_that_leads_to_it(visit: Visit) -> None:
    page = await sign_in(visit)
    made = [await run_rows(page, name=f"bar {number}.csv") for number in range(3)]
    by = f"group=%2F&pipeline={quote(await pipeline_id(page), safe='')}&state=SUCCESS"
    await go_to(visit, f"/executions?{by}")
    await expect(rows_of(page, "bar 2.csv")).to_have_count(1)
    bars = page.get_by_role("img", name=re.compile("^Timeline of")).locator("rect")
    described = await bars.evaluate_all(BARS)
    assert {state for state, _ in described} == {"SUCCESS"}
    assert all(title.startswith(f"{CONCRETE}: success, ") for _, title in described)
    places = await bars.evaluate_all("all => all.map((one) => one.x.baseVal.value)")
    assert places == sorted(places, reverse=True)  # the newest execution is the last in time
    assert len(places) >= len(made)
    widths = await bars.evaluate_all("all => all.map((one) => one.getBoundingClientRect().width)")
    assert min(widths) >= 8  # a short one is seen, and can be pointed at
    axis = page.locator("figure .names span")
    await expect(axis).to_have_text([re.compile(r"\d\d:\d\d")] * 5)
    names = await axis.evaluate_all("all => all.map((one) => one.textContent)")
    assert len({*names}) == 5
    await bars.nth(2).click()
    await expect(page.get_by_role("heading", name="bar 0.csv")).to_be_visible()
    await page.go_back()
    await expect(rows_of(page, "bar 2.csv")).to_have_count(1)
    assert_quiet(visit)


async def test_an_execution_shows_its_pins_and_gives_its_files(visit: Visit) -> None:
    page = await sign_in(visit)
    pipeline = await make_trips(page, "console:pins")
    given = {"pipelineId": pipeline, "mode": "INLINE", "inputName": "miles.csv"}
    rows = [{"miles": 10}, {"miles": "far"}]
    made = (await ask(page, CREATE, input={**given, "rows": rows}))["execution"]["id"]
    await go_to(visit, path_of("executions", made))
    used = page.get_by_role("region", name="What it used").get_by_role("listitem")
    await expect(used).to_have_text("calculation miles_to_kilometres, version 1")
    got = {}
    for name in ("Input", "Output", "Rejected rows"):
        link = page.get_by_role("link", name=re.compile(f"^{name}"))
        async with page.expect_download() as download:
            await link.click()
        got[name] = await read_download(await download.value)
    assert json.loads(got["Input"]) == rows
    assert got["Output"].splitlines() == ["co2e", "48.28032"]
    await page.get_by_role("link", name="1 row rejected").press("Enter")
    await expect(page.get_by_role("heading", name="Rejected rows")).to_be_focused()
    reason = page.get_by_role("region", name="Reasons of rejected rows").get_by_role("row").nth(1)
    await expect(reason).to_contain_text(re.compile("^1.*miles.*INVALID_INPUT"))
    rejected = got["Rejected rows"].splitlines()
    assert len(rejected) == 2
    assert rejected[1].startswith("2,miles,INVALID_INPUT,")
    await go_to(visit, f"/executions?group=%2F&pipeline={quote(pipeline, safe='')}")
    await page.get_by_role("link", name="1 row rejected").click()
    await expect(page.get_by_role("heading", name="Rejected rows")).to_be_focused()
    whole = (await ask(page, CREATE, input={**given, "rows": rows[:1]}))["execution"]["id"]
    await go_to(visit, path_of("executions", whole))
    await expect(page.get_by_text("No row was rejected.")).to_be_visible()
    await expect(page.get_by_role("link", name=re.compile("^Rejected"))).to_have_count(0)
    assert_quiet(visit)


async def test_an_execution_is_cancelled_and_tried_again_on_its_screen(visit: Visit) -> None:
    page = await sign_in(visit)
    given = {"pipelineId": await pipeline_id(page), "inputName": "empty-handed.csv"}
    made = (await ask(page, CREATE, input=given))["execution"]["id"]
    await go_to(visit, path_of("executions", made))
    await expect(page.get_by_text("Waits for its input.")).to_be_visible()
    await page.get_by_role("button", name="Cancel").click()
    header = page.get_by_role("main").locator("header")
    await expect(header.get_by_text("cancelled", exact=True)).to_be_visible()
    times = page.get_by_role("region", name="Times")
    await expect(times).to_contain_text(re.compile("Ended.* by dev@localhost"))
    assert (await ask(page, STATE, id=made))["state"] == "CANCELLED"
    await page.get_by_role("button", name="Try again").click()
    await expect(header.get_by_text("waiting", exact=True)).to_be_visible()
    assert (await ask(page, STATE, id=made))["state"] == "WAITING"
    await expect(page.get_by_role("region", name="History")).to_contain_text("retried")
    await expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    assert_quiet(visit)
