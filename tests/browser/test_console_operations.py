"""The console for those who run a server: manifest runs, sensors and the system."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, Route, expect

from penstock.datastore.objects.directory import LocalFiles
from penstock.server.runtime.stores import FILES
from penstock.server.settings.key_files import url_key
from tests.browser.conftest import Visit, visit_of
from tests.browser.console import (
    ask,
    assert_quiet,
    closing_dialog,
    find_faults,
    go_to,
    open_console,
    press_on,
    sign_in,
    type_into,
)
from tests.install import skip_reason
from tests.support.patience import until
from tests.support.server_process import running_server

pytestmark = [
    pytest.mark.runs_together("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]

NOTIFY = """async (body) => {
  const { token } = JSON.parse(sessionStorage.getItem("penstock:session"));
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  headers["fiware-servicepath"] = "/usa";
  const answer = await fetch("/v2/notify", { method: "POST", headers, body });
  await answer.text(); // what is not read is never over
  return answer.status;
}"""


async def test_a_run_is_skipped_with_a_reason_that_its_history_keeps(visit: Visit) -> None:
    page = await open_console(visit, "/runs?group=/usa")
    run = "enriched/archive/run=2018-12-14-00-00-00/"
    await expect(page.get_by_role("button", name=f"Skip: {run}")).to_be_visible()
    # By the keyboard alone.
    await press_on(page, f"Skip: {run}")
    await type_into(page, "Reason, for the history", "seen in the console")
    async with closing_dialog(page):
        await page.keyboard.press("Enter")
    runs = page.get_by_role("region", name="All runs")
    card = runs.get_by_role("listitem").filter(has_text=run)
    await expect(card.get_by_text("Skipped: seen in the console")).to_be_visible()
    await card.get_by_text("History", exact=True).click()
    await expect(card.get_by_role("cell", name="seen in the console")).to_be_visible()
    assert_quiet(visit)


DISCOVER = """mutation($input: DiscoverRunInput!) { discoverRun(input: $input) {
  __typename } }"""
CLAIM = """mutation($input: ClaimRunInput!) { claimRun(input: $input) {
  ... on ClaimRunPayload { run { state leaseOwner } } ... on UserError { message } } }"""
RUN = """query($r: String!) { run(group: "/usa", manifest: "snowplow", runId: $r) {
  state leaseOwner } }"""


async def write_file(data_dir: Path, key: str) -> None:
    """Write an empty file into the server's bucket, as a worker does."""
    key_of_urls = url_key(data_dir)
    files = await LocalFiles.open(data_dir / FILES, base_url="http://localhost", key=key_of_urls)

    async def nothing() -> AsyncIterator[bytes]:
        yield b""

    await files.write(key, nothing(), content_type="text/plain")
    await files.close()


async def test_a_run_whose_worker_died_is_stuck_and_starts_again_for_a_reason(visit: Visit) -> None:
    page = await open_console(visit, "/runs?group=/usa")
    stuck = page.get_by_role("region", name="Stuck runs")
    await expect(stuck.get_by_text("No run is stuck.")).to_be_visible()
    # A worker claims a run, and is never heard of again.
    run = "enriched/archive/run=2019-01-01-00-00-00/"
    place = {"group": "/usa", "manifest": "snowplow", "runId": run}
    tags = [{"key": "country", "value": "de"}]
    found = {**place, "addedBy": "transformer", "tags": tags, "batch": "2019-01-01"}
    assert await ask(page, DISCOVER, input=found) == {"__typename": "DiscoverRunPayload"}
    claim = {**place, "stage": "TRANSFORM", "owner": "worker-1", "leaseSeconds": 1}
    held = {"state": "PROCESSING", "leaseOwner": "worker-1"}
    assert await ask(page, CLAIM, input=claim) == {"run": held}
    # The screen finds it without a reload, and offers what is safe in its state.
    card = stuck.get_by_role("listitem").filter(has_text=run)
    await expect(card.get_by_text("processing", exact=True)).to_be_visible()
    await expect(card).to_contain_text("held by worker-1 until")
    steps = card.get_by_role("button", name=run)
    await expect(steps).to_have_text(["Recover", "Start again", "Skip"])
    assert await find_faults(page) == []
    # The server looks whether the output is complete, and says in its words that it is not.
    folder = "stage/run=2019-01-01/"
    dialog = page.get_by_role("dialog")

    async def take_step(card: Locator, name: str, reason: str) -> None:
        await card.get_by_role("button", name=f"{name}: {run}").click()
        await dialog.get_by_label("Folder of its output").fill(f"s3://penstock/{folder}")
        await dialog.get_by_label("Reason, for the history").fill(reason)
        await page.keyboard.press("Enter")

    await take_step(card, "Recover", "seen in the bucket")
    await expect(dialog.get_by_role("alert")).to_contain_text("There is no _SUCCESS in")
    assert await ask(page, RUN, r=run) == held
    async with closing_dialog(page):
        await page.keyboard.press("Escape")
    async with closing_dialog(page):
        await take_step(card, "Start again", "the worker's machine is gone")
    await expect(card).to_have_count(0)
    assert await ask(page, RUN, r=run) == {"state": "NEW", "leaseOwner": None}
    # Another worker writes the output, and dies before it says so.
    await write_file(visit.data_dir, f"{folder}_SUCCESS")
    card = page.get_by_role("region", name="All runs").get_by_role("listitem").filter(has_text=run)
    await take_step(card, "Start again", "once more")
    await expect(dialog.get_by_role("alert")).to_contain_text("There is a _SUCCESS in")
    async with closing_dialog(page):
        await page.keyboard.press("Escape")
    async with closing_dialog(page):
        await take_step(card, "Recover", "it is complete")
    await expect(card.get_by_text("processed", exact=True)).to_be_visible()
    assert (await ask(page, RUN, r=run))["state"] == "PROCESSED"
    await card.get_by_text("History", exact=True).click()
    for reason in ("the worker's machine is gone", "it is complete"):
        await expect(card.get_by_role("cell", name=reason)).to_be_visible()
    await assert_batch_finds(page, card, run)
    assert_quiet(visit)


