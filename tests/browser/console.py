"""The console in a browser: opening it signed in, looking for faults, and the sample's things."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.async_api import Download, Locator, Page, Request, Response, expect

from penstock.server.auth.dev_sessions import issue_code
from tests.browser.conftest import LOCAL, Visit
from tests.install import ROOT
from tests.support.patience import until

AXE = ROOT / "console" / "node_modules" / "axe-core" / "axe.min.js"
EVERY_RULE = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RULES_OF_COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
"""Those of axe's category `cat.color`; a theme changes the answer of no other rule."""
RULES_OF_PLACES = {
    "type": "rule",
    "values": [*RULES_OF_COLOURS["values"], "scrollable-region-focusable", "target-size"],
}
"""A width that shows the same elements changes the answer of no other rule."""

RUN_AXE = """async (runOnly) => {
  const found = await axe.run(document, {
    runOnly,
    resultTypes: ["violations"],
    selectors: false,
  });
  return found.violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" | ")}`,
  );
}"""
ASK = """async ([query, variables]) => {
  const { token } = JSON.parse(sessionStorage.getItem("penstock:session"));
  const { endpoint } = JSON.parse(document.getElementById("penstock").textContent);
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  const body = JSON.stringify({ query, variables });
  const answer = await fetch(endpoint, { method: "POST", headers, body });
  return answer.json();
}"""
CONCRETE = "sap:concrete:00144"
SAP_PIPELINES = "/?name=sap%3A"
"""The list in which CONCRETE stays on the first page, whatever pipelines other tests create."""
LISTS = ("/", "/calculations", "/datasets", "/metrics", "/executions?group=%2F")
HEADER = "Date,Activity,Emission factor"
GOOD_ROW = "2/2/21,2.5,4"
BAD_ROW = "2/2/21,unknown,4"


FOCUSED_NAME = """() => {
  const { activeElement: element } = document;
  const named = element.matches("a, button, summary, input, select, textarea");
  const label = element.labels?.[0]?.textContent;
  return named ? (element.ariaLabel ?? label ?? element.textContent).trim() : "";
}"""


async def tab_to(page: Page, name: str) -> None:
    """Press Tab until a control whose name begins so has the focus; it may be still to come."""

    async def reaches_it() -> bool:
        await page.keyboard.press("Tab")
        focused: str = await page.evaluate(FOCUSED_NAME)
        return focused.startswith(name)

    await until(reaches_it)


async def press_on(page: Page, name: str) -> None:
    """Go to a control by Tab, and press Enter on it."""
    await tab_to(page, name)
    await page.keyboard.press("Enter")


async def type_into(page: Page, name: str, text: str) -> None:
    """Go to a field by Tab, and type in place of what is there."""
    await tab_to(page, name)
    await page.keyboard.press("Control+A")
    await page.keyboard.type(text)


@asynccontextmanager
async def closing_dialog(page: Page) -> AsyncIterator[Locator]:
    """The dialog of the page, and a step that closes it: before that, it covers what is behind."""
    dialog = page.get_by_role("dialog")
    yield dialog
    await expect(dialog).to_have_count(0)


async def open_console(visit: Visit, path: str = "/") -> Page:
    """Open a screen as the printed URL does: signed in by a code."""
    code = issue_code(visit.data_dir)
    separator = "&" if "?" in path else "?"
    await visit.page.goto(f"{visit.base_url}/console{path}{separator}code={code}")
    await expect(visit.page.get_by_role("navigation", name="Places")).to_be_visible()
    return visit.page


async def sign_in(visit: Visit) -> Page:
    """Open the console at a screen that asks for nothing, to go to another one."""
    return await open_console(visit, "/nowhere")


async def load(visit: Visit, path: str) -> Page:
    """Load another screen in the same session, as a reload does."""
    await visit.page.goto(f"{visit.base_url}/console{path}")
    await expect(visit.page.get_by_role("navigation", name="Places")).to_be_visible()
    return visit.page


async def push(visit: Visit, path: str) -> None:
    """Name another screen in the address, as a link does."""
    await visit.page.evaluate("(path) => history.pushState({}, '', path)", f"/console{path}")


async def go_to(visit: Visit, path: str) -> Page:
    """Go to another screen without a reload, which takes half a second and ends a typed session."""
    page = visit.page
    await push(visit, path)
    await visit.settle()  # an expectation that fails at first waits longer than most answers take
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await expect(page.get_by_text(re.compile("^Loading"))).to_have_count(0)
    await visit.settle()
    return page


async def ask(page: Page, query: str, **variables: Any) -> Any:
    """Ask the API as the page's caller; returns the value of the one root field."""
    answer = await page.evaluate(ASK, [query, variables])
    assert "errors" not in answer, json.dumps(answer)
    (value,) = answer["data"].values()
    return value


