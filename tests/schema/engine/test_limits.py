"""The limits of operations: the numbers counted, the rejections, and linear time."""

from typing import Any

import pytest
from graphql import GraphQLError, get_introspection_query, parse

from penstock.schema import schema
from penstock.schema.engine.cost import TEXT_CHARACTERS, VARIABLE_VALUES, SizeArguments
from penstock.schema.engine.document_walk import DocumentWalk
from penstock.schema.engine.documents import DocumentCache, core_schema
from penstock.schema.engine.limits import (
    Limits,
    MeasuredOperation,
    check_cost,
    choose_operation,
    measure_operations,
)
from tests.support.example_schema import shelves_schema

STRAWBERRY = shelves_schema()
SCHEMA = core_schema(STRAWBERRY)
LIMITS = Limits()


def only(document: str, limits: Limits = LIMITS) -> MeasuredOperation:
    (operation,) = measure_operations(SCHEMA, parse(document), limits)
    return operation


def refusal(document: str, limits: Limits = LIMITS) -> tuple[str, str]:
    with pytest.raises(GraphQLError) as caught:
        measure_operations(SCHEMA, parse(document), limits)
    assert caught.value.extensions is not None
    return caught.value.extensions["code"], caught.value.message


def cost(document: str, variables: dict[str, Any] | None = None) -> int:
    return only(document).cost(variables or {})


def count_visits(document: str) -> int:
    """Return the number of selections that the walk reads."""
    ast = parse(document)
    walk = DocumentWalk(SCHEMA, ast, SizeArguments(None, 100))
    walk.measure_operation(ast.definitions[0])  # type: ignore[arg-type]
    return walk.visited


def doubling(levels: int) -> str:
    """Make a document that contains its last fragment 2 to the power of `levels` times."""
    fragments = [f"fragment F{n} on Query {{ ...F{n + 1} ...F{n + 1} }}" for n in range(levels)]
    last = f"fragment F{levels} on Query {{ hello }}"
    return " ".join(["{ ...F0 }", *fragments, last])


@pytest.mark.parametrize("levels", [16, 20, 40])
def test_doubling_fragments_are_refused_after_looking_at_each_once(levels: int) -> None:
    assert refusal(doubling(levels))[0] == "QUERY_TOO_LARGE"
    assert count_visits(doubling(levels)) == 2 * levels + 2


def test_the_walk_is_linear_in_the_document() -> None:
    assert [count_visits(doubling(n)) for n in (10, 20, 40, 80)] == [22, 42, 82, 162]
    wide = [count_visits("{" + " hello" * n + "}") for n in (100, 200, 400)]
    assert wide == [100, 200, 400]


def test_numbers_saturate_instead_of_growing() -> None:
    measure = only(doubling(12), Limits(fields=10**9)).measure
    assert measure.fields == 2**12
    endless = Limits(fields=10**10, fragments=100)
    assert only(doubling(60), endless).measure.fields == 10**9


def test_5000_skips_are_refused() -> None:
    document = "{ hello " + "@skip(if: false) " * 5_000 + "}"
    assert refusal(document) == ("QUERY_TOO_LARGE", "There are 5000 directives; the most is 50.")


def test_directives_count_wherever_they_stand() -> None:
    document = """
    query ($a: Int @a) @a { ...F @a ... @a { hello @a } }
    fragment F on Query @a { hello @a }
    """
    assert only(document).measure.directives == 7


def test_an_alias_bomb_is_refused() -> None:
    document = "{" + "".join(f" a{n}: hello" for n in range(31)) + "}"
    assert refusal(document) == ("QUERY_TOO_LARGE", "There are 31 aliases; the most is 30.")
    assert only(document.replace(" a30: hello", "")).measure.aliases == 30


