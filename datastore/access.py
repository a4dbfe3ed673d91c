"""Who asks, and what their roles allow at a group."""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType

from penstock.datastore.paths import GroupPath, ancestors, on_one_line


class Role(IntEnum):
    """What a caller may do at a group and below; each role includes the lower ones."""

    READER = 1
    CONTRIBUTOR = 2
    ADMIN = 3


class Caller:
    """A verified user and their roles; `default_group` stands in where no group is named.

    `api_key` is the id of the key that acts for the user, None where they act themselves.
    """

    __slots__ = ("api_key", "default_group", "roles", "user_id")

    def __init__(
        self,
        user_id: str,
        roles: Mapping[GroupPath, Role],
        default_group: GroupPath | None = None,
        api_key: str | None = None,
    ) -> None:
        self.user_id = user_id
        self.roles = MappingProxyType(dict(roles))
        self.default_group = default_group
        self.api_key = api_key

    def role_at(self, group: GroupPath) -> Role | None:
        """The effective role: that of the deepest ancestor-or-self where the caller holds one."""
        for ancestor in reversed(ancestors(group)):
            if ancestor in self.roles:
                return self.roles[ancestor]
        return None

    def has(self, role: Role, group: GroupPath) -> bool:
        """Whether the effective role at the group is at least `role`."""
        held = self.role_at(group)
        return held is not None and held >= role

    def sees(self, group: GroupPath) -> bool:
        """Whether some group of the caller lies on one line with `group`."""
        return any(on_one_line(held, group) for held in self.roles)
