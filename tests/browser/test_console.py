"""The console's screens on the sample data: lists, one of each kind, and a file that runs."""

import asyncio
import json
import os
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.async_api import Route, WebSocketRoute, expect

from tests.browser.conftest import Visit
from tests.browser.console import (
    BAD_ROW,
    CONCRETE,
    GOOD_ROW,
    SAP_PIPELINES,
    ask,
    assert_quiet,
    documents,
    go_to,
    open_console,
    operation_of,
    path_of,
    pipeline_id,
    read_download,
    run_rows,
    sign_in,
    tab_to,
    write_csv,
)
from tests.install import ROOT, skip_reason
from tests.support.patience import until

pytestmark = [
    pytest.mark.runs_together("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]

TAGS_UNDER_NAME = """query($name: NameFilter!) {
  tagKeys(kind: PIPELINE, name: $name, includeChildGroups: true) {
    nodes { key count } resourceCount } }"""


async def test_pipelines_are_found_by_tags_and_the_address_keeps_the_search(visit: Visit) -> None:
    page = await open_console(visit, SAP_PIPELINES)
    await expect(page).to_have_title("Pipelines · Penstock")
    facets = page.get_by_role("complementary", name="Tags")
    await facets.locator("summary", has_text="material").click()
    await facets.get_by_role("button", name="Below energy").click()
    await facets.get_by_role("button", name=re.compile("^gas")).click()
    await expect(page).to_have_url(re.compile(r"all=material%3Denergy%2Fgas"))
    pills = page.get_by_role("list", name="Filter")
    await expect(pills).to_have_text("material energy/gas")
    shown = page.get_by_role("region", name="Pipelines").get_by_role("listitem")
    await expect(shown.filter(has_text="concrete")).to_have_count(0)
    await expect(shown.filter(has_text="sap:gas:00132")).to_have_count(1)
    await expect(page.get_by_text(re.compile(r"This search cost \d+ units"))).to_be_visible()
    await page.reload()
    await expect(pills).to_have_text("material energy/gas")
    await pills.get_by_role("button", name="Remove material energy/gas").click()
    await expect(shown.filter(has_text=CONCRETE)).to_have_count(1)
    assert_quiet(visit)


async def test_names_are_found_by_their_beginning(visit: Visit) -> None:
    page = await open_console(visit)
    tags = page.get_by_role("complementary", name="Tags")
    await tags.locator("summary", has_text="material").click()
    await page.get_by_label("Name begins with").fill("sap:conc")
    shown = page.get_by_role("region", name="Pipelines").get_by_role("link")
    await expect(shown.first).to_have_text(re.compile("^sap:concrete"))
    await expect(page.get_by_role("link", name="manual-upload:gas:00146")).to_have_count(0)
    # Tags are counted under the name too, and how many lack a key.
    counted = await ask(page, TAGS_UNDER_NAME, name={"startsWith": "sap:conc"})
    (material,) = (one["count"] for one in counted["nodes"] if one["key"] == "material")
    lacking = counted["resourceCount"] - material
    await expect(tags.locator("summary", has_text=f"material {material}")).to_be_visible()
    await expect(
        tags.get_by_role("button", name=f"material {material}", exact=True)
    ).to_be_visible()
    without = tags.get_by_role("button", name=f"without material {lacking}", exact=True)
    await expect(without).to_be_visible()
    await page.get_by_label("Name begins with").fill("nothing is called so")
    await expect(page.get_by_role("heading", name="No pipeline is like this")).to_be_visible()
    await expect(page.get_by_text("choose another group: this is what /usa sees.")).to_be_visible()
    assert_quiet(visit)


async def test_a_file_whose_header_does_not_fit_is_not_sent(visit: Visit, tmp_path: Path) -> None:
    page = await sign_in(visit)
    id = await pipeline_id(page)
    await go_to(visit, path_of("pipelines", id, "/run"))
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("Date,Amount\n1,2\n")
    count = """query($p: ID) {
      executionCounts(pipeline: $p, group: "/", includeChildGroups: true) { count } }"""
    before = await ask(page, count, p=id)
    await page.get_by_label("File to run").set_input_files(wrong)
    alert = page.get_by_role("alert")
    await expect(alert).to_contain_text("The pipeline has no parameter “Amount”.")
    await expect(alert).to_contain_text("The column “Activity” is missing.")
    await expect(page.get_by_role("button", name=re.compile("^Run"))).to_have_count(0)
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    await page.get_by_label("File to run").set_input_files(empty)
    await expect(alert).to_contain_text("The file is empty.")
    await expect(page.get_by_role("button", name=re.compile("^Run"))).to_have_count(0)
    assert await ask(page, count, p=id) == before
    assert_quiet(visit)


async def test_a_small_file_runs_at_once_and_shows_its_results(
    visit: Visit, tmp_path: Path
) -> None:
    page = await sign_in(visit)
    await go_to(visit, path_of("pipelines", await pipeline_id(page), "/run"))
    await page.get_by_label("File to run").set_input_files(write_csv(tmp_path, GOOD_ROW, BAD_ROW))
    await expect(page.get_by_role("cell", name="unknown")).to_be_visible()
    await page.get_by_role("button", name="Run at once").click()
    await expect(page).to_have_url(re.compile("/console/executions/"))
    results = page.get_by_role("region", name="Results")
    await expect(results.get_by_role("cell", name="10", exact=True)).to_be_visible()
    await expect(results.get_by_role("cell", name="2021-02-02 00:00 UTC")).to_be_visible()
    rejected = page.get_by_role("region", name="Rejected rows", exact=True)
    await expect(rejected).to_contain_text("expected a number, found 'unknown'")
    # Outputs and rejections name the same rows, and the badge says that some were left out.
    await expect(results.get_by_role("columnheader", name="Input row")).to_be_visible()
    await expect(rejected.get_by_role("columnheader", name="Input row")).to_be_visible()
    await expect(results.get_by_role("listitem")).to_have_count(0)  # it is told once
    await expect(page.get_by_role("main").locator("header")).to_contain_text("1 row rejected")
    await expect(page.get_by_role("region", name="Files")).to_contain_text("Input rows as JSON")
    assert_quiet(visit)


async def test_a_large_file_is_uploaded_and_followed_to_its_end(
    visit: Visit, tmp_path: Path
) -> None:
    page = await sign_in(visit)
    id = await pipeline_id(page)
    await go_to(visit, path_of("pipelines", id, "/run"))
    rows = [BAD_ROW if row % 1000 == 0 else f"2/2/21,{row},4" for row in range(1, 20_001)]
    file = write_csv(tmp_path, *rows, name="large.csv")
    await page.get_by_label("File to run").set_input_files(file)
    await page.get_by_role("button", name="Run this file").click()
    await expect(page).to_have_url(re.compile("/console/executions/"))
    await expect(page.get_by_text("success", exact=True)).to_be_visible()
    progress = page.get_by_role("region", name="Progress")
    await expect(progress).to_contain_text("19980")
    await expect(progress).to_contain_text("Rows a second")
    output = page.get_by_role("region", name="Output", exact=True)
    await expect(output.get_by_role("row")).to_have_count(21)
    await expect(output.get_by_role("cell", name="80", exact=True)).to_be_visible()
    reason = page.get_by_role("region", name="Reasons of rejected rows").get_by_role("row").nth(1)
    await expect(reason).to_contain_text(re.compile("^20.*activity.*INVALID_INPUT"))
    rejected = page.get_by_role("region", name="First rejected rows")
    await expect(rejected.get_by_role("row")).to_have_count(21)
    await expect(rejected).to_contain_text("found 'unknown'")
    await expect(rejected.get_by_role("columnheader", name="Input row")).to_be_visible()
    await expect(output.get_by_role("columnheader", name="Input row")).to_be_visible()
    async with page.expect_download() as download:
        await page.get_by_role("link", name=re.compile("^Output")).click()
    assert len((await read_download(await download.value)).splitlines()) == 19_981
    await output.get_by_role("link", name="Why row 17", exact=True).click()
    why = page.get_by_role("region", name="Why", exact=True)
    await expect(why.get_by_role("heading", name="From row 17 of the input")).to_be_visible()
    await expect(why.get_by_role("region", name="How co2e comes about")).to_contain_text("= 68")
    # Row 1000 of the input is rejected, so row 1000 of the output is of the one after it.
    await why.get_by_label("Row of the output, 1 to 19980").fill("1000")
    await page.keyboard.press("Enter")
    await expect(why.get_by_role("heading", name="From row 1001 of the input")).to_be_visible()
    await page.reload()
    await expect(why.get_by_role("heading", name="From row 1001 of the input")).to_be_visible()
    await rejected.get_by_role("link", name=":activity*:factor").first.click()
    await expect(page.get_by_role("heading", name=CONCRETE)).to_be_visible()
    assert unquote(page.url).startswith(unquote(f"{visit.base_url}/console/pipelines/{id}?at="))
    transforms = page.get_by_role("region", name="Transforms")
    await expect(transforms.locator("tr.chosen")).to_contain_text(":activity*:factor")
    assert_quiet(visit)


async def test_the_same_work_is_linked_to_the_execution_that_did_it(
    visit: Visit, tmp_path: Path
) -> None:
    page = await sign_in(visit)
    run = path_of("pipelines", await pipeline_id(page), "/run")
    file = write_csv(tmp_path, *(f"2/2/21,{row},7" for row in range(300)), name="same.csv")
    urls = []
    for _ in range(2):
        await go_to(visit, run)
        await page.get_by_label("File to run").set_input_files(file)
        await page.get_by_role("button", name="Run this file").click()
        await expect(page).to_have_url(re.compile("/console/executions/"))
        await expect(page.get_by_text("success", exact=True)).to_be_visible()
        urls.append(page.url)
    await page.get_by_role("link", name="an earlier execution").click()
    await expect(page).to_have_url(urls[0])
    assert_quiet(visit)


async def test_an_upload_can_be_cancelled_and_its_execution_is_too(
    visit: Visit, tmp_path: Path
) -> None:
    page = await sign_in(visit)
    id = await pipeline_id(page)
    await go_to(visit, path_of("pipelines", id, "/run"))
    rows = [f"2/2/21,{row},4" for row in range(20_000)]
    held = asyncio.Event()
    await page.route("**/files/**", lambda route: asyncio.create_task(_hold(route, held)))
    await page.get_by_label("File to run").set_input_files(write_csv(tmp_path, *rows))
    await page.get_by_role("button", name="Run this file").click()
    await expect(page).to_have_url(re.compile("execution="))
    execution = unquote(page.url.partition("execution=")[2])
    await page.get_by_role("button", name="Cancel").click()
    await expect(page.get_by_role("button", name="Run this file")).to_be_visible()
    query = "query($id: ID!) { execution(id: $id) { state } }"
    assert await ask(page, query, id=execution) == {"state": "CANCELLED"}
    held.set()


async def _hold(_route: Route, until: asyncio.Event) -> None:
    await until.wait()


async def test_executions_come_and_change_without_a_reload(visit: Visit) -> None:
    page = await open_console(visit, "/executions?group=%2F")
    await run_rows(page, name="first.csv")
    table = page.get_by_role("region", name="List of executions")
    await expect(table.get_by_role("row").filter(has_text="first.csv")).to_have_count(1)
    await run_rows(page, name="second.csv")
    newest = table.get_by_role("row").nth(1)
    await expect(newest).to_contain_text("second.csv")
    await expect(newest).to_contain_text("success")
    await page.get_by_role("checkbox", name=re.compile("failed")).check()
    await expect(table.get_by_role("row").filter(has_text="second.csv")).to_have_count(0)
    assert_quiet(visit)


async def test_a_pipeline_shows_its_formulas_its_versions_and_how_it_was(visit: Visit) -> None:
    page = await sign_in(visit)
    create = """mutation($input: CreatePipelineInput!) { createPipeline(input: $input) {
      ... on CreatePipelinePayload { pipeline { id createdAt } } ... on UserError { message } } }"""
    update = """mutation($input: UpdatePipelineInput!) { updatePipeline(input: $input) {
      ... on UpdatePipelinePayload { pipeline { version } } ... on UserError { message } } }"""
    parameter = {"index": 0, "key": "miles", "type": "NUMBER", "required": True}
    output = {"index": 0, "key": "km", "type": "NUMBER"}
    transform = {"index": 0, "formula": "#miles_to_kilometres(:miles)", "outputs": [output]}
    transformer = {"parameters": [parameter], "transforms": [transform]}
    given = {"group": "/usa", "name": "console:versions", "transformer": transformer}
    made = (await ask(page, create, input=given))["pipeline"]
    changed = {**transformer, "transforms": [{**transform, "formula": ":miles * 2"}]}
    later = {"id": made["id"], "expectedVersion": 1, "transformer": changed}
    assert (await ask(page, update, input=later))["pipeline"] == {"version": 2}
    await go_to(visit, path_of("pipelines", made["id"]))
    await page.get_by_role("link", name="Versions", exact=True).click()
    difference = page.get_by_role("region", name="Difference")
    await expect(difference).to_contain_text("#miles_to_kilometres(:miles)")
    await expect(difference).to_contain_text(":miles * 2")
    # Versions are as they are now, whatever time is shown.
    await expect(page.get_by_label("As it was at")).to_have_count(0)
    await page.get_by_role("link", name="Transforms", exact=True).click()
    await assert_a_time_is_typed(visit)
    await go_to(visit, path_of("pipelines", made["id"], f"?at={made['createdAt']}"))
    called = page.get_by_role("link", name="#miles_to_kilometres")
    await called.click()
    await expect(page.get_by_role("heading", name="miles_to_kilometres")).to_be_visible()
    assert_quiet(visit)


async def assert_a_time_is_typed(visit: Visit) -> None:
    """A time is typed part by part, and asked for when it is whole; the field stays."""
    page = visit.page
    field = page.get_by_label("As it was at", exact=True)
    asked = len(visit.queries)
    await field.focus()
    await page.keyboard.type("01022020")
    gone = page.get_by_role("heading", name="There was no such pipeline at this time")
    await expect(gone).to_be_visible()
    # A date alone is the start of its day.
    await expect(page.get_by_text("at the start of this day")).to_be_visible()
    await tab_to(page, "Time of day")
    await page.keyboard.type("0930AM")
    await expect(page).to_have_url(re.compile("at=2020-01-02T09%3A30"))
    time = page.get_by_label("Time of day: As it was at")
    await expect(time).to_be_focused()
    await expect(time).to_have_value("09:30")
    await expect(field).to_have_value("2020-01-02")
    times = [json.loads(one.post_data or "")["variables"].get("asAt") for one in visit.queries]
    # A change of the pipeline elsewhere lets the same be asked again.
    assert {time for time in times[asked:] if time} == {
        "2020-01-02T00:00:00.000Z",
        "2020-01-02T09:30:00.000Z",
    }
    await page.keyboard.press("Backspace")  # a part that is typed anew is no answer yet
    await expect(gone).to_be_visible()
    await field.focus()
    await page.keyboard.press("Backspace")
    await expect(gone).to_be_visible()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="console:versions")).to_be_visible()


