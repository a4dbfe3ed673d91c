"""Every screen says what it waits for, moves little if asked to, and keeps times and places."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Route, expect

from penstock.datastore.roles import GroupPath, Role
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from tests.browser.conftest import Visit, visit_of
from tests.browser.console import (
    CONCRETE,
    SAP_PIPELINES,
    ask,
    assert_quiet,
    find_faults,
    go_to,
    load,
    open_console,
    operation_of,
    path_of,
    paths_of_all_screens,
    pipeline_id,
    push,
    sign_in,
)
from tests.install import skip_reason
from tests.support.patience import until
from tests.support.server_process import RunningServer

pytestmark = [
    pytest.mark.runs_together("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]

WORDLESS = """() => [...document.querySelectorAll("svg.spin, progress")].filter(
  (one) => !(one.ariaLabel ?? "") && !one.parentElement.textContent.trim()).length"""
SELECT = """(element) => {
  getSelection().selectAllChildren(element);
  return getSelection().toString().trim();
}"""


class HeldAnswers:
    """Keeps all operations of a page, or all of its scripts, waiting until they are let go."""

    def __init__(self) -> None:
        self._free = asyncio.Event()

    def hold(self) -> None:
        self._free.clear()

    def release(self) -> None:
        self._free.set()

    async def wait(self, route: Route) -> None:
        await self._free.wait()
        await route.continue_()


async def held_answers(page: Page, urls: str = "**/graphql") -> HeldAnswers:
    """Hold the answers of a page from now on."""
    held = HeldAnswers()
    await page.route(urls, held.wait)
    return held


ANSWER_NOTHING = """
const { fetch } = window;
window.fetch = (url, ...more) =>
  String(url).endsWith("/graphql") ? new Promise(() => {}) : fetch(url, ...more);
"""
"""Leaves the page's questions waiting. A route would hold each file too, and keep none of them."""


async def test_every_screen_says_in_words_what_it_waits_for(visit: Visit) -> None:
    page = await sign_in(visit)
    silent = []
    paths = await paths_of_all_screens(page)
    await page.add_init_script(ANSWER_NOTHING)
    await load(visit, "/nowhere")
    words = page.get_by_role("status").filter(has_text=re.compile(r"^\s*Loading [a-z ]+…$"))
    for path in paths:
        if path == "/nowhere":
            continue
        await push(visit, path)
        await visit.settle()
        await expect(words.first).to_be_visible()
        if await page.evaluate(WORDLESS):
            silent.append(path)
        # What the next screen says is then its own.
        await push(visit, "/nowhere")
        await expect(words).to_have_count(0)
    assert silent == []


@pytest.mark.parametrize(("motion", "name"), [("reduce", "none"), ("no-preference", "spin")])
async def test_nothing_moves_for_those_who_want_less_motion(
    visit: Visit, motion: Any, name: str
) -> None:
    page = await open_console(visit)
    await page.emulate_media(reduced_motion=motion)
    held = await held_answers(page)
    await page.get_by_role("link", name="Groups and access").click()
    # The spinner of the code that loads gives way to that of the screen.
    await expect(page.locator(".spin").first).to_have_css("animation-name", name)
    await page.wait_for_function(
        "still => (document.getAnimations().length === 0) === still", arg=name == "none"
    )
    held.release()


async def test_times_are_in_the_zone_of_the_reader_and_in_utc_on_hover(
    browser: Browser, sample_server: RunningServer
) -> None:
    url, folder = sample_server.url, sample_server.data_dir
    async with visit_of(browser, url, folder, timezone_id="Asia/Kathmandu") as visit:
        page = await sign_in(visit)
        id = await pipeline_id(page)
        query = "query($id: ID!) { pipeline(id: $id) { updatedAt } }"
        at = (await ask(page, query, id=id))["updatedAt"]
        await go_to(visit, path_of("pipelines", id))
        shown = page.locator("header time").first
        await expect(shown).to_have_attribute("title", at.replace("T", " ").replace("Z", " UTC"))
        local = await page.evaluate(
            """(at) => new Intl.DateTimeFormat("en-GB", { timeZone: "Asia/Kathmandu",
              day: "numeric", month: "short", year: "numeric",
              hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(new Date(at))""",
            at,
        )
        await expect(shown).to_have_text(local)
        assert local[-5:] != at[14:19]  # the zone differs by a quarter of an hour


