"""Words for a damaged document of names are those of the server, not of a library."""

from collections.abc import Callable

import pytest

from penstock.datastore.errors import Invalid
from penstock.datastore.ngsi.naming.mappings import read_mappings
from penstock.datastore.ngsi.naming.rules import read_rules
from penstock.datastore.unreadable_json import describe_unreadable

CASES = [
    (b"", "it is no JSON"),
    (b"{", "it is no JSON"),
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