async def test_the_lineage_of_a_pipeline_is_one_hop_in_and_out(visit: Visit) -> None:
    page = await sign_in(visit)
    id = await pipeline_id(page, "sap:emissions:pipeline")
    await go_to(visit, path_of("pipelines", id, "?tab=lineage"))
    datasets = page.get_by_role("region", name="Datasets")
    await expect(page.get_by_role("region", name="Outputs")).to_contain_text("vehicle")
    await expect(page.get_by_role("region", name="Used by")).to_contain_text("Nothing that you see")
    await datasets.get_by_role("link", name="vehicle_type").click()
    users = page.get_by_role("region", name="Used by")
    await users.get_by_role("link", name="sap:emissions:pipeline").click()
    await expect(page.get_by_role("heading", name="sap:emissions:pipeline")).to_be_visible()
    assert_quiet(visit)


async def test_a_pipeline_is_shared_with_a_group_and_no_longer(visit: Visit) -> None:
    page = await sign_in(visit)
    id = await pipeline_id(page)
    await go_to(visit, path_of("pipelines", id, "?tab=access"))
    await expect(
        page.get_by_text("Your group /usa sees it because it belongs to /usa.")
    ).to_be_visible()
    field = page.get_by_role("combobox", name="Share with group")
    await field.focus()
    await page.keyboard.type("fra")
    await expect(page.get_by_text("Enter takes /eu/france", exact=True)).to_be_visible()
    await page.keyboard.press("Enter")
    # The path is seen before it is used.
    await expect(field).to_have_value("/eu/france")
    groups = page.get_by_role("region", name="Groups", exact=True)
    await expect(groups.get_by_text("/eu/france", exact=True)).to_have_count(0)
    await page.keyboard.press("Enter")
    await expect(groups.get_by_text("/eu/france", exact=True)).to_be_visible()
    query = "query($id: ID!) { pipeline(id: $id) { groups } }"
    assert sorted((await ask(page, query, id=id))["groups"]) == ["/eu/france", "/usa"]
    history = page.get_by_role("region", name="History of access").get_by_role("row")
    await expect(history.first).to_contain_text(re.compile("granted.*/eu/france"))
    await expect(page.get_by_role("status", name="Done")).to_have_text(
        "The group /eu/france and those below it see the pipeline now."
    )
    await groups.get_by_role("button", name="Stop sharing").click()
    await expect(groups.get_by_text("/eu/france", exact=True)).to_have_count(0)
    await expect(page.get_by_role("heading", name="Groups that see it")).to_be_focused()
    assert (await ask(page, query, id=id))["groups"] == ["/usa"]
    assert_quiet(visit)


