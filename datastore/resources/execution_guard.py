"""The guard of executions: the row that counts them also says whether new ones may begin.

A resource without executions has no such row, and its own row is the guard of the first one.
"""

from typing import Final, TypeVar

from penstock.datastore.records import Resource, State
from penstock.datastore.table.commit import Write
from penstock.datastore.table.layout import KindDefinition
from penstock.datastore.table.port import AnyOf, Compare, Delete, Exists, Item, Key, Missing, Update

R = TypeVar("R", bound=Resource)

CLOSED: Final = "closed"
"""The attribute that says why no execution can begin: the state of the resource, or DELETED."""

DELETED: Final = "deleted"


class ResourceInUse(Exception):
    """The resource still has executions."""


def state_writes(kind: KindDefinition[R], current: R, changed: R) -> list[Write]:
    """The write that opens or closes the guard after a change of state, if there is one."""
    if changed.state is current.state:
        return []
    reason = None if changed.state is State.ENABLED else changed.state
    return _guard_writes(kind, current, reason, likely=True)


def closing_writes(kind: KindDefinition[R], resource: R, *, likely: bool) -> list[Write]:
    """The write that closes the guard of a resource that is being deleted.

    If it is `likely` that the resource has a guard, that is tried first.
    """
    return _guard_writes(kind, resource, DELETED, likely=likely)


def unused_writes(kind: KindDefinition[R], resource: R) -> list[Write]:
    """The write that removes the count; it raises ResourceInUse where there are executions."""
    if kind.execution_count is None:
        return []
    unused = AnyOf((Missing(), Compare("count", "=", 0)))
    none = Delete(kind.execution_count.key(id=resource.id), unused)
    return [Write(none, lambda _: ResourceInUse())]


def _guard_writes(
    kind: KindDefinition[R], resource: R, reason: str | None, *, likely: bool
) -> list[Write]:
    if kind.execution_count is None:
        return []
    return [_guard_write(kind.execution_count.key(id=resource.id), reason, likely=likely)]


def _guard_write(key: Key, reason: str | None, *, likely: bool) -> Write:
    """The write that closes the guard under a key, or opens it without a reason, if there is one.

    If it is `likely` that there is one, that is tried first.
    """

    def change(_: Item | None) -> Write:
        changed = Update(
            key=key,
            set={} if reason is None else {CLOSED: str(reason)},
            remove=(CLOSED,) if reason is None else (),
            condition=Exists(),
        )
        return Write(changed, leave)

    def leave(_: Item | None) -> Write:
        # A delete without effect: ConditionCheck would need a permission of its own.
        return Write(Delete(key, Missing()), change)

    return change(None) if likely else leave(None)
