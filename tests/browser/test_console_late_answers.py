"""A reader who does something else before an answer keeps it when the answer comes."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Page, Route, expect

from penstock.datastore.audio.records import Tags
from penstock.server.samples.sounds.wav_flac_mp3 import tone, wav
from tests.browser.conftest import Visit
from tests.browser.console import (
    GOOD_ROW,
    ask,
    assert_quiet,
    closing_dialog,
    go_to,
    is_answer_to,
    open_console,
    operation_of,
    path_of,
    pipeline_id,
    push,
    sign_in,
    write_csv,
)
from tests.browser.test_console_audio import assert_entries, write_bytes
from tests.install import skip_reason
from tests.support.patience import HUNG_SECONDS

pytestmark = [
    pytest.mark.runs_together("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]


@asynccontextmanager
async def answered_last(page: Page, operation: str) -> AsyncIterator[None]:
    """Let the first request of an operation wait for its answer until the end of the block."""
    held: asyncio.Future[Route] = asyncio.get_running_loop().create_future()

    async def hold_first(route: Route) -> None:
        if operation_of(route.request) == operation and not held.done():
            held.set_result(route)
        else:
            await route.continue_()

    await page.route("**/graphql", hold_first)
    yield
    route = await asyncio.wait_for(held, HUNG_SECONDS)
    async with page.expect_response(lambda answer: is_answer_to(answer, operation)):
        await route.continue_()
    await page.unroute_all(behavior="wait")


async def test_an_answer_to_an_earlier_question_does_not_replace_a_later_one(visit: Visit) -> None:
    page = await open_console(visit, "/calculations")
    await page.get_by_role("link", name="miles_to_kilometres").click()
    tried = page.get_by_role("region", name="Try it out")
    miles, evaluate = tried.get_by_role("textbox"), tried.get_by_role("button", name="Evaluate")
    async with answered_last(page, "Evaluate"):
        async with page.expect_request(lambda one: operation_of(one) == "Evaluate"):
            await miles.fill("10")
            await evaluate.click()
        await miles.fill("20")
        await evaluate.click()
        await expect(tried).to_contain_text("32.18688")
    await visit.settle()
    await expect(tried).to_contain_text("32.18688")
    assert_quiet(visit)


async def test_what_is_saved_late_leads_nobody_away_from_another_screen(visit: Visit) -> None:
    page = await open_console(visit, "/new/calculation")
    await page.get_by_label("Name").fill("console_late")
    await page.get_by_label("Key", exact=True).fill("x")
    await page.get_by_role("textbox", name="The formula").fill(":x * 2")
    await page.get_by_label("Output key").fill("doubled")
    async with answered_last(page, "SaveNewCalculation"):
        await page.get_by_role("button", name="Save", exact=True).click()
        await expect(page.get_by_role("button", name="Saving…")).to_be_visible()
        await page.get_by_role("link", name="System").click()
        await expect(page.get_by_role("heading", name="System", exact=True)).to_be_visible()
    await visit.settle()
    await expect(page).to_have_url(re.compile("/console/system$"))
    found = '{ calculationByName(name: "console_late") { version } }'
    assert await ask(page, found) == {"version": 1}
    assert_quiet(visit)


COUNT = """query($p: ID) { executionCounts(pipeline: $p, group: "/", includeChildGroups: true) {
  state count } }"""


async def test_an_upload_that_is_cancelled_before_it_begins_sends_nothing(
    visit: Visit, tmp_path: Path
) -> None:
    page = await sign_in(visit)
    id = await pipeline_id(page)
    await go_to(visit, path_of("pipelines", id, "/run"))
    uploads: list[str] = []
    page.on("request", lambda one: uploads.append(one.url) if "/files/" in one.url else None)
    file = await asyncio.to_thread(write_csv, tmp_path, *[GOOD_ROW] * 300)
    await page.get_by_label("File to run").set_input_files(file)

    async def count_executions(state: str) -> int:
        counts = await ask(page, COUNT, p=id)
        return sum(one["count"] for one in counts if one["state"] == state)

    cancelled = await count_executions("CANCELLED")
    async with answered_last(page, "CreateExecution"):
        await page.get_by_role("button", name="Run this file").click()
        await page.get_by_role("button", name="Cancel").click()
    await expect(page.get_by_role("button", name="Run this file")).to_be_visible()
    assert await count_executions("CANCELLED") == cancelled + 1
    assert uploads == []
    await expect(page).to_have_url(re.compile("/run$"))
    assert_quiet(visit)


async def test_a_track_that_is_moved_twice_in_a_hurry_meets_nobody(visit: Visit) -> None:
    page = await open_console(visit, "/audio")
    made = """mutation($input: CreatePlaylistInput!) { createPlaylist(input: $input) {
      ... on CreatePlaylistPayload { playlist { id } } ... on UserError { message } } }"""
    playlist = (await ask(page, made, input={"name": "Hurry"}))["playlist"]["id"]
    tracks = (await ask(page, "{ audios(first: 50) { nodes { id title } } }"))["nodes"]
    ids = {one["title"]: one["id"] for one in tracks}
    add = """mutation($input: AddPlaylistEntriesInput!) { addPlaylistEntries(input: $input) {
      __typename } }"""
    given = [ids[title] for title in ("Encore", "Low Tide", "Overtones")]
    await ask(page, add, input={"id": playlist, "audioIds": given})
    await go_to(visit, f"/audio?playlist={playlist}")
    await assert_entries(page, "Encore", "Low Tide", "Overtones")
    up = page.get_by_role("button", name="Move Overtones up")
    async with answered_last(page, "MoveEntries"):
        await up.press("Enter")
        await expect(up).to_have_attribute("aria-disabled", "true")
        await up.press("Enter")
        await expect(up).to_be_focused()
    await assert_entries(page, "Encore", "Overtones", "Low Tide")
    await expect(up).to_have_attribute("aria-disabled", "false")
    await expect(page.get_by_role("alert")).to_have_count(0)
    await up.press("Enter")
    await assert_entries(page, "Overtones", "Encore", "Low Tide")
    assert_quiet(visit)


async def test_a_dialog_goes_with_the_answer_and_before_the_page_is_read_anew(visit: Visit) -> None:
    page = await open_console(visit, "/groups?path=/eu")
    await page.get_by_role("button", name="Change").click()
    async with answered_last(page, "GroupDetails"), closing_dialog(page) as dialog:
        await dialog.get_by_label("Purpose").fill("Everything of Europe")
        await dialog.get_by_role("button", name="Save").click()
    chosen = page.get_by_role("region", name="Chosen group")
    await expect(chosen.get_by_text("Everything of Europe")).to_be_visible()
    assert_quiet(visit)


async def test_a_list_that_was_read_before_a_change_is_read_again_behind_it(
    visit: Visit, tmp_path: Path
) -> None:
    page = await sign_in(visit)
    was_read, is_changed = asyncio.Event(), asyncio.Event()

    async def hold_first_answer(route: Route) -> None:
        if operation_of(route.request) != "Tracks" or was_read.is_set():
            await route.continue_()
            return
        answer = await route.fetch()
        was_read.set()
        await is_changed.wait()
        await route.fulfill(response=answer)

    await page.route("**/graphql", hold_first_answer)
    await push(visit, "/audio")
    await was_read.wait()
    sound = wav(tone(440, 1.0), Tags(title="Late tone"))
    async with page.expect_response(lambda answer: is_answer_to(answer, "AddAudio")):
        await page.get_by_label("Upload tracks").set_input_files(
            await write_bytes(tmp_path / "late.wav", sound)
        )
    await expect(page.get_by_role("progressbar", name="Upload")).to_have_count(0)
    is_changed.set()
    tracks = page.get_by_role("list", name="List of tracks").get_by_role("listitem")
    await expect(tracks.filter(has_text="Late tone")).to_have_count(1)
    await page.unroute_all(behavior="wait")
    assert_quiet(visit)
