"""The identities of a development server's pages: an admin, on this machine only, and others."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from joserfc.jwk import OKPKey

from penstock.datastore.errors import BadArgument, NotFound
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.datastore.store import Store
from penstock.server.auth.dev_tokens import (
    DEV_TOKEN_LIFETIME,
    DEV_USER,
    PREFERRED_GROUP,
    dev_key,
    sign_dev_token,
)
from penstock.server.settings.settings import Settings

OTHERS: Final[Sequence[Caller]] = (
    Caller(
        "contributor@localhost",
        {GroupPath("/usa/northwest"): Role.CONTRIBUTOR},
        GroupPath("/usa/northwest"),
    ),
    Caller("reader@localhost", {GroupPath("/eu"): Role.READER}, GroupPath("/eu")),
)
"""Who else a page of the sample data acts as, to show what others see and may do."""


@dataclass(frozen=True, slots=True)
class DevIdentity:
    """The caller that a page acts as once it is signed in, and the key that signs its tokens.

    The page can act as one of the `others` instead.
    """

    key: OKPKey
    caller: Caller
    others: Sequence[Caller] = ()

    @property
    def callers(self) -> Sequence[Caller]:
        return (self.caller, *self.others)

    def find(self, user: str) -> Caller:
        """Return the caller of this name; raises BadArgument if the page cannot act as it."""
        for caller in self.callers:
            if caller.user_id == user:
                return caller
        names = ", ".join(each.user_id for each in self.callers)
        raise BadArgument(f"The page cannot act as {user!r}; it can act as {names}.")

    def sign_token(self, caller: Caller) -> str:
        return sign_dev_token(
            self.key, caller.user_id, caller.roles, caller.default_group, DEV_TOKEN_LIFETIME
        )


def describe_roles(caller: Caller) -> str:
    """Return the roles of a caller in words, such as `admin of /`."""
    return ", ".join(f"{role.name.lower()} of {group}" for group, role in caller.roles.items())


async def dev_identity(settings: Settings, store: Store) -> DevIdentity | None:
    """Return this server's identity, None if it has none.

    Its default group is the sample data's group if that exists. With the groups of the sample data
    there are other callers too.
    """
    if not has_dev_identity(settings):
        return None
    caller = Caller(DEV_USER, {ROOT: Role.ADMIN}, ROOT)
    groups = store.open_session(caller).groups
    found = await groups.many([PREFERRED_GROUP, *(one for each in OTHERS for one in each.roles)])
    preferred, *wanted = (not isinstance(group, NotFound) for group in found)
    if preferred:
        caller = Caller(DEV_USER, caller.roles, PREFERRED_GROUP)
    return DevIdentity(dev_key(settings.data_dir), caller, OTHERS if all(wanted) else ())


def has_dev_identity(settings: Settings) -> bool:
    """Tell whether pages can act as an admin: not with an issuer, nor when others can connect."""
    return settings.issuer is None and is_loopback(settings.host)


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can connect to the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
