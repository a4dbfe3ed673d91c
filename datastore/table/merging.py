"""Transactions merged into one: their operations side by side, and those on one item as one.

A merged transaction succeeds only if its members would, one after the other in their order, and
leaves the same items. If it is refused, each member learns which of its own conditions failed.

A copy is a member that is equal to one before it and would be refused right behind it, as two that
both put an item that must be missing. It is not sent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from penstock.datastore.table import limits
from penstock.datastore.table.conditions import condition_holds
from penstock.datastore.table.port import (
    AllOf,
    AnyOf,
    Check,
    Compare,
    Condition,
    Exists,
    FailedCheck,
    Key,
    Missing,
    Operation,
    Put,
    Update,
)

MERGED_CONDITIONS: Final = 16
"""The most conditions that one merged operation joins: DynamoDB bounds an expression's length."""

ConditionBefore: TypeAlias = Condition | bool
"""A condition on an item before a change; a truth value if the change decides it."""

_KEY_NAMES: Final = frozenset(Key._fields)


def merge_operations(first: Operation, then: Operation) -> Operation | None:
    """The operation that does `first` and then `then` on one item; None if there is none.

    Its condition holds only if both conditions would hold in this order, but it may be stricter.
    """
    if not isinstance(first, Check | Update) or not isinstance(then, Check | Update):
        return None
    before: ConditionBefore = then.condition or True
    if isinstance(first, Update) and then.condition is not None:
        before = condition_before(then.condition, first)
    conditions = _conjuncts(first.condition or True, before)
    if before is False or len(conditions) > MERGED_CONDITIONS:
        return None
    return _merge_changes(first, then, _all_of(conditions))


def _merge_changes(
    first: Check | Update, then: Check | Update, condition: Condition | None
) -> Check | Update | None:
    if isinstance(first, Update) and isinstance(then, Update):
        both = _merge_updates(first, then)
        return None if both is None else replace(both, condition=condition)
    for change in (first, then):
        if isinstance(change, Update):
            return replace(change, condition=condition)
    return None if condition is None else Check(first.key, condition)


def condition_before(condition: Condition, update: Update) -> ConditionBefore:
    """A condition on the item before the update that implies `condition` on the item after it."""
    match condition:
        case AllOf(parts):
            found = [condition_before(each, update) for each in parts]
            kept = [each for each in found if not isinstance(each, bool)]
            return False not in found and (not kept or AllOf(tuple(kept)))
        case AnyOf(parts):
            found = [condition_before(each, update) for each in parts]
            kept = [each for each in found if not isinstance(each, bool)]
            return True in found or (bool(kept) and AnyOf(tuple(kept)))
        case _:
            return _test_before(condition, update)


def _test_before(test: Exists | Missing | Compare, update: Update) -> ConditionBefore:
    name = test.attribute
    if name in update.set:
        return condition_holds(test, {name: update.set[name]})
    if name in update.remove:
        return condition_holds(test, {})
    if isinstance(test, Compare) and name in update.add:
        return _compare_before_addition(test, update.add[name])
    if isinstance(test, Missing) and name in {*_KEY_NAMES, *update.default, *update.add}:
        return False
    # A default leaves an attribute alone that is there, as the test demands.
    return test


def _compare_before_addition(compare: Compare, amount: object) -> ConditionBefore:
    value = compare.value
    if type(value) is not int or type(amount) is not int:
        return False
    return replace(compare, value=value - amount)


def _conjuncts(*conditions: ConditionBefore) -> tuple[Condition, ...]:
    """The distinct conditions that must all hold."""
    # By their text: True and 1 are equal in Python, but not in DynamoDB.
    found: dict[str, Condition] = {}
    for condition in conditions:
        if isinstance(condition, AllOf):
            found |= {repr(each): each for each in _conjuncts(*condition.conditions)}
        elif not isinstance(condition, bool):
            found[repr(condition)] = condition
    return tuple(found.values())


def _all_of(conditions: tuple[Condition, ...]) -> Condition | None:
    return AllOf(conditions) if len(conditions) > 1 else next(iter(conditions), None)


