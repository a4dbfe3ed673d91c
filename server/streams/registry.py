"""How long a stream lasts, and why it ended.

The open streams of this process: how many each caller holds, and how all of them end.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from types import TracebackType
from typing import Final, Self

from penstock.datastore.roles import Caller

_LONGEST: Final = 100 * 24 * 3600.0


class Ending(Enum):
    """Why the server ends a stream."""

    DONE = auto()
    EXPIRED = auto()
    STOPPING = auto()
    STALLED = auto()


class Lifetime:
    """Interrupts what is awaited inside it when the stream has to end; entered once.

    `ending` says why; it stays None when the inside came to its end by itself.
    """

    def __init__(self) -> None:
        self._timeout = asyncio.timeout(None)
        self._entered = False
        self.ending: Ending | None = None

    def end(self, why: Ending) -> None:
        """End the stream now; the first reason stays."""
        if self.ending is None:
            self.ending = why
            self._interrupt_after(0)

    def until(self, expires_at: float | None) -> None:
        """Let the stream end as expired at this time, in seconds since 1970."""
        if self.ending is None and expires_at is not None:
            self._interrupt_after(min(max(expires_at - time.time(), 0), _LONGEST))

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self._entered = True
        if self.ending is not None:
            self._interrupt_after(0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        self._entered = False
        try:
            await self._timeout.__aexit__(kind, error, traceback)
        except TimeoutError:
            self.ending = self.ending or Ending.EXPIRED
            return True
        return False

    def _interrupt_after(self, seconds: float) -> None:
        if self._entered and not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time() + seconds)


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