def test_aliases_in_a_fragment_count_each_time_it_is_spread() -> None:
    document = "{ ...F ...F ...F } fragment F on Query {" + " a: hello" * 11 + "}"
    assert refusal(document) == ("QUERY_TOO_LARGE", "There are 33 aliases; the most is 30.")


def test_conflicting_fields_are_refused_before_they_are_compared() -> None:
    fields = " ".join(f"a: number(value: {n})" for n in range(1_500))
    document = DocumentCache(STRAWBERRY, LIMITS).get("{ " + fields + " }")
    assert [error["extensions"]["code"] for error in document.errors] == ["QUERY_TOO_LARGE"]
    assert refusal("{ " + fields + " }")[0] == "QUERY_TOO_LARGE"


def test_depth_counts_fields_and_not_fragments() -> None:
    document = """{ shelf { ...F } }
    fragment F on Shelf { ... on Shelf { books { nodes { title } } } }"""
    assert only(document).measure.depth == 4


def test_an_operation_may_be_twelve_fields_deep() -> None:
    def deep(levels: int) -> str:
        pairs = (levels - 2) // 3
        return "{ shelf " + "{ books { nodes { shelf " * pairs + "{ name }" + "}}}" * pairs + "}"

    assert only(deep(11)).measure.depth == 11
    assert refusal(deep(14)) == ("QUERY_TOO_DEEP", "The operation nests 14 fields; the most is 12.")


def test_long_chains_of_fragments_end_before_the_stack_does() -> None:
    fragments = [f"fragment F{n} on Query {{ ...F{n + 1} }}" for n in range(240)]
    document = " ".join(["{ ...F0 }", *fragments, "fragment F240 on Query { hello }"])
    assert refusal(document)[0] == "QUERY_TOO_LARGE"
    assert refusal(document, Limits(fragments=300))[0] == "QUERY_TOO_DEEP"


def test_fragments_in_a_circle_are_left_to_the_rule_about_them() -> None:
    document = "{ ...A } fragment A on Query { hello ...B } fragment B on Query { ...A }"
    assert only(document).measure.fields == 1
    errors = DocumentCache(STRAWBERRY, LIMITS).get(document).errors
    assert [error["extensions"]["code"] for error in errors] == ["GRAPHQL_VALIDATION_FAILED"]


def test_unused_fragments_are_held_to_the_limits_too() -> None:
    document = "{ hello } fragment F on Query { hello " + "@skip(if: true) " * 51 + "}"
    assert refusal(document)[0] == "QUERY_TOO_LARGE"


def test_unknown_names_are_measured_without_complaint() -> None:
    document = "{ nothing { at { all } } ...Gone ... on Nowhere { x } }"
    assert only(document).measure.fields == 4


def test_mutation_fields_at_the_root_are_counted_through_fragments() -> None:
    eleven = "mutation { ...F } fragment F on Mutation {" + ' write(text: "x")' * 11 + "}"
    assert refusal(eleven) == ("QUERY_TOO_LARGE", "There are 11 mutation fields; the most is 10.")
    only("mutation {" + ' write(text: "x")' * 10 + "}")


def test_ten_operations_are_enough() -> None:
    def several(count: int) -> str:
        return " ".join(f"query Q{n} {{ hello }}" for n in range(count))

    assert len(measure_operations(SCHEMA, parse(several(10)), LIMITS)) == 10
    assert refusal(several(11)) == ("QUERY_TOO_LARGE", "There are 11 operations; the most is 10.")


def test_the_whole_introspection_query_passes() -> None:
    query = get_introspection_query(
        descriptions=True,
        specified_by_url=True,
        directive_is_repeatable=True,
        schema_description=True,
        input_value_deprecation=True,
    ).replace("specifiedByURL", "specifiedByURL isOneOf")
    assert "includeDeprecated: true" in query
    assert "isOneOf" in query
    measure = only(query).measure
    assert measure.depth == 0
    assert measure.cost == 0
    assert only(query).introspects
    assert 10 < measure.introspection_depth <= LIMITS.introspection_depth
    assert measure.introspection_fields <= LIMITS.introspection_fields // 2
    assert DocumentCache(STRAWBERRY, LIMITS).get(query).errors == ()


