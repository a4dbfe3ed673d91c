"""The console's audio library: browsing, lists that others change too, uploads, media keys."""

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

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
    type_into,
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


async def upload_tone(page: Page, folder: Path) -> Locator:
    """Upload "My tone" of "My album" with a cover of 32 pixels; returns its picture in the list."""
    sound = wav(
        tone(440, 1.0),
        Tags(title="My tone", album="My album", album_artist="Me"),
        png(10, 120, 60, side=32),
    )
    await page.get_by_label("Upload tracks").set_input_files(
        await write_bytes(folder / "mine.wav", sound)
    )
    tracks = page.get_by_role("list", name="List of tracks").get_by_role("listitem")
    track = tracks.filter(has_text="My tone")
    # A failed expectation shows the page, and says whether the track or its cover is not there.
    await expect(track).to_have_count(1)
    cover = track.locator("img.cover")
    await expect(cover).to_have_count(1)
    await cover.scroll_into_view_if_needed()
    await expect(cover).to_have_js_property("naturalWidth", 32)
    return cover


async def test_an_uploaded_track_is_in_the_library_and_its_album_gets_and_loses_a_cover(
    visit: Visit, tmp_path: Path
) -> None:
    page = await open_console(visit, "/audio")
    hand_over_choosers(page)
    of_track = await upload_tone(page, tmp_path)

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

    # The cover of the track alone, which its album shows too.
    await press_on(page, "Cover of My tone")
    own = page.get_by_role("region", name="Cover of My tone")
    async with page.expect_file_chooser() as chooser:
        await own.get_by_label("Set the cover").press("Enter")
    await (await chooser.value).set_files(other)
    await expect(done).to_have_text("The track My tone has another cover now.")
    await expect(of_track).to_have_js_property("naturalWidth", 48)
    await expect(cover).to_have_js_property("naturalWidth", 48)
    assert await find_faults(page) == []
    await own.get_by_role("button", name="Remove the cover").press("Enter")
    async with closing_dialog(page) as dialog:
        await expect(dialog).to_contain_text("Its album shows the cover of another track")
        await press_on(page, "Remove the cover")
    await expect(done).to_have_text("The track My tone has no cover now.")
    await expect(of_track).to_have_count(0)
    assert_quiet(visit)


async def see_what_changes(page: Page, name: str) -> None:
    """Type another name into the dialog of a name, and go on to what it changes."""
    await press_on(page, "Rename or merge")
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_label("New name")).to_be_focused()
    await expect(dialog.get_by_role("button", name="See what changes")).to_be_disabled()
    await page.keyboard.press("Control+A")
    await page.keyboard.type(name)
    await page.keyboard.press("Enter")
    await expect(dialog.get_by_role("button", name="Keep it")).to_be_visible()


