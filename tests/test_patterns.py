"""Regular expressions mean the same on every Python that Penstock runs on."""

import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from tests.test_docs import FLOORS, ROOT

ALLOWED = {
    "penstock.formula.functions.json_path._MARKS": "the only part of a match that can fail is a"
    " backslash at the end, which may stand there; a text of megabytes would take memory otherwise",
}


def patterns() -> Iterator[tuple[str, "re.Pattern[Any]"]]:
    """Yield the patterns of the product's modules, also those of which a method is kept."""
    for floor in sorted(FLOORS):
        for path in (ROOT / floor).rglob("*.py"):
            if {"node_modules", "dist"} & {*path.parts} or path.name in {"__main__.py", "build.py"}:
                continue
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(("penstock", *(part for part in parts if part != "__init__")))
            for key, value in vars(import_module(name)).items():
                found = getattr(value, "__self__", value)
                if isinstance(found, re.Pattern):
                    yield f"{name}.{key}", found


def possessive_groups(parsed: Any) -> Iterator[object]:
    """Yield the groups of a parsed pattern that are repeated possessively, and atomic ones."""
    for operator, argument in parsed:
        if operator is _constants.ATOMIC_GROUP:
            yield argument
        elif operator is _constants.POSSESSIVE_REPEAT and not _compiler._simple(argument[2]):
            yield argument[2]
        for part in _parts_of(argument):
            yield from possessive_groups(part)


def _parts_of(argument: object) -> Iterator[Any]:
    if isinstance(argument, _parser.SubPattern):
        yield argument
    elif isinstance(argument, Sequence) and not isinstance(argument, str):
        for one in argument:
            yield from _parts_of(one)


def is_possessive(pattern: "re.Pattern[Any]") -> bool:
    flags = pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
    return any(True for _ in possessive_groups(_parser.parse(pattern.pattern, flags)))


def test_no_group_is_repeated_possessively() -> None:
    """Before Python 3.11.5 a match goes on behind a repetition that failed (gh-106052)."""
    seen = dict(patterns())
    assert len(seen) > 100
    assert {name for name, pattern in seen.items() if is_possessive(pattern)} == ALLOWED.keys()


@pytest.mark.parametrize(
    ("pattern", "is_found"),
    [
        (r"(?:a b|c)*+", True),
        (r"x(y(?:ab)?+)+", True),
        (r"(?>ab)", True),
        (r"a|(?:b|(?:cd){1,2}+)", True),
        (r"[ab]*+(?:a\.b++)*\d{1,4}+", False),
    ],
)
def test_the_rule_finds_groups_only(pattern: str, is_found: bool) -> None:
    assert is_possessive(re.compile(pattern)) is is_found