async def test_a_calculation_is_tried_out_and_explains_its_value(visit: Visit) -> None:
    page = await open_console(visit, "/calculations")
    await page.get_by_role("link", name="freight_emissions").click()
    await expect(page.get_by_label("Distance (Miles)")).to_be_visible()
    asked = len(visit.queries)
    await page.get_by_role("button", name="Evaluate").click()
    await expect(page.get_by_label("Distance (Miles)")).to_be_focused()
    assert len(visit.queries) == asked  # what is required is not there
    await page.get_by_label("Distance (Miles)").fill("10")
    await page.get_by_label("Weight (Tonnes)").fill("2")
    await page.get_by_role("button", name="Evaluate").click()
    tried = page.get_by_role("region", name="Try it out")
    await expect(tried).to_contain_text("1.99558656")
    await expect(tried.get_by_role("group", name="How it comes about")).to_contain_text("16.09344")
    assert_quiet(visit)


async def test_a_dataset_shows_its_columns_and_gives_its_file(visit: Visit) -> None:
    page = await open_console(visit, "/datasets")
    datasets = page.get_by_role("region", name="Datasets")
    await datasets.get_by_role("link", name="vehicles", exact=True).click()
    await expect(page.get_by_role("columnheader", name="Column")).to_be_visible()
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download CSV").click()
    assert len((await read_download(await download.value)).splitlines()) > 1
    assert_quiet(visit)


