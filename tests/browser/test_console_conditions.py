"""The console under all conditions: themes, widths, keyboard alone, no data, a server gone."""

import asyncio
import re
from collections.abc import Container
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

import pytest
from playwright.async_api import Browser, Route, expect

from penstock.server.auth.dev_sessions import issue_code
from tests.browser.conftest import LOCAL, Visit, visit_of
from tests.browser.console import (
    CONCRETE,
    EVERY_RULE,
    FOCUSED_NAME,
    RULES_OF_COLOURS,
    RULES_OF_PLACES,
    SAP_PIPELINES,
    ask,
    assert_quiet,
    find_faults,
    go_to,
    open_console,
    operation_of,
    path_of,
    paths_of_all_screens,
    pipeline_id,
    press_on,
    sign_in,
    tab_to,
    write_csv,
)
from tests.browser.test_console_editor import make_pipeline
from tests.install import ROOT, skip_reason
from tests.support.patience import until
from tests.support.server_process import free_port, running_server
from tests.support.slowed_workers import slowed_workers

pytestmark = [
    pytest.mark.runs_together("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]

WIDTHS = (390, 768, 1440)
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
SHOWN = """() => [...document.querySelectorAll("*")].map(
  (one) => (one.checkVisibility({ visibilityProperty: true }) ? one.tagName : "")).join(" ")"""
STYLES = ROOT / "console" / "app" / "style.css"
ADD_BUTTONS = """(tones) => document.querySelector("main").append(...tones.map((tone) => {
  const button = document.createElement("button");
  button.className = `button ${tone}`;
  button.textContent = tone;
  return button;
}))"""
LINES = "(element) => new Set([...element.getClientRects()].map(({ y }) => y)).size"
OVERFLOWS = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"


def rules_for(theme: str, shown: str, checked: Container[tuple[str, str]]) -> object:
    """Return the rules whose answer may differ from those of what was checked.

    In the dark nothing has another place than in the light, so a width has its own answer only if
    it shows other elements.
    """
    if theme == "light":
        return RULES_OF_PLACES if (theme, shown) in checked else EVERY_RULE
    if (theme, shown) in checked:
        return None
    return RULES_OF_COLOURS if ("light", shown) in checked else EVERY_RULE


async def test_axe_finds_nothing_on_any_screen_at_any_width_in_any_theme(visit: Visit) -> None:
    page = await sign_in(visit)
    found: dict[tuple[str, str, int], list[str]] = {}
    for path in await paths_of_all_screens(page):
        await go_to(visit, path)
        checked: set[tuple[str, str]] = set()
        for theme in THEMES:
            await page.emulate_media(color_scheme=theme)
            for width in WIDTHS:
                await page.set_viewport_size({"width": width, "height": 900})
                shown = await page.evaluate(SHOWN)
                faults = ["wider than the window"] if await page.evaluate(OVERFLOWS) else []
                if rules := rules_for(theme, shown, checked):
                    faults += await find_faults(page, rules)
                checked.add((theme, shown))
                found[path, theme, width] = faults
    assert {place: faults for place, faults in found.items() if faults} == {}
    assert_quiet(visit)


def test_a_theme_changes_nothing_but_colours() -> None:
    styles = STYLES.read_text(encoding="utf-8")
    assert "prefers-color-scheme" not in styles
    themed = re.findall(r"\[data-theme=[^{]*\{([^}]*)\}", styles)
    assert [" ".join(rule.split()) for rule in themed] == [
        "color-scheme: light;",
        "color-scheme: dark;",
    ]


async def test_axe_finds_a_faint_text_in_the_dark(visit: Visit) -> None:
    page = await open_console(visit, SAP_PIPELINES)
    await page.emulate_media(color_scheme="dark")
    await expect(page.get_by_role("link", name=CONCRETE)).to_be_visible()
    assert await find_faults(page, RULES_OF_COLOURS) == []
    await page.evaluate("() => document.documentElement.style.setProperty('--text', '#333d46')")
    (fault,) = await find_faults(page, RULES_OF_COLOURS)
    assert fault.startswith("color-contrast: ")


async def test_what_the_pointer_rests_on_can_be_read_in_each_theme(visit: Visit) -> None:
    page = await open_console(visit, SAP_PIPELINES)
    await expect(page.get_by_role("link", name=CONCRETE)).to_be_visible()
    tones = sorted(set(re.findall(r"\.button\.(\w+)", STYLES.read_text(encoding="utf-8"))))
    assert {"primary", "danger", "quiet"} <= set(tones)
    await page.evaluate(ADD_BUTTONS, tones)
    assert await rest_on_everything(visit) > len(tones)
    for theme in THEMES:
        await page.emulate_media(color_scheme=theme)
        assert (theme, await find_faults(page, RULES_OF_COLOURS)) == (theme, [])


async def rest_on_everything(visit: Visit) -> int:
    """Show each link and button as if the pointer rested on it; return their number."""
    browser = await visit.context.new_cdp_session(visit.page)
    await browser.send("DOM.enable")
    await browser.send("CSS.enable")
    root = (await browser.send("DOM.getDocument"))["root"]["nodeId"]
    wanted = {"nodeId": root, "selector": "a, button"}
    nodes: list[int] = (await browser.send("DOM.querySelectorAll", wanted))["nodeIds"]
    for node in nodes:
        await browser.send(
            "CSS.forcePseudoState", {"nodeId": node, "forcedPseudoClasses": ["hover"]}
        )
    return len(nodes)


async def test_a_narrow_window_has_a_low_header_and_keeps_words_whole(visit: Visit) -> None:
    page = await sign_in(visit)
    await page.set_viewport_size({"width": 390, "height": 844})
    await go_to(visit, path_of("pipelines", await pipeline_id(page)))
    key = page.get_by_text(":activity", exact=True)
    await expect(key).to_be_visible()
    assert await key.evaluate(LINES) == 1
    header = await page.get_by_role("banner").bounding_box()
    assert header is not None
    assert header["height"] < 844 / 7
    for name in ("Act as", "Theme"):
        await expect(page.get_by_label(name)).to_be_visible()
    await expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    assert_quiet(visit)


SCROLL_TO = """([one, share]) => {
  one.scrollLeft = share * (one.scrollWidth - one.clientWidth);
}"""


async def test_what_scrolls_sideways_has_a_shade_at_each_side_with_more(visit: Visit) -> None:
    page = await sign_in(visit)
    await page.set_viewport_size({"width": 390, "height": 844})
    await go_to(visit, path_of("pipelines", await pipeline_id(page), "?tab=versions"))
    strip = page.get_by_role("navigation", name="Places").get_by_role("list")
    table = page.locator(".card.flush:has(table)").first
    for scrolled in (strip, table):
        element = await scrolled.element_handle()
        for share, sides in ((0, "behind"), (0.5, "before behind"), (1, "before")):
            await page.evaluate(SCROLL_TO, [element, share])
            await expect(scrolled).to_have_attribute("data-more", sides)
            shadow = await scrolled.evaluate("(one) => getComputedStyle(one).boxShadow")
            assert [f"{x}20px" in shadow for x in (") ", ") -")] == [
                side in sides for side in ("before", "behind")
            ]
    await page.set_viewport_size({"width": 1440, "height": 900})
    await expect(strip).not_to_have_attribute("data-more", re.compile(""))
    await expect(table).not_to_have_attribute("data-more", re.compile(""))


BROKEN_WORDS = """(code) => [...code.childNodes]
  .filter((one) => one.nodeType === Node.TEXT_NODE && /^[':A-Z]/.test(one.data))
  .filter((word) => {
    const range = document.createRange();
    range.selectNodeContents(word);
    return new Set([...range.getClientRects()].map(({ top }) => top)).size > 1;
  }).map(({ data }) => data)"""


async def test_a_formula_breaks_between_its_words(visit: Visit) -> None:
    page = await sign_in(visit)
    await page.set_viewport_size({"width": 390, "height": 844})
    await go_to(visit, "/calculations")
    await page.get_by_role("link", name="vehicle_emissions", exact=True).click()
    formula = page.locator("pre.formula code")
    await expect(formula).to_contain_text("IMPACT('passenger_vehicles',:vehicleType,:pollutant)")
    assert await formula.evaluate(BROKEN_WORDS) == []


CUT_PLACES = """(strip) => {
  const { left, right } = strip.getBoundingClientRect();
  return [...strip.children].filter((one) => {
    const place = one.getBoundingClientRect();
    const isPartly = place.left < right && place.right > left;
    return isPartly && (place.left < left - 2 || place.right > right + 2)
      && getComputedStyle(one).opacity !== "0";
  }).map((one) => one.textContent.trim());
}"""


@pytest.mark.parametrize("width", WIDTHS)
async def test_no_place_is_cut_and_the_keyboard_reaches_each(visit: Visit, width: int) -> None:
    page = await sign_in(visit)
    await page.set_viewport_size({"width": width, "height": 844})
    strip = page.get_by_role("navigation", name="Places").get_by_role("list")
    element = await strip.element_handle()
    for share in (0, 0.13, 0.5, 1, 0):
        await page.evaluate(SCROLL_TO, [element, share])
        await visit.settle()
        assert await strip.evaluate(CUT_PLACES) == []
    for name in await strip.get_by_role("link").all_inner_texts():
        await tab_to(page, name.strip())
        await visit.settle()
        focused = page.locator(":focus")
        await expect(focused).to_be_in_viewport(ratio=0.99)
        await expect(page.locator("li:has(:focus)")).to_have_css("opacity", "1")


async def test_a_window_that_becomes_narrow_still_shows_the_place_where_one_is(
    visit: Visit,
) -> None:
    page = await sign_in(visit)
    await page.set_viewport_size({"width": 1440, "height": 844})
    await go_to(visit, "/system")
    here = page.get_by_role("link", name="System", exact=True)
    await expect(here).to_have_attribute("aria-current", "page")
    await page.set_viewport_size({"width": 390, "height": 844})
    await expect(here).to_be_in_viewport(ratio=1)


async def test_tabs_that_do_not_fit_stand_in_lines_with_whole_words(visit: Visit) -> None:
    page = await sign_in(visit)
    id = await pipeline_id(page)
    await page.set_viewport_size({"width": 390, "height": 844})
    await go_to(visit, path_of("pipelines", id))
    tabs = page.get_by_role("navigation", name="Parts of the pipeline").get_by_role("link")
    await expect(tabs.first).to_be_visible()
    places = [await tab.bounding_box() for tab in await tabs.all()]
    assert len({place["y"] for place in places if place}) > 1
    for tab in await tabs.all():
        assert await tab.evaluate(LINES) == 1
        await expect(tab).to_be_in_viewport(ratio=1)


async def test_the_chosen_theme_is_kept(visit: Visit) -> None:
    page = await open_console(visit)
    await page.get_by_label("Theme").select_option("dark")
    await page.reload()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    await expect(page.get_by_label("Theme")).to_have_value("dark")


async def test_the_keyboard_alone_finds_a_pipeline_and_opens_it(visit: Visit) -> None:
    page = await open_console(visit, SAP_PIPELINES)
    await expect(page.get_by_role("link", name=CONCRETE)).to_be_visible()
    await page.keyboard.press("Tab")
    assert await page.evaluate(FOCUSED_NAME) == "To the screen"
    await page.keyboard.press("Enter")
    await press_on(page, "material")
    await expect(page.get_by_role("button", name="Below material")).to_be_visible()
    await press_on(page, "Below material")
    await expect(page.get_by_role("button", name=re.compile("^concrete"))).to_be_visible()
    await press_on(page, "concrete")
    await expect(page.get_by_role("list", name="Filter")).to_have_text("material material/concrete")
    await press_on(page, CONCRETE)
    await expect(page.get_by_role("heading", name=CONCRETE)).to_be_visible()
    await page.go_back()
    await expect(page.get_by_role("list", name="Filter")).to_have_text("material material/concrete")
    assert_quiet(visit)


async def test_every_list_of_an_empty_server_says_so(browser: Browser, tmp_path: Path) -> None:
    with running_server(tmp_path / "data", ("--no-seed",)) as server:
        async with visit_of(browser, server.url, server.data_dir) as visit:
            page = await open_console(visit)
            await expect(page.get_by_role("heading", name="No pipelines yet")).to_be_visible()
            await expect(page.get_by_text("penstock seed")).to_be_visible()
            for path, words in (
                ("/calculations", "No calculations yet"),
                ("/datasets", "No datasets yet"),
                ("/metrics", "No metrics yet"),
                ("/executions", "No executions yet"),
                ("/runs", "No manifests in this group"),
                ("/sensors", "No notifications yet"),
                ("/audio", "No tracks"),
                ("/groups?tab=keys", "No keys"),
            ):
                await go_to(visit, path)
                await expect(page.get_by_role("heading", name=words)).to_be_visible()
                assert await find_faults(page) == []
            assert_quiet(visit)


GROUP = """mutation($input: CreateGroupInput!) { createGroup(input: $input) { __typename } }"""


async def test_the_console_works_below_a_path(browser: Browser, tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/penstock"
    file = tmp_path / "miles.csv"
    file.write_text("\n".join(["miles", *map(str, range(300))]))
    with running_server(
        tmp_path / "data", ("--no-seed",), port=port, PENSTOCK_PUBLIC_URL=url
    ) as server:
        async with visit_of(browser, url, server.data_dir) as visit:
            page = await open_console(visit)
            await expect(page.get_by_role("heading", name="No pipelines yet")).to_be_visible()
            await ask(page, GROUP, input={"path": "/usa"})
            id = await make_pipeline(page, "below:a:path")
            # The change comes by the WebSocket, the file goes to the server's own store.
            await page.get_by_role("link", name="below:a:path").click()
            await page.get_by_role("link", name="Run a file").click()
            await page.get_by_label("File to run").set_input_files(file)
            await page.get_by_role("button", name="Run this file").click()
            output = page.get_by_role("region", name="Output", exact=True)
            await expect(output.get_by_role("row")).to_have_count(21)
            await page.reload()
            await expect(output.get_by_role("row")).to_have_count(21)
            await page.go_back()
            await expect(page.get_by_role("heading", name="Run a file")).to_be_visible()
            assert page.url.startswith(f"{url}/console{path_of('pipelines', id, '/run')}")
            assert {urlsplit(one.url).path for one in visit.queries} == {"/penstock/graphql"}
            assert_quiet(visit)


async def test_a_slow_answer_is_announced_in_words(visit: Visit) -> None:
    page = await open_console(visit)
    release = asyncio.Event()

    async def hold(route: Route) -> None:
        await release.wait()
        await route.continue_()

    await page.route("**/graphql", hold)
    await page.get_by_role("link", name="Executions").click()
    await expect(page.get_by_role("status").filter(has_text="Loading executions…")).to_be_visible()
    release.set()
    await expect(page.get_by_role("status").filter(has_text="Loading")).to_have_count(0)
    await page.unroute_all(behavior="wait")


@pytest.mark.parametrize("letter", ["W", "管", "ع"])
async def test_the_longest_names_break_no_layout(visit: Visit, letter: str) -> None:
    page = await sign_in(visit)
    create = """mutation($input: CreatePipelineInput!) { createPipeline(input: $input) {
      ... on CreatePipelinePayload { pipeline { id } } ... on UserError { message } } }"""
    output = {"index": 0, "key": letter * 60, "type": "NUMBER"}
    transformer = {
        "parameters": [],
        "transforms": [{"index": 0, "formula": "1+" * 200 + "1", "outputs": [output]}],
    }
    given = {
        "group": "/usa",
        "name": letter * 128,
        "description": letter * 500,
        "tags": [{"key": letter * 40, "value": "/".join(letter * 40 for _ in range(3))}],
        "transformer": transformer,
    }
    made = await ask(page, create, input=given)
    for path in ("/", path_of("pipelines", made["pipeline"]["id"])):
        await go_to(visit, path)
        await expect(page.get_by_text(letter * 128).first).to_be_visible()
        for width in WIDTHS:
            await page.set_viewport_size({"width": width, "height": 900})
            assert not await page.evaluate(OVERFLOWS), (path, width)
    assert_quiet(visit)


IS_AMID = """() => {
  const { innerText: text } = document.body;
  const hasBar = document.querySelector("progress[aria-label='Input that was read']") !== null;
  return hasBar && text.includes("in progress") && text.includes("Time left");
}"""


async def test_the_console_survives_a_server_killed_amid_an_execution(
    browser: Browser, tmp_path: Path
) -> None:
    port, data_dir, rows = free_port(), tmp_path / "data", 200_000
    file = write_csv(tmp_path, *(f"2/2/21,{row},4" for row in range(rows)))
    with running_server(data_dir, port=port) as server:
        async with (
            visit_of(browser, server.url, data_dir) as sender,
            visit_of(browser, server.url, data_dir) as visit,
        ):
            start, execution = await send_file_of_console(sender, file)
            page = await open_console(visit, path_of("executions", execution))
            await page.evaluate("() => { window.neverReloaded = true; }")
            await expect(page.get_by_text("Waits for its input.")).to_be_visible()
            await until(lambda: any('"subscribe"' in text for text in visit.sent))
            with slowed_workers(server.process.pid):
                amid = asyncio.ensure_future(page.wait_for_function(IS_AMID))
                await start.continue_()
                await amid
                server.process.kill()
                server.process.wait()
            note = page.get_by_role("alert").filter(has_text="The server cannot be reached")
            await expect(note).to_be_visible()
            await expect(page.get_by_role("heading", name="input.csv")).to_be_visible()
            with running_server(data_dir, port=port):
                await expect(note).to_have_count(0)
                await expect(page.get_by_text("success", exact=True)).to_be_visible()
                await expect(page.get_by_text(f"{rows}", exact=True)).to_be_visible()
                assert await page.evaluate("() => window.neverReloaded")
                assert visit.hosts <= set(LOCAL)


async def send_file_of_console(visit: Visit, file: Path) -> tuple[Route, str]:
    """Upload a file, and hold the request that starts its execution; returns both."""
    page = await sign_in(visit)
    await go_to(visit, path_of("pipelines", await pipeline_id(page), "/run"))
    start: asyncio.Future[Route] = asyncio.get_running_loop().create_future()

    async def hold_start(route: Route) -> None:
        if operation_of(route.request) == "StartExecution":
            start.set_result(route)
        else:
            await route.continue_()

    await page.route("**/graphql", hold_start)
    await page.get_by_label("File to run").set_input_files(file)
    await page.get_by_role("button", name="Run this file").click()
    held = await start
    return held, unquote(page.url.partition("execution=")[2])


async def test_a_used_code_is_refused_in_words(visit: Visit) -> None:
    code = issue_code(visit.data_dir)
    await visit.page.goto(f"{visit.base_url}/console/?code={code}")
    await expect(visit.page.get_by_role("navigation", name="Places")).to_be_visible()
    assert "code" not in visit.page.url
    stranger = await visit.context.new_page()
    await stranger.goto(f"{visit.base_url}/console/?code={code}")
    await expect(stranger.get_by_role("alert")).to_have_text(
        "The code in the address was used already, or has expired."
    )
    await expect(stranger.get_by_role("navigation", name="Places")).to_have_count(0)
    await expect(stranger.get_by_text("penstock console-url")).to_be_visible()


async def test_a_token_that_is_not_accepted_leads_back_to_the_sign_in(visit: Visit) -> None:
    await visit.page.goto(f"{visit.base_url}/console/")
    assert await find_faults(visit.page) == []
    await visit.page.get_by_label("Token").fill("not.a.token")
    await visit.page.get_by_role("button", name="Sign in").click()
    await expect(visit.page.get_by_role("alert")).to_have_text(
        "The server does not accept this session any more."
    )


async def test_another_identity_sees_what_its_roles_allow(visit: Visit) -> None:
    page = await open_console(visit, SAP_PIPELINES)
    await expect(page.get_by_role("link", name=CONCRETE)).to_be_visible()
    id = await pipeline_id(page)
    await page.get_by_label("Act as").select_option(label="contributor of /usa/northwest")
    await expect(page.get_by_label("Act as")).to_be_focused()
    await go_to(visit, path_of("pipelines", id))
    await expect(page.get_by_text("Changing it needs the role contributor at /usa")).to_be_visible()
    await expect(page.get_by_role("link", name="Run a file")).to_be_visible()
    await expect(page.get_by_role("link", name="Edit", exact=True)).to_have_count(0)
    await go_to(visit, path_of("pipelines", id, "/edit"))
    denied = page.get_by_role("heading", name=f"You may not change {CONCRETE}")
    await expect(denied).to_be_visible()
    await go_to(visit, SAP_PIPELINES)
    await page.get_by_label("Act as").select_option(label="reader of /eu")
    await expect(page.get_by_role("link", name=CONCRETE)).to_have_count(0)
    await expect(page.get_by_role("link", name="New pipeline")).to_have_count(0)
    await go_to(visit, path_of("pipelines", id))
    await expect(page.get_by_role("heading", name="There is no such pipeline")).to_be_visible()
    assert_quiet(visit)
