"""Authenticates music players by the passwords that users made for them."""

import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from cachetools import LRUCache, TTLCache

from penstock.datastore.player_passwords import SealedPassword
from penstock.datastore.roles import MAX_USER_ID, Caller
from penstock.server.auth.shared_reads import LookUpTimes, SharedReads, late_error
from penstock.server.core.deadline import Deadline

MAX_CACHED: Final = 10_000
"""The users whose passwords are remembered, and the passwords that are kept open."""

MAX_READS: Final = 8
"""Users whose passwords are read at a time, of the store's 64 connections."""


class PasswordSource(Protocol):
    """The stored passwords."""

    async def find_player_passwords(self, user: str) -> list[SealedPassword]:
        """Read the sealed passwords of a user."""

    async def open_player_password(self, found: SealedPassword) -> str | None:
        """Open a password; None if that is not possible."""


class PlayerAuthenticator:
    """Accepts the passwords of music players; each is accepted for some time after its end.

    What a user has, also nothing, is remembered for as long: strangers may ask for it for ever.
    What was opened stays open by its sealed text, so that a vault elsewhere is asked once.
    """

    def __init__(
        self,
        source: PasswordSource,
        times: LookUpTimes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._deadline_seconds = times.deadline
        self._kept = TTLCache[str, Sequence[SealedPassword]](MAX_CACHED, times.kept, clock)
        self._opened = LRUCache[SealedPassword, str | None](MAX_CACHED)
        self._reads = SharedReads(self._read, MAX_READS, shared=bool(times.kept))

    async def caller_of(self, user: str, is_proven: Callable[[str], bool]) -> Caller | None:
        """Return the user if one of the user's passwords is proven; the user has no role by it.

        Raises Unavailable, also where that is not known within the deadline.
        """
        if len(user) > MAX_USER_ID:
            return None  # a name that nobody has, and that takes much room among those remembered
        finding = self._find_caller(user, is_proven)
        return await Deadline(self._deadline_seconds, finding, late_error)

    async def _find_caller(self, user: str, is_proven: Callable[[str], bool]) -> Caller | None:
        for found in await self._passwords_of(user):
            password = await self._open(found)
            if password is not None and is_proven(password):
                return Caller(user, {}, api_key=found.id)
        return None

    async def _passwords_of(self, user: str) -> Sequence[SealedPassword]:
        kept = self._kept.get(user)
        return await self._reads.read(user) if kept is None else kept

    async def _read(self, user: str) -> Sequence[SealedPassword]:
        found = self._kept[user] = await self._source.find_player_passwords(user)
        return found

    async def _open(self, found: SealedPassword) -> str | None:
        if found not in self._opened:
            self._opened[found] = await self._source.open_player_password(found)
        return self._opened[found]