async def test_requests_name_documents_by_their_digests(visit: Visit) -> None:
    await open_console(visit, SAP_PIPELINES)
    await expect(visit.page.get_by_role("link", name=CONCRETE)).to_be_visible()
    own = documents()
    assert visit.queries
    for request in visit.queries:
        body = json.loads(request.post_data or "")
        assert set(body) == {"documentId", "variables"}
        assert body["documentId"] in own
    await until(lambda: any('"documentId"' in text for text in visit.sent))
    assert '"query"' not in "".join(visit.sent)


KIB = 1024
LOADED = """() => performance.getEntriesByType("resource").map(
  ({ name, encodedBodySize }) => [new URL(name).pathname, encodedBodySize])"""


class HeldNews:
    """Lets subscriptions begin, and keeps what they tell: only the first is let go, when asked."""

    def __init__(self) -> None:
        self.kept: list[tuple[WebSocketRoute, str | bytes]] = []

    def begin(self, socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda text: self._take(socket, text))

    def release_first(self) -> str:
        """Let the first event go on; returns its kind."""
        socket, text = self.kept[0]
        socket.send(text)
        kind: str = json.loads(text)["payload"]["data"]["pipelinesChanged"]["change"]
        return kind

    def _take(self, socket: WebSocketRoute, text: str | bytes) -> None:
        if json.loads(text)["type"] == "next":
            self.kept.append((socket, text))
        else:
            socket.send(text)


