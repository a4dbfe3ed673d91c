"""The sites of clients: the addresses that one client may have."""

from ipaddress import IPv4Address, IPv6Network, ip_address
from typing import Final

_SITE_BITS: Final = 64
"""The length of the IPv6 prefix that one customer of a network gets."""


def site_of(address: str) -> str:
    """Return the address, or for IPv6 its network of 64 bits, within which a client may move."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv4Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Network((int(parsed), _SITE_BITS), strict=False))
