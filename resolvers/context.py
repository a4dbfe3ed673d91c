"""The context of one request: its caller's session, loaders over it, and the sealing of cursors."""

import binascii
import hmac
from asyncio import Lock, sleep
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import cached_property
from typing import Final

import msgspec

from penstock.datastore.errors import BadInput
from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.roles import Caller
from penstock.datastore.store import Session, Store
from penstock.datastore.table.instrumentation import Units
from penstock.resolvers.loaders import Loaders

MAX_CURSOR_LENGTH: Final = 4_096
_SEAL_BYTES: Final = 12
_MIN_KEY_BYTES: Final = 16


class Cursors:
    """Seals positions in lists, so that a cursor opens only in the list that gave it.

    A scope names everything that decides the content of the list: the list, its partition, a digest
    of the filter, and the rights of the caller. Clients can read the position in a cursor but
    cannot make a cursor themselves.
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        if len(key) < _MIN_KEY_BYTES:
            raise ValueError(f"The cursor key needs at least {_MIN_KEY_BYTES} bytes.")
        self._key = key

    def seal(self, scope: str, position: str) -> str:
        """Make the cursor of a position: 12 bytes of HMAC and the position, in base64url."""
        payload = position.encode()
        return urlsafe_b64encode(self._seal(scope, payload) + payload).rstrip(b"=").decode()

    def open(self, scope: str, cursor: str) -> str:
        """Read the position of a cursor; BadInput unless this key sealed it for the same scope."""
        raw = _decode_cursor(cursor)
        seal, payload = raw[:_SEAL_BYTES], raw[_SEAL_BYTES:]
        if not hmac.compare_digest(seal, self._seal(scope, payload)):
            raise _invalid_cursor_error()
        return payload.decode()

    def _seal(self, scope: str, payload: bytes) -> bytes:
        bound = scope.encode()
        message = b"%d:%b%b" % (len(bound), bound, payload)
        return hmac.digest(self._key, message, "sha256")[:_SEAL_BYTES]


def _decode_cursor(cursor: str) -> bytes:
    """Decode base64url that encodes to the same text again, so that a position has one cursor."""
    if len(cursor) > MAX_CURSOR_LENGTH or not cursor.isascii():
        raise _invalid_cursor_error()
    try:
        raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except binascii.Error:
        raise _invalid_cursor_error() from None
    if urlsafe_b64encode(raw).rstrip(b"=").decode() != cursor:
        raise _invalid_cursor_error()
    return raw


def _invalid_cursor_error() -> BadInput:
    return BadInput("Invalid cursor.")


class Turns:
    """Lets only one long list of an answer be assembled at a time, with other work in between."""

    @cached_property
    def _lock(self) -> Lock:
        return Lock()

    async def take(self) -> None:
        """Wait for a turn, which lasts until the caller awaits something else."""
        async with self._lock:
            await sleep(0)


class Context(msgspec.Struct, frozen=True):
    """Made inside the request, gone with it; nothing in it is shared between callers.

    `cursors` seal positions in lists, and `changes` tells of what subscriptions follow.
    """

    session: Session
    loaders: Loaders
    cursors: Cursors
    changes: RowChanges
    turns: Turns = msgspec.field(default_factory=Turns)

    @classmethod
    def open(cls, store: Store, caller: Caller, cursors: Cursors, changes: RowChanges) -> "Context":
        """Create the context of a request or an event, inside the event loop its loaders need."""
        session = store.open_session(caller)
        return cls(session, Loaders(session), cursors, changes)

    @property
    def caller(self) -> Caller:
        return self.session.caller

    @property
    def units(self) -> Units:
        return self.session.units
