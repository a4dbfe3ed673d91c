"""No text of a caller is brought to a normal form that takes long, in any argument of the schema.

Normalising takes more than linear time for many marks on one character, and holds the whole server
meanwhile. The tests give such a text to each argument, and watch what is normalised.
"""

import unicodedata
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Literal, TypeAlias
from unittest.mock import patch

import pytest
from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    get_named_type,
    is_required_argument,
    is_required_input_field,
)

from penstock.datastore import text
from penstock.datastore.name_search import words
from penstock.datastore.tag_search import tags
from penstock.schema import schema
from penstock.schema.engine.documents import core_schema
from tests.support.graphql_client import NOUNS, ROOT, Answer, Ask

MARKS = "a" + "\u0315\u0300" * 5_000
MOST_MARKS = text.LONGEST_NAME // 2
DEEPEST = 1
"""The objects within objects whose fields are asked for, besides the pages of lists."""

UNASKED = {"GRAPHQL_VALIDATION_FAILED", "GRAPHQL_PARSE_FAILED", "INTERNAL_SERVER_ERROR"}
"""The codes of what asks nothing, or should never happen."""

SAMPLES = {
    "Int": "1",
    "Float": "1",
    "Long": '"1"',
    "Boolean": "true",
    "Decimal": '"1"',
    "DateTime": '"2026-01-01T00:00:00Z"',
    "GroupPath": '"/usa"',
    "JSON": "{}",
    "Row": "{}",
    "String": '"x"',
    "ID": '"x"',
}
TEXTS = {"String": "$text", "ID": "$id"}


def sample_of(kind: GraphQLInputType) -> str:
    """A value of a type, with what is required and nothing more."""
    if isinstance(kind, GraphQLNonNull):
        return sample_of(kind.of_type)
    if isinstance(kind, GraphQLList):
        return f"[{sample_of(kind.of_type)}]"
    if isinstance(kind, GraphQLEnumType):
        return str(next(iter(kind.values)))
    if isinstance(kind, GraphQLInputObjectType):
        return write_values(samples_of(kind.fields), "{}")
    return SAMPLES[kind.name]


def samples_of(given: dict[str, GraphQLArgument] | dict[str, GraphQLInputField]) -> dict[str, str]:
    return {
        name: sample_of(one.type)
        for name, one in given.items()
        if (is_required_argument if isinstance(one, GraphQLArgument) else is_required_input_field)(
            one  # type: ignore[arg-type]
        )
    }


def write_values(given: dict[str, str], around: str = "()") -> str:
    inside = ", ".join(f"{name}: {value}" for name, value in given.items())
    return f"{around[0]}{inside}{around[1]}" if inside or around == "{}" else ""


def values_with_a_text(
    kind: GraphQLInputType, within: frozenset[str] = frozenset()
) -> Iterator[str]:
    """Values of a type with the long text at each place that takes a text, one at a time."""
    if isinstance(kind, GraphQLNonNull):
        yield from values_with_a_text(kind.of_type, within)
    elif isinstance(kind, GraphQLList):
        yield from (f"[{one}]" for one in values_with_a_text(kind.of_type, within))
    elif isinstance(kind, GraphQLInputObjectType):
        if kind.name not in within:
            for given in with_a_text(kind.fields, within | {kind.name}):
                yield write_values(given, "{}")
    elif get_named_type(kind).name in TEXTS:
        yield TEXTS[get_named_type(kind).name]


def with_a_text(
    given: dict[str, GraphQLArgument] | dict[str, GraphQLInputField],
    within: frozenset[str] = frozenset(),
) -> Iterator[dict[str, str]]:
    usual = samples_of(given)
    for name, one in given.items():
        for value in values_with_a_text(one.type, within):
            yield {**usual, name: value}


def selections(field: GraphQLField, depth: int) -> Iterator[tuple[str, str]]:
    """The arguments and selections of a field that have the long text at one place."""
    for given in with_a_text(field.args):
        yield write_values(given), "{ __typename }" if has_fields(field) else ""
    usual = write_values(samples_of(field.args))
    of = get_named_type(field.type)
    if depth and isinstance(of, GraphQLObjectType):
        for name, below in of.fields.items():
            deeper = depth if name == "nodes" else depth - 1
            for arguments, selected in selections(below, deeper):
                yield usual, f"{{ {name}{arguments} {selected} }}"


def has_fields(field: GraphQLField) -> bool:
    return hasattr(get_named_type(field.type), "fields") or hasattr(
        get_named_type(field.type), "types"
    )


def documents(operation: str, depth: int) -> list[str]:
    core = core_schema(schema)
    root = core.query_type if operation == "query" else core.mutation_type
    assert root is not None
    found = []
    for name, field in root.fields.items():
        for arguments, selected in selections(field, depth):
            inside = f"{name}{arguments} {selected}"
            declared = [f"{one}: {kind}!" for kind, one in TEXTS.items() if f"{one}" in inside]
            found.append(f"{operation}({', '.join(declared)}) {{ {inside} }}")
    return list(dict.fromkeys(found))


NormalForm: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]


class Normalisations:
    """The longest text that is normalised, and the longest run of marks."""

    def __init__(self) -> None:
        self.longest = self.marks = 0

    def normalize(self, form: NormalForm, given: str) -> str:
        self.longest = max(self.longest, len(given))
        places = [-1, *(n for n, one in enumerate(given) if not unicodedata.combining(one))]
        self.marks = max(self.marks, *(b - a - 1 for a, b in pairwise([*places, len(given)])))
        # A text that takes long would only make this test take long.
        return given if self.marks > MOST_MARKS else NORMALIZE(form, given)


NORMALIZE = unicodedata.normalize


async def ask_each(ask: Ask, asked: list[str]) -> AsyncIterator[tuple[str, Normalisations, Answer]]:
    """Ask with the long text, and tell what was normalised meanwhile."""
    for document in asked:
        seen = Normalisations()
        given = {one: MARKS for one in ("text", "id") if f"${one}" in document}
        with (
            patch("unicodedata.normalize", seen.normalize),
            patch.object(words, "normalize", seen.normalize),
            patch.object(tags, "normalize", seen.normalize),
        ):
            yield document, seen, await ask(document, given, ROOT)


@pytest.mark.parametrize(("operation", "depth"), [("query", DEEPEST), ("mutation", 0)])
async def test_no_argument_is_normalised_at_any_length(
    ask: Ask, operation: str, depth: int
) -> None:
    await ask.create_groups("/usa")
    for noun in NOUNS:
        await replace(ask, noun=noun).make("/usa", "one")
    asked, refused = documents(operation, depth), []
    async for document, seen, answer in ask_each(ask, asked):
        assert seen.longest <= text.LONGEST_NAME, document
        assert seen.marks <= MOST_MARKS, document
        codes = {error["extensions"]["code"] for error in answer.errors}
        refused += [document] if codes & UNASKED else []
    assert (len(asked) > 100, refused) == (True, [])