async def test_a_first_visit_loads_and_asks_little(visit: Visit) -> None:
    news = HeldNews()
    await visit.context.route_web_socket("**/graphql", news.begin)
    page = await open_console(visit, SAP_PIPELINES)
    await expect(page.get_by_role("link", name=CONCRETE)).to_be_visible()
    expected = ["CataloguePipelines", "FacetKeys", "Viewer"]
    await until(lambda: {*map(operation_of, visit.queries)} >= {*expected})
    # The list was read, and a slow subscription begins: that is no reason to read it again.
    await until(lambda: news.kept)
    assert news.release_first() == "RESET"
    await visit.settle()
    sizes: dict[str, list[int]] = {"js": [], "css": []}
    for path, size in await page.evaluate(LOADED):
        sizes.setdefault(path.rpartition(".")[2], []).append(size)
    # The first load and the screen of the catalogue, each within its own budget.
    assert sum(sizes["js"]) <= (110 + 30) * KIB
    assert sum(sizes["css"]) <= 15 * KIB
    assert sorted(map(operation_of, visit.queries)) == expected


PICTURES = {
    "console-catalogue": "/?all=material%3Denergy",
    "console-executions": "/executions?group=%2F",
    "console-execution": None,
    "console-pipeline": None,
    "console-rows": None,
}


async def test_the_pictures_of_the_first_screens_are_current(visit: Visit, tmp_path: Path) -> None:
    page = await sign_in(visit)
    await page.set_viewport_size({"width": 1280, "height": 800})
    id = await pipeline_id(page)
    execution = await run_rows(page, rows=12, name="february.csv")
    paths = {
        **PICTURES,
        "console-execution": path_of("executions", execution),
        "console-pipeline": path_of("pipelines", id),
        "console-rows": path_of("pipelines", await pipeline_id(page, "energy:monthly"), "/rows"),
    }
    folder = Path(os.environ.get("PICTURES", tmp_path))
    for name, path in paths.items():
        await go_to(visit, path or "/")
        await visit.settle()
        await page.mouse.move(0, 0)
        picture = await page.screenshot(path=folder / f"{name}.png")
        shown = (ROOT / "docs" / "images" / f"{name}.png").read_bytes()
        assert picture[:24] == shown[:24], name  # the same form and size
    assert_quiet(visit)
