"""GraphiQL in a browser that can reach no other host than this one."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, Response, expect

from penstock.datastore.roles import ROOT, Role
from penstock.server.auth.dev_sessions import issue_code
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from tests.browser.conftest import LOCAL, Visit, visit_of
from tests.support.server_process import RunningServer

pytestmark = pytest.mark.runs_together("browser")

PROJECT = Path(__file__).parents[2]
EDITOR = ".graphiql-query-editor"
ACTIVE_TAB = "JSON.parse(localStorage.getItem('graphiql:tabState'))?.activeTabIndex ?? 0"
ANSWER = ".graphiql-response .view-lines"
TYPED = '{"authorization": "Bearer typed.token", "X-Typed": "yes"}'
FIRST_PIPELINE = """async (token) => {
  const query = "{ pipelines(first: 1, order: OLDEST_FIRST) { nodes { id name } } }";
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  const body = JSON.stringify({ query });
  const answer = await fetch("/graphql", { method: "POST", headers, body });
  return (await answer.json()).data.pipelines.nodes[0];
}"""


async def open_page(visit: Visit, query: str = "") -> Page:
    await visit.page.goto(f"{visit.base_url}/graphiql{query}")
    await expect(visit.page.locator(f"{EDITOR} .view-line").first).to_be_visible()
    return visit.page


async def sign_in(visit: Visit) -> Page:
    """Open the page as the URL does that the server prints."""
    page = await open_page(visit, f"?code={issue_code(visit.data_dir)}")
    await expect(page.get_by_label("Token")).to_have_count(0)
    return page


async def session_of(page: Page) -> dict[str, Any]:
    saved = await page.evaluate("() => sessionStorage.getItem('penstock:session')")
    session: dict[str, Any] = json.loads(saved)
    return session


async def token_of(page: Page) -> str:
    token: str = (await session_of(page))["token"]
    return token


async def set_session(page: Page, session: dict[str, Any]) -> None:
    text = json.dumps(session)
    await page.evaluate("text => sessionStorage.setItem('penstock:session', text)", text)


async def run(page: Page) -> None:
    await page.get_by_role("button", name="Execute query").click()


async def choose_tab(page: Page, choice: Locator) -> None:
    """Choose another tab; the page learns of its operation, and saves it, a moment later."""
    before = await page.evaluate(ACTIVE_TAB)
    await choice.click()
    await page.wait_for_function(f"before => ({ACTIVE_TAB}) !== before", arg=before)


async def choose_example(page: Page, name: str) -> None:
    """Choose the tab of an example, and the editor of its variables."""
    tab = page.get_by_role("tab", name=name)
    if await tab.get_attribute("aria-selected") != "true":
        await choose_tab(page, tab)
    await page.get_by_role("button", name="Variables").click()


async def write(page: Page, query: str) -> None:
    await page.locator(f"{EDITOR} .view-lines").click()
    await page.keyboard.press("ControlOrMeta+A")
    await page.keyboard.press("Delete")
    await page.keyboard.insert_text(query)
    await page.wait_for_function(  # only then does the page run the new operation
        "text => localStorage.getItem('graphiql:tabState')?.includes(text)",
        arg=query.partition('"')[0],
    )


async def settings_of(page: Page) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads(await page.locator("#penstock").inner_text())
    return settings


def sent_text(answer: Response) -> str:
    """The body of the request that an answer is to."""
    return answer.request.post_data or ""


def tool_editor(page: Page) -> Locator:
    return page.locator(".graphiql-editor-tool .graphiql-editor:not(.hidden) .view-lines")


async def saved_headers(visit: Visit, headers: str) -> None:
    """Store the headers that an earlier visit could have saved."""
    tab = {"id": "1", "title": "t", "query": "{ viewer { userId } }", "variables": None}
    tab |= {"headers": headers, "operationName": None, "response": None}
    items = {
        "graphiql:shouldPersistHeaders": "true",
        "graphiql:headers": headers,
        "graphiql:tabState": json.dumps({"activeTabIndex": 0, "tabs": [tab]}),
    }
    await visit.context.add_init_script(
        f"Object.entries({json.dumps(items)}).forEach(([k, v]) => localStorage.setItem(k, v));"
    )


def assert_quiet(visit: Visit) -> None:
    assert visit.complaints == []
    assert visit.hosts <= set(LOCAL)


@pytest.fixture(scope="module")
async def examples(browser: Browser, sample_server: RunningServer) -> AsyncIterator[Visit]:
    """A page for the tests of examples, each in a tab of its own: it takes seconds to load."""
    async with visit_of(browser, sample_server.url, sample_server.data_dir) as visit:
        await sign_in(visit)
        yield visit


async def test_the_first_example_runs_with_the_token_and_is_the_picture_of_the_readme(
    visit: Visit, tmp_path: Path
) -> None:
    page = await sign_in(visit)
    await page.set_viewport_size({"width": 1280, "height": 720})
    await run(page)
    await expect(page.locator(ANSWER)).to_contain_text('"nodes"')
    await expect(page.locator(ANSWER)).to_contain_text("sap:concrete:00144")
    await expect(page.locator(ANSWER)).not_to_contain_text('"errors"')
    await page.mouse.move(0, 0)
    folder = Path(os.environ.get("PICTURES", tmp_path))
    picture = await page.screenshot(path=folder / "graphiql.png")
    shown = (PROJECT / "docs" / "images" / "graphiql.png").read_bytes()
    assert picture[:24] == shown[:24]  # the same form and size
    token = await token_of(page)
    assert len(visit.queries) >= 2  # the introspection, the example
    for query in visit.queries:
        headers = await query.all_headers()
        assert query.method == "POST"
        assert headers["content-type"] == "application/json"
        assert headers["x-penstock-request"] == "graphiql"
        assert headers["authorization"] == f"Bearer {token}"
    assert_quiet(visit)


async def test_the_page_completes_marks_makes_pretty_and_opens_its_documentation(
    visit: Visit,
) -> None:
    page = await sign_in(visit)
    await page.get_by_role("button", name="Show Documentation Explorer").click()
    await page.get_by_role("link", name="Query", exact=True).wait_for()  # the schema is there
    await write(page, "{ vie")
    await page.keyboard.press("Control+Space")
    await expect(page.locator(".suggest-widget.visible")).to_contain_text("viewer")
    await page.keyboard.press("Escape")
    await write(page, "query Wrong { nothingLikeThat }")
    await expect(page.locator(f"{EDITOR} .squiggly-error")).to_be_visible()
    await write(page, "query   Untidy{viewer{userId}}")
    await page.get_by_role("button", name="Prettify query").click()
    await expect(page.locator(f"{EDITOR} .view-line").first).to_have_text(
        "query\u00a0Untidy\u00a0{"
    )
    await page.get_by_role("link", name="Query", exact=True).click()
    await expect(page.locator(".graphiql-doc-explorer")).to_contain_text("viewer")
    await page.get_by_role("button", name="Show GraphiQL Explorer").click()
    await expect(page.locator(".graphiql-explorer-root")).to_contain_text("viewer")
    await page.get_by_role("button", name="Show History").click()
    await expect(page.locator(".graphiql-history")).to_be_visible()
    assert_quiet(visit)


async def test_every_example_opens_in_a_tab_with_its_variables(examples: Visit) -> None:
    page = examples.page
    await page.get_by_role("button", name="Variables").click()
    shown = (await settings_of(page))["examples"]
    tabs = page.locator(".graphiql-tab-button")
    await expect(tabs).to_have_count(len(shown))
    for number, example in enumerate(shown):
        await tabs.nth(number).click()
        first_line = example["query"].splitlines()[0].replace(" ", "\u00a0")
        await expect(page.locator(f"{EDITOR} .view-lines")).to_contain_text(first_line)
        variables = json.loads(example["variables"] or "{}")
        for name in variables:
            await expect(tool_editor(page)).to_contain_text(f'"{name}"')
    await page.wait_for_function(f"last => ({ACTIVE_TAB}) === last", arg=len(shown) - 1)
    assert_quiet(examples)


async def test_a_reload_finds_the_tabs_and_the_session_and_renews_it_while_it_can(
    visit: Visit,
) -> None:
    page = await sign_in(visit)
    tabs = page.locator(".graphiql-tab-button")
    count = len((await settings_of(page))["examples"])
    await expect(tabs).to_have_count(count)
    await choose_tab(page, tabs.nth(count - 1))
    await page.wait_for_function(f"last => ({ACTIVE_TAB}) === last", arg=count - 1)
    await set_session(page, {**await session_of(page), "token": "expired.token", "renewAt": 0})
    await open_page(visit)
    await expect(tabs).to_have_count(count)
    await expect(page.get_by_label("Token")).to_have_count(0)
    renewed = await session_of(page)
    assert (renewed["token"] != "expired.token", renewed["renewAt"] > 0) == (True, True)
    await choose_tab(page, tabs.first)
    await run(page)
    await expect(page.locator(ANSWER)).to_contain_text('"nodes"')
    assert_quiet(visit)
    await open_page(visit, "?code=used")  # which leaves an open session alone
    await expect(tabs).to_have_count(count)
    await expect(page.get_by_label("Token")).to_have_count(0)
    assert await token_of(page) == renewed["token"]
    assert renewed["token"] not in await page.evaluate("() => JSON.stringify(localStorage)")
    await set_session(page, {"token": "expired.token", "renewal": "none", "renewAt": 0})
    await open_page(visit)
    await expect(page.locator(".sign-in")).to_contain_text("To sign in")
    assert await page.evaluate("() => sessionStorage.getItem('penstock:session')") is None


async def test_the_code_leaves_the_address_and_works_once(visit: Visit) -> None:
    code = f"?code={issue_code(visit.data_dir)}"
    page = await open_page(visit, code)
    assert page.url == f"{visit.base_url}/graphiql"
    assert await page.evaluate("() => history.length") == 2  # the blank page, and this one
    await page.evaluate("() => sessionStorage.clear()")
    await open_page(visit, code)
    await expect(page.locator(".sign-in")).to_contain_text("used already")
    assert await page.evaluate("() => sessionStorage.getItem('penstock:session')") is None
    assert page.url == f"{visit.base_url}/graphiql"


async def test_without_a_code_the_page_asks_for_a_token(visit: Visit) -> None:
    page = await open_page(visit)
    await expect(page.locator(".sign-in")).to_contain_text("penstock graphiql-url")
    key = dev_key(visit.data_dir)
    token = sign_dev_token(key, "ana", {ROOT: Role.READER}, ROOT, DEV_TOKEN_LIFETIME)
    await page.get_by_label("Token").fill(f" Bearer {token}\n")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_label("Token")).to_have_count(0)
    await write(page, "{ viewer { userId } }")
    await run(page)
    await expect(page.locator(ANSWER)).to_contain_text('"ana"')
    assert visit.hosts <= set(LOCAL)


async def test_a_typed_authorization_wins(visit: Visit) -> None:
    await saved_headers(visit, TYPED)
    page = await sign_in(visit)
    async with page.expect_request("**/graphql") as sent:
        await run(page)
    headers = await (await sent.value).all_headers()
    assert headers["authorization"] == "Bearer typed.token"
    assert headers["x-typed"] == "yes"


async def test_a_subscription_runs_over_the_socket_with_the_token_of_the_page(visit: Visit) -> None:
    page = await sign_in(visit)
    token = await token_of(page)
    shown = await page.evaluate(FIRST_PIPELINE, token)
    await write(page, f'subscription {{ pipelineChanged(id: "{shown["id"]}") {{ name version }} }}')
    await run(page)
    await expect(page.locator(ANSWER)).to_contain_text('"pipelineChanged"')
    await expect(page.locator(ANSWER)).to_contain_text(shown["name"])
    await expect(page.locator(ANSWER)).not_to_contain_text('"errors"')
    first, asked = (json.loads(text) for text in visit.sent)
    assert (first["type"], asked["type"]) == ("connection_init", "subscribe")
    assert first["payload"]["authorization"] == f"Bearer {token}"
    assert [json.loads(text)["type"] for text in visit.received][:2] == ["connection_ack", "next"]
    assert len(visit.sockets) == 1
    assert_quiet(visit)


async def test_on_a_narrow_screen_the_caller_the_tabs_the_editors_and_the_answer_are_in_turn(
    visit: Visit,
) -> None:
    await visit.page.set_viewport_size({"width": 390, "height": 844})
    page = await sign_in(visit)
    await expect(page.get_by_label("Act as").locator("option")).to_have_count(3)
    choice = await page.get_by_label("Act as").bounding_box()
    tabs = await page.locator(".graphiql-tab-button").first.bounding_box()
    add = await page.get_by_role("button", name="New tab").bounding_box()
    assert choice is not None
    assert tabs is not None
    assert add is not None
    assert choice["y"] + choice["height"] <= tabs["y"]
    assert tabs["y"] <= add["y"] < tabs["y"] + tabs["height"]
    await run(page)
    await expect(page.locator(ANSWER)).to_contain_text("sap:concrete:00144")
    editor = await page.locator(EDITOR).bounding_box()
    answer = await page.locator(".graphiql-response").bounding_box()
    assert editor is not None
    assert answer is not None
    assert answer["y"] >= editor["y"] + editor["height"]
    assert min(editor["width"], answer["width"]) > 340
    await page.get_by_label("Show Documentation Explorer").click()
    docs = await page.locator(".graphiql-plugin").bounding_box()
    assert docs is not None
    assert docs["width"] > 380
    assert_quiet(visit)


async def write_variables(page: Page, variables: dict[str, Any]) -> None:
    """Write variables in place of those that are there; the editor adds brackets behind."""
    await tool_editor(page).click()
    await page.keyboard.press("ControlOrMeta+A")
    await page.keyboard.insert_text(json.dumps(variables))
    await page.keyboard.press("ControlOrMeta+Shift+End")
    await page.keyboard.press("Delete")


async def test_the_editor_of_variables_knows_our_scalars_and_marks_an_unknown_variable(
    examples: Visit,
) -> None:
    page = examples.page
    await choose_example(page, "Evaluate")
    await expect(tool_editor(page)).to_contain_text("vehicleType")
    marks = page.locator(
        ".graphiql-editor-tool .squiggly-error, .graphiql-editor-tool .squiggly-warning"
    )
    row = {"vehicleType": "car", "distance": 1}
    known = {"group": "/usa", "name": "vehicle_emissions", "rows": [row] * 2}
    await write_variables(page, {"input": {**known, "group": ["/usa"]}})
    await expect(marks).to_have_count(1)
    await write_variables(page, {"input": known})
    await expect(marks).to_have_count(0)
    # What the operation does not declare is an error, not a hint.
    await write_variables(page, {"input": known, "inptu": known})
    await expect(page.locator(".graphiql-editor-tool .squiggly-error")).to_have_count(1)
    await expect(marks).to_have_count(1)
    await write_variables(page, {"input": known})
    assert_quiet(examples)


async def test_an_example_that_runs_rows_knows_the_id_of_its_pipeline(examples: Visit) -> None:
    page = examples.page
    await choose_example(page, "RunRows")
    await expect(tool_editor(page)).to_contain_text('"pipelineId"')
    await expect(tool_editor(page)).not_to_contain_text("@pipeline")
    await run(page)
    await expect(page.locator(ANSWER)).to_contain_text('"SUCCESS"')
    await expect(page.locator(ANSWER)).to_contain_text("28.0765")
    assert_quiet(examples)


async def test_the_example_of_costs_asks_for_them_with_its_header(examples: Visit) -> None:
    page = examples.page
    await choose_example(page, "WhatItCosts")
    await page.get_by_role("button", name="Headers").click()
    await expect(tool_editor(page)).to_contain_text("X-Penstock-Cost")
    # The editor may still read the schema.
    async with page.expect_response(lambda answer: "WhatItCosts" in sent_text(answer)) as heard:
        await run(page)
    answer = await (await heard.value).json()
    assert answer["extensions"]["cost"].keys() >= {"requested", "maximum", "rcu", "wcu", "calls"}
    assert_quiet(examples)


async def test_the_page_acts_as_another_caller(visit: Visit) -> None:
    page = await sign_in(visit)
    choice = page.get_by_label("Act as")
    await expect(choice.locator("option")).to_have_text(
        ["admin of /", "contributor of /usa/northwest", "reader of /eu"]
    )
    async with page.expect_navigation():
        await choice.select_option("reader@localhost")
    await expect(choice).to_have_value("reader@localhost")
    await write(page, "{ viewer { userId } }")
    await run(page)
    await expect(page.locator(ANSWER)).to_contain_text('"reader@localhost"')
    async with page.expect_navigation():
        await choice.select_option("dev@localhost")
    await expect(choice).to_have_value("dev@localhost")
    assert_quiet(visit)