async def assert_batch_finds(page: Page, card: Locator, run: str) -> None:
    """The batch of a run finds it, and the rules of retries stand above."""
    await expect(page.get_by_text("Workers may claim a failed run at once")).to_be_visible()
    await expect(card.get_by_role("list", name="Tags")).to_have_text("country de")
    await card.get_by_role("button", name="2019-01-01", exact=True).click()
    await expect(page.get_by_label("Batch")).to_have_value("2019-01-01")
    cards = page.get_by_role("region", name="All runs").get_by_role("code")
    await expect(cards).to_have_text([run])


def notification(*values: object) -> str:
    speed = {"type": "Number", "metadata": {}}
    data: list[dict[str, Any]] = [
        {"id": "car1", "type": "car", "speed": {**speed, "value": value}} for value in values
    ]
    return json.dumps({"subscriptionId": "s", "data": data})


STORED = """{ ngsiServices(first: 9) { nodes { servicePaths(first: 9) { nodes {
  entities(first: 2) { nodes { entityId } } deadLetters(first: 2) { nodes { id } } } } } } }"""


async def test_samples_reach_the_chart_as_they_come_and_letters_are_replayed(visit: Visit) -> None:
    page = await sign_in(visit)
    assert await page.evaluate(NOTIFY, notification(12)) == 200
    nameless = {"type": "car", "speed": {"type": "Number", "value": 1}}
    letters = {"subscriptionId": "s", "data": [*json.loads(notification(13))["data"], nameless]}
    assert await page.evaluate(NOTIFY, json.dumps(letters)) == 200

    async def are_stored() -> bool:  # a batch is, a moment after it was taken
        services = (await ask(page, STORED))["nodes"]
        places = [place for one in services for place in one["servicePaths"]["nodes"]]
        return [[len(kept["nodes"]) for kept in place.values()] for place in places] == [[1, 1]]

    await until(are_stored)
    await go_to(visit, "/sensors")
    await press_on(page, "car1")  # by the keyboard alone; its attributes are asked for now
    await press_on(page, "Chart of speed of car1")
    await expect(page.get_by_text(re.compile("samples?, now 1[23]"))).to_be_visible()
    assert await page.evaluate(NOTIFY, notification(77)) == 200
    await expect(page.get_by_text(re.compile("samples, now 77"))).to_be_visible()
    dead = page.get_by_role("region", name="Dead letters")
    await expect(dead).to_contain_text("The entity's id is missing")
    await press_on(page, "Replay")
    await expect(dead.get_by_role("status")).to_have_text(
        "0 updates wait to be stored, 1 failed again."
    )
    await delete_letter(visit)
    await delete_samples(visit)
    assert_quiet(visit)


LETTERS = """{ ngsiService(name: "default") { servicePath(path: "/usa") {
  deadLetters { nodes { id } } } } }"""
SAMPLES = """{ ngsiService(name: "default") { servicePath(path: "/usa") {
  entity(id: "car1", type: "car") {
    attribute(name: "speed") { series { nodes { text } } } } } } }"""


async def delete_letter(visit: Visit) -> None:
    """Delete the letter that is left by the keyboard, after it was kept once."""
    page = visit.page
    await visit.settle()  # the replay put another letter in place of the first
    before = await ask(page, LETTERS)
    assert len(before["servicePath"]["deadLetters"]["nodes"]) == 1
    button = page.get_by_role("region", name="Dead letters").get_by_role("button", name="Delete")
    await press_on(page, "Delete")
    await press_on(page, "Keep it")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(button).to_be_focused()
    assert await ask(page, LETTERS) == before
    await page.keyboard.press("Enter")
    await press_on(page, "Delete for ever")
    await expect(page.get_by_role("status", name="Done")).to_have_text(
        "The dead letter is deleted."
    )
    await expect(page.get_by_role("heading", name="Dead letters")).to_be_focused()
    await expect(page.get_by_text("No dead letters.")).to_be_visible()
    assert (await ask(page, LETTERS))["servicePath"]["deadLetters"]["nodes"] == []