async def test_numbers_are_set_apart_in_threes_and_copied_as_they_are(visit: Visit) -> None:
    page = await sign_in(visit)
    keeper = await pipeline_id(page, "energy:monthly")
    query = """query($id: ID!) { pipeline(id: $id) {
      rows(first: 1, group: "/usa", includeChildGroups: true) { nodes { values } } } }"""
    (row,) = (await ask(page, query, id=keeper))["rows"]["nodes"]
    await go_to(visit, path_of("pipelines", keeper, "/rows"))
    cell = page.get_by_role("cell", name=str(row["values"]["kwh"]), exact=True).first
    await expect(cell).to_be_visible()
    assert await cell.evaluate(SELECT) == str(row["values"]["kwh"])
    gap = "one => parseFloat(getComputedStyle(one).marginLeft)"
    assert await cell.locator("span span").nth(1).evaluate(gap) > 0


async def test_an_error_is_in_the_words_of_the_api_with_the_page_of_its_code(visit: Visit) -> None:
    page = await sign_in(visit)
    await go_to(visit, path_of("pipelines", await pipeline_id(page), "?tab=access"))
    await page.get_by_label("Share with group").fill("/nowhere")
    await page.get_by_role("button", name="Share", exact=True).click()
    alert = page.get_by_role("alert")
    await expect(alert).to_contain_text("/nowhere")
    code = alert.get_by_role("link")
    await expect(code).to_have_text("NOT_FOUND")
    async with page.context.expect_page() as opened:
        await code.click()
    await expect((await opened.value).get_by_text("NOT_FOUND").first).to_be_visible()


async def test_back_and_reload_keep_the_place_and_a_new_screen_begins_at_its_top(
    visit: Visit,
) -> None:
    page = await open_console(visit)
    await page.set_viewport_size({"width": 1400, "height": 700})
    await page.get_by_role("button", name="More pipelines").click()
    links = page.get_by_role("region", name="Pipelines").get_by_role("link")
    await expect(links.nth(25)).to_be_attached()
    await visit.settle()
    await links.nth(25).scroll_into_view_if_needed()
    place = await page.evaluate("() => scrollY")
    assert place > 1000
    await links.nth(25).click()
    await expect(page.get_by_role("navigation", name="Parts of the pipeline")).to_be_visible()
    await page.wait_for_function("() => scrollY === 0 && document.activeElement.id === 'screen'")
    await page.get_by_role("link", name="Lineage").click()
    await page.reload()
    await expect(page.get_by_role("region", name="Outputs")).to_be_visible()
    await page.go_back()
    await expect(page.get_by_role("region", name="Transforms")).to_be_visible()
    await page.go_forward()
    await expect(page.get_by_role("region", name="Outputs")).to_be_visible()
    assert_quiet(visit)


async def test_going_back_returns_to_the_place_in_a_long_list(visit: Visit) -> None:
    page = await open_console(visit)
    links = page.get_by_role("region", name="Pipelines").get_by_role("link")
    await visit.settle()  # what comes late moves what is below it
    await links.nth(15).scroll_into_view_if_needed()
    place = await page.evaluate("() => scrollY")
    assert place > 500
    await links.nth(15).click()
    await expect(page.get_by_role("navigation", name="Parts of the pipeline")).to_be_visible()
    await page.go_back()
    await expect(links.nth(15)).to_be_visible()
    await page.wait_for_function("(place) => scrollY === place", arg=place)
    assert_quiet(visit)