async def test_an_artist_an_album_and_a_genre_are_renamed_and_merged(
    visit: Visit, tmp_path: Path
) -> None:
    files = [
        await write_bytes(
            tmp_path / f"{title}.wav",
            wav(tone(440, 1.0), Tags(title=title, artists=(by,), album="Solo", genres=(genre,))),
        )
        for title, by, genre in (("Alone", "Ida", "Rok"), ("Along", "Ada", "Rock"))
    ]
    page = await open_console(visit, "/audio")
    await page.get_by_label("Upload tracks").set_input_files(files)
    shown = page.get_by_role("list", name="List of tracks").get_by_role("listitem")
    await expect(shown.filter(has_text="Along")).to_be_visible()
    job, done = page.get_by_role("region", name="Job"), page.get_by_role("status", name="Done")

    # Two artists become one, and so do their albums of one name.
    await press_on(page, "Artists")
    await press_on(page, "Ida")
    await see_what_changes(page, "ada")
    async with closing_dialog(page) as dialog:
        await expect(dialog.get_by_role("heading", name="Merge Ida into Ada")).to_be_focused()
        await expect(dialog).to_contain_text("There is an artist Ada already, with 1 track.")
        await expect(dialog).to_contain_text("1 track of Ida will be of Ada too")
        assert await find_faults(page) == []
        await press_on(page, "Merge them")
    await expect(done).to_have_text("The merging of Ida has begun.")
    await expect(job).to_contain_text("done")
    await expect(page.get_by_role("region", name="Artist Ada")).to_contain_text("2 tracks")
    await expect(shown.locator("strong")).to_have_text(["Alone", "Along"])
    await expect(page.get_by_role("button", name="Ida 1")).to_have_count(0)
    assert await find_faults(page) == []

    # An album gets a name of its own; a reload keeps its job in sight.
    await press_on(page, "Albums")
    await press_on(page, "Solo")
    await expect(page.get_by_role("region", name="Album Solo of Ada")).to_be_visible()
    await see_what_changes(page, "Duo")
    async with closing_dialog(page) as dialog:
        await expect(dialog).to_contain_text(
            "No other album has this name. 2 tracks of Solo will be of Duo."
        )
        await press_on(page, "Rename it")
    await expect(page.get_by_role("region", name="Album Duo of Ada")).to_be_visible()
    await expect(page.get_by_role("region", name="Album Solo of Ada")).to_have_count(0)
    await page.reload()
    await expect(job).to_contain_text("rename audio done")
    await expect(shown).to_have_count(2)

    # A genre is spelled anew, and merged with another one.
    await press_on(page, "Genres")
    await press_on(page, "Rok")
    await see_what_changes(page, "ROK")
    async with closing_dialog(page) as dialog:
        await expect(dialog).to_contain_text("the spelling changes in 1 track.")
        await press_on(page, "Rename it")
    await expect(page.get_by_role("region", name="Genre ROK")).to_be_visible()
    await expect(job).to_contain_text("done")
    await see_what_changes(page, "Rock")
    async with closing_dialog(page) as dialog:
        await expect(dialog).to_contain_text("There is a genre Rock already, with 1 track.")
        await press_on(page, "Merge them")
    await expect(page.get_by_role("region", name="Genre Rock")).to_contain_text("2 tracks")
    assert_quiet(visit)


async def test_a_smart_playlist_is_made_shown_before_and_changed(visit: Visit) -> None:
    page = await open_console(visit, "/audio")
    await press_on(page, "New smart playlist")
    await expect(page.get_by_role("heading", name="New smart playlist")).to_be_focused()
    await type_into(page, "Name of the smart playlist", "Low and early")
    await add_condition(page, "Genre")
    await expect(page.get_by_label("Genre, one of")).to_be_focused()
    await page.keyboard.type("ambient")
    await page.keyboard.press("Enter")
    await page.keyboard.type("Rock")
    await add_condition(page, "Title has words that begin with")
    await page.keyboard.type("low")
    await page.keyboard.press("Enter")
    preview = page.get_by_role("region", name="Preview")
    await expect(preview.get_by_role("status")).to_have_text("1 track, 0:12")
    await expect(preview.get_by_role("listitem")).to_have_text("Low Tide La Marea")

    # A wrong rule says where it is wrong, and keeps nothing.
    await add_condition(page, "Year, latest")
    await page.keyboard.type("2021")
    await add_condition(page, "Year, earliest")
    await page.keyboard.type("2030")
    await expect(preview.get_by_role("status")).to_contain_text("The rule has changed since.")
    await press_on(page, "Make the smart playlist")
    field = page.get_by_role("spinbutton", name="Year, latest")
    await expect(field).to_have_attribute("aria-invalid", "true")
    await expect(page.get_by_text("must not be below fromYear").first).to_be_visible()
    assert await find_faults(page) == []
    await type_into(page, "Year, earliest", "2020")
    await press_on(page, "Add an exception")
    await expect(page.get_by_role("group", name="Exception 1")).to_be_visible()
    await press_on(page, "Show its tracks")
    await expect(page.get_by_text("This filter must have a condition.")).to_be_visible()
    await press_on(page, "Remove exception 1")
    await assert_conditions_are_refused(page)
    await press_on(page, "Make the smart playlist")
    done = page.get_by_role("status", name="Done")
    await expect(done).to_have_text("The smart playlist Low and early is made.")

    await change_rule(page)
    assert_quiet(visit)


