"""How long a stream lasts, and why it ended."""

import asyncio
import time
from enum import Enum, auto
from types import TracebackType
from typing import Final, Self

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
