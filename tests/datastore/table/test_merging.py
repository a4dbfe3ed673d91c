"""Operations on one item as one: it holds if both would, and leaves what both would."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastore.table.conditions import apply_operation, condition_holds
from penstock.datastore.table.limits import guard_transact
from penstock.datastore.table.merging import (
    MERGED_CONDITIONS,
    MemberTransaction,
    MergedTransaction,
    condition_before,
    merge_operations,
)
from penstock.datastore.table.port import (
    AllOf,
    AnyOf,
    Check,
    Compare,
    Condition,
    Delete,
    Exists,
    FailedCheck,
    Item,
    Key,
    Missing,
    Operation,
    Put,
    Update,
)
from tests.datastore.table.random_operations import (
    CONDITIONS,
    KEYS,
    items_of,
    operations_of,
    updates_of,
)

KEY = KEYS[0]
OPEN = AllOf((Exists(), Missing("closed")))
ADD = Update(key=KEY, add={"n": 1}, default={"label": "x"}, condition=OPEN)
STANDING = st.none() | items_of(KEY)


def holds(operation: Operation, item: Item | None) -> bool:
    return operation.condition is None or condition_holds(operation.condition, item)


def member(*operations: Operation) -> MemberTransaction:
    return MemberTransaction(operations, guard_transact(operations))


@settings(max_examples=300)
@given(operations_of(KEY), operations_of(KEY), STANDING)
def test_a_merged_operation_does_both_or_would_be_refused(
    first: Operation, then: Operation, item: Item | None
) -> None:
    merged = merge_operations(first, then)
    if merged is None or not holds(merged, item):
        return
    between = apply_operation(first, item)
    assert holds(first, item)
    assert holds(then, between)
    assert apply_operation(merged, item) == apply_operation(then, between)


@settings(max_examples=300)
@given(updates_of(KEY), st.sampled_from(CONDITIONS), STANDING)
def test_the_condition_before_an_update_implies_the_one_behind_it(
    update: Update, condition: Condition, item: Item | None
) -> None:
    before = condition_before(condition, update)
    if before is True or (before is not False and condition_holds(before, item)):
        assert condition_holds(condition, apply_operation(update, item))


def test_additions_with_one_condition_are_one_addition() -> None:
    assert merge_operations(ADD, ADD) == Update(
        key=KEY, add={"n": 2}, default={"label": "x"}, condition=OPEN
    )


def test_the_first_default_and_the_last_set_value_stay() -> None:
    first = Update(key=KEY, default={"a": 1, "b": 1}, set={"c": 1, "d": 1})
    then = Update(key=KEY, default={"a": 2, "c": 2}, set={"b": 2, "d": 2})
    assert merge_operations(first, then) == Update(
        key=KEY, default={"a": 1}, set={"c": 1, "b": 2, "d": 2}
    )


def test_conditions_of_both_are_demanded_once_each() -> None:
    check = Check(KEY, AllOf((Exists(), Compare("state", "=", "ENABLED"))))
    assert merge_operations(check, check) == check
    conditions = (Exists(), Compare("state", "=", "ENABLED"), Missing("closed"))
    assert merge_operations(check, ADD) == Update(
        key=KEY, add={"n": 1}, default={"label": "x"}, condition=AllOf(conditions)
    )


def test_true_and_one_are_two_conditions() -> None:
    one, true = Check(KEY, Compare("a", "=", 1)), Check(KEY, Compare("a", "=", True))
    assert merge_operations(one, true) == Check(
        KEY, AllOf((Compare("a", "=", 1), Compare("a", "=", True)))
    )


def test_a_counter_that_is_lowered_twice_must_hold_enough_for_both() -> None:
    lowered = Update(key=KEY, add={"count": -1}, condition=Compare("count", ">", 1))
    assert merge_operations(lowered, lowered) == Update(
        key=KEY,
        add={"count": -2},
        condition=AllOf((Compare("count", ">", 1), Compare("count", ">", 2))),
    )


def test_what_the_first_sets_decides_the_condition_of_the_second() -> None:
    def reserve(moment: str) -> Update:
        free = AnyOf((Missing("last"), Compare("last", "<", moment)))
        return Update(key=KEY, set={"last": moment}, add={"count": 1}, condition=free)

    merged = merge_operations(reserve("1"), reserve("2"))
    assert merged == Update(
        key=KEY, set={"last": "2"}, add={"count": 2}, condition=reserve("1").condition
    )
    assert merge_operations(reserve("2"), reserve("1")) is None


def test_other_writes_of_one_item_are_not_merged() -> None:
    put = Put({**KEY._asdict(), "n": 1})
    created = Update(key=KEY, add={"n": 1}, condition=Missing())
    pairs: list[tuple[Operation, Operation]] = [
        (put, put),
        (put, ADD),
        (ADD, put),
        (ADD, Delete(KEY)),
        (created, created),
        (ADD, Update(key=KEY, set={"n": 1})),
        (Update(key=KEY, remove=("n",)), ADD),
        (ADD, Update(key=KEY, remove=("label",))),
    ]
    for first, then in pairs:
        assert merge_operations(first, then) is None


def test_a_merged_condition_has_a_bounded_length() -> None:
    def check(number: int) -> Check:
        return Check(KEY, Compare(f"a{number}", "=", number))

    merged: Operation | None = check(0)
    for number in range(1, MERGED_CONDITIONS):
        assert merged is not None
        merged = merge_operations(merged, check(number))
    assert merged is not None
    assert merge_operations(merged, check(MERGED_CONDITIONS)) is None


def test_a_refusal_is_told_to_the_members_whose_own_conditions_failed() -> None:
    version = Compare("version", "=", 1)
    taken = Put({"pk": "B", "sk": "1"}, Missing())
    merged = MergedTransaction(member(ADD))
    assert merged.add_member(member(taken, Update(key=KEY, add={"n": 1}, condition=version)))
    assert merged.add_member(member(Put({"pk": "C", "sk": "1"}, Missing()), ADD))
    standing: Item = {**KEY._asdict(), "version": 2}
    other: Item = {"pk": "B", "sk": "1"}
    assert merged.refused_members([FailedCheck(0, standing)]) == {1: (FailedCheck(1, standing),)}
    both = [FailedCheck(0, standing), FailedCheck(1, other)]
    assert merged.refused_members(both) == {1: (FailedCheck(0, other), FailedCheck(1, standing))}
    assert merged.refused_members([FailedCheck(0, None)]) == {
        0: (FailedCheck(0, None),),
        1: (FailedCheck(1, None),),
        2: (FailedCheck(1, None),),
    }


def test_a_member_that_does_not_fit_changes_nothing() -> None:
    puts = [Put({"pk": "C", "sk": f"{number:03}"}) for number in range(60)]
    more = [Put({"pk": "D", "sk": f"{number:03}"}) for number in range(40)]
    merged = MergedTransaction(member(ADD, *puts))
    assert not merged.add_member(member(ADD, *more))
    assert merged.operations == [ADD, *puts]
    assert merged.add_member(member(ADD, *more[:39]))
    assert len(merged.operations) == 100


def test_a_member_beyond_the_bytes_of_a_transaction_does_not_join() -> None:
    def large(pk: str) -> list[Put]:
        return [Put({"pk": pk, "sk": f"{number}", "text": "x" * 390_000}) for number in range(6)]

    merged = MergedTransaction(member(ADD, *large("C")))
    assert not merged.add_member(member(ADD, *large("D")))
    assert merged.add_member(member(ADD, *large("D")[:4]))


def test_units_are_shared_by_those_who_share_an_operation() -> None:
    merged = MergedTransaction(member(ADD))
    assert merged.add_member(member(Put({"pk": "C", "sk": "1"}), ADD))
    assert merged.share_units([2.0, 4.0]) == [1.0, 5.0]
    assert Key("C", "1") in [each.key for each in merged.operations]


PUT = Put({"pk": "P", "sk": "p", "n": 1}, Missing())


@pytest.mark.parametrize(
    ("more", "copies"),
    [
        ([], True),
        ([Update(key=KEY, add={"n": 1}, condition=AllOf((Exists(), Missing("closed"))))], True),
        ([Check(KEY, Compare("n", ">", 1))], True),
        ([Update(key=KEY, add={"n": 1}, condition=Compare("n", ">", 1))], False),
        ([Update(key=KEY, add={"n": 1}, condition=Missing())], False),
        ([Update(key=KEY, remove=("n",), condition=Exists("n"))], False),
        ([Delete(KEY, Exists())], False),
    ],
)
def test_only_a_member_whose_failed_conditions_are_known_is_a_copy(
    more: list[Operation], copies: bool
) -> None:
    merged = MergedTransaction(member(PUT, *more))
    assert merged.add_member(member(PUT, *more)) is copies
    assert merged.operations == [PUT, *more]
    if copies:
        assert merged.refusal_of_copy(0) == ()
        assert merged.refusal_of_copy(1) == (FailedCheck(0, PUT.item),)
        assert merged.share_units([1.0] * len(merged.operations)) == [1.0 + len(more), 0.0]


def test_what_is_put_in_another_way_is_no_copy() -> None:
    merged = MergedTransaction(member(PUT))
    for item in ({**PUT.item, "n": True}, {**PUT.item, "n": 2}):
        assert not merged.add_member(member(Put(item, Missing())))
    assert not MergedTransaction(member(Put(PUT.item))).add_member(member(Put(PUT.item)))
