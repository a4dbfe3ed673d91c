"""All rules as one find the faults that graphql-core finds with the rules beside each other."""

import pytest
from graphql import parse, validate

from penstock.schema import schema
from penstock.schema.engine.documents import core_schema
from penstock.schema.engine.validation import RULES, find_faults

CORE = core_schema(schema)
BROKEN = (
    "{ nothing }",
    "{ __typename } { __typename }",
    "query a { __typename } query a { __typename }",
    "type A { b: Int }",
    "query($a: Nothing) { pipeline(id: $a) { id } }",
    "query($a: Pipeline) { pipeline(id: $a) { id } }",
    "query($a: ID!, $a: ID!) { pipeline(id: $a) { id } }",
    "query($a: ID!) { __typename }",
    "{ pipeline(id: $a) { id } }",
    "query($a: ID) { pipeline(id: $a) { id } }",
    "query($a: Int = true) { pipelines(first: $a) { nodes { id } } }",
    "{ pipeline }",
    "{ __typename { id } }",
    '{ pipeline(id: "a", id: "b") { id } }',
    '{ pipeline(id: "a", name: "b") { id } }',
    "{ pipeline { id } }",
    "{ pipelines(first: true) { nodes { id } } }",
    '{ pipelines(tags: {all: [], all: []}, group: "/a") { nodes { id } } }',
    "{ __typename @nothing }",
    "query @skip(if: true) { __typename }",
    "{ __typename @skip }",
    "{ __typename @skip(if: true) @skip(if: false) }",
    '{ a: pipeline(id: "a") { id } a: pipeline(id: "b") { id } }',
    '{ pipeline(id: "a") { ...nothing } }',
    '{ pipeline(id: "a") { ... on Nothing { id } } }',
    '{ pipeline(id: "a") { ... on Boolean { id } } }',
    '{ pipeline(id: "a") { ... on Calculation { id } } }',
    "{ __typename } fragment a on Pipeline { id }",
    "{ __typename } fragment a on Pipeline { id } fragment a on Pipeline { id }",
    "{ node { ...a } } fragment a on Pipeline { ...b } fragment b on Pipeline { ...a }",
    '{ pipeline(id: "a") { ...a } } fragment a on Calculation { id nothing { id } }',
    "subscription { a: __typename b: __typename }",
    "mutation { ... @defer { __typename } }",
    '{ ... @defer(label: "a") { __typename } ... @defer(label: "a") { __typename } }',
    "{ __typename @stream }",
    "subscription { ... @defer { __typename } }",
    "{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }",
)
"""Documents with faults, one or more in each."""

UNBREAKABLE = {"KnownOperationTypesRule", "MaybeNullValidationRule", "OneOfInputValidationRule"}
"""The rules about what this schema has in full, or not at all."""


@pytest.mark.parametrize("most", [1, 100])
def test_one_walk_finds_the_faults_of_all_rules_in_their_order(most: int) -> None:
    for text in BROKEN:
        document = parse(text)
        expected = validate(CORE, document, RULES, most, hide_suggestions=True)
        found = find_faults(CORE, document, most)
        assert expected != []
        assert [(one.message, one.locations) for one in found] == [
            (one.message, one.locations) for one in expected
        ], text


def test_the_broken_documents_break_every_rule_that_the_schema_lets_them_break() -> None:
    documents = [parse(text) for text in BROKEN]
    unbroken = {
        rule.__name__
        for rule in RULES
        if not any(validate(CORE, document, [rule]) for document in documents)
    }
    assert unbroken == UNBREAKABLE