LIMIT = "At most so many tracks"
REFUSED = {
    "Title begins with": ("low", "cannot be used together with titleContains"),
    "Rating, lowest": ("6", "must be 0 to 5"),
    "Rating, highest": ("5", "must not be below minRating"),
    "Plays, fewest": ("-1", "must be 0 to 1000000000"),
    "Played within days": ("0", "must be 1 to 36500"),
    "Added within days": ("36501", "must be 1 to 36500"),
    LIMIT: ("0", "must be 1 to 10000"),
}
"""Values that the server refuses, each at its field."""
SMART = "{ playlists(first: 50) { nodes { name } } }"


async def assert_conditions_are_refused(page: Page) -> None:
    """Fill in wrong conditions: each says so at its field, and no playlist is made."""
    before = await ask(page, SMART)
    fields = page.get_by_role("region", name="Rule").locator("label")
    make = page.get_by_role("button", name="Make the smart playlist")
    for words, (value, _) in REFUSED.items():
        if words != LIMIT:
            choice = page.get_by_role("combobox", name="Condition", exact=True)
            await choice.select_option(label=words)
            await page.get_by_role("button", name="Add the condition").click()
        await fields.filter(has_text=words).locator("input").fill(value)
    await make.click()
    for words, (_, refusal) in REFUSED.items():
        await expect(fields.filter(has_text=words).locator(".wrong")).to_have_text(refusal)
    assert await find_faults(page) == []
    # An empty condition is not sent at all.
    lowest = fields.filter(has_text="Rating, lowest").locator("input")
    await lowest.fill("")
    await make.click()
    await expect(lowest).to_be_focused()
    assert await ask(page, SMART) == before
    for words in REFUSED.keys() - {LIMIT}:
        await page.get_by_role("button", name=f"Remove {words}").click()
    await fields.filter(has_text=LIMIT).locator("input").fill("1000")


async def change_rule(page: Page) -> None:
    """Read the rule of a smart playlist in words, change it, and delete the playlist."""
    done = page.get_by_role("status", name="Done")
    entry = page.get_by_role("button", name="Low and early smart 1")
    await expect(entry).to_have_attribute("aria-pressed", "true")
    await assert_entries(page, "Low Tide")
    await expect(page.get_by_role("list", name="Conditions").get_by_role("listitem")).to_have_text(
        [
            "Genre: ambient or Rock",
            "Title has words that begin with: low",
            "Year, earliest: 2020",
            "Year, latest: 2021",
        ]
    )
    assert await find_faults(page) == []
    await press_on(page, "Change the rule")
    await expect(page.get_by_role("heading", name="Rule of Low and early")).to_be_focused()
    await page.reload()
    title = page.get_by_role("textbox", name="Title has words that begin with")
    await expect(title).to_have_value("low")
    await press_on(page, "Remove Title has words that begin with")
    await add_condition(page, "Plays, most (0 is never)")
    await type_into(page, "At most so many tracks", "2")
    await press_on(page, "Save the rule")
    await expect(done).to_have_text("The playlist Low and early has another rule now.")
    conditions = page.get_by_role("list", name="Conditions").get_by_role("listitem")
    await expect(conditions.last).to_have_text("Never played")
    await expect(page.get_by_role("region", name="Rule")).to_contain_text("at most 2")
    await press_on(page, "Delete")
    async with closing_dialog(page) as dialog:
        await dialog.get_by_label("Type its name to delete it").fill("Low and early")
        await page.keyboard.press("Enter")
    await expect(entry).to_have_count(0)


async def add_condition(page: Page, words: str) -> None:
    """Choose a condition by its words, and add it, by the keyboard."""
    await tab_to(page, "Condition")
    await page.locator(":focus").select_option(label=words)
    await press_on(page, "Add the condition")


async def write_bytes(file: Path, content: bytes) -> Path:
    await asyncio.to_thread(file.write_bytes, content)
    return file


async def choose_cover(page: Page, file: Path) -> None:
    """Choose a picture with the chooser that a key opens."""
    async with page.expect_file_chooser() as chooser:
        await press_on(page, "Set the cover")
    await (await chooser.value).set_files(file)
