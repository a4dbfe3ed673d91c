"""Reads of the rows that callers are known by."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar

from penstock.datastore.background_tasks import retrieve_failure
from penstock.datastore.errors import Unavailable

Found = TypeVar("Found")


class LookUpTimes(NamedTuple):
    """The seconds for which credentials are remembered, and after which a look-up is given up."""

    kept: float
    deadline: float


def late_error() -> Unavailable:
    """The error where it is not known in time who calls.

    Many doors of the server wait for that before they know whose deadline and turn is theirs.
    """
    return Unavailable("The credentials could not be checked in time.")


class SharedReads(Generic[Found]):
    """Reads by a name, at most `most` at a time, and each once for all requests that wait for it.

    Whoever invents names has a few reads at a time, and leaves the store to others. Reads that are
    not `shared` begin after their request, so that they see every change before it.
    """

    def __init__(self, find: Callable[[str], Awaitable[Found]], most: int, *, shared: bool) -> None:
        self._find = find
        self._turns = asyncio.Semaphore(most)
        self._shared = shared
        self._reading: dict[str, asyncio.Task[Found]] = {}

    async def read(self, name: str) -> Found:
        """Read what has the name; raises what the store raises."""
        if not self._shared:
            return await self._read_in_turn(name)
        reading = self._reading.get(name)
        if reading is None:
            reading = self._reading[name] = asyncio.create_task(self._read_in_turn(name))
            reading.add_done_callback(lambda _: self._reading.pop(name))
            reading.add_done_callback(retrieve_failure)
        # The cancellation of one request must not end the read for the others.
        return await asyncio.shield(reading)

    async def _read_in_turn(self, name: str) -> Found:
        async with self._turns:
            return await self._find(name)
