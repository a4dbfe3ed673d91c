"""The console's audio library: browsing, lists that others change too, uploads, media keys."""

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from penstock.datastore.audio.records import Tags
from penstock.server.samples.sounds.tags import png
from penstock.server.samples.sounds.wav_flac_mp3 import tone, wav
from tests.browser.conftest import Visit, visit_of
from tests.browser.console import (
    ask,
    assert_quiet,
    closing_dialog,
    find_faults,
    go_to,
    hand_over_choosers,
    is_answer_to,
    open_console,
    press_on,
    tab_to,
)
from tests.install import skip_reason

pytestmark = [
    pytest.mark.runs_together("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]


PLAY_ON = """
document.addEventListener("play", ({ target }) => { target.loop = true; }, { capture: true });
"""
"""A track lasts some seconds, which a busy machine may need between two steps of a test."""


async def assert_entries(page: Page, *titles: str) -> None:
    """The list has these tracks in this order."""
    entries = page.get_by_role("list", name="Entries").get_by_role("listitem")
    await expect(entries).to_have_text([re.compile(rf"^\s*{title}") for title in titles])


async def test_a_list_is_played_on_over_screens_and_reordered_two_ways(
    browser: Browser, visit: Visit
) -> None:
    await visit.context.add_init_script(PLAY_ON)
    page = await open_console(visit, "/audio")
    await page.get_by_label("New playlist").fill("Console")
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("heading", name="Nothing in this list yet")).to_be_visible()
    await go_to(visit, "/audio")
    await page.get_by_role("combobox", name="Playlist").select_option(label="Console")
    for title in ("Encore", "Low Tide", "Overtones"):
        add = page.get_by_role("button", name=f"Add {title} to Console")
        async with page.expect_response(lambda answer: is_answer_to(answer, "AddToPlaylist")):
            await add.click()
    await page.get_by_role("button", name=re.compile("^Console")).click()
    await assert_entries(page, "Encore", "Low Tide", "Overtones")
    await page.get_by_role("button", name="Move Overtones up").press("Enter")
    await assert_entries(page, "Encore", "Overtones", "Low Tide")
    entries = page.get_by_role("list", name="Entries").get_by_role("listitem")
    await entries.nth(2).drag_to(entries.nth(0))
    await assert_entries(page, "Low Tide", "Encore", "Overtones")
    async with visit_of(browser, visit.base_url, visit.data_dir) as other:
        theirs = await open_console(other, page.url.partition("/console")[2])
        await theirs.get_by_role("button", name="Move Overtones up").press("Enter")
        await assert_entries(theirs, "Low Tide", "Overtones", "Encore")
        assert_quiet(other)
    await page.get_by_role("button", name="Move Encore down").click()
    await expect(page.get_by_role("alert")).to_contain_text("Somebody changed the list meanwhile.")
    await assert_entries(page, "Low Tide", "Overtones", "Encore")
    await page.get_by_role("button", name="Move Encore up").press("Enter")
    await assert_entries(page, "Low Tide", "Encore", "Overtones")
    await expect(page.get_by_role("alert")).to_have_count(0)
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
    await page.go_back()
    await page.get_by_role("button", name="Play Encore").click()
    await expect(player).to_contain_text("Encore")
    await expect(player).to_contain_text("2 of 3")
    await player.get_by_role("button", name="Close the player").click()
    await rename_and_delete(page)
    assert_quiet(visit)


async def rename_and_delete(page: Page) -> None:
    """Give the list another name and delete it, by the keyboard."""
    done = page.get_by_role("status", name="Done")
    await press_on(page, "Rename")
    async with closing_dialog(page) as dialog:
        await expect(dialog.get_by_label("Name")).to_be_focused()
        await page.keyboard.press("Control+A")
        await page.keyboard.type("Console renamed")
        await page.keyboard.press("Enter")
    await expect(done).to_have_text("The playlist is named Console renamed now.")
    await expect(page.get_by_role("heading", name="Console renamed")).to_be_visible()
    await press_on(page, "Delete")
    async with closing_dialog(page) as dialog:
        await dialog.get_by_label("Type its name to delete it").fill("Console renamed")
        await page.keyboard.press("Enter")
    await expect(done).to_have_text("The playlist Console renamed is deleted.")
    await expect(page.get_by_role("heading", name="All tracks")).to_be_visible()
    await expect(page.get_by_role("button", name=re.compile("^Console"))).to_have_count(0)


RECORD_KEYS = """
window.mediaKeys = {};
const set = MediaSession.prototype.setActionHandler;
MediaSession.prototype.setActionHandler = function (name, handler) {
  window.mediaKeys[name] = handler;
  set.call(this, name, handler);
};
"""
SOURCE = "() => document.querySelector('audio').src"
IS_TOLD = "(title) => navigator.mediaSession.metadata?.title === title"


async def test_media_keys_step_and_a_paused_track_s_url_is_renewed_before_it_ends(
    visit: Visit,
) -> None:
    await visit.context.add_init_script(RECORD_KEYS + PLAY_ON)
    await visit.page.clock.install()
    page = await open_console(visit, "/audio")
    await page.get_by_role("button", name="Play Encore").click()
    player = page.get_by_role("region", name="Player")
    await expect(player.get_by_text("0:12")).to_be_visible()
    await page.wait_for_function(IS_TOLD, arg="Encore")
    await page.wait_for_function("() => document.querySelector('audio').currentTime > 0")
    for key, title in (("nexttrack", "Low Tide"), ("previoustrack", "Encore")):
        before = await page.evaluate(SOURCE)
        await page.evaluate("(key) => window.mediaKeys[key]()", key)
        await expect(player).to_contain_text(title)
        await page.wait_for_function(IS_TOLD, arg=title)
        # It has its URL before the next step, or that would come after the pause.
        await page.wait_for_function(f"(old) => ({SOURCE})() !== old", arg=before)
    await page.wait_for_function("() => document.querySelector('audio').currentTime > 0.5")
    await player.get_by_role("button", name="Pause").click()
    await page.wait_for_function("() => document.querySelector('audio').paused")
    first, at = await page.evaluate(
        "() => { const { src, currentTime } = document.querySelector('audio');"
        " return [src, currentTime]; }"
    )
    async with page.expect_response(lambda answer: is_answer_to(answer, "TrackUrl")):
        # A URL is valid for a quarter of an hour at least.
        await page.clock.fast_forward("20:00")
    await page.wait_for_function("(old) => document.querySelector('audio').src !== old", arg=first)
    await page.wait_for_function(
        "(at) => document.querySelector('audio').currentTime === at", arg=at
    )
    assert await page.evaluate("() => document.querySelector('audio').paused")
    await player.get_by_role("button", name="Close the player").click()
    assert_quiet(visit)


async def test_the_library_is_browsed_and_the_queue_is_changed_while_it_plays(visit: Visit) -> None:
    await visit.context.add_init_script(PLAY_ON)
    page = await open_console(visit, "/audio")
    library = page.get_by_role("navigation", name="Library")
    shown = page.get_by_role("list", name="List of tracks").get_by_role("listitem")
    for heading, field in (("Artists", "artist"), ("Albums", "album"), ("Genres", "genre")):
        choices = f"{{ {field}s(first: 5) {{ nodes {{ name count }} }} }}"
        chosen = (await ask(page, choices))["nodes"][-1]
        tracks = f"query($n: String) {{ audios({field}: $n, first: 50) {{ nodes {{ title }} }} }}"
        of_it = (await ask(page, tracks, n=chosen["name"]))["nodes"]
        assert len(of_it) == chosen["count"]
        await library.get_by_text(heading, exact=True).click()
        name = f"{chosen['name']} {chosen['count']}"
        entry = library.get_by_role("button", name=name, exact=True)
        await entry.click()
        await expect(shown.locator("strong")).to_have_text([one["title"] for one in of_it])
        await page.reload()
        await expect(entry).to_have_attribute("aria-pressed", "true")
        await expect(shown).to_have_count(chosen["count"])
        await entry.click()

    # Albums in another order, which the address keeps.
    query = "{ albums(first: 5, order: NEWEST) { nodes { name } } }"
    newest = [one["name"] for one in (await ask(page, query))["nodes"]]
    await library.get_by_text("Albums", exact=True).click()
    await library.get_by_label("Order of the albums").select_option(label="added last")
    albums = library.get_by_role("group").filter(has=page.get_by_text("Albums", exact=True))
    await expect(albums.get_by_role("button").locator("span:first-child")).to_have_text(newest)
    await page.reload()
    await expect(shown.first).to_be_visible()
    await library.get_by_text("Albums", exact=True).click()
    await expect(library.get_by_label("Order of the albums")).to_have_value("NEWEST")

    # By the keyboard alone.
    await press_on(page, "Play Low Tide")
    player = page.get_by_role("region", name="Player")
    await expect(player).to_contain_text("Low Tide")
    await page.wait_for_function("() => document.querySelector('audio').currentTime > 0.2")
    await press_on(page, "Queue Encore")
    await tab_to(page, "Position")
    await page.keyboard.press("ArrowRight")
    await player.get_by_role("button", name="Queue", exact=True).press("Enter")
    queue = player.get_by_role("list", name="Queue")
    await expect(queue.get_by_role("listitem").last).to_contain_text("Encore")
    count = await queue.get_by_role("listitem").count()
    assert await find_faults(page) == []
    # What is played goes on where it is when a track before it leaves.
    source = await page.evaluate("() => document.querySelector('audio').src")
    await press_on(page, "Take Encore out of the queue")
    await expect(queue.get_by_role("listitem")).to_have_count(count - 1)
    await expect(queue.locator("[aria-current=true]")).to_contain_text("Low Tide")
    assert await page.evaluate("() => document.querySelector('audio').src") == source
    await press_on(page, "Encore tone poets")
    await expect(player.locator("strong")).to_have_text("Encore")
    await player.get_by_role("button", name="Close the player").click()
    assert_quiet(visit)


async def test_an_uploaded_track_is_in_the_library_and_its_album_gets_and_loses_a_cover(
    visit: Visit, tmp_path: Path
) -> None:
    page = await open_console(visit, "/audio")
    hand_over_choosers(page)
    sound = wav(
        tone(440, 1.0),
        Tags(title="My tone", album="My album", album_artist="Me"),
        png(10, 120, 60, side=32),
    )
    await page.get_by_label("Upload tracks").set_input_files(
        await write_bytes(tmp_path / "mine.wav", sound)
    )
    track = page.get_by_role("list", name="List of tracks").get_by_role("listitem")
    of_track = track.filter(has_text="My tone").locator("img.cover")
    await of_track.scroll_into_view_if_needed()
    await expect(of_track).to_have_js_property("naturalWidth", 32)

    # The cover of its album, by the keyboard alone.
    await press_on(page, "Albums")
    await press_on(page, "My album")
    album = page.get_by_role("region", name="Album My album of Me")
    cover = album.get_by_role("img", name="Cover of My album")
    await expect(cover).to_have_js_property("naturalWidth", 32)
    words = await write_bytes(tmp_path / "words.png", b"words")
    await choose_cover(page, words)
    await expect(album.get_by_role("alert")).to_contain_text("BAD_USER_INPUT")
    await expect(cover).to_have_js_property("naturalWidth", 32)
    other = await write_bytes(tmp_path / "other.png", png(120, 10, 60, side=48))
    await choose_cover(page, other)
    done = page.get_by_role("status", name="Done")
    await expect(done).to_have_text("The album My album has another cover now.")
    await expect(album.get_by_role("alert")).to_have_count(0)
    await expect(cover).to_have_js_property("naturalWidth", 48)
    await expect(of_track).to_have_js_property("naturalWidth", 48)
    await press_on(page, "Remove the cover")
    async with closing_dialog(page) as dialog:
        await expect(dialog).to_contain_text("All tracks of the album lose their cover.")
        assert await find_faults(page) == []
        await press_on(page, "Remove the cover")
    await expect(done).to_have_text("The album My album has no cover now.")
    await expect(album).to_be_visible()
    await expect(page.get_by_role("img", name="Cover of My album")).to_have_count(0)
    await expect(of_track).to_have_count(0)
    await expect(page.get_by_role("button", name="Remove the cover")).to_have_count(0)
    assert_quiet(visit)


async def write_bytes(file: Path, content: bytes) -> Path:
    await asyncio.to_thread(file.write_bytes, content)
    return file


async def choose_cover(page: Page, file: Path) -> None:
    """Choose a picture with the chooser that a key opens."""
    async with page.expect_file_chooser() as chooser:
        await press_on(page, "Set the cover")
    await (await chooser.value).set_files(file)
