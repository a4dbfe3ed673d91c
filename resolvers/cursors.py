"""The seal of cursors: a client can hand a position back, but it cannot make one."""

import binascii
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Final

import msgspec

from penstock.datastore.errors import InvalidCursor

MAX_CURSOR_LENGTH: Final = 4_096
_SEAL_BYTES: Final = 12
_MIN_KEY_BYTES: Final = 16


class Cursors:
    """Seals positions in lists, so that a cursor opens only in the list that gave it.

    A `list_identity` names everything that decides the content of the list: the list, its
    partition, a digest of the filter, and the rights of the caller. Clients can read the position
    in a cursor but cannot make a cursor themselves.
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        if len(key) < _MIN_KEY_BYTES:
            raise ValueError(f"The cursor key needs at least {_MIN_KEY_BYTES} bytes.")
        self._key = key

    def seal(self, list_identity: str, position: str) -> str:
        """Make the cursor of a position: 12 bytes of HMAC and the position, in base64url."""
        payload = position.encode()
        return urlsafe_b64encode(self._seal(list_identity, payload) + payload).rstrip(b"=").decode()

    def open(self, list_identity: str, cursor: str) -> str:
        """Read the position of a cursor; InvalidCursor unless this key sealed it for this list."""
        raw = _decode_cursor(cursor)
        seal, payload = raw[:_SEAL_BYTES], raw[_SEAL_BYTES:]
        if not hmac.compare_digest(seal, self._seal(list_identity, payload)):
            raise InvalidCursor
        try:
            return payload.decode()
        except UnicodeDecodeError:
            raise InvalidCursor from None

    def _seal(self, list_identity: str, payload: bytes) -> bytes:
        bound = list_identity.encode()
        message = b"%d:%b%b" % (len(bound), bound, payload)
        return hmac.digest(self._key, message, "sha256")[:_SEAL_BYTES]


def digest_of_list(user_id: str, list_identity: tuple[object, ...]) -> str:
    """Digest everything that decides the content of a list for one caller.

    Of objects only the values of fields are digested: cursors survive another name of a class.
    """
    values = msgspec.to_builtins((user_id, *list_identity))
    return sha256(repr(values).encode()).hexdigest()


def _decode_cursor(cursor: str) -> bytes:
    """Decode base64url that encodes to the same text again, so that a position has one cursor."""
    if len(cursor) > MAX_CURSOR_LENGTH or not cursor.isascii():
        raise InvalidCursor
    try:
        raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except binascii.Error:
        raise InvalidCursor from None
    if urlsafe_b64encode(raw).rstrip(b"=").decode() != cursor:
        raise InvalidCursor
    return raw
