"""The rows of the audit trail, written in the transaction of the change that they tell of."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.records import GroupRole, Resource, StoredRecord
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.commit import Write
from penstock.datastore.table.items import attributes_of, load
from penstock.datastore.table.layout import HISTORY
from penstock.datastore.table.port import TTL, Attributes, Put

OF_GROUP: Final = "G"
OF_RESOURCE: Final = "R"
"""The kinds of trails: those of groups, and those of resources of any kind."""


class Action(StrEnum):
    """The kind of a change of a resource, a group or an API key."""

    GRANTED = "granted"
    REVOKED = "revoked"
    STATE_CHANGED = "state_changed"
    LABEL_SET = "label_set"
    LABEL_REMOVED = "label_removed"
    DELETED = "deleted"
    GROUP_DELETED = "group_deleted"
    API_KEY_CREATED = "api_key_created"
    API_KEY_REVOKED = "api_key_revoked"


class HistoryEntry(StoredRecord, frozen=True, kw_only=True):
    """A change that `by` made at a time, from the `address` of the client if that is known.

    `subject` is the name of the resource or key, or the path of the group, at that time. `group` is
    the group that got or lost a right, `state` the new state, `label` the label of a version that
    was set, on `version`, or removed, and `roles` the roles of a key by group.
    """

    id: str
    at: str
    by: str
    action: Action
    subject: str
    subject_kind: str
    subject_id: str | None = None
    address: str | None = None
    api_key: str | None = None
    group: GroupPath | None = None
    state: str | None = None
    label: str | None = None
    version: int | None = None
    roles: tuple[str, ...] = ()
    home: GroupPath | None = None


def entry_of(access: Access, action: Action, subject: Resource, kind: str) -> HistoryEntry:
    """Describe what the caller does now to a resource."""
    return HistoryEntry(
        id=access.clock.new_id(),
        at=access.clock.timestamp(),
        by=access.caller.user_id,
        address=access.address,
        api_key=access.caller.api_key,
        action=action,
        subject=subject.name,
        subject_kind=kind,
        subject_id=subject.id,
        home=subject.owner,
    )


def entry_about(access: Access, action: Action, subject: str, kind: str) -> HistoryEntry:
    """Describe what the caller does now to a group or a key."""
    return HistoryEntry(
        id=access.clock.new_id(),
        at=access.clock.timestamp(),
        by=access.caller.user_id,
        address=access.address,
        api_key=access.caller.api_key,
        action=action,
        subject=subject,
        subject_kind=kind,
    )


def resource_writes(
    access: Access, entry: HistoryEntry, groups: Iterable[GroupPath] = ()
) -> list[Write]:
    """Write an entry into the trails of its resource, of its owner, and of the other groups.

    `pk = AT:<kind>:<of>, sk = AT:<id>`, 2 units each. The server's own work leaves no entry: the
    job that a user began has one.
    """
    if not entry.by or entry.subject_id is None or entry.home is None:
        return []
    trails = [(OF_GROUP, group) for group in dict.fromkeys((entry.home, *groups))]
    return _writes(access, entry, [(OF_RESOURCE, entry.subject_id), *trails])


def group_writes(access: Access, entry: HistoryEntry, groups: Sequence[GroupPath]) -> list[Write]:
    """Write an entry into the trails of groups; the first of them is its home."""
    if not entry.by or not groups:
        return []
    at_home = msgspec.structs.replace(entry, home=groups[0])
    return _writes(access, at_home, [(OF_GROUP, group) for group in groups])


def _writes(access: Access, entry: HistoryEntry, trails: Sequence[tuple[str, str]]) -> list[Write]:
    expires = int((access.clock.now() + access.keep_history).timestamp())
    attributes = attributes_of(entry)
    rows = (HISTORY.item(kind=kind, of=of, entry=entry.id) for kind, of in trails)
    return [Write(Put({**row, **attributes, TTL: expires})) for row in rows]


def role_words(roles: Iterable[GroupRole]) -> tuple[str, ...]:
    """Write the roles of a key as entries keep them: `group=ROLE`."""
    return tuple(f"{each.group}={each.role.name}" for each in roles)


def group_of_role(words: str) -> GroupPath:
    """The group of a role as entries keep it."""
    return GroupPath(words.rpartition("=")[0])


def entry_from(row: Attributes) -> HistoryEntry:
    """Read an entry."""
    return load(HistoryEntry, row, id=HISTORY.sk.parse(str(row["sk"]))["entry"])
