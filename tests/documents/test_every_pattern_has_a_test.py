"""Every row of docs/access-patterns.md has its one test, and its method is there."""

import inspect
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, get_origin, get_type_hints

import pytest

from datastore.store import View
from tests.documents import test_calculations, test_pipelines, test_resource_management

PAGE = Path(__file__).parents[2] / "docs" / "access-patterns.md"
MODULES = {
    "Pipelines": test_pipelines,
    "Calculations": test_calculations,
    "Groups, names and grants": test_resource_management,
}


class Pattern(NamedTuple):
    pattern: str
    how: str
    method: str
    document: str


def rows(heading: str) -> list[Pattern]:
    section = PAGE.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    return [Pattern(*(cell.strip() for cell in line.strip("|").split("|"))) for line in table[2:]]


def docstrings(module: ModuleType) -> list[str]:
    """The first line of each test's docstring."""
    tests = [test for name, test in vars(module).items() if name.startswith("test_")]
    return [(inspect.getdoc(test) or "").partition("\n")[0] for test in tests]


@pytest.mark.parametrize("heading", MODULES)
def test_rows_and_tests_are_the_same_in_the_same_order(heading: str) -> None:
    patterns = [row.pattern for row in rows(heading)]
    assert len(patterns) > 10
    assert docstrings(MODULES[heading]) == patterns


def test_a_row_is_written_once() -> None:
    patterns = [row.pattern for heading in MODULES for row in rows(heading)]
    assert len(patterns) == len(set(patterns))


@pytest.mark.parametrize("row", [row for heading in MODULES for row in rows(heading)])
def test_a_row_says_how_by_which_method_and_from_which_document(row: Pattern) -> None:
    assert row.how
    assert row.document in ("pipelines document", "calculations document", "data model")
    *path, method = row.method.strip("`").split(".")
    owner: type = View
    for name in path:
        hint = get_type_hints(owner)[name]
        owner = get_origin(hint) or hint
    assert inspect.iscoroutinefunction(getattr(owner, method))
