"""The file descriptors of this process, and the number of connections that they suffice for."""

import resource
from typing import Final

MOST_CONNECTIONS: Final = 8_000
FEWEST_CONNECTIONS: Final = 16
RESERVED: Final = 128
"""Descriptors for the store, files, workers, log, listeners, and the reserves of the gates."""


def raise_descriptor_limit() -> int:
    """Raise the limit of this process to the most that the system allows it; returns that."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):  # macOS refuses an infinite limit
        return soft
    return hard


def connections_for(descriptors: int) -> int:
    """Return the most connections of a server that may have so many descriptors open."""
    if descriptors == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return min(MOST_CONNECTIONS, max(FEWEST_CONNECTIONS, descriptors - RESERVED))
