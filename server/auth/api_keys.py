"""Turns an API key into a caller; whatever else is sent is left to the tokens' authenticator."""

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Final, NamedTuple

from cachetools import TLRUCache

from penstock.datastore.access.api_keys import PREFIX, Credential, KeyText
from penstock.datastore.clock import wall_clock
from penstock.datastore.errors import Unauthenticated
from penstock.datastore.roles import Caller
from penstock.server.auth.claims import default_group_from
from penstock.server.auth.tokens import Authentication, Authenticator, bearer_token

SESSION_SECONDS: Final = 900
"""A stream opened with a key ends by then, so that a revocation reaches it."""

MAX_KEPT: Final = 10_000
MAX_KEPT_ROLES: Final = 50_000
_PREFIX: Final = PREFIX.encode()


class _Kept(NamedTuple):
    """A credential, and until when on the clock it need not be read again."""

    credential: Credential
    until: float


class ApiKeyAuthenticator:
    """Accepts API keys sent as `Authorization: Bearer`, and passes everything else on to `tokens`.

    `find` reads a key by its id. One that was found is kept for `seconds`: for so long after it was
    revoked it may still be accepted. An expired one never is.
    """

    def __init__(
        self,
        tokens: Authenticator,
        find: Callable[[str], Awaitable[Credential | None]],
        seconds: float,
        *,
        now: Callable[[], datetime] = wall_clock,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tokens = tokens
        self._find = find
        self._seconds = seconds
        self._now = now
        self._clock = clock
        self._kept = TLRUCache[str, _Kept, float](
            MAX_KEPT_ROLES, lambda _id, kept, _now: kept.until, clock, _weight
        )

    async def caller_of(self, headers: Mapping[str, object]) -> Caller:
        """Return the user of the key with the key's roles."""
        return (await self.authenticate(headers)).caller

    def authenticate(self, headers: Mapping[str, object]) -> Awaitable[Authentication]:
        """Return the same; the session ends with the key, or earlier to have it looked up again."""
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
            raise Unauthenticated("The API key is not accepted.")
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
        # `get` looks at the clock twice, and fails for a key that expires in between.
        try:
            return self._kept[id].credential
        except KeyError:
            until = self._clock() + self._seconds
        found = await self._find(id)
        if found is not None:
            with suppress(ValueError):  # one of more roles than all may have is not kept
                self._kept[id] = _Kept(found, until)
        return found


def _weight(kept: _Kept) -> int:
    """Count the roles of a key; few count as more, so that there are no more than MAX_KEPT."""
    return max(MAX_KEPT_ROLES // MAX_KEPT, len(kept.credential.roles))
