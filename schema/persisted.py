"""Documents named instead of sent: automatic persisted queries and trusted documents."""

import re
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from hashlib import sha256
from typing import Final, NoReturn

from cachetools import LRUCache

from penstock.datastore.errors import ErrorCode
from penstock.schema.limits import refused

_DIGEST: Final = re.compile(r"(?:sha256:)?([0-9a-f]{64})", re.ASCII)


class PersistedMode(StrEnum):
    """Which documents may be named.

    OFF: none. AUTOMATIC: those that were sent once with their digest. TRUSTED: those of a fixed
    list, and no other document is run at all.
    """

    OFF = "off"
    AUTOMATIC = "automatic"
    TRUSTED = "trusted"


class Persisted:
    """The texts behind document ids. An id is a SHA-256 in hex, or any text of the trusted list."""

    __slots__ = ("_automatic", "_digests", "_trusted", "mode")

    def __init__(
        self,
        mode: PersistedMode = PersistedMode.AUTOMATIC,
        trusted: Mapping[str, str] | None = None,
        *,
        count: int = 1_000,
        size: int = 8_000_000,
    ) -> None:
        self.mode = mode
        self._trusted = {_bare(key): text for key, text in (trusted or {}).items()}
        self._digests = frozenset(_digest(text) for text in self._trusted.values())
        least = size // count
        self._automatic = LRUCache[str, str](size, lambda text: max(least, len(text.encode())))

    @property
    def kept(self) -> int:
        """How many texts are kept under the digests they were sent with."""
        return len(self._automatic)

    def text_of(self, document_id: str) -> str:
        """Find the text behind an id; GraphQLError with a code where there is none."""
        if self.mode is PersistedMode.OFF:
            _unsupported()
        known = self._trusted if self.mode is PersistedMode.TRUSTED else self._automatic
        text = known.get(_bare(document_id))
        if text is None:
            # Clients of automatic persisted queries look for this very message.
            raise refused("PersistedQueryNotFound", ErrorCode.PERSISTED_QUERY_NOT_FOUND)
        return text

    def check(self, text: str, digest: str | None) -> None:
        """Refuse a sent text that may not run, or that is not the one its digest names."""
        if digest is not None and self.mode is PersistedMode.OFF:
            _unsupported()
        if digest is not None and _digest(text) != _bare(digest):
            raise refused("The digest is not that of the query.", ErrorCode.BAD_REQUEST)
        if self.mode is PersistedMode.TRUSTED and _digest(text) not in self._digests:
            raise refused("Only trusted documents run here.", ErrorCode.PERSISTED_QUERY_NOT_FOUND)

    def remember(self, text: str, digest: str) -> None:
        """Keep a text that proved valid under the digest it was sent with."""
        if self.mode is PersistedMode.AUTOMATIC:
            with suppress(ValueError):  # one that weighs more than the bound is not kept
                self._automatic[_bare(digest)] = text


def digest_of(extensions: Mapping[str, object]) -> str | None:
    """Read `extensions.persistedQuery`; GraphQLError where its form is not version 1."""
    asked = extensions.get("persistedQuery")
    if asked is None:
        return None
    if not isinstance(asked, dict) or asked.get("version") != 1:
        _unsupported()
    digest = asked.get("sha256Hash")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise refused("`sha256Hash` is a SHA-256 in lower-case hex.", ErrorCode.BAD_REQUEST)
    return digest


def _unsupported() -> NoReturn:
    raise refused("PersistedQueryNotSupported", ErrorCode.PERSISTED_QUERY_NOT_SUPPORTED)


def _bare(document_id: str) -> str:
    found = _DIGEST.fullmatch(document_id)
    return found[1] if found else document_id


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