def test_introspection_has_limits_of_its_own() -> None:
    deep = '{ __type(name: "A") { ' + "ofType { " * 20 + "name" + " }" * 20 + "} }"
    assert refusal(deep)[0] == "QUERY_TOO_DEEP"
    wide = "{ __schema { types { name " + "kind " * 500 + "} } }"
    assert refusal(wide)[0] == "QUERY_TOO_LARGE"


def test_asking_for_a_type_name_is_no_introspection() -> None:
    assert not only("{ __typename shelf { __typename } }").introspects


def test_held_values_cost_nothing() -> None:
    assert cost("{ hello __typename }") == 0


def test_an_object_read_costs_one_and_a_declared_price_counts() -> None:
    assert cost("{ shelf { name } }") == 1
    assert cost("{ shelf { scan } }") == 8


def test_a_list_costs_its_page() -> None:
    assert cost("{ shelves(first: 5) { nodes { title } } }") == 5
    assert cost("{ shelves(last: 7) { edges { node { title } } } }") == 7
    assert cost("{ shelves { nodes { title } } }") == 20


def test_lists_in_lists_multiply() -> None:
    inner = "shelf { books(first: 10) { nodes { title } } }"
    assert cost(f"{{ shelves(first: 5) {{ nodes {{ {inner} }} }} }}") == 5 * (1 + 1 + 10)


def test_a_total_is_read_once_for_each_list() -> None:
    assert cost("{ shelves(first: 50) { totalCount nodes { title } } }") == 51


def test_an_argument_list_multiplies_what_declares_it() -> None:
    assert cost('{ picked(ids: ["a", "b", "c"]) { name scan } }') == 3 * (1 + 7)
    document = "query ($ids: [ID!]!) { picked(ids: $ids) { name } }"
    assert cost(document, {"ids": ["a"] * 12}) == 12
    assert cost(document, {"ids": "one"}) == 1
    assert only(document).measure.cost == 100


def test_a_variable_decides_the_page_where_it_is_given() -> None:
    document = "query ($n: Int) { shelves(first: $n) { nodes { title } } }"
    assert only(document).measure.cost == 100
    assert cost(document, {"n": 3}) == 3
    assert cost(document, {"n": None}) == 20
    assert cost(document, {}) == 20
    assert cost(document.replace("Int", "Int = 40"), {}) == 40
    assert cost(document.replace("Int", "Int = 40"), {"n": 2}) == 2


@pytest.mark.parametrize(("given", "counted"), [(10**12, 100), (-5, 1), (0, 1), ("7", 1)])
def test_a_page_size_that_cannot_stand_is_bounded(given: object, counted: int) -> None:
    document = "query ($n: Int) { shelves(first: $n) { nodes { title } } }"
    assert cost(document, {"n": given}) == counted
    if isinstance(given, int):
        assert cost(document.replace("($n: Int)", "").replace("$n", str(given))) == counted


def test_each_operation_has_its_own_defaults() -> None:
    document = """
    query A($n: Int = 2) { ...F } query B($n: Int = 9) { ...F }
    fragment F on Query { shelves(first: $n) { nodes { title } } }
    """
    first, second = measure_operations(SCHEMA, parse(document), LIMITS)
    assert (first.cost({}), second.cost({})) == (2, 9)


def test_more_than_one_may_spend_is_refused() -> None:
    operation = only(
        "query ($n: Int!) { shelves(first: 100) { nodes { shelf { "
        "books(first: $n) { nodes { title } } } } } }"
    )
    assert check_cost(operation, {"n": 48}, LIMITS) == 100 * (2 + 48)
    with pytest.raises(GraphQLError) as caught:
        check_cost(operation, {"n": 49}, LIMITS)
    assert caught.value.extensions == {"code": "QUERY_TOO_COMPLEX"}
    assert caught.value.message == "The operation costs 5100; the most is 5000."


