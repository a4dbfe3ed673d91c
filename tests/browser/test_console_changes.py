"""The console changes things: the editor, groups and keys, runs, sensors, the audio library."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, Response, expect

from penstock.datastore.audio.records import Tags
from penstock.server.samples.sounds.wav_flac_mp3 import tone, wav
from tests.browser.conftest import Visit
from tests.browser.console import ask, assert_quiet, go_to, open_console, path_of
from tests.install import ROOT, skip_reason

pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]

CREATE = """mutation($input: CreatePipelineInput!) { createPipeline(input: $input) {
  ... on CreatePipelinePayload { pipeline { id } } ... on UserError { message } } }"""
UPDATE = """mutation($input: UpdatePipelineInput!) { updatePipeline(input: $input) {
  ... on UpdatePipelinePayload { pipeline { version } } ... on UserError { message } } }"""
SAVED = """query($id: ID!) { pipeline(id: $id) { version description
  transformer { transforms { formula } } } }"""
NOTIFY = """async (body) => {
  const { token } = JSON.parse(sessionStorage.getItem("penstock:session"));
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  headers["fiware-servicepath"] = "/usa";
  const answer = await fetch("/v2/notify", { method: "POST", headers, body });
  return answer.status;
}"""


async def make_pipeline(page: Page, name: str) -> str:
    parameter = {"index": 0, "key": "miles", "type": "NUMBER", "required": True}
    output = {"index": 0, "key": "km", "type": "NUMBER"}
    transform = {"index": 0, "formula": ":miles * 2", "outputs": [output]}
    transformer = {"parameters": [parameter], "transforms": [transform]}
    given = {"group": "/usa", "name": name, "transformer": transformer}
    found: str = (await ask(page, CREATE, input=given))["pipeline"]["id"]
    return found


async def choose(page: Page, words: str) -> None:
    await page.get_by_role("option", name=words).wait_for()
    await page.keyboard.press("Enter")


async def test_a_pipeline_is_written_with_completion_tried_out_and_saved(visit: Visit) -> None:
    page = await open_console(visit)
    await page.get_by_role("link", name="New pipeline").click()
    await page.get_by_label("Name").fill("console:written")
    await page.get_by_label("Key", exact=True).fill("miles")
    await page.get_by_label("Tag key").fill("source")
    await page.get_by_label("Tag value").fill("Console")
    await page.get_by_role("button", name="Add the tag").click()
    formula = page.get_by_role("textbox", name="Formula of transform 1")
    await formula.click()
    await page.keyboard.type("rou")
    await choose(page, "ROUND(number, [places])")
    await page.keyboard.type("#miles_")
    await choose(page, "miles_to_kilometres(miles)")
    await page.keyboard.type(":mil")
    await choose(page, "miles")
    await page.keyboard.type("),1)")
    await expect(formula).to_have_value("ROUND(#miles_to_kilometres(:miles),1)")
    await page.get_by_label("Output key").fill("km")
    await page.get_by_role("button", name="Transform", exact=True).click()
    await page.get_by_role("textbox", name="Formula of transform 2").fill("REF('km') > 20")
    await page.get_by_label("Output key").nth(1).fill("far")
    await page.get_by_label("Type").nth(2).select_option("BOOLEAN")
    dry_run = page.get_by_role("region", name="Dry run")
    await dry_run.get_by_label("miles, row 1").fill("10")
    await dry_run.get_by_role("button", name="Another row").click()
    await dry_run.get_by_label("miles, row 2").fill("20")
    await dry_run.get_by_role("button", name="Another row").click()
    await dry_run.get_by_label("miles, row 3").fill("none")
    await dry_run.get_by_role("button", name="Evaluate without saving").click()
    await expect(dry_run.get_by_role("cell", name="16.1")).to_be_visible()
    await expect(dry_run.get_by_role("row", name="32.2 true")).to_be_visible()
    await expect(dry_run.get_by_text("Row 3, miles: :miles: expected a number")).to_be_visible()
    await dry_run.get_by_role("button", name="Explain row 2").click()
    await expect(dry_run.get_by_text("32.18688").first).to_be_visible()
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("heading", name="console:written", exact=True)).to_be_visible()
    await expect(page.get_by_role("list", name="Tags")).to_have_text("source Console")
    assert_quiet(visit)


async def test_a_formula_that_is_refused_shows_its_caret_and_survives_a_reload(
    visit: Visit,
) -> None:
    page = await open_console(visit)
    id = await make_pipeline(page, "console:refused")
    await go_to(visit, path_of("pipelines", id, "/edit"))
    formula = page.get_by_role("textbox", name="Formula of transform 1")
    await formula.fill(":miles *")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.locator("pre").filter(has_text="^").first).to_be_visible()
    assert (await ask(page, SAVED, id=id))["version"] == 1
    await page.reload()
    await expect(formula).to_have_value(":miles *")
    await page.get_by_role("button", name="Discard").click()
    await go_to(visit, path_of("pipelines", id, "/edit"))
    await expect(formula).to_have_value(":miles * 2")
    assert_quiet(visit)


async def test_two_people_edit_one_pipeline_and_lose_nothing(visit: Visit) -> None:
    page = await open_console(visit)
    id = await make_pipeline(page, "console:conflict")
    await go_to(visit, path_of("pipelines", id, "/edit"))
    formula = page.get_by_role("textbox", name="Formula of transform 1")
    await formula.fill(":miles * 3")
    other = {"id": id, "expectedVersion": 1, "description": "of the other one"}
    assert (await ask(page, UPDATE, input=other))["pipeline"] == {"version": 2}
    await page.get_by_role("button", name="Save", exact=True).click()
    conflict = page.get_by_role("alert").filter(has_text="Somebody saved version 2 meanwhile")
    await expect(conflict).to_contain_text("of the other one")
    await expect(conflict).to_contain_text(":miles * 3")
    await expect(formula).to_have_value(":miles * 3")
    assert (await ask(page, SAVED, id=id))["version"] == 2
    await conflict.get_by_role("button", name="Save mine as a new version").click()
    await expect(page.get_by_role("heading", name="console:conflict", exact=True)).to_be_visible()
    saved = await ask(page, SAVED, id=id)
    assert saved["version"] == 3
    assert saved["transformer"] == {"transforms": [{"formula": ":miles * 3"}]}
    assert_quiet(visit)


async def test_a_pipeline_is_deleted_only_when_its_name_is_typed(visit: Visit) -> None:
    page = await open_console(visit)
    id = await make_pipeline(page, "console:deleted")
    await go_to(visit, path_of("pipelines", id, "/edit"))
    await page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.get_by_role("dialog")
    last = dialog.get_by_role("button", name="Delete the pipeline")
    await dialog.get_by_label("Type its name to delete it").fill("console:deletes")
    await expect(last).to_be_disabled()
    await dialog.get_by_label("Type its name to delete it").fill("console:deleted")
    await last.click()
    await expect(page.get_by_role("heading", name="Pipelines")).to_be_visible()
    await go_to(visit, path_of("pipelines", id))
    await expect(page.get_by_role("heading", name="There is no such pipeline")).to_be_visible()
    assert_quiet(visit)


async def test_a_calculation_is_written_and_changed(visit: Visit) -> None:
    page = await open_console(visit, "/new/calculation")
    await page.get_by_label("Name").fill("console_tripled")
    await page.get_by_label("Key", exact=True).fill("x")
    await page.get_by_role("textbox", name="Formula of formula").fill(":x * 3")
    await page.get_by_label("Output key").fill("tripled")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("heading", name="console_tripled", exact=True)).to_be_visible()
    await page.get_by_role("link", name="Edit").click()
    await page.get_by_label("Summary").fill("Triples a number.")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_text("Triples a number.")).to_be_visible()
    await expect(page.get_by_text("version 2")).to_be_visible()
    assert_quiet(visit)


async def test_the_tree_says_why_a_role_holds_and_a_group_goes_by_its_path(visit: Visit) -> None:
    page = await open_console(visit, "/groups?path=/eu")
    await expect(page.get_by_text("You are admin here, because of your role at /.")).to_be_visible()
    await page.get_by_role("button", name="New group below").click()
    await page.get_by_label("Last part of the path").fill("console")
    await page.get_by_role("dialog").get_by_role("button", name="Create").click()
    tree = page.get_by_role("navigation", name="Tree of groups")
    await tree.get_by_role("button", name="Below /eu", exact=True).click()
    await tree.get_by_role("button", name="console", exact=True).click()
    await expect(page.get_by_role("heading", name="/eu/console")).to_be_visible()
    await page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("0 groups directly below")
    last = dialog.get_by_role("button", name="Delete the group")
    await expect(last).to_be_disabled()
    await dialog.get_by_label("Type /eu/console to delete it").fill("/eu/console")
    await last.click()
    await expect(page.get_by_role("heading", name="/eu", exact=True)).to_be_visible()
    await expect(tree.get_by_role("button", name="console", exact=True)).to_have_count(0)
    assert_quiet(visit)


async def test_the_secret_of_a_key_is_shown_once_and_kept_nowhere(visit: Visit) -> None:
    page = await open_console(visit, "/groups?tab=keys")
    await page.get_by_role("button", name="New key").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name").fill("console key")
    await dialog.get_by_role("button", name="Create").click()
    await expect(dialog).to_contain_text("This secret is shown only now.")
    secret = await dialog.locator("code").inner_text()
    stored = await page.evaluate("() => JSON.stringify([{...sessionStorage}, {...localStorage}])")
    assert secret not in stored
    await dialog.get_by_role("button", name="I have kept it").click()
    keys = page.get_by_role("region", name="API keys")
    await expect(keys).to_contain_text("console key")
    assert secret not in await page.content()
    await keys.get_by_role("button", name="Revoke console key").click()
    await expect(page.get_by_role("heading", name="No keys")).to_be_visible()
    assert_quiet(visit)


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


def is_answer_to(answer: Response, operation: str) -> bool:
    """Whether the answer is that to an operation of the console."""
    own = json.loads((ROOT / "server/console/dist/documents.json").read_text())
    body = json.loads(answer.request.post_data or "{}")
    document: str = own.get(body.get("documentId"), "")
    return document.startswith((f"query {operation}(", f"mutation {operation}("))


async def titles(page: Page) -> list[str]:
    entries = page.get_by_role("list", name="Entries").get_by_role("listitem")
    shown: list[str] = await entries.evaluate_all(
        "all => all.map((one) => one.querySelector('span').firstChild.textContent.trim())"
    )
    return shown


async def test_a_list_is_played_on_over_screens_and_reordered_two_ways(visit: Visit) -> None:
    page = await open_console(visit, "/audio")
    await page.get_by_label("New playlist").fill("Console")
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("heading", name="Nothing in this list yet")).to_be_visible()
    query = "{ playlists(first: 1) { nodes { id } } }"
    (playlist,) = (await ask(page, query))["nodes"]
    await go_to(visit, "/audio")
    for title in ("Encore", "Low Tide", "Overtones"):
        add = page.get_by_label(f"Add {title} to a playlist")
        async with page.expect_response(lambda answer: is_answer_to(answer, "AddToPlaylist")):
            await add.select_option(label="Console")
    await page.get_by_role("button", name=re.compile("^Console")).click()
    await expect(page.get_by_role("listitem").filter(has_text="Overtones")).to_be_visible()
    assert await titles(page) == ["Encore", "Low Tide", "Overtones"]
    await page.get_by_role("button", name="Move Overtones up").press("Enter")
    await expect(
        page.get_by_role("list", name="Entries").get_by_role("listitem").nth(1)
    ).to_contain_text("Overtones")
    entries = page.get_by_role("list", name="Entries").get_by_role("listitem")
    await entries.nth(2).drag_to(entries.nth(0))
    await expect(entries.nth(0)).to_contain_text("Low Tide")
    assert await titles(page) == ["Low Tide", "Encore", "Overtones"]
    rename = """mutation($input: RenamePlaylistInput!) { renamePlaylist(input: $input) {
      __typename } }"""
    given = {"id": playlist["id"], "name": "Console renamed"}
    assert await ask(page, rename, input=given) == {"__typename": "RenamePlaylistPayload"}
    await page.get_by_role("button", name="Move Encore down").click()
    await expect(page.get_by_role("alert")).to_contain_text("Somebody changed the list meanwhile.")
    await expect(page.get_by_role("heading", name="Console renamed")).to_be_visible()
    await page.get_by_role("button", name="Play all").click()
    player = page.get_by_role("region", name="Player")
    await expect(player).to_contain_text("Low Tide")
    await page.get_by_role("link", name="System").click()
    await expect(page.get_by_role("heading", name="System", exact=True)).to_be_visible()
    await player.get_by_role("button", name="Next track").click()
    await expect(player).to_contain_text("Encore")
    await expect(player.get_by_text("0:12")).to_be_visible()
    await player.get_by_label("Position").fill("5")
    await page.wait_for_function("() => document.querySelector('audio').currentTime >= 5")
    await player.get_by_role("button", name="Close the player").click()
    await expect(player).to_have_count(0)
    assert_quiet(visit)


async def test_media_keys_know_the_track_and_its_url_is_renewed_before_it_ends(
    visit: Visit,
) -> None:
    page = await open_console(visit)
    await page.clock.install()
    await go_to(visit, "/audio")
    await page.get_by_role("button", name="Play Encore").click()
    player = page.get_by_role("region", name="Player")
    await expect(player.get_by_text("0:12")).to_be_visible()
    title = "() => navigator.mediaSession.metadata.title"
    assert await page.evaluate(title) == "Encore"
    first = await page.evaluate("() => document.querySelector('audio').src")
    async with page.expect_response(lambda answer: is_answer_to(answer, "TrackUrl")):
        # A URL is valid for a quarter of an hour at least.
        await page.clock.fast_forward("20:00")
    await page.wait_for_function("(old) => document.querySelector('audio').src !== old", arg=first)
    await player.get_by_role("button", name="Close the player").click()
    assert_quiet(visit)


async def test_an_uploaded_track_is_in_the_library(visit: Visit, tmp_path: Path) -> None:
    page = await open_console(visit, "/audio")
    file = tmp_path / "mine.wav"
    sound = wav(tone(440, 1.0), Tags(title="My tone"))
    await asyncio.to_thread(file.write_bytes, sound)
    await page.get_by_label("Upload tracks").set_input_files(file)
    await expect(page.get_by_role("list", name="List of tracks")).to_contain_text("My tone")
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
