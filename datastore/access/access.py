"""The access of one caller: table, files, clock, limits, and the checks of roles and grants."""

from dataclasses import dataclass

import msgspec

from penstock.datastore.clock import Clock
from penstock.datastore.errors import BadInput, NotFound, NotPermitted
from penstock.datastore.objects.port import NO_FILES, Files
from penstock.datastore.records import Resource
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role, parent
from penstock.datastore.table.layout import GROUP
from penstock.datastore.table.port import Key, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much one page of a list may cost: read units, requests, round trips, groups it spans."""

    units: float = 500.0
    reads: int = 1000
    rounds: int = 50
    groups: int = 200


class Access(msgspec.Struct, frozen=True):
    """One caller at one table, and what the caller may see and do there."""

    table: Table
    caller: Caller
    clock: Clock
    budget: Budget
    files: Files = NO_FILES

    def group_or_default(self, group: GroupPath | None) -> GroupPath:
        """The group named, or the caller's default."""
        chosen = group or self.caller.default_group
        if chosen is None:
            raise BadInput("Name a group: the caller has no default group.")
        return chosen

    def seen_group(self, group: GroupPath | None) -> GroupPath:
        """The group named or the default; NotFound where the caller may not know of it."""
        chosen = self.group_or_default(group)
        if not self.caller.sees(chosen):
            raise unknown_group(chosen)
        return chosen

    async def require_group(self, group: GroupPath) -> None:
        """Refuse a group that is not there; the root always is."""
        if group != ROOT and not (await self.table.get([key_of_group(group)])).items:
            raise unknown_group(group)

    def require_at(self, role: Role, group: GroupPath) -> None:
        """Refuse a caller who may not know the group, or whose effective role there is too low."""
        if not self.caller.sees(group):
            raise unknown_group(group)
        if not self.caller.has_role(role, group):
            raise NotPermitted(f"This needs the role {role.name} at {group}.")

    def sees(self, resource: Resource) -> bool:
        """Whether one of the caller's groups lies on one line with one of the grants."""
        return any(self.caller.sees(group) for group in resource.groups)

    def require_owner(self, role: Role, resource: Resource) -> None:
        """Refuse a caller who sees the resource without holding the role at its owner group."""
        if not self.caller.has_role(role, resource.owner):
            raise NotPermitted(f"This needs the role {role.name} at {resource.owner}.")


def absent(noun: str) -> NotFound:
    """The one answer for a resource that is not there or that the caller may not know of."""
    return NotFound(f"There is no {noun} with this id.", ("id",))


def key_of_group(group: GroupPath) -> Key:
    """The key of a group's row: under its parent; the root has no parent."""
    return GROUP.key(parent=parent(group) or "", group=group)


def unknown_group(group: GroupPath) -> NotFound:
    """The error for a group that does not exist or that the caller may not know of."""
    return NotFound(f"There is no group {group}.", ("group",))
