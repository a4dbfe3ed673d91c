"""Names and sentences that a stranger understands: the rules that a machine can check.

A function is a verb with an object or the noun it gives, a class a noun with a role: one participle
alone (`told`, `Taken`) is neither. A docstring or a description is a sentence about the thing, not
a riddle that opens with What or Whoever, and a description has three words or more.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.support.parsed_modules import parse_module
from tests.test_docs import FLOORS

ROOT: Final = Path(__file__).parents[1]
FOLDERS: Final = sorted({*FLOORS, "benchmarks", "examples", "tests"})
SDL: Final = ROOT / "schema.graphql"
ALLOWED: Final[dict[str, str]] = {}
"""Names that break the rule, each with its reason; ten at most."""

PARTICIPLES: Final = frozenset(
    re.findall(
        r"\w+",
        """
    begun borne bought bound broken brought built chosen dealt done drawn driven fed felt
    forgotten found frozen given gone grown heard held hidden hung kept known laid led left
    lent lost made meant met paid proven ridden risen said seen sent shaken shown sold
    sought spent spoken stood sworn taken taught thought thrown told torn understood undone
    withheld woken won worn wound woven written
    """,
    )
)
VERBS: Final = frozenset(
    re.findall(r"\w+", "bleed breed embed exceed feed heed need proceed seed shed speed weed")
)
RIDDLE: Final = re.compile(
    r"(What|Who|Whoever|Whom|Whose|Where|How(?! (many|much|long)\b)|Which|Why)\b"
)
DOCUMENTED: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
PROPERTIES: Final = frozenset({"property", "cached_property", "fixture", "setter"})

# What one test has read, the others read again.
pytestmark = pytest.mark.runs_together("plain words")


class Definition(NamedTuple):
    """A module, a class or a function: its name, if it is to be judged, and its docstring."""

    place: str
    name: str | None
    docstring: str


class Finding(NamedTuple):
    """A name or a sentence that breaks a rule."""

    place: str
    text: str


def sources(folder: str) -> list[Path]:
    skipped = {"node_modules", "generated", "dist"}
    return [path for path in sorted((ROOT / folder).rglob("*.py")) if not skipped & set(path.parts)]


@cache
def definitions(path: Path) -> tuple[Definition, ...]:
    found = (node for node in statements(parse_module(path)) if isinstance(node, DOCUMENTED))
    return tuple(
        Definition(
            f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}",
            None if isinstance(node, ast.Module) or is_property(node) else node.name,
            ast.get_docstring(node) or "",
        )
        for node in found
    )


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Return a tree and all statements in it; a definition stands in no expression."""
    yield tree
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(tree, name, ())
        for one in inner if isinstance(inner, list) else ():
            yield from statements(one)


def is_property(node: ast.AST) -> bool:
    """Whether a function is read as a value, so that a participle is its name."""
    decorators = getattr(node, "decorator_list", ()) if not isinstance(node, ast.ClassDef) else ()
    return any(getattr(one, "id", getattr(one, "attr", "")) in PROPERTIES for one in decorators)


def is_participle(name: str) -> bool:
    """Whether a name is one past participle and nothing else."""
    word = name.strip("_").lower()
    if "_" in word or word in VERBS or word.startswith("test"):
        return False
    return word in PARTICIPLES or (len(word) > 3 and word.endswith("ed"))


def is_one_participle(name: str) -> bool:
    """Whether a name of a function or a class is one past participle and nothing else."""
    is_class = name.lstrip("_")[:1].isupper()
    return is_participle(name) and (not is_class or len(re.findall("[A-Z]?[a-z]+", name)) == 1)


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_function_or_class_is_named_by_a_participle_alone(folder: str) -> None:
    found = [
        Finding(one.place, one.name)
        for path in sources(folder)
        for one in definitions(path)
        if one.name is not None and is_one_participle(one.name)
    ]
    assert [one for one in found if one.text not in ALLOWED] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_docstring_opens_as_a_riddle(folder: str) -> None:
    found = [
        Finding(one.place, one.docstring.splitlines()[0])
        for path in sources(folder)
        for one in definitions(path)
        if RIDDLE.match(one.docstring)
    ]
    assert found == []


def descriptions() -> Iterator[Finding]:
    text = SDL.read_text()
    for found in re.finditer(r'"""\s*(.+?)\s*"""', text, re.DOTALL):
        yield Finding(f"{SDL.name}:{text.count(chr(10), 0, found.start()) + 1}", found[1])


def test_every_description_of_the_schema_is_a_sentence() -> None:
    found = [one for one in descriptions() if RIDDLE.match(one.text) or len(one.text.split()) < 3]
    assert found == []


def test_names_that_are_allowed_are_few_and_in_use() -> None:
    names = {
        one.name for folder in FOLDERS for path in sources(folder) for one in definitions(path)
    }
    assert len(ALLOWED) <= 10
    assert set(ALLOWED) <= names


@pytest.mark.parametrize("name", ["told", "_asked", "Taken", "reached", "Frozen"])
def test_a_participle_is_known(name: str) -> None:
    assert is_participle(name)


@pytest.mark.parametrize("name", ["seed", "is_closed", "read", "proceed", "red", "test_told"])
def test_a_verb_or_a_phrase_is_no_participle(name: str) -> None:
    assert not is_participle(name)
