"""The open streams of this process: their number for each caller, their lifetime and their end."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from types import TracebackType
from typing import Final, Self

from penstock.datastore.errors import NotAuthenticated, PenstockError, RequestRefused
from penstock.datastore.roles import Caller
from penstock.server.auth.tokens import Authentication
from penstock.server.core.sites import site_of

_LONGEST: Final = 100 * 24 * 3600.0

SESSION_CHECK_SECONDS: Final = 15.0
"""The seconds between two looks at whether the token of a stream is still accepted."""

FAILED_SESSION_CHECKS: Final = 4
"""The looks in a row that may fail before a stream ends, which might be one of a revoked key."""


class EndReason(Enum):
    """The reason for which the server ends a stream."""

    DONE = auto()
    EXPIRED = auto()
    STOPPING = auto()
    STALLED = auto()
    CROWDED_OUT = auto()
    UNREAD = auto()
    UNVERIFIED = auto()


class StreamLifetime:
    """A context that interrupts its body when the stream has to end; entered once.

    `ending` is the reason; it stays None if the body ends by itself.
    """

    def __init__(self) -> None:
        self._timeout = asyncio.timeout(None)
        self._entered = False
        self.ending: EndReason | None = None

    def end(self, why: EndReason) -> None:
        """End the stream now; a first reason is kept."""
        if self.ending is None:
            self.ending = why
            self._interrupt_after(0)

    def expire_at(self, expires_at: float | None) -> None:
        """Expire the stream at this time, in seconds since 1970."""
        if self.ending is None and expires_at is not None:
            latest = time.time() + _LONGEST
            self._interrupt_after(max(min(expires_at, latest) - time.time(), 0))

    async def watch_session(
        self, caller: Caller, authenticate: Callable[[], Awaitable[Authentication]]
    ) -> None:
        """Expire the stream when a new request with its token would not have the caller's roles.

        The key that signed the token may be withdrawn, an API key revoked, or a group of its roles
        deleted. If that cannot be found out for a minute, the stream ends as unverified.
        """
        failed = 0
        while self.ending is None:
            await asyncio.sleep(SESSION_CHECK_SECONDS)
            try:
                if (await authenticate()).caller.roles != caller.roles:
                    self.end(EndReason.EXPIRED)
                failed = 0
            except NotAuthenticated:
                self.end(EndReason.EXPIRED)
            except (PenstockError, RequestRefused):
                failed += 1
                if failed == FAILED_SESSION_CHECKS:
                    self.end(EndReason.UNVERIFIED)

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
            self.ending = self.ending or EndReason.EXPIRED
            return True
        return False

    def _interrupt_after(self, seconds: float) -> None:
        if self._entered and not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time() + seconds)


class TooManyStreams(Exception):
    """The caller already holds the most allowed streams."""

    def __init__(self, most: int) -> None:
        super().__init__(f"You hold {most} streams already; that is the most.")


class StreamRegistry:
    """Counts the open streams and can end all of them.

    It allows `per_caller` streams for each user id, and `unproven` streams of clients who are not
    yet authenticated. One more of these takes the place of the oldest of the site that has the
    most: so a flood crowds out itself, and every newcomer has time to authenticate.
    """

    def __init__(self, per_caller: int, unproven: int = 200) -> None:
        self._per_caller = per_caller
        self._most_unproven = unproven
        self._unproven_count = 0
        self._unproven: dict[str, dict[StreamLifetime, None]] = {}
        self._held: Counter[str] = Counter()
        self._open: set[StreamLifetime] = set()
        self._none_open = asyncio.Event()
        self.stopping = False

    async def wait_until_none(self) -> None:
        """Wait until no stream is open."""
        if self._open:
            await self._none_open.wait()

    def __len__(self) -> int:
        return len(self._open)

    @contextmanager
    def register(self, lifetime: StreamLifetime) -> Iterator[None]:
        """Register a stream as open; its lifetime ends when the server stops."""
        self._open.add(lifetime)
        self._none_open.clear()
        if self.stopping:
            lifetime.end(EndReason.STOPPING)
        try:
            yield
        finally:
            self._open.discard(lifetime)
            if not self._open:
                self._none_open.set()

    @contextmanager
    def hold_unproven(self, lifetime: StreamLifetime, address: str) -> Iterator[None]:
        """Count a stream from this address as not yet authenticated; may end an older one."""
        site = site_of(address)
        self._unproven.setdefault(site, {})[lifetime] = None
        self._unproven_count += 1
        if self._unproven_count > self._most_unproven:
            self._crowd_out_oldest()
        try:
            yield
        finally:
            self._forget_unproven(site, lifetime)

    def _crowd_out_oldest(self) -> None:
        site, waiting = max(self._unproven.items(), key=lambda item: len(item[1]))
        oldest = next(iter(waiting))
        self._forget_unproven(site, oldest)
        oldest.end(EndReason.CROWDED_OUT)

    def _forget_unproven(self, site: str, lifetime: StreamLifetime) -> None:
        waiting = self._unproven.get(site, {})
        if lifetime in waiting:
            del waiting[lifetime]
            self._unproven_count -= 1
            if not waiting:
                del self._unproven[site]

    @contextmanager
    def hold_for(self, caller: Caller) -> Iterator[None]:
        """Count a stream as the caller's; raises TooManyStreams."""
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
        """End every stream, also those opened from now on."""
        self.stopping = True
        for lifetime in tuple(self._open):
            lifetime.end(EndReason.STOPPING)
