"""Every table evaluates conditions in the same way: each kind, operator and pair of types."""

from decimal import Decimal
from typing import Literal

import pytest

from penstock.datastore.table.port import (
    AllOf,
    AnyOf,
    Check,
    Compare,
    Condition,
    ConditionFailed,
    Exists,
    Key,
    Missing,
    Put,
    Table,
)
from tests.datastore.table.sample_items import item, moto_deviates, store

OPERATORS: tuple[Literal["=", "<>", "<", "<=", ">", ">="], ...] = ("=", "<>", "<", "<=", ">", ">=")
PRESENT = item(
    "p",
    "present",
    number=5,
    part=Decimal("0.5"),
    text="m",
    digits="5",
    yes=True,
    no=False,
    null=None,
    list=[5],
    map={"a": 1},
    wide="\U0001f600",
)
NEVER = [False] * 6
NO, YES = Compare("text", "=", "other"), Compare("text", "=", "m")


async def holding(table: Table, conditions: list[Condition], sk: str = "present") -> list[bool]:
    """Tell for each condition whether it holds for the item, or for none under the other key."""
    await store(table, [PRESENT])
    outcomes = []
    for condition in conditions:
        try:
            await table.transact([Check(Key("p", sk), condition)])
            outcomes.append(True)
        except ConditionFailed:
            outcomes.append(False)
    return outcomes


def compare_case(attribute: str, value: int | Decimal | str | bool) -> list[Condition]:
    return [Compare(attribute, each, value) for each in OPERATORS]


EQUAL = [True, False, False, True, False, True]
LESS = [False, True, True, True, False, False]
GREATER = [False, True, False, False, True, True]
COMPARISONS: tuple[tuple[str, int | Decimal | str, list[bool]], ...] = (
    ("number", 5, EQUAL),
    ("number", Decimal("5.0"), EQUAL),
    ("number", 10, LESS),
    ("number", -10, GREATER),
    ("number", Decimal("5.00000000000000000000000000000000001"), LESS),
    ("part", Decimal("0.5"), EQUAL),
    ("part", 0, GREATER),
    ("text", "m", EQUAL),
    ("text", "n", LESS),
    ("text", "M", GREATER),
    ("text", "", GREATER),
    ("text", "ma", LESS),
    ("wide", "\uff5e", GREATER),
)
STRANGERS: tuple[tuple[str, int | Decimal | str], ...] = (
    ("number", "5"),
    ("digits", 5),
    ("no", ""),
    ("null", 0),
    ("null", ""),
    ("list", 5),
    ("map", "a"),
)


async def test_an_attribute_compares_with_a_value_of_its_type(table: Table) -> None:
    for attribute, value, outcomes in COMPARISONS:
        found = await holding(table, compare_case(attribute, value))
        assert (attribute, value, found) == (attribute, value, outcomes)


async def test_values_of_two_types_are_unequal(table: Table) -> None:
    for attribute, value in STRANGERS:
        pair: list[Condition] = [Compare(attribute, "=", value), Compare(attribute, "<>", value)]
        found = await holding(table, pair)
        assert (attribute, value, found) == (attribute, value, [False, True])


@moto_deviates("it raises TypeError where it should say no")
async def test_values_of_two_types_have_no_order(table: Table) -> None:
    for attribute, value in (*STRANGERS, ("yes", 1)):
        found = await holding(table, compare_case(attribute, value)[2:])
        assert (attribute, value, found) == (attribute, value, [False] * 4)


async def test_an_attribute_that_is_missing_compares_with_nothing(table: Table) -> None:
    assert await holding(table, compare_case("missing", 5)) == NEVER
    assert await holding(table, compare_case("missing", "")) == NEVER
    assert await holding(table, compare_case("number", 5), "absent") == NEVER


@moto_deviates("to it, true is 1")
async def test_truth_values_are_no_numbers(table: Table) -> None:
    conditions: list[Condition] = [
        Compare("yes", "=", 1),
        Compare("yes", "<>", 1),
        Compare("no", "=", 0),
        Compare("no", "<>", 0),
    ]

    assert await holding(table, conditions) == [False, True, False, True]


async def test_truth_values_are_equal_or_not(table: Table) -> None:
    conditions: list[Condition] = [
        Compare("yes", "=", True),
        Compare("yes", "=", False),
        Compare("yes", "<>", True),
        Compare("no", "<>", True),
        Compare("number", "=", True),
        Compare("number", "<>", True),
        Compare("missing", "<>", True),
    ]

    assert await holding(table, conditions) == [True, False, False, True, False, True, False]


async def test_attributes_and_items_exist_or_are_missing(table: Table) -> None:
    conditions: list[Condition] = [
        Exists(),
        Missing(),
        Exists("text"),
        Missing("text"),
        Exists("null"),
        Missing("null"),
        Exists("other"),
        Missing("other"),
    ]

    present = [True, False, True, False, True, False, False, True]
    assert await holding(table, conditions) == present
    assert await holding(table, conditions, "absent") == [False, True] * 4


async def test_conditions_are_joined_by_all_and_any_and_nested(table: Table) -> None:
    conditions: list[Condition] = [
        AllOf((YES,)),
        AllOf((NO,)),
        AllOf((YES, YES)),
        AllOf((YES, NO)),
        AnyOf((NO,)),
        AnyOf((NO, YES)),
        AnyOf((NO, NO)),
        AllOf((AnyOf((NO, YES)), AnyOf((YES, NO)))),
        AnyOf((AllOf((NO, YES)), AllOf((YES, NO)))),
        AnyOf((AllOf((YES, NO)), YES)),
        AllOf((AnyOf((YES, YES)), NO)),
        AnyOf((AllOf((YES, YES)),)),
    ]

    assert await holding(table, conditions) == [
        True,
        False,
        True,
        False,
        False,
        True,
        False,
        True,
        False,
        True,
        False,
        True,
    ]


async def test_conditions_that_mean_nothing_are_refused(table: Table) -> None:
    for condition in (
        AllOf(()),
        AnyOf(()),
        AnyOf((YES, AllOf(()))),
        Compare("yes", "<", True),
        Compare("yes", ">=", False),
    ):
        with pytest.raises(ValueError, match=r"says nothing|no order"):
            await table.transact([Put(item("p", "s"), condition)])

    assert (await table.get([Key("p", "s")])).items == {}
