"""Every block of every page does what the page says, on sample data of its own."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from penstock.server.command_line import run
from tests.pages.emulated_aws import emulate_aws, uses_aws
from tests.pages.page_blocks import ROOT, pages_with_blocks, read_blocks, read_steps
from tests.pages.page_run import FOLLOWED_ELSEWHERE, PageRun, followed_elsewhere, split_commands
from tests.pages.shown_answers import AnswerDiffers, Names
from tests.support.server_process import running_server
from tests.support.stores import skip_reason

pytestmark = pytest.mark.runs_together("pages")
PAGES = pages_with_blocks()
FOLLOWED_IN_A_CLONE = (
    "README.md",
    "docs/tutorial.md",
    "docs/how-to/",
    "docs/moving.md",
)
OPTIONS = {"docs/opensubsonic.md": ("--opensubsonic",)}
"""The options with which the server of a page runs."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="module")
def sample_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data directory as a first start makes it."""
    folder = tmp_path_factory.mktemp("sample") / "data"
    assert run(["seed", "--data-dir", str(folder)]) == 0
    return folder


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_a_page_does_what_the_page_says(
    page: Path, sample_data: Path, tmp_path: Path
) -> None:
    if uses_aws(page) and (reason := skip_reason("dynoxide")):
        pytest.skip(reason)
    clone = tmp_path / "clone"
    shutil.copytree(sample_data, clone / "data")
    (clone / "examples").symlink_to(ROOT / "examples")
    shutil.copy(ROOT / "schema.graphql", clone)
    with running_server(clone / "data", OPTIONS.get(name_of(page), ())) as server:
        page_run = PageRun(server, tmp_path, emulate_aws() if uses_aws(page) else {})
        for step in read_steps(page):
            try:
                page_run.execute(step)
            except AnswerDiffers as differs:
                pytest.fail(f"{name_of(page)}:{step.block.line}: {differs}", pytrace=False)
    if name_of(page).startswith(FOLLOWED_IN_A_CLONE):
        saved = {step.block.purpose for step in read_steps(page)}
        assert files_that_git_would_show(clone, saved) == []


def files_that_git_would_show(clone: Path, saved: set[str]) -> list[str]:
    """Return the files that a page has left in a clone beside those that it lets its reader save.

    What the repository ignores is left out.
    """
    known = saved | {"data", "examples", "schema.graphql"}
    names = {path.name for path in clone.iterdir()} - known
    command = ["git", "check-ignore", "--no-index", "--", *sorted(names)]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return sorted(names - {*told.stdout.splitlines()})


def commands_of(page: Path) -> list[str]:
    shells = [step.block.text for step in read_steps(page) if step.block.language == "sh"]
    return [command for text in shells for command in split_commands(text)]


def test_every_command_that_another_test_follows_is_on_a_page() -> None:
    met = {followed_elsewhere(command) for page in PAGES for command in commands_of(page)}
    assert met - {None} == FOLLOWED_ELSEWHERE.keys()
    assert [path for path in FOLLOWED_ELSEWHERE.values() if not (ROOT / path).exists()] == []


def test_a_picture_in_text_holds_no_command_and_no_operation() -> None:
    starts = re.compile(r"^(penstock|curl|make|query|mutation|subscription|\$) ", re.MULTILINE)
    pictures = [
        (name_of(page), block.line)
        for page in PAGES
        for block in read_blocks(page)
        if block.language == "text" and starts.search(block.text)
    ]
    assert pictures == []


@pytest.mark.parametrize(
    ("shown", "real"),
    [
        ('{"a": 1}', {"a": 2}),
        ('{"a": 1}', {"a": 1, "b": 1}),
        ('{"a": 1}', {"a": True}),
        ('{"a": ["x"]}', {"a": ["x", "y"]}),
        ('{"a": "2026-11-23T03:16:16.320Z"}', {"a": "yesterday"}),
        ('{"a": "before ... after"}', {"a": "before"}),
    ],
)
def test_another_answer_than_the_shown_one_is_found(shown: str, real: object) -> None:
    with pytest.raises(AnswerDiffers):
        Names({}).compare_json(shown, real)


def test_an_id_of_a_page_stands_for_the_same_real_one_from_then_on() -> None:
    names = Names({})
    first, second = "UGlwZWxpbmU6MDFhMjA2NjctODE0MC03MWZh", "UGlwZWxpbmU6MDFhMjA2NjctOTI1MS04MmIw"
    names.compare_json(f'{{"id": "{first}"}}', {"id": second})
    assert names.in_this_run(f"show {first}") == f"show {second}"
    names.compare_json(f'{{"id": "{first}"}}', {"id": second})
    with pytest.raises(AnswerDiffers):
        names.compare_text("one\n...\nlast", "one\ntwo")
    names.compare_text("one\n...\nlast", "one\ntwo\nthree\nlast")