def _merge_updates(first: Update, then: Update) -> Update | None:
    """The update that does both, without a condition; None where their kinds of change differ."""
    assigned = {*first.set, *first.default}, {*then.set, *then.default}
    added, removed = ({*first.add}, {*then.add}), ({*first.remove}, {*then.remove})
    kinds = [one | other for one, other in (assigned, added, removed)]
    if len(set().union(*kinds)) < sum(map(len, kinds)) or not _are_whole(first, then):
        return None
    setting = {**first.set, **then.set}
    defaults = {**then.default, **first.default}
    return Update(
        key=first.key,
        set=setting,
        default={name: value for name, value in defaults.items() if name not in setting},
        add={
            name: first.add.get(name, 0) + then.add.get(name, 0)
            for name in {**first.add, **then.add}
        },
        remove=tuple(dict.fromkeys((*first.remove, *then.remove))),
    )


def _are_whole(first: Update, then: Update) -> bool:
    """Whether the amounts that are summed are integers, whose sums are exact."""
    return all(
        type(update.add[name]) is int
        for name in first.add.keys() & then.add.keys()
        for update in (first, then)
    )


class MemberTransaction(NamedTuple):
    """One transaction, and the bytes that each of its operations sends."""

    operations: Sequence[Operation]
    sizes: Sequence[int]

    @property
    def by_key(self) -> dict[Key, tuple[int, Operation]]:
        """Each operation with its position."""
        return {each.key: (number, each) for number, each in enumerate(self.operations)}


class _Copy(NamedTuple):
    """A member that is refused behind an equal one, the `original`, once that has succeeded."""

    original: int
    failed: tuple[FailedCheck, ...]


class MergedTransaction:
    """Members in their order, and the operations that do them all; it begins with one member."""

    def __init__(self, first: MemberTransaction) -> None:
        self.members = [first]
        self._operations = {each.key: each for each in first.operations}
        self._sizes = {
            each.key: size for each, size in zip(first.operations, first.sizes, strict=True)
        }
        self._owners = {key: [0] for key in self._operations}
        self._rewritten: set[int] = set()
        self._copies: dict[int, _Copy] = {}

    @property
    def operations(self) -> list[Operation]:
        return [*self._operations.values()]

    @property
    def sizes(self) -> list[int]:
        """The bytes that each operation sends, at most."""
        return [*self._sizes.values()]

    def add_member(self, member: MemberTransaction) -> bool:
        """Add a member behind the others if one transaction can do them all."""
        changed: dict[Key, Operation] = {}
        sizes: dict[Key, int] = {}
        rewritten = False
        for operation, size in zip(member.operations, member.sizes, strict=True):
            key = operation.key
            standing = self._operations.get(key)
            merged = operation if standing is None else merge_operations(standing, operation)
            if merged is None:
                return self._add_copy(member)
            changed[key], sizes[key] = merged, size
            if standing is not None:
                sizes[key] = _merged_size(standing, self._sizes[key], operation, size)
                rewritten = rewritten or not _keeps_condition(merged, operation)
        if not self._fits(sizes):
            return False
        self._add_changes(changed, sizes, rewritten=rewritten)
        self.members.append(member)
        return True

    def _add_copy(self, member: MemberTransaction) -> bool:
        """Add a member that is refused behind an equal one, and so needs not be sent."""
        for number, other in enumerate(self.members):
            if number not in self._copies and _are_equal(other, member):
                failed = _failures_behind_equal(member.operations)
                if failed:
                    self._copies[len(self.members)] = _Copy(number, failed)
                    self.members.append(member)
                return bool(failed)
        return False

    def _add_changes(
        self, changed: dict[Key, Operation], sizes: dict[Key, int], *, rewritten: bool
    ) -> None:
        number = len(self.members)
        if rewritten:
            self._rewritten.add(number)
        self._operations |= changed
        self._sizes |= sizes
        for key in changed:
            self._owners.setdefault(key, []).append(number)

    def refused_members(self, failed: Iterable[FailedCheck]) -> dict[int, tuple[FailedCheck, ...]]:
        """The failed conditions of each member that has any, by its number.

        Members that met only the conditions of others are left out.
        """
        keys = [*self._operations]
        found: dict[int, list[FailedCheck]] = {}
        for check in failed:
            owners = self._owners[keys[check.position]]
            for number in owners:
                position, own = self.members[number].by_key[keys[check.position]]
                if own.condition is None:
                    continue
                if len(owners) == 1 or not condition_holds(own.condition, check.item):
                    found.setdefault(number, []).append(FailedCheck(position, check.item))
        refused = {number: tuple(sorted(each, key=_position)) for number, each in found.items()}
        copies = {
            number: refused[copy.original]
            for number, copy in self._copies.items()
            if copy.original in refused
        }
        return refused | copies

    def refusal_of_copy(self, number: int) -> tuple[FailedCheck, ...]:
        """The failed conditions of a copy after a success; empty for all other members."""
        copy = self._copies.get(number)
        return () if copy is None else copy.failed

    def has_own_conditions(self, number: int) -> bool:
        """Whether the merged transaction evaluates the member's conditions as they are."""
        copy = self._copies.get(number)
        return (number if copy is None else copy.original) not in self._rewritten

    def share_units(self, units: Sequence[float]) -> list[float]:
        """The units of each member, of the `units` of the merged operations, in equal parts."""
        shares = [0.0] * len(self.members)
        for owners, each in zip(self._owners.values(), units, strict=True):
            for number in owners:
                shares[number] += each / len(owners)
        return shares

    def _fits(self, sizes: dict[Key, int]) -> bool:
        merged = self._sizes | sizes
        return (
            len(merged) <= limits.TRANSACTION_OPERATIONS
            and sum(merged.values()) <= limits.TRANSACTION_BYTES
        )


