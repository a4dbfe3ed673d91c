"""Authenticates API keys, and passes any other token to the authenticator of tokens."""

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Final, NamedTuple

from cachetools import TLRUCache, TTLCache

from penstock.datastore.api_keys import PREFIX, Credential, KeyText
from penstock.datastore.clock import wall_clock
from penstock.datastore.errors import NotAuthenticated
from penstock.datastore.roles import Caller
from penstock.server.auth.claims import default_group_from
from penstock.server.auth.shared_reads import LookUpTimes, SharedReads, late_error
from penstock.server.auth.tokens import Authentication, Authenticator, bearer_token
from penstock.server.core.deadline import Deadline

SESSION_SECONDS: Final = 900
"""The longest session of a stream opened with a key, so that a revocation takes effect."""

MAX_CACHED_KEYS: Final = 10_000
MAX_CACHED_ROLES: Final = 50_000

MAX_READS: Final = 16
"""Keys that are read at a time, of the store's 64 connections."""

_PREFIX: Final = PREFIX.encode()


class _CachedCredential(NamedTuple):
    """A cached credential, and the clock's time until which it is valid without a new read."""

    credential: Credential
    until: float


class ApiKeyAuthenticator:
    """Accepts API keys sent as `Authorization: Bearer`, and passes everything else to `tokens`.

    `find` reads a key by its id. A key is remembered, and so accepted for as long after its
    revocation, and so is an id without a key. An expired key is never accepted.
    """

    def __init__(
        self,
        tokens: Authenticator,
        find: Callable[[str], Awaitable[Credential | None]],
        times: LookUpTimes,
        *,
        now: Callable[[], datetime] = wall_clock,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tokens = tokens
        self._find = find
        self._reads = SharedReads(self._read, MAX_READS, shared=bool(times.kept))
        self._times = times
        self._now = now
        self._clock = clock
        self._kept = TLRUCache[str, _CachedCredential, float](
            MAX_CACHED_ROLES, lambda _id, kept, _now: kept.until, clock, _role_weight
        )
        self._unknown = TTLCache[str, None](MAX_CACHED_KEYS, times.kept, clock)

    async def caller_of(self, headers: Mapping[str, object]) -> Caller:
        """Return the user of the key, with the roles of the key."""
        return (await self.authenticate(headers)).caller

    def authenticate(self, headers: Mapping[str, object]) -> Awaitable[Authentication]:
        """Return the caller and the end of the session.

        It ends with the key, or after SESSION_SECONDS at the latest.
        """
        token = bearer_token(headers)
        return (
            self._authenticate(token)
            if token.startswith(_PREFIX)
            else self._tokens.authenticate(headers)
        )

    async def _authenticate(self, token: bytes) -> Authentication:
        text, now = KeyText.parse(token.decode()), self._now()
        credential = None if text is None else await self._credential(text.id)
        if text is None or credential is None or not credential.admits(text, now):
            raise NotAuthenticated("The API key is not accepted.")
        return Authentication(
            Caller(
                credential.user,
                credential.roles,
                default_group_from(None, credential.roles),
                credential.id,
            ),
            min(credential.expires, now.timestamp() + SESSION_SECONDS),
        )

    async def _credential(self, id: str) -> Credential | None:
        # `get` reads the clock twice, and fails for a key that expires in between.
        try:
            return self._kept[id].credential
        except KeyError:
            pass
        if id in self._unknown:
            return None
        return await Deadline(self._times.deadline, self._reads.read(id), late_error)

    async def _read(self, id: str) -> Credential | None:
        """Read a key, and remember it, or that there is none: strangers may ask for it for ever."""
        until = self._clock() + self._times.kept
        found = await self._find(id)
        if found is None:
            self._unknown[id] = None
        else:
            with suppress(ValueError):  # a key with too many roles for the cache is not cached
                self._kept[id] = _CachedCredential(found, until)
        return found


def _role_weight(kept: _CachedCredential) -> int:
    """Return the number of roles, which decides the size of a key in memory.

    The minimum bounds the cache to MAX_CACHED_KEYS.
    """
    return max(MAX_CACHED_ROLES // MAX_CACHED_KEYS, len(kept.credential.roles))
