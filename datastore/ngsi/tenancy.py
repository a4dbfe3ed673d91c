"""Services and service paths as groups: `/<service>/<path>`, whose roles are what counts."""

from typing import Final

from penstock.datastore.access import Caller, Role
from penstock.datastore.errors import NotFound, NotPermitted
from penstock.datastore.paths import GroupPath
from penstock.datastore.text import comparison_form

LEVEL: Final = "~"


def group_of(service: str, path: str) -> GroupPath:
    """The group of a service path; that of the path `/` is the service's own.

    It need not have been created: roles above it hold in it.
    """
    return GroupPath(comparison_form(f"/{service}{path}".rstrip("/")))


def listed(group: GroupPath) -> str:
    """The group as it stands in keys: as `~` sorts behind `:`, it comes before those below it."""
    return group.replace("/", LEVEL)


def require(caller: Caller, role: Role, service: str, path: str) -> None:
    """Refuse a caller who may not know the service path, or whose role there is too low."""
    group = group_of(service, path)
    if not caller.sees(group):
        raise unknown_path(service, path)
    if not caller.has(role, group):
        raise NotPermitted(f"This needs the role {role.name} at {group}.")


def unknown_path(service: str, path: str) -> NotFound:
    """The one answer for a service path that is not there or that the caller may not know of."""
    return NotFound(f"There is no service path {path} of the service {service}.", ("path",))
