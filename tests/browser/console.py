"""The console in a browser: opening it signed in, looking for faults, and the sample's things."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.async_api import Browser, Download, Page, expect

from penstock.server.auth.dev_sessions import issue_code
from tests.browser.conftest import LOCAL, PATIENCE, REPORT_VIOLATIONS, Visit
from tests.install import ROOT

AXE = ROOT / "console" / "node_modules" / "axe-core" / "axe.min.js"
RUN_AXE = """async () => {
  const found = await axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    resultTypes: ["violations"],
    selectors: false,
  });
  return found.violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" | ")}`,
  );
}"""
ASK = """async ([query, variables]) => {
  const { token } = JSON.parse(sessionStorage.getItem("penstock:session"));
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  const body = JSON.stringify({ query, variables });
  const answer = await fetch("/graphql", { method: "POST", headers, body });
  return answer.json();
}"""
CONCRETE = "sap:concrete:00144"
HEADER = "Date,Activity,Emission factor"
GOOD_ROW = "2/2/21,2.5,4"
BAD_ROW = "2/2/21,unknown,4"


@asynccontextmanager
async def visit_of(browser: Browser, url: str, data_dir: Path) -> AsyncIterator[Visit]:
    """Open a fresh profile for another server."""
    context = await browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    await context.add_init_script(REPORT_VIOLATIONS)
    visit = Visit(await context.new_page(), context, url, data_dir)
    visit.watch()
    try:
        yield visit
    finally:
        await context.close()


async def open_console(visit: Visit, path: str = "/") -> Page:
    """Open a screen as the printed URL does: signed in by a code."""
    code = issue_code(visit.data_dir)
    separator = "&" if "?" in path else "?"
    await visit.page.goto(f"{visit.base_url}/console{path}{separator}code={code}")
    await expect(visit.page.get_by_role("navigation", name="Places")).to_be_visible()
    return visit.page


async def go_to(visit: Visit, path: str) -> Page:
    """Open another screen in the same session, as a reload does."""
    await visit.page.goto(f"{visit.base_url}/console{path}")
    await expect(visit.page.get_by_role("navigation", name="Places")).to_be_visible()
    return visit.page


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


async def find_faults(page: Page) -> list[str]:
    """Return what axe finds on the page as it is."""
    if not await page.evaluate("() => 'axe' in window"):
        # A script of a test is no part of the page, so its policy does not rule it.
        await page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[str] = await page.evaluate(RUN_AXE)
    return found


def write_csv(folder: Path, *rows: str, name: str = "input.csv") -> Path:
    path = folder / name
    path.write_text("\n".join((HEADER, *rows)) + "\n")
    return path


async def read_download(download: Download) -> str:
    return (await asyncio.to_thread((await download.path()).read_bytes)).decode()


def assert_quiet(visit: Visit) -> None:
    """Nothing was refused, violated or loaded from elsewhere."""
    assert visit.complaints == []
    assert visit.hosts <= set(LOCAL)
