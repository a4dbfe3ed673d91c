"""Who the GraphiQL page of a development server acts as: an admin, on this machine only."""

import ipaddress
from dataclasses import dataclass

from joserfc.jwk import OKPKey

from penstock.datastore.errors import NotFound
from penstock.datastore.roles import ROOT, Caller, Role
from penstock.datastore.store import Store
from penstock.server.auth.dev_tokens import PREFERRED_GROUP, USER, VALID, dev_key, sign_dev_token
from penstock.server.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class DevIdentity:
    """The identity, and tokens for it as the page asks for them."""

    key: OKPKey
    caller: Caller

    def token(self) -> str:
        caller = self.caller
        return sign_dev_token(self.key, caller.user_id, caller.roles, caller.default_group, VALID)


async def dev_identity(settings: Settings, store: Store) -> DevIdentity | None:
    """The identity of this server; None where tokens come from an issuer or others can connect.

    Its default group is that of the sample data if there is one.
    """
    if settings.issuer is not None or not is_loopback(settings.host):
        return None
    caller = Caller(USER, {ROOT: Role.ADMIN}, ROOT)
    (group,) = await store.open_session(caller).groups.many([PREFERRED_GROUP])
    if not isinstance(group, NotFound):
        caller = Caller(USER, caller.roles, PREFERRED_GROUP)
    return DevIdentity(dev_key(settings.data_dir), caller)


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
