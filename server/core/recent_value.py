"""A value that is costly to make, made at most once in a time however often it is wanted."""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Final, Generic, TypeVar

from penstock.datastore.background_tasks import retrieve_failure

FRESH_SECONDS: Final = 1.0

T = TypeVar("T")


class RecentValue(Generic[T]):
    """The latest value of `make`, at most `fresh` seconds old; all who wait together share it.

    Strangers may ask for it: their requests must cost neither processor time nor reads each.
    """

    def __init__(
        self,
        make: Callable[[], Awaitable[T]],
        now: Callable[[], float] = monotonic,
        *,
        fresh: float = FRESH_SECONDS,
    ) -> None:
        self._make = make
        self._now = now
        self._fresh = fresh
        self._made: asyncio.Task[T] | None = None
        self._stale_at = 0.0

    async def get(self) -> T:
        """Return the value; a caller that leaves does not end the work for the others."""
        if self._made is None or (self._made.done() and self._now() >= self._stale_at):
            self._made = asyncio.create_task(self._make_one())
            self._made.add_done_callback(retrieve_failure)
        return await asyncio.shield(self._made)

    async def _make_one(self) -> T:
        try:
            return await self._make()
        finally:
            self._stale_at = self._now() + self._fresh
