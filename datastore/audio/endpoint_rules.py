"""Rules for users' endpoints: the server connects to public addresses only.

Without these rules, a user could send requests through the server to hosts behind its firewall.
"""

import socket
from asyncio import get_running_loop, timeout
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from penstock.datastore.errors import FieldProblem, IllegalState, Invalid

MAX_LENGTH: Final = 512
LOOKUP_SECONDS: Final = 5.0
# The lists of ipaddress differ between versions of Python, and have gaps. These are IANA's
# registries of special-purpose addresses, without regard to what else uses a range today.
_SPECIAL_IPV4: Final = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "168.63.129.16/32",  # not IANA's: a host of Azure, for its machines only
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.31.196.0/24",
            "192.52.193.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "192.175.48.0/24",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/3",
        ),
    )
)
_GLOBAL_IPV6: Final = IPv6Network("2000::/3")
"""The only part of IPv6 with public addresses; NAT64, site-local and metadata are elsewhere."""

_SPECIAL_IPV6: Final = tuple(
    map(
        IPv6Network,
        # Teredo and 6to4 are among them: their addresses contain IPv4 addresses.
        ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"),
    )
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
        if address.ipv4_mapped is None:
            return address in _GLOBAL_IPV6 and not any(address in one for one in _SPECIAL_IPV6)
        address = address.ipv4_mapped
    return not any(address in one for one in _SPECIAL_IPV4)


def unusable_endpoint() -> IllegalState:
    """The one failure of every bucket that cannot be reached or does not speak as S3 does.

    An error that told an unknown name from a forbidden address, a closed port, another protocol or
    an invalid certificate would let users explore the network of the server.
    """
    words = "The bucket cannot be used: it has no public address, or does not answer as S3 does."
    return IllegalState(words, "ENDPOINT")


PUBLIC: Final = EndpointRules()
