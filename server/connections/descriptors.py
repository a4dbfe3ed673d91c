"""The file descriptors of this process, and the connections and transfers that they suffice for."""

import resource
from typing import Final

MOST_CONNECTIONS: Final = 8_000
FEWEST_CONNECTIONS: Final = 16
RESERVED: Final = 128
"""Descriptors for the store, jobs, workers, log, listeners, and the reserves of the gates."""

CONNECTIONS_PER_TRANSFER: Final = 2
"""A transfer has a second descriptor, its file; the other connections are kept for requests."""


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


def connections_for(descriptors: int, most: int = MOST_CONNECTIONS) -> int:
    """Return the most connections, up to `most`, of a server with so many descriptors."""
    if descriptors == resource.RLIM_INFINITY:
        return most
    left = descriptors - RESERVED
    sockets = left * CONNECTIONS_PER_TRANSFER // (CONNECTIONS_PER_TRANSFER + 1)
    return min(most, max(FEWEST_CONNECTIONS, sockets))


def transfers_for(connections: int) -> int:
    """Return the most files that a server with so many connections sends and receives at once."""
    return max(1, connections // CONNECTIONS_PER_TRANSFER)