def _are_equal(one: MemberTransaction, other: MemberTransaction) -> bool:
    if [*one.operations] != [*other.operations]:
        return False
    # By their text: True and 1 are equal in Python, but not in DynamoDB.
    return repr([*one.operations]) == repr([*other.operations])


def _failures_behind_equal(operations: Sequence[Operation]) -> tuple[FailedCheck, ...]:
    """The conditions that fail for a transaction right behind an equal one that succeeded.

    Empty if none fails, or if the operations do not tell which.
    """
    failed: list[FailedCheck] = []
    for position, operation in enumerate(operations):
        if operation.condition is None:
            continue
        if isinstance(operation, Put):
            if not condition_holds(operation.condition, operation.item):
                failed.append(FailedCheck(position, operation.item))
        elif not all(_holds_again(each, operation) for each in _conjuncts(operation.condition)):
            return ()
    return tuple(failed)


def _holds_again(condition: Condition, operation: Operation) -> bool:
    """Whether a condition that held before the operation surely holds behind it."""
    if isinstance(operation, Check):
        return True
    if not isinstance(operation, Update):
        return False
    match condition:
        case Exists(name):
            return name not in operation.remove
        case Missing(name) | Compare(name):
            return name not in {*_KEY_NAMES, *_changed_names(operation)}
        case _:
            return False


def _merged_size(first: Operation, first_size: int, then: Operation, then_size: int) -> int:
    """The bytes that both send as one operation, at most."""
    if _changed_names(then) <= _changed_names(first):
        return max(first_size, then_size)
    return first_size + then_size


def _changed_names(operation: Operation) -> set[str]:
    if not isinstance(operation, Update):
        return set()
    return {*operation.set, *operation.default, *operation.add, *operation.remove}


def _position(check: FailedCheck) -> int:
    return check.position


def _keeps_condition(merged: Operation, own: Operation) -> bool:
    """Whether the merged operation demands what the member's own does, in the same words."""
    if own.condition is None:
        return True
    demanded = {*map(repr, _conjuncts(merged.condition or True))}
    return demanded.issuperset(map(repr, _conjuncts(own.condition)))
