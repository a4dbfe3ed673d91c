"""The identity of a development server's pages: an admin, on this machine only."""

import ipaddress
from dataclasses import dataclass

from joserfc.jwk import OKPKey

from penstock.datastore.errors import NotFound
from penstock.datastore.roles import ROOT, Caller, Role
from penstock.datastore.store import Store
from penstock.server.auth.dev_tokens import (
    DEV_TOKEN_LIFETIME,
    DEV_USER,
    PREFERRED_GROUP,
    dev_key,
    sign_dev_token,
)
from penstock.server.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class DevIdentity:
    """The caller that a page acts as once it is signed in, and the key that signs its tokens."""

    key: OKPKey
    caller: Caller

    def token(self) -> str:
        caller = self.caller
        return sign_dev_token(
            self.key, caller.user_id, caller.roles, caller.default_group, DEV_TOKEN_LIFETIME
        )


async def dev_identity(settings: Settings, store: Store) -> DevIdentity | None:
    """Return this server's identity, None if it has none.

    Its default group is the sample data's group if that exists.
    """
    if not has_dev_identity(settings):
        return None
    caller = Caller(DEV_USER, {ROOT: Role.ADMIN}, ROOT)
    (group,) = await store.open_session(caller).groups.many([PREFERRED_GROUP])
    if not isinstance(group, NotFound):
        caller = Caller(DEV_USER, caller.roles, PREFERRED_GROUP)
    return DevIdentity(dev_key(settings.data_dir), caller)


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