async def test_a_stranger_s_token_shows_nothing_and_says_so(visit: Visit) -> None:
    page = await sign_in(visit)
    paths = await paths_of_all_screens(page)
    await page.get_by_role("button", name="Sign out").click()
    key = dev_key(visit.data_dir)
    elsewhere = GroupPath("/elsewhere")
    token = sign_dev_token(key, "stranger", {elsewhere: Role.ADMIN}, elsewhere, DEV_TOKEN_LIFETIME)
    await page.get_by_label("Token").fill(token)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_text("stranger")).to_be_visible()
    found: dict[str, str] = {}
    for path in paths:
        await go_to(visit, path)
        text = await page.get_by_role("main").inner_text()
        found[path] = text if CONCRETE in text or "penstock-seed" in text or not text else ""
        assert await find_faults(page) == [], path
    assert {path: text for path, text in found.items() if text} == {}
    await go_to(visit, path_of("pipelines", "x"))
    await expect(page.get_by_role("heading", name="There is no such pipeline")).to_be_visible()
    await expect(page).to_have_title("There is no such pipeline · Penstock")
    await go_to(visit, "/nowhere")
    await expect(page).to_have_title("There is no such screen · Penstock")


async def test_a_slow_network_shows_words_and_then_the_screen(visit: Visit) -> None:
    page = await open_console(visit, SAP_PIPELINES)
    scripts, answers = await held_answers(page, "**/*.js"), await held_answers(page)
    await page.reload(wait_until="commit")
    await expect(page.get_by_text("Loading the console…")).to_be_visible()
    scripts.release()
    await expect(page.get_by_text("Loading pipelines…")).to_be_visible()
    answers.release()
    await expect(page.get_by_role("link", name=CONCRETE)).to_be_visible()
    scripts.hold()
    answers.hold()
    await page.get_by_role("link", name="System").click()
    await expect(page.get_by_text("Loading the screen…")).to_be_visible()
    scripts.release()
    await expect(page.get_by_text("Loading the state of the system…")).to_be_visible()
    answers.release()
    await expect(page.get_by_text("Nothing is stuck.")).to_be_visible()
    assert_quiet(visit)


async def test_a_screen_is_there_as_soon_as_its_code_is(visit: Visit) -> None:
    await visit.page.clock.install()
    page = await sign_in(visit)
    await visit.settle()
    await page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))
    await push(visit, "/new/pipeline")
    await expect(page.get_by_label("Name", exact=True)).to_be_visible()
    assert_quiet(visit)


async def test_without_a_network_what_is_seen_stays_and_it_goes_on_later(visit: Visit) -> None:
    page = await open_console(visit, SAP_PIPELINES)
    for listed in (CONCRETE, "sap:steel:00140"):
        await expect(page.get_by_role("link", name=listed)).to_be_visible()
    await visit.context.set_offline(True)
    await page.get_by_label("Name begins with").fill("sap:conc")
    note = page.get_by_role("alert").filter(has_text="The server cannot be reached")
    await expect(note).to_be_visible()
    await expect(page.get_by_role("link", name=CONCRETE)).to_be_visible()
    await visit.context.set_offline(False)
    await expect(note).to_have_count(0)
    await expect(page.get_by_role("link", name="sap:steel:00140")).to_have_count(0)
    await expect(page.get_by_role("link", name=CONCRETE)).to_be_visible()


async def test_a_star_answers_at_once_and_a_refusal_takes_it_back(visit: Visit) -> None:
    page = await open_console(visit, "/audio")
    star = page.get_by_role("button", name="Star Overtones")
    await expect(star).to_have_attribute("aria-pressed", "false")
    answered = asyncio.Event()

    async def refuse(route: Route) -> None:
        if operation_of(route.request) != "SetFavourite":
            await route.continue_()
            return
        await answered.wait()
        error = {"message": "Not today.", "extensions": {"code": "UNAVAILABLE"}}
        await route.fulfill(json={"errors": [error]})

    await page.route("**/graphql", refuse)
    await star.click()
    await expect(star).to_have_attribute("aria-pressed", "true")
    answered.set()
    await expect(page.get_by_role("alert")).to_contain_text("Not today.")
    await expect(star).to_have_attribute("aria-pressed", "false")
    await page.unroute_all(behavior="wait")
    await star.click()
    await expect(star).to_have_attribute("aria-pressed", "true")

    async def is_kept() -> bool:
        nodes = (await ask(page, "{ audios(first: 50) { nodes { title favouriteAt } } }"))["nodes"]
        return any(one["title"] == "Overtones" and one["favouriteAt"] for one in nodes)

    await until(is_kept)
