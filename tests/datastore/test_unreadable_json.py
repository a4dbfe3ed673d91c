"""Words for a damaged document of names are those of the server, not of a library."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.datastore.errors import Invalid
from penstock.datastore.ngsi.naming.mappings import read_mappings
from penstock.datastore.ngsi.naming.rules import read_rules
from penstock.datastore.unreadable_json import describe_unreadable
from tests.support.parsed_modules import parse_naming

HERE = Path(__file__).parents[2]
FLOORS = ("server", "schema", "resolvers", "datastore", "transform", "formula")
LIBRARY = {"msgspec.DecodeError", "msgspec.MsgspecError"}
UNICODE = {"UnicodeDecodeError", "UnicodeError", "ValueError"}

CASES = [
    (b"", "it is no JSON"),
    (b"{", "it is no JSON"),
    (b'{"\xff": 1', "it is no JSON"),
    (b"[]", "$ is missing, or of another kind"),
]


@pytest.mark.parametrize(
    ("read", "words"),
    [(read_rules, "are no grouping rules"), (read_mappings, "are no name mappings")],
)
@pytest.mark.parametrize(("document", "reason"), CASES)
def test_a_document_that_is_not_read_is_told_in_words_of_our_own(
    read: Callable[[bytes], object], words: str, document: bytes, reason: str
) -> None:
    with pytest.raises(Invalid) as caught:
        read(document)
    assert [problem.message for problem in caught.value.problems] == [f"{words}: {reason}"]


def test_the_place_of_a_field_of_another_kind_is_told() -> None:
    with pytest.raises(Invalid) as caught:
        read_mappings(b'{"serviceMappings": [{"originalService": 7}]}')
    (problem,) = caught.value.problems
    assert problem.message.startswith("are no name mappings: $.serviceMappings[0]")
    assert problem.message.endswith(" is missing, or of another kind")


def test_a_document_that_is_nested_too_deep_is_told_without_the_words_of_python() -> None:
    assert describe_unreadable(RecursionError("maximum recursion depth")) == "it is nested too deep"


def test_what_catches_the_errors_of_the_library_catches_those_of_unicode() -> None:
    found = [
        f"{path.relative_to(HERE)}:{line}"
        for floor in FLOORS
        for path in (HERE / floor).rglob("*.py")
        for line, names in caught_in(path)
        if names & LIBRARY and not names & UNICODE
    ]
    assert found == []


def caught_in(path: Path) -> Iterator[tuple[int, set[str]]]:
    """Yield the line of each `try` and tuple of a module, and the errors that it names."""
    for node in ast.walk(parse_naming(path, ("DecodeError", "MsgspecError")) or ast.Module([], [])):
        match node:
            case ast.Try(handlers=handlers):
                kinds = [one.type for one in handlers if one.type is not None]
                yield node.lineno, names_in(*kinds)
            case ast.Call(func=ast.Name("suppress"), args=kinds):
                yield node.lineno, names_in(*kinds)


def names_in(*kinds: ast.expr) -> set[str]:
    """The names of the errors in the expressions."""
    named = (node for kind in kinds for node in ast.walk(kind))
    return {ast.unparse(node) for node in named if isinstance(node, ast.Name | ast.Attribute)}
