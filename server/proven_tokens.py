"""Tokens whose signature held, so that it need not be computed for each request that sends them."""

import time
from collections.abc import Callable
from hashlib import sha256
from typing import Final, NamedTuple

from joserfc.jwk import Key

from datastore.access import Caller
from schema.lru import Lru

MAX_KEPT: Final = 10_000
MAX_KEPT_ROLES: Final = 50_000


class Proven(NamedTuple):
    """What a token proved from `since` until `until`, both in seconds since 1970.

    It proves that no longer than its header finds the very `key` that verified it.
    """

    caller: Caller
    since: float
    until: float
    kid: str | None
    algorithm: str
    key: Key


class ProvenTokens:
    """Remembers tokens by their digests; the one sent least recently is forgotten first."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._kept: Lru[bytes, Proven] = Lru(MAX_KEPT, MAX_KEPT_ROLES)

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, token: bytes) -> Proven | None:
        """What the token proves at this time; None where that is to be found out."""
        found = self._kept.get(sha256(token).digest())
        if found is None or not found.since <= int(self._now()) < found.until:
            return None
        return found

    def put(self, token: bytes, proven: Proven) -> None:
        self._kept.put(sha256(token).digest(), proven, len(proven.caller.roles))