async def pipeline_id(page: Page, name: str = CONCRETE, group: str = "/usa") -> str:
    query = "query($n: String!, $g: GroupPath) { pipelineByName(name: $n, group: $g) { id } }"
    found: str = (await ask(page, query, n=name, g=group))["id"]
    return found


def path_of(screen: str, id: str, rest: str = "") -> str:
    return f"/{screen}/{quote(id, safe='')}{rest}"


async def run_rows(page: Page, rows: int = 1, name: str = "rows.csv") -> str:
    """Run rows through the sample pipeline at once; returns the execution's id."""
    mutation = """mutation($input: CreateExecutionInput!) { createExecution(input: $input) {
      ... on CreateExecutionPayload { execution { id } } ... on UserError { message } } }"""
    row = dict(zip(HEADER.split(","), GOOD_ROW.split(","), strict=True))
    given = {
        "pipelineId": await pipeline_id(page),
        "mode": "INLINE",
        "rows": [row] * rows,
        "inputName": name,
    }
    made = await ask(page, mutation, input=given)
    found: str = made["execution"]["id"]
    return found


def documents() -> dict[str, str]:
    """Return the operations of the console by their digests."""
    own: dict[str, str] = json.loads((ROOT / "server/console/dist/documents.json").read_text())
    return own


def operation_of(request: Request) -> str:
    """Return the name of the operation of the console that a request is of; empty if of none."""
    body = json.loads(request.post_data or "{}")
    _, _, named = documents().get(body.get("documentId"), "").partition(" ")
    return re.split(r"[({\s]", named)[0]


def is_answer_to(answer: Response, operation: str) -> bool:
    """Whether the answer is that to an operation of the console."""
    return answer.url.endswith("/graphql") and operation_of(answer.request) == operation


async def paths_of_all_screens(page: Page) -> tuple[str, ...]:
    """Return the paths of every screen, those about one thing with a thing of the sample."""
    pipeline = await pipeline_id(page)
    keeper = await pipeline_id(page, "energy:monthly")
    execution = await run_rows(page, rows=2)
    query = "{ calculations(first: 1, includeChildGroups: true) { nodes { id } } }"
    (calculation,) = (await ask(page, query))["nodes"]
    query = "{ referenceDatasets(first: 1, includeChildGroups: true) { nodes { id } } }"
    (dataset,) = (await ask(page, query))["nodes"]
    query = '{ metricByName(name: "emissions", group: "/usa") { id } }'
    metric = path_of("metrics", (await ask(page, query))["id"])
    tabs = ("transforms", "versions", "executions", "access", "lineage")
    return (
        *LISTS,
        *(path_of("pipelines", pipeline, f"?tab={tab}") for tab in tabs),
        path_of("pipelines", pipeline, "/run"),
        path_of("pipelines", pipeline, "/rows"),
        path_of("pipelines", keeper, "/rows"),
        path_of("executions", execution),
        path_of("calculations", calculation["id"]),
        path_of("datasets", dataset["id"]),
        metric,
        f"{metric}?by=GROUP&group=%2Fusa&every=YEAR",
        path_of("pipelines", pipeline, "/edit"),
        path_of("calculations", calculation["id"], "/edit"),
        path_of("datasets", dataset["id"], "/edit"),
        "/new/pipeline",
        "/new/dataset",
        "/new/metric",
        "/groups",
        "/groups?tab=keys",
        "/runs",
        "/sensors",
        "/audio",
        "/audio?rule=new",
        "/system",
        "/nowhere",
    )


async def find_faults(page: Page, rules: object = EVERY_RULE) -> list[str]:
    """Return what axe finds on the page as it is."""
    if not await page.evaluate("() => 'axe' in window"):
        # A script of a test is no part of the page, so its policy does not rule it.
        await page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[str] = await page.evaluate(RUN_AXE, rules)
    return found


def write_csv(folder: Path, *rows: str, name: str = "input.csv") -> Path:
    path = folder / name
    path.write_text("\n".join((HEADER, *rows)) + "\n")
    return path


def hand_over_choosers(page: Page) -> None:
    """Have the browser hand over choosers of files from now on.

    Asked at the moment of a key or a click, it may be late on a busy machine.
    """
    page.on("filechooser", lambda _: None)


async def read_download(download: Download) -> str:
    return (await asyncio.to_thread((await download.path()).read_bytes)).decode()


def assert_quiet(visit: Visit) -> None:
    """Nothing was refused, violated or loaded from elsewhere."""
    assert visit.complaints == [], visit.complaints
    assert visit.hosts <= set(LOCAL), visit.hosts
