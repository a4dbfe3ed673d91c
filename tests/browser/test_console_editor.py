"""The console's editor: completion, dry runs, and two people at one pipeline."""

import re
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.conftest import Visit, visit_of
from tests.browser.console import (
    ask,
    assert_quiet,
    closing_dialog,
    find_faults,
    go_to,
    open_console,
    path_of,
    press_on,
    sign_in,
    type_into,
)
from tests.install import skip_reason

pytestmark = [
    pytest.mark.runs_together("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]

CREATE = """mutation($input: CreatePipelineInput!) { createPipeline(input: $input) {
  ... on CreatePipelinePayload { pipeline { id } } ... on UserError { message } } }"""
SAVED = """query($id: ID!) { pipeline(id: $id) { version description
  transformer { transforms { formula } } } }"""


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
    await page.get_by_role("button", name="Add a transform").click()
    await expect(page.get_by_role("textbox", name="Formula of transform 2")).to_be_focused()
    await page.keyboard.type("REF('km') > 20")
    await page.get_by_label("Output key").nth(1).fill("far")
    await page.get_by_label("Type").nth(2).select_option("BOOLEAN")
    dry_run = page.get_by_role("region", name="Dry run")
    await dry_run.get_by_label("miles, row 1").fill("10")
    await dry_run.get_by_role("button", name="Another row").click()
    await dry_run.get_by_label("miles, row 2").fill("20")
    await dry_run.get_by_role("button", name="Another row").click()
    await dry_run.get_by_label("miles, row 3").fill("none")
    for row in (4, 5):
        await dry_run.get_by_role("button", name="Another row").click()
        await dry_run.get_by_label(f"miles, row {row}").fill("1")
    await expect(dry_run.get_by_role("button", name="Another row")).to_have_count(0)
    await dry_run.get_by_role("button", name="Evaluate without saving").click()
    await expect(dry_run.get_by_role("cell", name="16.1")).to_be_visible()
    await expect(dry_run.get_by_role("row", name="1.6 false")).to_have_count(2)
    await expect(dry_run.get_by_role("row", name="32.2 true")).to_be_visible()
    await expect(dry_run.get_by_text("Row 3, miles: :miles: expected a number")).to_be_visible()
    await dry_run.get_by_role("button", name="Explain row 2").click()
    # The explanation is a tree: what the calculation was given is below its value, a level deeper.
    whole = dry_run.get_by_role("group", name="How it comes about").locator("> ul > li")
    await expect(whole.locator("> details > summary")).to_contain_text("= 32.2")
    called = whole.locator("> details > ul > li").filter(has_text="#miles_to_kilometres")
    await expect(called.locator("> details > summary")).to_contain_text("= 32.18688")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("heading", name="console:written", exact=True)).to_be_visible()
    await expect(page.get_by_role("list", name="Tags")).to_have_text("source Console")
    assert_quiet(visit)


async def test_a_formula_that_is_refused_shows_its_caret_and_survives_a_reload(
    visit: Visit,
) -> None:
    page = await sign_in(visit)
    id = await make_pipeline(page, "console:refused")
    await go_to(visit, path_of("pipelines", id, "/edit"))
    formula = page.get_by_role("textbox", name="Formula of transform 1")
    await formula.fill("")
    await page.keyboard.type("LOOKUP(:miles,'vehicle")
    await choose(page, "vehicle_type")
    await expect(formula).to_have_value("LOOKUP(:miles,'vehicle_type'")
    await formula.fill(":miles *")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.locator("pre").filter(has_text="^").first).to_be_visible()
    place = page.get_by_text(re.compile(r"\(line 1, column \d+ of the formula\)"))
    await expect(place).to_be_visible()
    problem = page.get_by_role("alert").get_by_text(re.compile("^Transform 1, formula: "))
    await expect(problem).to_be_visible()
    assert (await ask(page, SAVED, id=id))["version"] == 1
    await page.reload()
    await expect(formula).to_have_value(":miles *")
    await page.get_by_role("button", name="Discard").click()
    await go_to(visit, path_of("pipelines", id, "/edit"))
    await expect(formula).to_have_value(":miles * 2")
    assert_quiet(visit)


async def save(page: Page) -> None:
    await page.get_by_role("button", name="Save", exact=True).click()


async def assert_is_saved(page: Page, name: str) -> None:
    """The editor, whose heading begins with a verb, gave way to the screen of what is saved."""
    await expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()


