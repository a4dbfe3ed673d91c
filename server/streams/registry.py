"""The open streams of this process: how many each caller holds, and how all of them end."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.datastore.access import Caller
from penstock.server.streams.lifetime import Ending, Lifetime


class TooManyStreams(Exception):
    """The caller holds as many streams as one may."""

    def __init__(self, most: int) -> None:
        super().__init__(f"You hold {most} streams already; that is the most.")


class TooManyUnproven(Exception):
    """As many clients as may have connected and not said who they are."""


class Streams:
    """Counts streams and tells all of them to end.

    At most `per_caller` for each user id, and `unproven` of clients who have not yet said who they
    are.
    """

    def __init__(self, per_caller: int, unproven: int = 200) -> None:
        self._per_caller = per_caller
        self._most_unproven = unproven
        self._unproven = 0
        self._held: Counter[str] = Counter()
        self._open: set[Lifetime] = set()
        self._none_open = asyncio.Event()
        self.stopping = False

    async def ended(self) -> None:
        """Wait until no stream is open."""
        if self._open:
            await self._none_open.wait()

    def __len__(self) -> int:
        return len(self._open)

    @contextmanager
    def enrolled(self, lifetime: Lifetime) -> Iterator[None]:
        """Count a stream as open, and end its lifetime when the server stops."""
        self._open.add(lifetime)
        self._none_open.clear()
        if self.stopping:
            lifetime.end(Ending.STOPPING)
        try:
            yield
        finally:
            self._open.discard(lifetime)
            if not self._open:
                self._none_open.set()

    @contextmanager
    def unproven(self) -> Iterator[None]:
        """Count a stream as nobody's yet; TooManyUnproven where there are no more of them."""
        if self._unproven >= self._most_unproven:
            raise TooManyUnproven
        self._unproven += 1
        try:
            yield
        finally:
            self._unproven -= 1

    @contextmanager
    def held_by(self, caller: Caller) -> Iterator[None]:
        """Count a stream as the caller's; TooManyStreams where they have no more of them."""
        if self._held[caller.user_id] >= self._per_caller:
            raise TooManyStreams(self._per_caller)
        self._held[caller.user_id] += 1
        try:
            yield
        finally:
            self._held[caller.user_id] -= 1
            if not self._held[caller.user_id]:
                del self._held[caller.user_id]

    def stop(self) -> None:
        """End every stream, those opened from now on included; they leave as they finish."""
        self.stopping = True
        for lifetime in tuple(self._open):
            lifetime.end(Ending.STOPPING)
