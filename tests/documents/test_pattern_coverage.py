"""Every row of docs/access-patterns.md has one test, and names a method that exists."""

import inspect
import re
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, get_origin, get_type_hints

import pytest

from penstock.datastore.session import Session
from tests.documents import (
    test_audio,
    test_calculations,
    test_datasets,
    test_events,
    test_executions,
    test_manifest,
    test_metrics,
    test_ngsi,
    test_pipelines,
    test_playlists,
    test_resource_management,
)

PAGE = Path(__file__).parents[2] / "docs" / "access-patterns.md"
MODULES = {
    "Pipelines": test_pipelines,
    "Calculations": test_calculations,
    "Reference datasets": test_datasets,
    "Metrics": test_metrics,
    "Groups, names and grants": test_resource_management,
    "Events of groups and grants": test_events,
    "Executions": test_executions,
    "Runs": test_manifest,
    "Playlists": test_playlists,
    "Audio": test_audio,
    "NGSI": test_ngsi,
}
SYSTEMS = (
    "[pipelines module](data-model.md#pipelines-module)",
    "[calculations module](data-model.md#calculations-module)",
    "[audio store](data-model.md#audio-store)",
    "[Snowflake manifest](data-model.md#snowflake-manifest)",
    "[NGSI sink](data-model.md#ngsi-sink)",
    "[Penstock](data-model.md#penstocks-own)",
)
CALCULATIONS_MODULE = """
Process group created Access Management event
Process group deleted Access Management event
Create a new calculation
Ensure uniqueness of an name within a group
Grant a group access to a calculation
Process calculation group membership granted event
Revoke a groups access to a calculation
Process calculation group membership revoked event
Retrieve latest version of calculation
Retrieve specific version of calculation
List calculations for a group
List calculations for a group, filtered by tag
Update calculation
List version of a calculations
Retrieve calculation by name
"""
"""The access patterns of that system, as its design names them."""

UNSAID = {"a", "an", "the", "s", "new", "of", "access", "management"}
UNSAID |= {"calculation", "calculations", "resource", "resources"}


class Pattern(NamedTuple):
    pattern: str
    how: str
    method: str
    system: str


def rows(heading: str) -> list[Pattern]:
    section = PAGE.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    return [Pattern(*(cell.strip() for cell in line.strip("|").split("|"))) for line in table[2:]]


def docstrings(module: ModuleType) -> list[str]:
    """Return the first line of each test's docstring."""
    tests = [test for name, test in vars(module).items() if name.startswith("test_")]
    return [(inspect.getdoc(test) or "").partition("\n")[0] for test in tests]


@pytest.mark.parametrize("heading", MODULES)
def test_rows_and_tests_are_the_same_in_the_same_order(heading: str) -> None:
    patterns = [row.pattern for row in rows(heading)]
    assert len(patterns) > 3
    assert docstrings(MODULES[heading]) == patterns


def test_a_row_is_written_once() -> None:
    patterns = [row.pattern for heading in MODULES for row in rows(heading)]
    assert len(patterns) == len(set(patterns))


def gist(text: str) -> tuple[str, ...]:
    """Return the words that tell a pattern from the others, in its own order."""
    words = re.findall("[a-z]+", text.lower().replace("groups access", "group access"))
    return tuple(word for word in words if word not in UNSAID)


@pytest.mark.parametrize("pattern", CALCULATIONS_MODULE.strip().splitlines())
def test_each_pattern_of_the_calculations_module_has_a_row(pattern: str) -> None:
    asked = [row for heading in MODULES for row in rows(heading) if row.system == SYSTEMS[1]]
    assert gist(pattern) in {gist(row.pattern) for row in asked}


@pytest.mark.parametrize("row", [row for heading in MODULES for row in rows(heading)])
def test_a_row_says_how_by_which_method_and_for_which_system(row: Pattern) -> None:
    assert row.how
    assert row.system in SYSTEMS
    *path, method = row.method.strip("`").split(".")
    owner: type = Session
    for name in path:
        held = getattr(owner, name, None)
        getter = held.func if isinstance(held, cached_property) else getattr(held, "fget", None)
        made = held if inspect.isfunction(held) else getter
        hint = get_type_hints(made or owner)["return" if made else name]
        owner = get_origin(hint) or hint
    found = getattr(owner, method)
    assert inspect.iscoroutinefunction(found) or inspect.isasyncgenfunction(found)
