"""Conditions and operations on one item, evaluated as DynamoDB evaluates them."""

import operator
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from typing import Any

from penstock.datastore.table.limits import guard_number
from penstock.datastore.table.port import (
    AllOf,
    AnyOf,
    Check,
    Compare,
    Condition,
    Delete,
    Exists,
    Item,
    Missing,
    Operation,
    Put,
    Update,
    Value,
)

# Numbers range from 1E-130 to 9.99E+125: with 260 digits, no sum is ever rounded.
_EXACT = Context(prec=260)

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def condition_holds(condition: Condition, item: Item | None) -> bool:
    """Evaluate the condition for the item under a key; None means that there is no item."""
    match condition:
        case Exists(attribute):
            return item is not None and attribute in item
        case Missing(attribute):
            return item is None or attribute not in item
        case Compare():
            return item is not None and _comparison_holds(condition, item)
        case AllOf(conditions):
            return all(condition_holds(each, item) for each in conditions)
        case AnyOf(conditions):
            return any(condition_holds(each, item) for each in conditions)


def apply_operation(operation: Operation, item: Item | None) -> Item | None:
    """Apply the operation to an item and return the new item; None means no item.

    Raises TypeError for an addition to a value that is not a number.
    """
    match operation:
        case Put(new):
            return new
        case Delete():
            return None
        case Check():
            return item
        case Update():
            return _apply_update(operation, item)


def _comparison_holds(compare: Compare, item: Item) -> bool:
    """Compare as DynamoDB does: values of two types are unequal, and neither comes first."""
    if compare.attribute not in item:
        return False
    found, wanted = item[compare.attribute], compare.value
    if _dynamodb_type(found) is not _dynamodb_type(wanted):
        return compare.operator == "<>"
    # Text compares by code point, whose order is that of UTF-8.
    return _COMPARISONS[compare.operator](found, wanted)


def _dynamodb_type(value: Value) -> type:
    """The DynamoDB type: integers and decimals are both numbers, and truth values are not."""
    return Decimal if isinstance(value, int) and not isinstance(value, bool) else type(value)


def _apply_update(update: Update, item: Item | None) -> Item:
    old = {"pk": update.key.pk, "sk": update.key.sk} if item is None else item
    sums = {name: _add_numbers(old.get(name, 0), amount) for name, amount in update.add.items()}
    new = {**update.default, **old, **update.set, **sums}
    return {name: value for name, value in new.items() if name not in update.remove}


def _add_numbers(value: Value, amount: int | Decimal) -> int | Decimal:
    number = guard_number(value)
    if isinstance(number, int) and isinstance(amount, int):
        return number + amount
    return _EXACT.add(Decimal(number), Decimal(amount))
