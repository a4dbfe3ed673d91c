"""The console's groups: the tree, roles and their reasons, deletion and its jobs, API keys."""

import re

import pytest
from playwright.async_api import Page, expect

from tests.browser.conftest import Visit
from tests.browser.console import (
    ask,
    assert_quiet,
    closing_dialog,
    find_faults,
    go_to,
    open_console,
    press_on,
    sign_in,
    tab_to,
)
from tests.install import skip_reason

pytestmark = [
    pytest.mark.runs_together("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]


async def test_the_tree_says_why_a_role_holds_and_a_group_goes_by_its_path(visit: Visit) -> None:
    page = await open_console(visit, "/groups?path=/eu")
    await expect(
        page.get_by_text("your sign-in gives you the role admin at /, which holds in all groups")
    ).to_be_visible()
    await page.get_by_role("button", name="New group below").click()
    # The dialog begins at its field, and the group that it makes is chosen, named and said.
    await expect(page.get_by_label("Last part of the path")).to_be_focused()
    await page.keyboard.type("console")
    await page.keyboard.press("Enter")
    done = page.get_by_role("status", name="Done")
    await expect(done).to_have_text("The group /eu/console is made.")
    await expect(page.get_by_role("heading", name="/eu/console")).to_be_focused()
    tree = page.get_by_role("navigation", name="Tree of groups")
    chosen = tree.get_by_role("button", name="console", exact=True)
    await expect(chosen).to_have_attribute("aria-pressed", "true")
    await page.get_by_role("button", name="Dismiss").click()
    await expect(done).to_be_empty()
    await change_group(page)
    await page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("0 groups directly below")
    last = dialog.get_by_role("button", name="Delete the group")
    await expect(last).to_be_disabled()
    await dialog.get_by_label("Type /eu/console to delete it").fill("/eu/console")
    await last.click()
    await expect(page.get_by_role("heading", name="/eu", exact=True)).to_be_focused()
    await expect(done).to_contain_text("The group /eu/console is being deleted")
    await expect(tree.get_by_role("button", name="console", exact=True)).to_have_count(0)
    assert_quiet(visit)


STATE = """{ group(path: "/eu/console") { name description state disabledThrough
  tags { key value } } }"""


async def change_group(page: Page) -> None:
    """Give the chosen group a purpose and a tag, disable it, and enable it again."""
    group = page.get_by_role("region", name="Chosen group")
    dialog = page.get_by_role("dialog")
    await group.get_by_role("button", name="Change").click()
    await dialog.get_by_label("Purpose").fill("Meters on trial")
    await dialog.get_by_label("Tag key").fill("kind")
    await dialog.get_by_label("Tag value").fill("trial")
    await page.keyboard.press("Enter")  # adds the tag
    await dialog.get_by_role("checkbox", name="Enabled").uncheck()
    assert await find_faults(page) == []
    async with closing_dialog(page):
        await dialog.get_by_role("button", name="Save").click()
    await expect(group.get_by_text("Nothing is made, changed or started here")).to_be_visible()
    await expect(group.get_by_text("Meters on trial")).to_be_visible()
    await expect(group.get_by_role("list", name="Tags")).to_have_text("kind trial")
    changed = {
        "name": "console",
        "description": "Meters on trial",
        "tags": [{"key": "kind", "value": "trial"}],
    }
    disabled = {**changed, "state": "DISABLED", "disabledThrough": "/eu/console"}
    assert await ask(page, STATE) == disabled
    # The server refuses in its own words, and nothing is made.
    await group.get_by_role("button", name="New group below").click()
    await dialog.get_by_label("Last part of the path").fill("below")
    await page.keyboard.press("Enter")
    await expect(dialog.get_by_role("alert")).to_contain_text("The group /eu/console is disabled")
    async with closing_dialog(page):
        await page.keyboard.press("Escape")
    await group.get_by_role("button", name="Change").click()
    await dialog.get_by_role("checkbox", name="Enabled").check()
    async with closing_dialog(page):
        await dialog.get_by_role("button", name="Save").click()
    await expect(group.get_by_text("Nothing is made")).to_have_count(0)
    assert await ask(page, STATE) == {**changed, "state": "ENABLED", "disabledThrough": None}


async def test_the_secret_of_a_key_is_shown_once_and_kept_nowhere(visit: Visit) -> None:
    page = await open_console(visit, "/groups?tab=keys")
    await expect(page.get_by_role("button", name="New key")).to_be_visible()
    # By the keyboard alone.
    await press_on(page, "New key")
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_label("Name")).to_be_focused()
    await page.keyboard.type("console key")
    await page.keyboard.press("Enter")
    # Whoever may do everything does not give all of it away by an Enter.
    await expect(dialog.get_by_role("combobox", name="of group")).to_be_focused()
    await page.keyboard.type("/usa")
    await page.keyboard.press("Enter")
    await expect(dialog).to_contain_text("This secret is shown only now.")
    # Only a press on purpose takes the secret away.
    for _ in range(3):
        await page.keyboard.press("Escape")
    await expect(dialog.get_by_role("button", name="Close")).to_have_count(0)
    secret = await dialog.locator("code").inner_text()
    stored = await page.evaluate("() => JSON.stringify([{...sessionStorage}, {...localStorage}])")
    assert secret not in stored
    await expect(dialog.get_by_text("This secret is shown only now.")).to_be_focused()
    await press_on(page, "I have kept it")
    await expect(page.get_by_role("button", name="New key")).to_be_focused()
    keys = page.get_by_role("region", name="API keys")
    await expect(keys).to_contain_text("reader of /usa")
    assert secret not in await page.content()
    await press_on(page, "Revoke console key")
    await press_on(page, "Keep it")
    await expect(keys).to_contain_text("console key")
    await press_on(page, "Revoke console key")
    await press_on(page, "Revoke it")
    await expect(page.get_by_role("heading", name="No keys")).to_be_visible()
    await expect(page.get_by_role("button", name="New key")).to_be_focused()
    await expect(page.get_by_role("status", name="Done")).to_have_text(
        "The key console key is revoked."
    )
    assert_quiet(visit)


PIPELINES = """mutation($inputs: [CreatePipelineInput!]!) { createPipelines(inputs: $inputs) {
  __typename } }"""
GROUP = """mutation($input: CreateGroupInput!) { createGroup(input: $input) { __typename } }"""


async def test_a_deletion_counts_what_goes_and_its_job_shows_how_far_it_is(visit: Visit) -> None:
    page = await sign_in(visit)
    for path in ("/eu/leaving", "/eu/leaving/below"):
        await ask(page, GROUP, input={"path": path})
    output = {"index": 0, "key": "one", "type": "NUMBER"}
    transformer = {
        "parameters": [],
        "transforms": [{"index": 0, "formula": "1", "outputs": [output]}],
    }
    inputs = [
        {"group": "/eu/leaving/below", "name": f"leaving:{n}", "transformer": transformer}
        for n in range(30)
    ]
    made = await ask(page, PIPELINES, inputs=inputs)
    assert made == [{"__typename": "CreatePipelinePayload"}] * 30
    await go_to(visit, "/groups?path=/eu/leaving")
    await page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("listitem")).to_have_text(
        ["1 group directly below, and all below these", "30 resources", "30 versions"]
    )
    assert await find_faults(page) == []
    async with closing_dialog(page):
        await page.keyboard.press("Escape")
    # By the keyboard alone.
    await tab_to(page, "Delete")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Type /eu/leaving to delete it")).to_be_focused()
    await page.keyboard.type("/eu/leaving")
    async with closing_dialog(page):
        await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="/eu", exact=True)).to_be_visible()
    job = page.get_by_role("region", name="Jobs").get_by_role("listitem").first
    await expect(job).to_contain_text("delete group done")
    await expect(job).to_contain_text(re.compile(r"(\d+) of \1 done"))
    assert_quiet(visit)


async def test_a_reader_sees_its_role_and_why_and_nothing_to_change(visit: Visit) -> None:
    page = await open_console(visit)
    await page.get_by_label("Act as").select_option(label="reader of /eu")
    await page.get_by_role("link", name="Groups and access").click()
    chosen = page.get_by_role("region", name="Chosen group")
    await expect(
        chosen.get_by_text(
            "You may read what this group sees: your sign-in gives you the role reader"
        )
    ).to_be_visible()
    await expect(chosen.get_by_role("button")).to_have_count(0)
    await go_to(visit, "/groups?path=/usa")
    await expect(page.get_by_role("heading", name="There is no such group")).to_be_visible()
    assert_quiet(visit)