async def test_two_people_edit_one_pipeline_and_lose_nothing(
    browser: Browser, visit: Visit
) -> None:
    page = await sign_in(visit)
    id = await make_pipeline(page, "console:conflict")
    edit = path_of("pipelines", id, "/edit")
    async with visit_of(browser, visit.base_url, visit.data_dir) as other:
        theirs = await open_console(other, edit)
        await go_to(visit, edit)
        formula = page.get_by_role("textbox", name="Formula of transform 1")
        await formula.fill(":miles * 3")
        await theirs.get_by_label("Description").fill("of the other one")
        await save(theirs)
        await assert_is_saved(theirs, "console:conflict")
        await save(page)
        conflict = page.get_by_role("alert").filter(has_text="Somebody saved version 2 meanwhile")
        changed = conflict.get_by_role("row")
        await expect(changed.nth(0)).to_have_text("WhatTheirsYours")
        await expect(changed.filter(has_text="description")).to_contain_text("of the other one")
        await expect(changed.filter(has_text="formula 1, formula")).to_have_text(
            "formula 1, formula:miles * 2:miles * 3"
        )
        await expect(changed).to_have_count(3)
        assert await find_faults(page) == []
        await expect(formula).to_have_value(":miles * 3")
        assert (await ask(page, SAVED, id=id))["version"] == 2
        await conflict.get_by_role("button", name="Save both together").click()
        await assert_is_saved(page, "console:conflict")
        assert await ask(page, SAVED, id=id) == saved_as(3, ":miles * 3", "of the other one")

        # Both change one thing: it is for the second to decide, also after a reload.
        await go_to(other, edit)
        await go_to(visit, edit)
        await formula.fill(":miles * 5")
        await theirs.get_by_role("textbox", name="Formula of transform 1").fill(":miles * 4")
        await save(theirs)
        await assert_is_saved(theirs, "console:conflict")
        await page.reload()
        await expect(formula).to_have_value(":miles * 5")
        await save(page)
        conflict = page.get_by_role("alert").filter(has_text="Somebody saved version 4 meanwhile")
        await expect(conflict).to_contain_text(":miles * 4")
        await expect(conflict.get_by_role("button", name="Save both together")).to_have_count(0)
        await conflict.get_by_role("button", name="Save mine as a new version").click()
        await assert_is_saved(page, "console:conflict")
        assert await ask(page, SAVED, id=id) == saved_as(5, ":miles * 5", "of the other one")
        await page.get_by_role("link", name="Versions", exact=True).click()
        await expect(page.get_by_role("region", name="Difference")).to_contain_text(":miles * 4")
        assert_quiet(other)
    assert_quiet(visit)


def saved_as(version: int, formula: str, description: str) -> dict[str, Any]:
    transformer = {"transforms": [{"formula": formula}]}
    return {"version": version, "description": description, "transformer": transformer}


async def test_a_pipeline_is_deleted_only_when_its_name_is_typed(visit: Visit) -> None:
    page = await sign_in(visit)
    id = await make_pipeline(page, "console:deleted")
    await go_to(visit, path_of("pipelines", id, "/edit"))
    await page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.get_by_role("dialog")
    last = dialog.get_by_role("button", name="Delete the pipeline")
    await dialog.get_by_label("Type its name to delete it").fill("console:deletes")
    await expect(last).to_be_disabled()
    await dialog.get_by_label("Type its name to delete it").fill("console:deleted")
    async with closing_dialog(page):
        await last.click()
    await expect(page.get_by_role("heading", name="Pipelines")).to_be_visible()
    await go_to(visit, path_of("pipelines", id))
    await expect(page.get_by_role("heading", name="There is no such pipeline")).to_be_visible()
    assert_quiet(visit)


async def test_a_calculation_is_written_and_changed(visit: Visit) -> None:
    page = await open_console(visit, "/new/calculation")
    await expect(page.get_by_label("Name")).to_be_visible()
    # By the keyboard alone.
    await type_into(page, "Name", "console_tripled")
    await type_into(page, "Key", "x")
    await type_into(page, "The formula", ":x * 3")
    await type_into(page, "Output key", "tripled")
    await type_into(page, "x, row 1", "2")
    await press_on(page, "Evaluate without saving")
    await expect(page.get_by_role("cell", name="6", exact=True)).to_be_visible()
    await press_on(page, "Save")
    await assert_is_saved(page, "console_tripled")
    await press_on(page, "Edit")
    await expect(page.get_by_label("Summary")).to_be_visible()
    await type_into(page, "Summary", "Triples a number.")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Triples a number.")).to_be_visible()
    await expect(page.get_by_text("version 2")).to_be_visible()
    assert_quiet(visit)