def test_costs_are_remembered_for_few_page_sizes() -> None:
    operation = only("query ($n: Int) { shelves(first: $n) { nodes { title } } }")
    for size in range(1, 101):
        assert operation.cost({"n": size}) == size
    assert len(operation._costs) <= 64


@pytest.mark.parametrize("count", [100, 200])
@pytest.mark.parametrize(
    ("variables", "field"),
    [
        ("", "executions(first: 1, states: [MANY]) { nodes { id } }"),
        ("($s: [ExecutionState!])", "executions(first: 1, states: $s) { nodes { id } }"),
        ("($s: [ExecutionState!] = [MANY])", "executions(first: 1, states: $s) { nodes { id } }"),
        ("", "...F }}} fragment F on Pipeline { executions(first: 1, states: [MANY]) {nodes { id"),
        ("", 'rows(first: 1, where: {output: "", in: [MANY]}) { nodes { key } }'),
        ("($s: [JSON!])", 'rows(first: 1, where: {output: "", in: $s}) { nodes { key } }'),
    ],
)
def test_lists_and_inputs_of_a_field_are_paid_for_each_object_that_has_it(
    variables: str, field: str, count: int
) -> None:
    document = f"query{variables} {{ pipelines(first: 10) {{ nodes {{ {field} }} }} }}"
    ast = parse(document.replace("MANY", "FAILED " * count))
    (operation,) = measure_operations(core_schema(schema), ast, LIMITS)
    given = {} if "MANY" in document else {"s": ["FAILED"] * count}
    assert operation.cost(given) == 10 * (1 + 1 + count // 10)


@pytest.mark.parametrize(
    "field",
    [
        'versionLabelled(label: "LONG") { id }',
        "versionLabelled(label: $s) { id }",
        'executionTagValues(key: "t", parent: $s, first: 1) { nodes { value } }',
        'rows(where: [{ output: "LONG" }], first: 1) { nodes { id } }',
        "executions(after: $s, first: 1) { nodes { id } }",
    ],
)
def test_long_texts_of_a_field_are_paid_for_each_object_that_has_it(field: str) -> None:
    def price(length: int) -> int:
        declared = "($s: String!)" if "$s" in field else ""
        document = f"query{declared} {{ pipelines(first: 10) {{ nodes {{ {field} }} }} }}"
        ast = parse(document.replace("LONG", "x" * length))
        (operation,) = measure_operations(core_schema(schema), ast, LIMITS)
        return operation.cost({"s": "x" * length})

    assert price(100) == 10 * (1 + 1)
    assert price(40_000) == 10 * (1 + 1 + 40_000 // (TEXT_CHARACTERS * VARIABLE_VALUES))


def test_arguments_of_a_root_field_are_paid_with_the_document_and_the_variables() -> None:
    document = "query($t: TagFilter) { pipelines(first: 10, tags: $t) { nodes { id } } }"
    (operation,) = measure_operations(core_schema(schema), parse(document), LIMITS)
    assert operation.cost({"t": {"any": [{"key": "a", "value": "b"}] * 100}}) == 10


def test_the_operation_must_be_known() -> None:
    two = measure_operations(SCHEMA, parse("query A { hello } query B { hello }"), LIMITS)
    assert choose_operation(two, "B") is two[1]
    one = measure_operations(SCHEMA, parse("query A { hello }"), LIMITS)
    assert choose_operation(one, None) is one[0]
    for operations, name in ((two, None), (two, "C"), (one, "C"), ((), None), ((), "A")):
        with pytest.raises(GraphQLError) as caught:
            choose_operation(operations, name)
        assert caught.value.extensions == {"code": "OPERATION_RESOLUTION_FAILURE"}
