"""The console's audio library: browsing, lists that others change too, uploads, media keys."""

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from penstock.datastore.audio.records import Tags
from penstock.server.samples.sounds.wav_flac_mp3 import tone, wav
from tests.browser.conftest import Visit
from tests.browser.console import ask, assert_quiet, go_to, is_answer_to, open_console
from tests.install import skip_reason

pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]


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
