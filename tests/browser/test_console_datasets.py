"""Reference datasets in the console: made of a file, replaced by a large one, deleted."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.conftest import Visit
from tests.browser.console import (
    ask,
    assert_quiet,
    closing_dialog,
    find_faults,
    hand_over_choosers,
    load,
    open_console,
    press_on,
    type_into,
)
from tests.install import skip_reason

pytestmark = [
    pytest.mark.runs_together("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]

DATASET = """{ referenceDatasetByName(name: "grid factors", group: "/usa") { version description
  content { rowCount keyColumns columns { name type description } } } }"""
NAMES = """{ referenceDatasets(group: "/usa", name: { startsWith: "grid" }) { nodes { name } } }"""
LARGE_ROWS = 50_001
"""One more than a mutation takes."""
REFUSED = {
    "plant;factor\n": ["Its columns are separated by “;”; those of a dataset are by commas."],
    "": ["The file is empty."],
    "plant,,plant\n": ["Column 2 has no name.", "Two columns are named “plant”."],
    ",".join(f"c{n}" for n in range(51)): ["It has more than 50 columns."],
    "PK\3\4": ["It is Excel; a dataset is made of a CSV file."],
}
"""Files of which no dataset is made, and why."""


async def choose_file(page: Page, folder: Path, text: str) -> None:
    file = folder / "factors.csv"
    file.write_text(text)
    async with page.expect_file_chooser() as chooser:
        await page.get_by_label("File of the dataset").click()
    await (await chooser.value).set_files(file)


async def assert_is_open(page: Page, words: str) -> None:
    """The screen of the dataset is there, and says what was done."""
    await expect(page.get_by_role("heading", name="grid factors", exact=True)).to_be_visible()
    await expect(page.get_by_role("status", name="Done")).to_have_text(words)


async def test_a_dataset_is_made_of_a_file_replaced_and_deleted(
    visit: Visit, tmp_path: Path
) -> None:
    page = await open_console(visit, "/datasets")
    hand_over_choosers(page)
    await expect(page.get_by_role("link", name="New dataset")).to_be_visible()
    await press_on(page, "New dataset")
    made = await make_of_file(page, tmp_path)
    changed = await change_without_file(page, made)
    await replace_rows(page, tmp_path, changed)
    await press_on(page, "Edit")
    await press_on(page, "Delete")
    async with closing_dialog(page) as dialog:
        await expect(dialog.get_by_label("Type its name to delete it")).to_be_focused()
        await page.keyboard.type("grid factors")
        await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Datasets")).to_be_visible()
    assert await ask(page, NAMES) == {"nodes": []}
    assert_quiet(visit)


async def make_of_file(page: Page, folder: Path) -> dict[str, Any]:
    """Save a new dataset after its file was wrong in many ways; return what is stored."""
    save = page.get_by_role("button", name="Save", exact=True)
    await expect(save).to_be_disabled()  # it begins with its file
    for text, refusal in REFUSED.items():
        await choose_file(page, folder, text)
        await expect(page.get_by_role("alert").get_by_role("listitem")).to_have_text(refusal)
        await expect(save).to_be_disabled()
    assert await ask(page, NAMES) == {"nodes": []}
    await choose_file(page, folder, "plant,factor\n007,0.5\n007,0.25\n")
    await expect(page.get_by_label("Type of plant")).to_have_value("STRING")
    await expect(page.get_by_label("Type of factor")).to_have_value("NUMBER")
    await expect(page.get_by_role("checkbox", name="plant is in the key")).to_be_checked()
    assert await find_faults(page) == []
    # By the keyboard alone, but for the file. The server refuses two rows with one key.
    await type_into(page, "Name", "grid factors")
    await type_into(page, "Meaning of factor", "kg for a kWh")
    await press_on(page, "Save")
    await expect(page.get_by_role("alert")).to_contain_text("the key '007' is that of line 2")
    await choose_file(page, folder, "plant,factor\n007,0.5\n008,0.25\n")
    await expect(page.get_by_role("cell", name="008")).to_be_visible()
    await expect(page.get_by_label("Meaning of factor")).to_have_value("kg for a kWh")
    await press_on(page, "Save")
    await assert_is_open(page, "The dataset grid factors is saved.")
    plant = {"name": "plant", "type": "STRING", "description": None}
    factor = {"name": "factor", "type": "NUMBER", "description": "kg for a kWh"}
    content = {"rowCount": 2, "keyColumns": ["plant"], "columns": [plant, factor]}
    made = {"version": 1, "description": None, "content": content}
    assert await ask(page, DATASET) == made
    return made


async def change_without_file(page: Page, made: dict[str, Any]) -> dict[str, Any]:
    """Change the description, which leaves the rows; return what is stored."""
    await press_on(page, "Edit")
    await expect(page.get_by_text("They stay as they are")).to_be_visible()
    await type_into(page, "Description", "Of the grid")
    await press_on(page, "Save")
    await expect(page.get_by_text("version 2", exact=True)).to_be_visible()
    changed = {**made, "version": 2, "description": "Of the grid"}
    assert await ask(page, DATASET) == changed
    first = page.get_by_role("region", name="First rows").get_by_role("row")
    await expect(first).to_have_text(["plantfactor", "0070.5", "0080.25"])
    await expect(page.get_by_role("region", name="Difference")).to_contain_text("Of the grid")
    return changed


async def replace_rows(page: Page, folder: Path, changed: dict[str, Any]) -> None:
    """Choose a large file, and follow the job that loads it."""
    await press_on(page, "Edit")
    await expect(page.get_by_label("Name")).to_have_value("grid factors")
    rows = "".join(f"{n},1\n" for n in range(LARGE_ROWS))
    await choose_file(page, folder, f"plant,factor\n{rows}")
    await expect(page.get_by_text("A job loads its rows")).to_be_visible()
    await press_on(page, "Save")
    await assert_is_open(page, "The dataset grid factors is saved; a job loads its rows.")
    job = page.get_by_role("region", name="Job").get_by_role("listitem")
    await expect(job).to_contain_text("load dataset done")
    content = {**changed["content"], "rowCount": LARGE_ROWS}
    loaded = {**changed, "version": 3, "content": content}
    assert await ask(page, DATASET) == loaded
    await expect(page.get_by_text("found by plant")).to_contain_text("50001 rows")


BROKEN = """mutation($input: CreateReferenceDatasetInput!) { createReferenceDataset(input: $input) {
  ... on CreateReferenceDatasetPayload { referenceDataset { id version } } } }"""
UPLOAD = """mutation { createDatasetUpload(input: { group: "/usa" }) {
  ... on CreateDatasetUploadPayload { upload { id form { url fields { name value } } } } } }"""
LOAD = """mutation($input: LoadReferenceDatasetInput!) { loadReferenceDataset(input: $input) {
  ... on LoadReferenceDatasetPayload { job { id } } } }"""
SEND = """async ([{ url, fields }, text]) => {
  const body = new FormData();
  fields.forEach(({ name, value }) => body.append(name, value));
  body.append("file", new Blob([text]));
  return (await fetch(url, { method: "POST", body })).ok;
}"""


async def test_a_load_that_failed_says_in_which_lines_of_its_file(visit: Visit) -> None:
    page = await open_console(visit, "/nowhere")
    columns = [{"name": "plant", "type": "STRING"}, {"name": "factor", "type": "NUMBER"}]
    given: dict[str, Any] = {"group": "/usa", "name": "broken factors"}
    given["content"] = {"columns": columns, "csv": "plant,factor\n"}
    made = (await ask(page, BROKEN, input=given))["referenceDataset"]
    upload = (await ask(page, UPLOAD))["upload"]
    assert await page.evaluate(SEND, [upload["form"], "plant,factor\na,1\nb,many\n"])
    load_it: dict[str, Any] = {"id": made["id"], "expectedVersion": 1}
    load_it["content"] = {"columns": columns, "upload": upload["id"]}
    job = (await ask(page, LOAD, input=load_it))["job"]["id"]
    page = await load(visit, f"/datasets/{made['id']}?job={job}")
    card = page.get_by_role("region", name="Job")
    await expect(card).to_contain_text("load dataset failed")
    await expect(card).to_contain_text("Line 3, column 2: ")
    assert_quiet(visit)
