"""Items in memory that transactions change one after another, and every serial order of some."""

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import TypeAlias

from penstock.datastore.table.conditions import apply_operation, condition_holds
from penstock.datastore.table.limits import refused_units
from penstock.datastore.table.port import ConditionFailed, FailedCheck, Item, Key, Operation

Items: TypeAlias = dict[Key, Item]
Failure: TypeAlias = tuple[FailedCheck, ...]


def apply_transaction(items: Items, operations: Sequence[Operation]) -> Failure:
    """Do all operations or none; return the failed conditions, none of a success."""
    failed = tuple(
        FailedCheck(position, items.get(each.key))
        for position, each in enumerate(operations)
        if each.condition is not None and not condition_holds(each.condition, items.get(each.key))
    )
    for each in () if failed else operations:
        changed = apply_operation(each, items.get(each.key))
        items.pop(each.key, None)
        if changed is not None:
            items[each.key] = changed
    return failed


def serial_outcomes(
    items: Items, transactions: Sequence[Sequence[Operation]]
) -> Iterator[tuple[list[Failure], Items]]:
    """Yield what each order of the transactions, one by one, tells each of them and leaves."""
    for order in permutations(range(len(transactions))):
        left, failures = dict(items), [Failure()] * len(transactions)
        for number in order:
            failures[number] = apply_transaction(left, transactions[number])
        yield failures, left


def require_success(operations: Sequence[Operation], failed: Failure) -> None:
    if failed:
        raise ConditionFailed(failed, refused_units(len(operations), failed))
