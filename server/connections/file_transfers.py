"""The transfers of files that run at once: a bounded number, which no client keeps for itself.

A transfer takes a file descriptor besides that of its connection, so they are bounded.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Final

from starlette.types import Scope

from penstock.server.connections.connection import GuardedConnection, connection_of

LEAST_BYTES_PER_SECOND: Final = 16 * 1024
"""The rate below which a transfer gives way, also to one of the same site."""

GRACE_SECONDS: Final = 5.0
"""The time for which the rate of a transfer is not yet judged."""

_MOST_ENDING: Final = 8
"""The transfers that were ended and still hold a descriptor."""


class TooManyTransfers(Exception):
    """All places are taken, and no transfer gives way."""


@dataclass(slots=True, eq=False)
class Transfer:
    """A transfer of a client at a site; `size` counts the bytes so far, `end` ends it."""

    site: str
    began: float
    end: Callable[[], None]
    size: int = 0

    def rate(self, now: float) -> float:
        """Return the bytes a second since the transfer began."""
        return self.size / max(now - self.began, 0.001)


class FileTransfers:
    """At most `most` transfers, of which slow ones give way when all places are taken."""

    def __init__(self, most: int, clock: Callable[[], float] = monotonic) -> None:
        self._most = most
        self._clock = clock
        self._running: set[Transfer] = set()
        self._ending: set[Transfer] = set()

    @contextmanager
    def begin(self, site: str, end: Callable[[], None]) -> Iterator[Transfer]:
        """Count a transfer until the block ends; raises TooManyTransfers."""
        if len(self._running) >= self._most:
            self._make_place(site)
        transfer = Transfer(site, self._clock(), end)
        self._running.add(transfer)
        try:
            yield transfer
        finally:
            self._running.discard(transfer)
            self._ending.discard(transfer)

    def _make_place(self, site: str) -> None:
        """End the slowest transfer of the site with the most.

        If the newcomer's site has about as many, it ends one that is too slow for anybody.
        """
        now = self._clock()
        crowds = Counter(each.site for each in self._running)
        ((largest, count),) = crowds.most_common(1)
        crowd = [each for each in self._running if each.site == largest]
        if count <= crowds[site] + 1:
            crowd = [each for each in self._running if _is_too_slow(each, now)]
        if not crowd or len(self._ending) >= _MOST_ENDING:
            raise TooManyTransfers
        slowest = min(crowd, key=lambda each: each.rate(now))
        self._running.discard(slowest)
        self._ending.add(slowest)
        slowest.end()


def _is_too_slow(transfer: Transfer, now: float) -> bool:
    is_judged = now - transfer.began >= GRACE_SECONDS
    return is_judged and transfer.rate(now) < LEAST_BYTES_PER_SECOND


@contextmanager
def begin_transfer(transfers: FileTransfers, scope: Scope) -> Iterator[Transfer]:
    """Count the transfer of a request until the block ends; raises TooManyTransfers."""
    connection = connection_of(scope)
    site = "" if connection is None else connection.site
    with transfers.begin(site, partial(_give_way, connection)) as transfer:
        yield transfer


def _give_way(connection: GuardedConnection | None) -> None:
    """Refuse an upload, or cut a download short, whose place another client needs."""
    if connection is not None:
        connection.give_way()
