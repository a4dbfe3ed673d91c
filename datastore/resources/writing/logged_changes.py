"""The rows of the log of changes for resources whose lists can be followed."""

from datetime import datetime
from typing import Any, Final

from penstock.datastore.change_log.rows import (
    Change,
    ChangeKind,
    change_write,
    groups_of,
    moment_of,
)
from penstock.datastore.records import Resource
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.commit import Write
from penstock.datastore.table.layout import KindDefinition

FOLLOWED: Final = frozenset(ChangeKind)
"""The letters of the kinds whose lists can be followed."""


def change_writes(
    kind: KindDefinition[Any], before: Resource | None, after: Resource | None, now: datetime
) -> list[Write]:
    """Log a change of a pipeline or metric, for the groups that list it before or after it."""
    some = after or before
    if some is None or kind.letter not in FOLLOWED:
        return []
    groups = groups_of(*(one.groups for one in (before, after) if one is not None))
    step = some.revision if after is not None else some.revision + 1
    grants = _changed_grants(before, after) if before is not None and after is not None else ()
    change = Change(id=some.id, at=moment_of(now), step=step, groups=groups, grants=grants)
    return [change_write(ChangeKind(kind.letter), change)]


def _changed_grants(before: Resource, after: Resource) -> tuple[GroupPath, ...]:
    """The groups whose grants came or went, if that is all that happened."""
    if (before.version, before.state) != (after.version, after.state):
        return ()
    return tuple(sorted({*before.groups} ^ {*after.groups}))
