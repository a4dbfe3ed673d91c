"""The rows of groups: where they stand and what they count; grants as an antichain."""

from collections.abc import Iterable

from datastore.commit import Write
from datastore.errors import NotFound
from datastore.layout import GROUP
from datastore.paths import ROOT, GroupPath, covers, parent
from datastore.table import Exists, Item, Key, Update


def key_of_group(group: GroupPath) -> Key:
    """Where a group's row stands: under its parent, the root under nothing."""
    return GROUP.key(parent=parent(group) or "", group=group)


def unknown(group: GroupPath) -> NotFound:
    """The one answer for a group that is not there or that the caller may not know of."""
    return NotFound(f"There is no group {group}.", ("group",))


def counted(group: GroupPath, attribute: str, step: int) -> Write:
    """Count what lies in a group; at once the proof that it exists. The root exists by itself."""

    def refused(_standing: Item | None) -> Exception:
        return unknown(group)

    condition = None if group == ROOT else Exists()
    update = Update(key=key_of_group(group), add={attribute: step}, condition=condition)
    return Write(update, refused)


def with_grant(groups: Iterable[GroupPath], group: GroupPath) -> tuple[GroupPath, ...]:
    """The antichain that also covers `group`; the same if it did, less what it now covers."""
    held = tuple(groups)
    if any(covers(granted, group) for granted in held):
        return held
    return (*(granted for granted in held if not covers(group, granted)), group)


def without_grant(
    groups: Iterable[GroupPath], group: GroupPath, owner: GroupPath
) -> tuple[GroupPath, ...]:
    """The antichain less the grant; one that covered the owner from above narrows to it."""
    rest = tuple(granted for granted in groups if granted != group)
    return (*rest, owner) if covers(group, owner) else rest