async def test_a_row_that_is_added_has_the_focus_and_one_that_goes_gives_it_back(
    visit: Visit,
) -> None:
    page = await open_console(visit, "/new/pipeline")
    parameters = page.get_by_role("group", name="Parameters")
    keys = parameters.get_by_label("Key", exact=True)
    await expect(keys).to_have_count(1)
    await press_on(page, "Add a parameter")
    await expect(keys.nth(1)).to_be_focused()
    await page.keyboard.type("miles")
    await press_on(page, "Remove parameter miles")
    await expect(keys).to_have_count(1)
    await expect(page.get_by_role("button", name="Add a parameter")).to_be_focused()
    await page.get_by_label("Tag key").fill("kind")
    await page.get_by_label("Tag value").fill("trial")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Remove kind trial")).to_be_visible()
    await expect(page.get_by_label("Tag key")).to_be_focused()
    assert_quiet(visit)


VERSIONS = """query($id: ID!) { pipeline(id: $id) { versions { nodes {
  version labels activeFrom } } } }"""


async def test_a_version_waits_for_its_time_and_versions_get_and_lose_labels(visit: Visit) -> None:
    page = await open_console(visit)
    id = await make_pipeline(page, "console:planned")
    await go_to(visit, path_of("pipelines", id, "/edit"))
    await page.get_by_label("Description").fill("The factors of a later year")
    await page.get_by_label(re.compile("^Active from")).fill("2126-01-01")
    await page.get_by_role("button", name="Save", exact=True).click()
    done = page.get_by_role("status", name="Done")
    await expect(done).to_have_text("The pipeline console:planned is saved.")
    newest, oldest = (await ask(page, VERSIONS, id=id))["versions"]["nodes"]
    assert newest["activeFrom"][:10] in ("2125-12-31", "2126-01-01")  # in the reader's zone
    # A change of what still waits waits too, unless its time is taken out.
    await go_to(visit, path_of("pipelines", id, "/edit"))
    await expect(page.get_by_label(re.compile("^Active from"))).to_have_value("2126-01-01")
    await go_to(visit, path_of("pipelines", id, "?tab=versions"))
    # By the keyboard alone.
    versions = page.get_by_role("region", name="Versions")
    await expect(versions.get_by_role("row")).to_have_count(3)
    await press_on(page, "Label version 1")
    await expect(page.get_by_label("Label", exact=True)).to_be_focused()
    await page.keyboard.type("audited")
    await page.keyboard.press("Enter")
    await expect(done).to_have_text("Version 1 has the label audited.")
    await expect(page.get_by_role("button", name="Label version 1")).to_be_focused()
    # It moves only if that is said.
    await press_on(page, "Label version 2")
    await page.keyboard.type("audited")
    await page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("alert")).to_contain_text("version 1 has it")
    labels = [one["labels"] for one in (await ask(page, VERSIONS, id=id))["versions"]["nodes"]]
    assert labels == [[], ["audited"]]
    await dialog.get_by_role("checkbox").check()
    await dialog.get_by_role("button", name="Give the label").click()
    await expect(dialog).to_have_count(0)
    labels = [one["labels"] for one in (await ask(page, VERSIONS, id=id))["versions"]["nodes"]]
    assert labels == [["audited"], []]
    await press_on(page, "Remove audited")
    await expect(done).to_have_text("Version 2 no longer has the label audited.")
    labels = [one["labels"] for one in (await ask(page, VERSIONS, id=id))["versions"]["nodes"]]
    assert labels == [[], []]
    await press_on(page, "Restore version 1")
    await expect(done).to_have_text("Version 3 has what version 1 had.")
    await expect(versions.get_by_role("row")).to_have_count(4)
    await expect(page.get_by_role("button", name="Restore version 1")).to_be_focused()
    difference = page.get_by_role("region", name="Difference")
    await expect(difference.get_by_role("cell", name="description")).to_be_visible()
    assert oldest["version"] == 1
    assert_quiet(visit)
