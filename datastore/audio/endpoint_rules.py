"""Rules for users' endpoints: the server connects to public addresses only.

Without these rules, a user could send requests through the server to hosts behind its firewall.
"""

import socket
from asyncio import get_running_loop, timeout
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from penstock.datastore.errors import FieldProblem, IllegalState, Invalid

MAX_LENGTH: Final = 512
LOOKUP_SECONDS: Final = 5.0
# NAT64, 6to4 and Teredo: they contain IPv4 addresses, which may be internal.
_TUNNELS: Final = tuple(
    map(IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"))
)


@dataclass(frozen=True, slots=True)
class EndpointRules:
    """Checks of users' endpoints; `private` also allows http and internal addresses."""

    private: bool = False

    def check(self, url: str) -> None:
        """Raise Invalid if a URL is no allowed endpoint; this resolves no host name."""
        if message := self._problem(url):
            raise Invalid([FieldProblem(["endpoint"], message)])

    async def check_host(self, url: str) -> None:
        """Raise IllegalState if the host resolves to no address or to one that is not public."""
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        try:
            async with timeout(LOOKUP_SECONDS):
                found = await get_running_loop().getaddrinfo(
                    parts.hostname, port, type=socket.SOCK_STREAM
                )
        except (OSError, UnicodeError):
            raise unusable_endpoint() from None
        for *_, address in found:
            if not self.allows(str(address[0])):
                raise unusable_endpoint()

    def allows(self, address: str) -> bool:
        """Whether the server may connect to an address."""
        return self.private or _is_public(address)

    def socket_for(self, found: tuple[Any, ...]) -> socket.socket:
        """Make the socket of one connection, after a last check of its address.

        A name may resolve to a different address by now, and an answer may redirect.
        """
        family, kind, protocol, _, address = found
        if not self.allows(str(address[0])):
            raise unusable_endpoint()
        return socket.socket(family, kind, protocol)

    def _problem(self, url: str) -> str | None:
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError:
            return "is no URL"
        schemes = ("https", "http") if self.private else ("https",)
        if parts.scheme not in schemes or not host or len(url) > MAX_LENGTH:
            return f"must be an {schemes[0]} URL"
        if parts.username is not None or parts.path.strip("/") or parts.query or parts.fragment:
            return "must be scheme, host and port alone"
        if _is_address(host) and not self.allows(host):
            return "must be a public address"
        return None


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _is_public(text: str) -> bool:
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return _is_public(str(address.ipv4_mapped))
        if any(address in tunnel for tunnel in _TUNNELS):
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def unusable_endpoint() -> IllegalState:
    """The one failure of every bucket that cannot be reached or does not speak as S3 does.

    An error that told an unknown name from a forbidden address, a closed port, another protocol or
    an invalid certificate would let users explore the network of the server.
    """
    words = "The bucket cannot be used: it has no public address, or does not answer as S3 does."
    return IllegalState(words, "ENDPOINT")


PUBLIC: Final = EndpointRules()
