"""Paths of groups: how they are read, and which lie above which."""

from collections.abc import Sequence
from typing import NewType

from penstock.datastore.errors import BadInput
from penstock.datastore.keys import escape
from penstock.datastore.text import character_problem, comparison_form, unread_problem

GroupPath = NewType("GroupPath", str)
"""A group's path in comparison form: `/`, `/usa`, `/usa/northwest`."""

ROOT = GroupPath("/")

MAX_GROUP_LEVELS = 10
MAX_GROUP_NAME = 64
MAX_GROUP_BYTES = 512

_MAX_UNREAD = 4 * MAX_GROUP_BYTES


def parse_group_path(text: str) -> GroupPath:
    """Return the path in comparison form, names trimmed; `BadInput` says which rule it breaks."""
    if len(text) > _MAX_UNREAD:
        raise BadInput(f"A group path has at most {MAX_GROUP_BYTES} bytes.")
    if problem := unread_problem(text, _MAX_UNREAD):
        raise BadInput(f"The group path {problem}.")
    if problem := character_problem(text):
        raise BadInput(f"The group path {text!r} {problem}.")
    form = comparison_form(text)
    if form == ROOT:
        return ROOT
    root, *names = (name.strip() for name in form.split("/"))
    if root or not names:
        raise BadInput(f"The group path {text!r} does not start with '/'.")
    _check_names(text, names)
    return GroupPath("/" + "/".join(names))


def _check_names(text: str, names: Sequence[str]) -> None:
    if not all(names):
        raise BadInput(f"The group path {text!r} has an empty name or ends with '/'.")
    if len(names) > MAX_GROUP_LEVELS:
        raise BadInput(f"The group path {text!r} has more than {MAX_GROUP_LEVELS} levels.")
    if any(len(name) > MAX_GROUP_NAME for name in names):
        raise BadInput(f"A name in {text!r} has more than {MAX_GROUP_NAME} characters.")
    # In keys, `%`, `:` and `#` take three bytes.
    if sum(len(escape(name).encode()) + 1 for name in names) > MAX_GROUP_BYTES:
        raise BadInput(f"The group path {text!r} has more than {MAX_GROUP_BYTES} bytes.")


def ancestors(group: GroupPath) -> tuple[GroupPath, ...]:
    """The line from the root down to the group itself."""
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


def on_one_line(one: GroupPath, other: GroupPath) -> bool:
    """Whether one of the two groups is the other or lies above it."""
    return covers(one, other) or covers(other, one)
