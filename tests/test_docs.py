"""The pages under docs/ match the code, and every link between them has a target."""

import re
from pathlib import Path

import pytest
from cyclopts import App

from penstock.datastore.errors import ErrorCode
from penstock.server.command_line import app
from penstock.server.settings.invalid_settings import PREFIX
from penstock.server.settings.settings import Settings

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TOP = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")]
PAGES = sorted([*TOP, *DOCS.rglob("*.md")])
DECISIONS = sorted((DOCS / "decisions").glob("[0-9]*.md"))

FLOORS = {link.name for link in (ROOT / "penstock").iterdir() if link.is_symlink()}
FOLDERS = sorted({*FLOORS, "tests", "docs"})

_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_PATH = re.compile(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]*)[`:]")
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


def prose(page: Path) -> str:
    return _FENCED.sub("", page.read_text())


def anchors(page: Path) -> set[str]:
    """Return the fragments that link to a page's headings."""
    headings = (re.sub(r"[^\w\- ]", "", text.lower()) for text in _HEADING.findall(prose(page)))
    return {heading.strip().replace(" ", "-") for heading in headings}


def links(page: Path) -> list[str]:
    """Return the links of a page to other files of this repository."""
    return [link for link in _LINK.findall(prose(page)) if "://" not in link]


def dead(page: Path) -> list[str]:
    return [link for link in links(page) if not leads_somewhere(page, *link.split("#", 1))]


def leads_somewhere(page: Path, path: str, fragment: str = "") -> bool:
    target = (page.parent / path).resolve() if path else page
    if not target.exists() or not target.is_relative_to(ROOT):
        return False
    return not fragment or fragment in anchors(target)


def names_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=names_of)
def test_every_link_to_a_page_or_a_heading_leads_somewhere(page: Path) -> None:
    assert dead(page) == []


@pytest.mark.parametrize("page", PAGES, ids=names_of)
def test_every_file_and_folder_that_a_page_names_is_there(page: Path) -> None:
    named = _PATH.findall(page.read_text())
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_page_is_reached_from_the_readme_or_the_index() -> None:
    reached, waiting = set(), [ROOT / "README.md", DOCS / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        targets = [(page.parent / link.partition("#")[0]).resolve() for link in links(page)]
        waiting += [target for target in targets if target.is_file()]
        for folder in (target for target in targets if target.is_dir()):
            waiting += folder.glob("*.md")
    assert [names_of(page) for page in PAGES if page not in reached] == []


@pytest.mark.parametrize("page", PAGES, ids=names_of)
def test_every_test_that_a_command_of_a_page_runs_is_there(page: Path) -> None:
    named = re.findall(r"\btests/[\w./-]*\w", page.read_text())
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=names_of)
def test_a_line_of_a_page_is_short_enough_to_review(page: Path) -> None:
    lines = [line for line in prose(page).splitlines() if not line.startswith("|")]
    assert [line for line in lines if len(line) > 160] == []


@pytest.mark.parametrize("page", PAGES, ids=names_of)
def test_a_page_has_one_title_and_it_comes_first(page: Path) -> None:
    text = prose(page)
    assert text.startswith("# ")
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1


@pytest.mark.parametrize("page", DECISIONS, ids=names_of)
def test_a_decision_is_a_title_its_reason_and_what_was_rejected(page: Path) -> None:
    title, *rest = [part for part in page.read_text().split("\n\n") if part.strip()]
    assert title.startswith("# ")
    assert len(title) > 10
    *reason, rejected = rest
    assert all(len(part) > 40 for part in reason)
    assert reason
    assert rejected.startswith("**Rejected:** ")


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = [int(page.name[:4]) for page in DECISIONS]
    assert numbers == list(range(1, len(DECISIONS) + 1))


def test_the_tutorial_takes_the_time_that_it_says() -> None:
    text = (DOCS / "tutorial.md").read_text()
    done = re.findall(r"^```(?:sh|graphql|csv .*|json variables)$", text, re.MULTILINE)
    minutes = len(text.split()) / 200 + len(done) / 2
    assert "In fifteen minutes (200 words read in a minute, and half a minute for each" in text
    assert 12 < minutes <= 15


def commands(of: App = app, path: str = "") -> dict[str, App]:
    """Return every command as its words: subcommands, and groups that are commands themselves."""
    names = [name for name in of if not name.startswith("-")]
    found: dict[str, App] = {}
    for name in names:
        found |= commands(of[name], f"{path}{name} ")
    is_command = bool(path) and of.default_command is not None
    return found | {path.strip(): of} if is_command or not found else found


def test_every_command_is_told_of() -> None:
    known = {"serve", "seed", "table create", "table verify", "schema", "token"}
    assert known <= commands().keys()
    written = (DOCS / "cli.md").read_text()
    assert [name for name in commands() if f"penstock {name}" not in written] == []


@pytest.mark.parametrize("command", commands())
def test_every_option_of_a_command_is_told_of(command: str) -> None:
    written = (DOCS / "cli.md").read_text()
    arguments = commands()[command].assemble_argument_collection()
    names = [name for argument in arguments for name in argument.names[:1]]
    options = [name for name in names if name.startswith("--")]
    assert options or command in {"schema", "completion"}
    assert [option for option in options if f"`{option}" not in written] == []


def test_every_setting_and_error_code_has_a_heading() -> None:
    settings = set(_HEADING.findall((DOCS / "settings.md").read_text()))
    assert {f"{PREFIX}{name.upper()}" for name in Settings.model_fields} <= settings
    titles = {_HEADING.findall(page.read_text())[0] for page in (DOCS / "errors").glob("*.md")}
    assert {*ErrorCode} <= titles
