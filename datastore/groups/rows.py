"""The rows of groups: their keys, their counters and their removal; and grants as an antichain."""

from collections.abc import Iterable

from penstock.datastore.access.access import group_not_found_error, key_of_group
from penstock.datastore.errors import IllegalState, NotFound
from penstock.datastore.roles import ROOT, GroupPath, covers, parent
from penstock.datastore.table.commit import Write
from penstock.datastore.table.port import (
    AllOf,
    AnyOf,
    Compare,
    Condition,
    Delete,
    Exists,
    Item,
    Missing,
    Update,
)

DELETING = "deletingAt"
"""The attribute that marks the row of a group that is being deleted with all its contents."""


def count_in_group(group: GroupPath, attribute: str, step: int) -> Write:
    """Count a child or grant of a group, which must exist; the root always exists.

    A group that is being deleted takes no new ones.
    """
    condition: Condition | None = AllOf((Exists(), Missing(DELETING))) if step > 0 else Exists()
    if group == ROOT:
        condition = None
    update = Update(key=key_of_group(group), add={attribute: step}, condition=condition)
    return Write(update, lambda standing: _closed_group_error(group, standing))


def removal_writes(group: GroupPath, *, marked: bool = False) -> list[Write]:
    """Remove the row of an empty group, and subtract it from the group above.

    With `marked`, a group that is not being deleted counts as unknown.
    """
    empty: tuple[Condition, ...] = (Exists(), _is_zero("children"), _is_zero("grants"))
    gone = Delete(key_of_group(group), AllOf((*empty, Exists(DELETING)) if marked else empty))

    def describe_refusal(standing: Item | None) -> Exception:
        if standing is None or (marked and DELETING not in standing):
            return group_not_found_error(group)
        return IllegalState(f"The group {group} is not empty.", "NOT_EMPTY")

    return [Write(gone, describe_refusal), count_in_group(parent(group) or ROOT, "children", -1)]


def _closed_group_error(group: GroupPath, standing: Item | None) -> NotFound:
    if standing is None:
        return group_not_found_error(group)
    return NotFound(f"The group {group} is being deleted.", ("group",))


def _is_zero(attribute: str) -> Condition:
    return AnyOf((Missing(attribute), Compare(attribute, "=", 0)))


def with_grant(groups: Iterable[GroupPath], group: GroupPath) -> tuple[GroupPath, ...]:
    """The antichain with a grant for `group`, without the grants that the new one covers.

    It stays the same if a grant covers the group already.
    """
    held = tuple(groups)
    if any(covers(granted, group) for granted in held):
        return held
    return (*(granted for granted in held if not covers(group, granted)), group)


def without_grant(
    groups: Iterable[GroupPath], group: GroupPath, owner: GroupPath
) -> tuple[GroupPath, ...]:
    """The antichain without the grant; a grant above the owner is replaced by the owner's own."""
    rest = tuple(granted for granted in groups if granted != group)
    return (*rest, owner) if covers(group, owner) else rest
