"""Groups, roles and callers: paths of groups, and the role of a caller at each group."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import NewType

from penstock.datastore.errors import BadArgument
from penstock.datastore.text import (
    character_problem,
    comparison_form,
    escape,
    invisible_character_problem,
    normalisation_problem,
)

GroupPath = NewType("GroupPath", str)
"""A group's path in comparison form: `/`, `/usa`, `/usa/northwest`."""

ROOT = GroupPath("/")

MAX_GROUP_LEVELS = 10
MAX_GROUP_NAME = 64
MAX_GROUP_BYTES = 512
MAX_USER_ID = 255

_MAX_RAW_PATH = 4 * MAX_GROUP_BYTES


def parse_group_path(text: str) -> GroupPath:
    """Parse a group path to comparison form, names trimmed; BadArgument names the broken rule."""
    if len(text) > _MAX_RAW_PATH:
        raise BadArgument(f"A group path has at most {MAX_GROUP_BYTES} bytes.")
    if problem := normalisation_problem(text, _MAX_RAW_PATH):
        raise BadArgument(f"The group path {problem}.")
    if problem := character_problem(text):
        raise BadArgument(f"The group path {text!r} {problem}.")
    form = comparison_form(text)
    if form == ROOT:
        return ROOT
    root, *names = (name.strip() for name in form.split("/"))
    if root or not names:
        raise BadArgument(f"The group path {text!r} does not start with '/'.")
    _check_names(text, names)
    return GroupPath("/" + "/".join(names))


def new_path_problem(path: GroupPath) -> str | None:
    """Describe what no new path has: an invisible character, or a name of dots alone.

    Browsers take such a name for the group itself or the one above.
    """
    if path != ROOT and not all(name.strip(".") for name in path[1:].split("/")):
        return "has a name of dots alone"
    return invisible_character_problem(path)


def _check_names(text: str, names: Sequence[str]) -> None:
    if not all(names):
        raise BadArgument(f"The group path {text!r} has an empty name or ends with '/'.")
    if len(names) > MAX_GROUP_LEVELS:
        raise BadArgument(f"The group path {text!r} has more than {MAX_GROUP_LEVELS} levels.")
    if any(len(name) > MAX_GROUP_NAME for name in names):
        raise BadArgument(f"A name in {text!r} has more than {MAX_GROUP_NAME} characters.")
    # In keys, `%`, `:` and `#` take three bytes.
    if sum(len(escape(name).encode()) + 1 for name in names) > MAX_GROUP_BYTES:
        raise BadArgument(f"The group path {text!r} has more than {MAX_GROUP_BYTES} bytes.")


def ancestors(group: GroupPath) -> tuple[GroupPath, ...]:
    """The chain of groups from the root down to the group itself."""
    if group == ROOT:
        return (ROOT,)
    names = group[1:].split("/")
    return (ROOT, *(GroupPath("/" + "/".join(names[: n + 1])) for n in range(len(names))))


def parent(group: GroupPath) -> GroupPath | None:
    """The group above; None for the root."""
    return None if group == ROOT else GroupPath(group.rpartition("/")[0] or "/")


def covers(ancestor: GroupPath, group: GroupPath) -> bool:
    """Whether `ancestor` is the group itself or lies above it, segment by segment."""
    return ancestor in (ROOT, group) or group.startswith(ancestor + "/")


def are_on_one_line(one: GroupPath, other: GroupPath) -> bool:
    """Whether one of the two groups is the other, or lies above it."""
    return covers(one, other) or covers(other, one)


class Role(IntEnum):
    """The permissions of a caller at a group and below it; each role includes the lower ones."""

    READER = 1
    CONTRIBUTOR = 2
    ADMIN = 3


class Caller:
    """An authenticated user and their roles.

    `default_group` is used where a call names no group. `api_key` is the id of the API key with
    which the call was made, None for a call with a token.
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
        """The effective role: the role at the nearest group of the chain that has one."""
        for ancestor in reversed(ancestors(group)):
            if ancestor in self.roles:
                return self.roles[ancestor]
        return None

    def has_role(self, role: Role, group: GroupPath) -> bool:
        """Whether the effective role at the group is at least `role`."""
        held = self.role_at(group)
        return held is not None and held >= role

    def sees(self, group: GroupPath) -> bool:
        """Whether some group of the caller lies on one line with `group`."""
        return any(are_on_one_line(held, group) for held in self.roles)
