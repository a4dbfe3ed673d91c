"""Conditions, updates and ranges as DynamoDB's expressions."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.dynamodb.expressions import (
    Aliases,
    condition_expression,
    key_expression,
    update_expression,
)
from penstock.datastore.dynamodb.wire import decode
from penstock.datastore.table.port import (
    AllOf,
    AnyOf,
    Compare,
    Condition,
    Exists,
    Key,
    Missing,
    Range,
    Update,
)

KEY = Key("P:1", "PV:latest")


def write_condition(names: dict[str, str], values: dict[str, object]) -> dict[str, object]:
    arguments: dict[str, object] = {}
    if names:
        arguments["ExpressionAttributeNames"] = names
    if values:
        arguments["ExpressionAttributeValues"] = values
    return arguments


@pytest.mark.parametrize(
    ("condition", "expression", "names", "values"),
    [
        (Exists(), "attribute_exists(#0)", {"#0": "pk"}, {}),
        (Missing("gone"), "attribute_not_exists(#0)", {"#0": "gone"}, {}),
        (Compare("version", "=", 3), "#0 = :0", {"#0": "version"}, {":0": {"N": "3"}}),
        (Compare("size", ">=", Decimal("1.5")), "#0 >= :0", {"#0": "size"}, {":0": {"N": "1.5"}}),
        (Compare("on", "=", True), "#0 = :0", {"#0": "on"}, {":0": {"BOOL": True}}),
        (
            Compare("state", "<>", "frozen"),
            "(attribute_exists(#0) AND #0 <> :0)",
            {"#0": "state"},
            {":0": {"S": "frozen"}},
        ),
        (
            AllOf((Exists("a"), AnyOf((Compare("a", "<", 1), Compare("b", ">", 1))))),
            "(attribute_exists(#0) AND (#0 < :0 OR #1 > :1))",
            {"#0": "a", "#1": "b"},
            {":0": {"N": "1"}, ":1": {"N": "1"}},
        ),
        # DynamoDB refuses parentheses around what has some already.
        (
            AnyOf((AllOf((Exists("a"), AnyOf((Missing("b"),)))),)),
            "(attribute_exists(#0) AND attribute_not_exists(#1))",
            {"#0": "a", "#1": "b"},
            {},
        ),
    ],
)
def test_a_condition_is_written_with_aliases(
    condition: Condition, expression: str, names: dict[str, str], values: dict[str, object]
) -> None:
    aliases = Aliases()
    assert condition_expression(condition, aliases) == expression
    assert aliases.arguments() == write_condition(names, values)


@pytest.mark.parametrize("empty", [AllOf(()), AnyOf(())])
def test_a_condition_of_no_conditions_cannot_be_written(empty: Condition) -> None:
    with pytest.raises(ValueError, match="no conditions"):
        condition_expression(empty, Aliases())


@pytest.mark.parametrize(
    ("update", "expression", "names", "values"),
    [
        (Update(key=KEY, set={"a": "x"}), "SET #0 = :0", {"#0": "a"}, {":0": {"S": "x"}}),
        (Update(key=KEY, add={"n": -1}), "ADD #0 :0", {"#0": "n"}, {":0": {"N": "-1"}}),
        (Update(key=KEY, remove=("a", "b")), "REMOVE #0, #1", {"#0": "a", "#1": "b"}, {}),
        (
            Update(key=KEY, set={"a": 1}, default={"b": 2}, add={"c": 3}, remove=("d",)),
            "SET #0 = :0, #1 = if_not_exists(#1, :1) ADD #2 :2 REMOVE #3",
            {"#0": "a", "#1": "b", "#2": "c", "#3": "d"},
            {":0": {"N": "1"}, ":1": {"N": "2"}, ":2": {"N": "3"}},
        ),
    ],
)
def test_an_update_is_written_with_aliases(
    update: Update, expression: str, names: dict[str, str], values: dict[str, object]
) -> None:
    aliases = Aliases()
    assert update_expression(update, aliases) == expression
    assert aliases.arguments() == write_condition(names, values)


def test_an_update_that_changes_nothing_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="changes nothing"):
        update_expression(Update(key=KEY), Aliases())


def test_update_and_condition_of_one_operation_share_their_aliases() -> None:
    aliases = Aliases()
    update_expression(Update(key=KEY, set={"version": 4}), aliases)
    assert condition_expression(Compare("version", "=", 3), aliases) == "#0 = :1"


@pytest.mark.parametrize(
    ("keys", "condition", "bounds"),
    [
        (Range(), "", []),
        (Range("a:"), " AND begins_with(#1, :1)", ["a:"]),
        (Range("a:", low="a:3"), " AND #1 BETWEEN :1 AND :2", ["a:3", "a:\U0010ffff"]),
        (Range("a:", high="a:3"), " AND #1 BETWEEN :1 AND :2", ["a:", "a:3"]),
        (Range("a:", "a:1", "a:3"), " AND #1 BETWEEN :1 AND :2", ["a:1", "a:3"]),
        (Range(low="a"), " AND #1 >= :1", ["a"]),
        (Range(high="b"), " AND #1 <= :1", ["b"]),
        (Range(low="a", high="b"), " AND #1 BETWEEN :1 AND :2", ["a", "b"]),
    ],
)
def test_a_range_is_one_condition_on_the_sort_key(
    keys: Range, condition: str, bounds: list[str]
) -> None:
    aliases = Aliases()
    assert key_expression("pk", "P:1", "sk", keys, aliases) == f"#0 = :0{condition}"
    values = aliases.arguments()["ExpressionAttributeValues"]
    assert [decode(value) for value in values.values()] == ["P:1", *bounds]


@given(
    st.integers(0, 6),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\U0010ffff"), max_size=3),
)
def test_a_lower_bound_leaves_out_no_key_of_its_prefix(room: int, rest: str) -> None:
    prefix = "p" * (1024 - room)
    key = prefix + rest
    if len(key.encode()) > 1024:
        key = prefix
    aliases = Aliases()
    key_expression("pk", "x", "sk", Range(prefix, low=prefix), aliases)
    *_, low, high = aliases.arguments()["ExpressionAttributeValues"].values()
    assert low["S"].encode() <= key.encode() <= high["S"].encode()
    assert len(high["S"].encode()) <= 1024
