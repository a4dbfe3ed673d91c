"""Reads the claims of a verified token: the user's id, roles by group, and default group."""

from collections.abc import Iterable, Mapping

from penstock.datastore.errors import BadArgument
from penstock.datastore.roles import MAX_USER_ID, Caller, GroupPath, Role, parse_group_path
from penstock.datastore.text import name_problem

ROLES_CLAIM = "penstock:roles"
DEFAULT_GROUP_CLAIM = "penstock:defaultGroup"


_ROLES = {role.name.lower(): role for role in Role}
_SEPARATORS = ("|||", "=")


def caller_from(claims: Mapping[str, object], roles_claim: str, group_claim: str) -> Caller:
    """Build the caller that verified claims describe; raises BadArgument for an invalid claim."""
    roles = roles_from(claims.get(roles_claim))
    return Caller(
        user_id_from(claims.get("sub")), roles, default_group_from(claims.get(group_claim), roles)
    )


def user_id_from(claim: object) -> str:
    """Return the user id unchanged: one line of 1 to 255 characters, all of which can be seen."""
    if not isinstance(claim, str):
        raise BadArgument("The user id is not a text.")
    if problem := name_problem(claim, MAX_USER_ID):
        raise BadArgument(f"The user id {problem}.")
    if len(claim.splitlines()) > 1:
        raise BadArgument("The user id is not one line.")
    return claim


def roles_from(claim: object) -> dict[GroupPath, Role]:
    """Read roles by group from `{"/usa": "admin"}`, `["/usa=admin"]` or `["/usa|||admin"]`.

    No claim means no roles. A malformed or contradictory entry raises BadArgument and is never
    skipped.
    """
    roles: dict[GroupPath, Role] = {}
    for group, role in _group_roles(claim):
        if roles.setdefault(group, role) != role:
            raise BadArgument(f"The group {group!r} is given two roles.")
    return roles


def parse_role(text: str) -> tuple[GroupPath, Role]:
    """Read `/usa=admin` or `/usa|||admin`."""
    for separator in _SEPARATORS:
        group, found, role = text.rpartition(separator)
        if found:
            return parse_group_path(group), _parse_role_name(role)
    raise BadArgument(f"The role {text!r} is not of the form GROUP=ROLE.")


def default_group_from(claim: object, roles: Mapping[GroupPath, Role]) -> GroupPath | None:
    """Return the claimed group, which the roles must cover, or else the first topmost group.

    Returns None for a caller without roles.
    """
    if claim is None:
        return min(
            roles, key=lambda group: (len(group.rstrip("/").split("/")), group), default=None
        )
    if not isinstance(claim, str):
        raise BadArgument("The default group is not a text.")
    group = parse_group_path(claim)
    if Caller("", roles).role_at(group) is None:
        raise BadArgument(f"The default group {group!r} is covered by none of the roles.")
    return group


def _group_roles(claim: object) -> Iterable[tuple[GroupPath, Role]]:
    match claim:
        case None:
            return ()
        case dict():
            return [
                (parse_group_path(group), _parse_role_name(role)) for group, role in claim.items()
            ]
        case list() if all(isinstance(entry, str) for entry in claim):
            return [parse_role(entry) for entry in claim]
        case _:
            raise BadArgument("The roles are neither an object nor a list of texts.")


def _parse_role_name(name: object) -> Role:
    if not isinstance(name, str) or name not in _ROLES:
        raise BadArgument(f"{name!r} is not one of the roles {', '.join(_ROLES)}.")
    return _ROLES[name]