async def delete_samples(visit: Visit) -> None:
    """Delete the samples of an entity by its id; the job says that it is done."""
    page = visit.page
    assert (await ask(page, SAMPLES))["servicePath"]["entity"]["attribute"]["series"]["nodes"]
    await press_on(page, "Delete samples")
    dialog = page.get_by_role("dialog", name="Delete samples of car1")
    await expect(dialog.get_by_label("From; the first one if empty", exact=True)).to_be_focused()
    last = dialog.get_by_role("button", name="Delete the samples")
    await expect(last).to_be_disabled()
    await dialog.get_by_label("Type car1 to delete them").fill("car1")
    await last.click()
    job = page.get_by_role("region", name="Jobs").get_by_role("listitem").first
    await expect(job).to_contain_text("delete samples done")


LONG = "n" * 250
OVERFLOWS = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"


async def test_a_letter_is_kept_by_a_replay_once_its_cause_is_gone(
    browser: Browser, tmp_path: Path
) -> None:
    speed = {"type": "Number", "value": 42}
    data = [{"id": LONG, "type": "car", "speed": speed}]
    body = json.dumps({"subscriptionId": "s", "data": data})
    folder = tmp_path / "data"
    with running_server(folder, ("--no-seed",), PENSTOCK_NGSI_LONG_NAMES="reject") as server:
        async with visit_of(browser, server.url, folder) as visit:
            page = await sign_in(visit)
            assert await page.evaluate(NOTIFY, body) == 400  # a letter, and nothing else
            await go_to(visit, "/sensors")
            dead = page.get_by_role("region", name="Dead letters")
            await expect(dead).to_contain_text("characters of a table's name")
            await dead.get_by_role("button", name="Replay").click()
            await expect(dead.get_by_role("status")).to_have_text(
                "0 updates wait to be stored, 1 failed again."
            )
    # An operator allows long names.
    with running_server(folder, ("--no-seed",)) as server:
        async with visit_of(browser, server.url, folder) as visit:
            page = await open_console(visit, "/sensors")
            dead = page.get_by_role("region", name="Dead letters")
            await dead.get_by_role("button", name="Replay").click()
            await expect(dead.get_by_role("status")).to_have_text(
                "1 update waits to be stored, 0 failed again."
            )
            await expect(dead).to_contain_text("No dead letters.")
            await page.reload()
            await page.get_by_text(LONG).click()
            await expect(
                page.get_by_role("button", name=f"Chart of speed of {LONG}")
            ).to_be_visible()
            assert await page.evaluate(OVERFLOWS) is False
            assert_quiet(visit)


async def add_finding(route: Route) -> None:
    """Answer as the server does, with a finding more; its own tests show what it finds."""
    answer = await route.fetch()
    body = await answer.json()
    if (system := body["data"].get("system")) is not None:
        words = {"message": "3 wait for a worker.", "advice": "Start a worker."}
        system["problems"].append({"check": "executions", **words})
    await route.fulfill(response=answer, json=body)


async def test_the_system_screen_shows_findings_workers_and_what_was_paid(visit: Visit) -> None:
    page = await open_console(visit, "/system")
    await expect(page.get_by_text("Nothing is stuck.")).to_be_visible()
    queues = page.get_by_role("region", name="Queues")
    await expect(queues).to_contain_text("0.1.0")
    await expect(queues.get_by_role("term").filter(has_text="Longest wait")).to_be_visible()
    await page.route("**/graphql", add_finding)  # it is asked again without a reload
    findings = page.get_by_role("region", name="Findings").get_by_role("listitem")
    await expect(findings).to_have_text(["executions3 wait for a worker. Show themStart a worker."])
    await expect(page.get_by_role("link", name="Show them")).to_have_attribute(
        "href", "/console/executions"
    )
    await page.unroute_all(behavior="wait")
    await expect(page.get_by_text("Nothing is stuck.")).to_be_visible()
    await expect(page.get_by_role("region", name="List of workers")).to_contain_text("server")
    await expect(page.get_by_role("region", name="Last operations")).to_contain_text(
        "The state of the system"
    )
    await expect(page.get_by_role("region", name="Changed settings")).to_contain_text(
        "PENSTOCK_DATA_DIR"
    )
    await press_on(page, "All ")  # by the keyboard alone
    await expect(page.get_by_role("region", name="All settings")).to_contain_text("PENSTOCK_TABLE")
    await page.get_by_label("Act as").select_option(label="reader of /eu")
    await expect(page.get_by_text("Queues and findings are for administrators")).to_be_visible()
    await expect(page.get_by_role("heading", name="Workers")).to_have_count(0)
    assert_quiet(visit)
