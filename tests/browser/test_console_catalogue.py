"""The catalogue: facets in three modes with their counts, dots, state and owner in the address."""

import re
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.conftest import Visit
from tests.browser.console import (
    CONCRETE,
    ask,
    assert_quiet,
    go_to,
    load,
    open_console,
    run_rows,
    sign_in,
)
from tests.install import skip_reason

pytestmark = [
    pytest.mark.runs_together("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]

COUNTED = """query($tags: TagFilter, $states: [State!], $owner: GroupPath) {
  tagValues(kind: PIPELINE, key: "scope", tags: $tags, states: $states, owner: $owner,
    includeChildGroups: true) { nodes { label count } } }"""
LISTED = """query($tags: TagFilter, $states: [State!], $owner: GroupPath) {
  pipelines(tags: $tags, states: $states, owner: $owner, includeChildGroups: true, first: 20) {
    nodes { name } } }"""
FREEZE = """mutation($input: UpdatePipelineInput!) { updatePipeline(input: $input) {
  ... on UpdatePipelinePayload { pipeline { state } } ... on UserError { message } } }"""
MAKE = """mutation($input: CreatePipelineInput!) { createPipeline(input: $input) {
  ... on CreatePipelinePayload { pipeline { id } } ... on UserError { message } } }"""


def links_of(page: Page) -> Locator:
    return page.get_by_role("region", name="Pipelines").get_by_role("listitem").get_by_role("link")


async def assert_is_found(page: Page, **given: Any) -> None:
    """The screen shows the names and the counts that the API gives for the same filter."""
    names = [one["name"] for one in (await ask(page, LISTED, **given))["nodes"]]
    assert names
    await expect(links_of(page)).to_have_text(names)
    await assert_is_counted(page, **given)


async def assert_is_counted(page: Page, **given: Any) -> None:
    """The screen shows the counts of scopes that the API gives for a filter."""
    facets = page.get_by_role("complementary", name="Tags")
    for value in (await ask(page, COUNTED, **given))["nodes"]:
        button = facets.get_by_role("button", name=f"{value['label']} {value['count']}", exact=True)
        await expect(button.first).to_be_visible()


async def test_tags_are_required_alternative_or_excluded_with_counts_after_each_click(
    visit: Visit,
) -> None:
    page = await open_console(visit)
    facets = page.get_by_role("complementary", name="Tags")
    mode, pills = page.get_by_label("A chosen tag is"), page.get_by_role("list", name="Filter")
    await facets.locator("summary", has_text="scope").click()
    await facets.locator("summary", has_text="source").click()
    tags: dict[str, list[dict[str, str]]] = {"all": [], "any": [], "none": []}
    for how, label, key, value, pill in (
        ("any", r"^SAP \d+$", "source", "sap", "any of: source sap"),
        ("any", r"^Oracle \d+$", "source", "oracle", "any of: source oracle"),
        ("none", r"^2 \d+$", "scope", "2", "not: scope 2"),
        ("all", r"^1 \d+$", "scope", "1", "scope 1"),
    ):
        await mode.select_option(how)
        await facets.get_by_role("button", name=re.compile(label)).click()
        await expect(pills.get_by_role("listitem").filter(has_text=pill)).to_have_count(1)
        tags[how].append({"key": key, "value": value})
        wanted = {name: some for name, some in tags.items() if some}
        if how == "any":
            # Each alternative is counted, also those that are not chosen yet.
            await assert_is_counted(page, tags={})
        else:
            await assert_is_found(page, tags=wanted)
    searched = page.url
    assert re.findall(r"(all|any|none)=", searched) == ["all", "any", "any", "none"]
    await links_of(page).first.click()
    await expect(page.get_by_role("navigation", name="Parts of the pipeline")).to_be_visible()
    await page.go_back()
    await expect(page).to_have_url(searched)
    await expect(pills.get_by_role("listitem")).to_have_count(4)
    await page.reload()
    await expect(pills.get_by_role("listitem")).to_have_count(4)
    # The focus goes to what is there by then, so let the tags come first.
    await visit.settle()
    await pills.get_by_role("button", name="Remove any of: source sap").press("Enter")
    await expect(pills.get_by_role("listitem")).to_have_count(3)
    # The focus goes on beside what went.
    await expect(pills.get_by_role("button", name="any of: source oracle")).to_be_focused()
    await visit.settle()
    await page.get_by_role("button", name="Remove all").press("Enter")
    await expect(pills).to_have_count(0)
    await expect(facets.locator("summary").first).to_be_focused()
    await expect(page).not_to_have_url(re.compile("source"))
    assert_quiet(visit)


async def test_pipelines_are_narrowed_by_state_and_owner_with_their_counts(visit: Visit) -> None:
    page = await open_console(visit)
    output = {"index": 0, "key": "one", "type": "NUMBER"}
    transform = {"index": 0, "formula": "1", "outputs": [output]}
    given = {
        "group": "/usa",
        "name": "console:frozen",
        "tags": [{"key": "scope", "value": "3"}],
        "transformer": {"parameters": [], "transforms": [transform]},
    }
    made = (await ask(page, MAKE, input=given))["pipeline"]["id"]
    frozen = {"id": made, "expectedVersion": 1, "state": "FROZEN"}
    assert (await ask(page, FREEZE, input=frozen))["pipeline"] == {"state": "FROZEN"}
    await page.reload()
    await (
        page.get_by_role("complementary", name="Tags").locator("summary", has_text="scope").click()
    )
    await page.get_by_label("State").select_option("FROZEN")
    await expect(page).to_have_url(re.compile("state=FROZEN"))
    await expect(links_of(page)).to_have_text(["console:frozen"])
    await assert_is_found(page, states=["FROZEN"])
    await expect(
        page.get_by_role("region", name="Pipelines").get_by_text("frozen", exact=True)
    ).to_be_visible()
    await page.get_by_label("State").select_option("")
    await page.get_by_label("Owned by group").fill("/usa")
    await page.get_by_label("Owned by group").press("Enter")
    await expect(page).to_have_url(re.compile("owner=%2Fusa"))
    await assert_is_found(page, owner="/usa")
    await page.reload()
    await expect(page.get_by_label("Owned by group")).to_have_value("/usa")
    await expect(links_of(page).filter(has_text="console:frozen")).to_have_count(1)
    await page.get_by_label("Owned by group").fill("/eu/nobody")
    await page.get_by_label("Owned by group").press("Enter")
    await expect(page.get_by_role("heading", name="No pipeline is like this")).to_be_visible()
    assert_quiet(visit)


MAKE_GROUP = """mutation($input: CreateGroupInput!) { createGroup(input: $input) {
  __typename } }"""


async def test_a_group_is_found_by_a_part_of_its_name_and_refused_in_plain_words(
    visit: Visit,
) -> None:
    page = await open_console(visit)
    for path in ("/eu/austria", "/eu/austria/graz", "/eu/austria/graz-south"):
        await ask(page, MAKE_GROUP, input={"path": path})
    await page.reload()
    field = page.get_by_role("combobox", name="Seen by group")
    await field.fill("ustri")
    offered = page.locator("datalist option")
    await expect(offered.first).to_have_attribute("value", "/eu/austria")
    await field.press("Enter")
    # Three paths have it, and none is that: nothing is asked, and the words say what to do.
    wrong = page.get_by_role("alert")
    several = "Several groups match: /eu/austria, /eu/austria/graz, /eu/austria/graz-south."
    await expect(wrong).to_have_text(f"{several} Type more.")
    assert "group=" not in page.url
    await field.fill("Graz")
    await field.press("Enter")
    await expect(field).to_have_value("/eu/austria/graz")
    await expect(page).to_have_url(re.compile("group=%2Feu%2Faustria%2Fgraz$"))
    await expect(wrong).to_have_count(0)
    await field.fill("nowhere at all")
    await field.press("Enter")
    await expect(wrong).to_have_text(
        "No group that you see has “nowhere at all” in its path or name."
    )
    await expect(page).to_have_url(re.compile("group=%2Feu%2Faustria%2Fgraz$"))
    # An address that names no group is refused by the API, and asking again would not help.
    await load(visit, "/?group=aus")
    refused = page.get_by_role("region", name="Pipelines").get_by_role("alert")
    await expect(refused.locator("strong")).to_have_text(
        "The group path 'aus' does not start with '/'."
    )
    await expect(page.get_by_role("button", name="Try again")).to_have_count(0)


async def test_what_lacks_a_key_lacks_its_values_of_tomorrow_too(visit: Visit) -> None:
    page = await open_console(visit)
    transform = {"index": 0, "formula": "1", "outputs": [{"index": 0, "type": "NUMBER"}]}

    async def make(name: str, **tags: str) -> None:
        given = [{"key": key, "value": value} for key, value in {"plant": "Graz", **tags}.items()]
        transformer = {"parameters": [], "transforms": [transform]}
        input = {"group": "/usa", "name": name, "tags": given, "transformer": transformer}
        assert "pipeline" in await ask(page, MAKE, input=input)

    await make("lacking:scope")
    await load(visit, "/?name=lacking")
    await expect(links_of(page)).to_have_text(["lacking:scope"])
    await expect(page.get_by_role("status").filter(has_text="1 pipeline.")).to_be_visible()
    facets = page.get_by_role("complementary", name="Tags")
    await facets.locator("summary", has_text="plant").click()
    # What is found by this name has a plant, so none would remain.
    await page.get_by_role("button", name="without plant 0", exact=True).click()
    await expect(page).to_have_url(re.compile("without=plant"))
    await expect(links_of(page)).to_have_count(0)
    await page.get_by_role("button", name="Remove without plant").click()
    await expect(links_of(page)).to_have_count(1)
    await load(visit, "/?name=lacking&without=scope")
    pills = page.get_by_role("list", name="Filter")
    await expect(pills).to_have_text("without scope")
    await expect(links_of(page)).to_have_text(["lacking:scope"])
    await make("lacking:nothing", scope="a value that is new")
    await page.reload()
    await expect(links_of(page)).to_have_text(["lacking:scope"])
    found = await ask(page, LISTED, tags={"withoutKeys": ["scope"]})
    names = {one["name"] for one in found["nodes"]}
    assert "lacking:scope" in names
    assert "lacking:nothing" not in names
    await load(visit, "/")
    await expect(page.get_by_text("20 are shown, and more follow.")).to_be_visible()
    assert_quiet(visit)


async def test_the_last_five_executions_are_dots_and_the_cost_has_its_units(visit: Visit) -> None:
    page = await sign_in(visit)
    for number in range(6):
        await run_rows(page, name=f"dot {number}.csv")
    await go_to(visit, "/?name=sap%3Aconc")
    entry = page.get_by_role("listitem").filter(has=page.get_by_role("link", name=CONCRETE))
    dots = entry.get_by_role("img", name=re.compile("^Last executions: "))
    await expect(dots.locator("circle")).to_have_class(["SUCCESS"] * 5)
    await expect(dots).to_have_attribute(
        "aria-label", "Last executions: " + ", ".join(["success"] * 5)
    )
    await expect(
        page.get_by_text(re.compile(r"^This search cost \d+ units and read [\d.]+ read units\.$"))
    ).to_be_visible()
    assert_quiet(visit)
